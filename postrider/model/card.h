// Card: what a profile keeps beside its messages, (drawer, key) to bytes; cards of two profiles
// never meet. Cabinet: what a function of a profile may look at and draw on while it is called.
//
// Cards are changed by functions of profiles only, in the commit of what they belong to; a station
// reads them by a Query and asks for changes by an Arrived. So each card has one writer, the
// engine, and a crash cannot part two cards that belong together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/time.h"

namespace postrider {

struct Card {
  std::string drawer;
  std::string key;
  std::string bytes;
  Timestamp expires = {};  // engine time; unset: it stays until it is removed
  bool removed = false;    // as a change: there is to be none
  friend bool operator==(const Card&, const Card&) = default;
};

// Outcomes of messages, by their ids; written by the engine alone.
inline constexpr std::string_view kOutcomeDrawer = "outcome";

// A page of one drawer, in the order of keys; of a query for one card: that one, or none.
struct CardPage {
  std::vector<Card> cards;
  std::string next;  // ask from this key; empty: that was all
};

// `receive`, `notice` and `classify` read cards; to other functions all drawers look empty, because
// they are called in the middle of a step, when nothing can be read any more. Owned by the engine,
// for the time of one call.
class Cabinet {
 public:
  virtual ~Cabinet() = default;
  // Null: there is none, or it must be read first; see lacks(). Valid as long as the cabinet.
  virtual const std::string* card(std::string_view drawer, std::string_view key) = 0;
  // Those of a drawer from this key on, in the order of keys. Nothing: they must be read first.
  virtual std::optional<CardPage> cards(std::string_view drawer, std::string_view from,
                                        std::uint32_t limit) = 0;
  // Something must be read first. Then what the function returns is thrown away, and it is called
  // again with more read.
  virtual bool lacks() const = 0;
  // Unguessable bytes, for keys, nonces and ids. Not for the bytes of a durable intent, which must
  // be the same when they are made again.
  virtual void random(std::span<std::uint8_t> out) = 0;
  // A key file of the configuration; empty: there is none of this name.
  virtual std::string_view secret(std::string_view name) const = 0;
};

}  // namespace postrider
