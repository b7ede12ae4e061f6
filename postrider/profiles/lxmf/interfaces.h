// Interfaces: the lines by which packets come and go. A call is one interface under one number,
// also after it was lost and made again; each caller of a listener is one of its own, which ends
// with its line. One owner, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/model/seams/station.h"
#include "postrider/profiles/lxmf/setup.h"
#include "postrider/protocols/reticulum/frames.h"
#include "postrider/protocols/reticulum/paths.h"

namespace postrider::lxmf {

using reticulum::InterfaceId;
using Wants = std::vector<station::Wanted>;

class Interfaces {
 public:
  static constexpr Duration kCallAgain{5'000};
  static constexpr Duration kSilence{60'000};
  static constexpr std::uint32_t kStreamMtu = 8192;
  static constexpr std::size_t kCallersMax = 1024;

  explicit Interfaces(const std::vector<InterfaceSetup>& setup);

  // Opens what is not open and may be now.
  void open(Timestamp now, Wants& wanted);
  std::optional<Timestamp> next_deadline() const;

  // The interface that is up by this; nothing: the line belongs to none.
  std::optional<InterfaceId> opened(const station::LineOpened& opened, Timestamp now,
                                    Wants& wanted);
  // The interface that was up by it. `gone`: its number is not used again.
  struct Lost {
    InterfaceId interface;
    bool gone = false;
  };
  std::optional<Lost> closed(LineId line, Timestamp now);
  // Hands over the packets of a piece of a stream, or of a datagram.
  using Take = std::function<void(InterfaceId interface, std::string_view packet)>;
  void took(const station::LineTook& took, Timestamp now, const Take& take);
  // Closes the line of a stream on which nothing came for a while, though something should have: it
  // may be dead, and nothing else would tell. Nothing: it is no such line.
  std::optional<Lost> hang_up_silent(InterfaceId interface, Timestamp now, Wants& wanted);

  bool is_up(InterfaceId interface) const;
  bool any_up() const;
  std::vector<InterfaceId> all_up() const;
  std::uint32_t mtu(InterfaceId interface) const;
  std::string name(InterfaceId interface) const;
  std::optional<InterfaceId> find(std::string_view name) const;  // of the configuration
  bool send(InterfaceId interface, std::string_view packet, Wants& wanted);
  std::size_t send_to_all(std::string_view packet, Wants& wanted);
  std::size_t size() const { return all_.size(); }
  std::uint64_t lost() const { return lost_; }

 private:
  struct One {
    InterfaceSetup setup;
    LineId line;  // unset: none
    bool up = false;
    bool accepted = false;
    Timestamp again;  // not before
    Timestamp heard;  // the last byte, or its beginning
    reticulum::FrameReader reader;
  };

  std::map<std::uint64_t, One> all_;  // by number
  std::map<std::uint64_t, std::uint64_t> by_line_;
  std::uint64_t last_ = 0;
  std::uint64_t last_line_ = 0;
  std::size_t callers_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace postrider::lxmf
