// Cards: what profiles keep beside their messages. Every card is a record; the newest ones are also
// in memory, written through, so that what is used again and again is not read again and again.
//
// Invariants
//   - A card is changed in the commit of what wanted the change, or that is refused whole.
//   - What is in memory is what the store has, or will have with the commit under way.
//   - A card with an expiry has one due entry, at that time, whose value is the card's key.
//   - As many cards of a profile are counted in the meta record as it has records; nothing is
//     thrown out to make room.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "postrider/base/bytes.h"
#include "postrider/base/time.h"
#include "postrider/core/books/due.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/model/answer.h"
#include "postrider/model/card.h"
#include "postrider/model/profile.h"
#include "postrider/model/records/records.h"

namespace postrider::core {

class Cards {
 public:
  struct Refusal {
    AnswerCode code = AnswerCode::kFull;
    std::string detail;
  };
  // Shared, because a function of a profile may still look at a card that memory has no room for.
  using Kept = std::shared_ptr<const CardRecord>;

  Cards(const EngineOptions& options, const EngineLimits& limits, Tallies& tallies,
        Receipts& receipts, Due& due)
      : options_(options), limits_(limits), tallies_(tallies), receipts_(receipts), due_(due) {}
  Cards(const Cards&) = delete;
  Cards& operator=(const Cards&) = delete;

  // Null: there is none, or it must be read first.
  Kept find(Step& step, std::string_view key);
  // Nothing: it must be read first.
  std::optional<CardPage> page(Step& step, std::string_view profile, std::string_view drawer,
                               std::string_view from, std::uint32_t limit);

  // Why these changes must not be made; nothing: they may, or something must be read first. Before
  // anything is changed, and in the same step as `write`.
  std::optional<Refusal> judge(Step& step, const ProfileSpec& profile,
                               std::span<const Card> changes);
  void write(Step& step, const ProfileSpec& profile, std::span<const Card> changes);
  // New ones, under the id of a message that ends.
  void write_at_end(Step& step, const ProfileSpec& profile, MessageId id,
                    std::span<const Card> cards);

  // The outcome of a message that ends. There is always room: `is_full` is asked before a message
  // is accepted.
  void write_outcome(Step& step, const ProfileSpec& profile, MessageId id, std::string_view bytes);
  // None: it must be read first, or there is none.
  Blob outcome_of(Step& step, const ProfileSpec& profile, MessageId id);
  bool is_full(const ProfileSpec& profile) const {
    return receipts_.cards_of(profile.name) >= limits_.cards_max;
  }

  void expire(Step& step, const Chore& chore);
  Timestamp expiry_of(const CardRecord& card) const;  // by the time that is right now; unset: never
  // A card could not be read and is in quarantine.
  void lose(std::string_view key);

  const EngineOptions& options() const { return options_; }

 private:
  struct Seen {
    enum class How : std::uint8_t { kUnread, kNone, kThere, kDamaged };
    How how = How::kUnread;
    Kept card;
    bool is_record() const { return how == How::kThere || how == How::kDamaged; }
  };
  struct Recent {
    Kept card;     // null: there is none
    Timestamp at;  // when it was used last
    std::list<std::string>::iterator place;
  };

  Seen see(Step& step, const std::string& key);
  void remember(Timestamp now, const std::string& key, Kept card);
  void put(Step& step, std::string_view profile, const std::string& key, const Seen& old,
           const Card& card);
  void remove(Step& step, std::string_view profile, const std::string& key, const Seen& old);
  void forget_due(Step& step, const std::string& key, const Seen& old);
  void count(std::string_view profile, std::int64_t by);
  std::optional<Refusal> too_large(std::span<const Card> changes) const;
  bool is_over(const CardRecord& card, Timestamp now) const;
  static std::string own_key(MessageId id);  // of cards of a message
  static std::size_t bytes_of(const std::string& key, const Kept& card);

  const EngineOptions& options_;
  const EngineLimits& limits_;
  Tallies& tallies_;
  Receipts& receipts_;
  Due& due_;
  std::unordered_map<std::string, Recent> recent_;
  std::list<std::string> order_;  // their keys, by last use, oldest first
  std::size_t recent_bytes_ = 0;
};

// What a function of a profile has of all this, for one call.
class OpenCabinet final : public Cabinet {
 public:
  enum class Reads : std::uint8_t {
    kMay,
    kMayNot,
    kLater,  // when it wants to read, it is called again in a step of its own
  };
  OpenCabinet(Cards& cards, Step& step, std::string_view profile, Reads reads)
      : cards_(cards), step_(step), profile_(profile), reads_(reads) {}

  const std::string* card(std::string_view drawer, std::string_view key) override;
  std::optional<CardPage> cards(std::string_view drawer, std::string_view from,
                                std::uint32_t limit) override;
  bool lacks() const override { return step_.lacks() || put_off_; }
  void random(std::span<std::uint8_t> out) override;
  std::string_view secret(std::string_view name) const override;

 private:
  Cards& cards_;
  Step& step_;
  const std::string_view profile_;
  const Reads reads_;
  bool put_off_ = false;  // kLater: it wanted to read
  std::vector<Cards::Kept> shown_;
};

}  // namespace postrider::core
