#include "postrider/profiles/lxmf/interfaces.h"

#include <algorithm>
#include <utility>

#include "postrider/protocols/reticulum/packet.h"

namespace postrider::lxmf {

using Kind = InterfaceSetup::Kind;

Interfaces::Interfaces(const std::vector<InterfaceSetup>& setup) {
  for (const InterfaceSetup& one : setup) all_[++last_].setup = one;
}

void Interfaces::open(Timestamp now, Wants& wanted) {
  for (auto& [number, one] : all_) {
    if (one.line.is_set() || one.accepted || one.again > now) continue;
    one.line = LineId(++last_line_);
    by_line_[one.line.value()] = number;
    LineOrder order;
    order.address = one.setup.address;
    order.listens = one.setup.kind != Kind::kCalls;
    wanted.emplace_back(station::OpenLine{one.line, std::move(order)});
    // A datagram line takes and sends from now on; a listener never does itself.
    one.up = one.setup.kind == Kind::kDatagrams;
  }
}

std::optional<Timestamp> Interfaces::next_deadline() const {
  std::optional<Timestamp> next;
  for (const auto& [number, one] : all_) {
    if (one.line.is_set() || one.accepted) continue;
    next = next ? std::min(*next, one.again) : one.again;
  }
  return next;
}

std::optional<InterfaceId> Interfaces::opened(const station::LineOpened& opened, Timestamp now,
                                              Wants& wanted) {
  if (opened.listener.is_set()) {
    const auto listener = by_line_.find(opened.listener.value());
    if (listener == by_line_.end() || callers_ >= kCallersMax) {
      wanted.emplace_back(station::CloseLine{opened.line});
      return std::nullopt;
    }
    const std::string name = all_[listener->second].setup.name + "/" + opened.peer;
    One& caller = all_[++last_];
    caller.setup.name = name;
    caller.setup.kind = Kind::kCalls;
    caller.line = opened.line;
    caller.up = true;
    caller.accepted = true;
    caller.heard = now;
    by_line_[opened.line.value()] = last_;
    ++callers_;
    return InterfaceId(last_);
  }
  const auto found = by_line_.find(opened.line.value());
  if (found == by_line_.end()) return std::nullopt;
  One& one = all_[found->second];
  if (one.setup.kind == Kind::kListens) return std::nullopt;
  one.up = true;
  one.heard = now;
  one.reader = {};
  return InterfaceId(found->second);
}

std::optional<Interfaces::Lost> Interfaces::closed(LineId line, Timestamp now) {
  const auto found = by_line_.extract(line.value());
  if (found.empty()) return std::nullopt;
  const std::uint64_t number = found.mapped();
  One& one = all_[number];
  const bool was_up = std::exchange(one.up, false);
  const bool gone = one.accepted;
  one.line = {};
  one.reader = {};
  one.again = now + kCallAgain;
  if (gone) {
    all_.erase(number);
    --callers_;
  }
  if (!was_up) return std::nullopt;
  ++lost_;
  return Lost{InterfaceId(number), gone};
}

void Interfaces::took(const station::LineTook& took, Timestamp now, const Take& take) {
  const auto found = by_line_.find(took.line.value());
  if (found == by_line_.end()) return;
  const InterfaceId interface(found->second);
  One& one = all_[found->second];
  one.heard = now;
  if (one.setup.kind == Kind::kDatagrams) {
    if (took.bytes.size() >= reticulum::kPacketBytesMin) take(interface, took.bytes);
    return;
  }
  one.reader.feed(took.bytes, [&](std::string_view packet) { take(interface, packet); });
}

std::optional<Interfaces::Lost> Interfaces::hang_up_silent(InterfaceId interface, Timestamp now,
                                                           Wants& wanted) {
  const auto found = all_.find(interface.value());
  if (found == all_.end()) return std::nullopt;
  const One& one = found->second;
  if (!one.up || one.setup.kind == Kind::kDatagrams || now < one.heard + kSilence)
    return std::nullopt;
  const LineId line = one.line;
  wanted.emplace_back(station::CloseLine{line});
  return closed(line, now);
}

bool Interfaces::is_up(InterfaceId interface) const {
  const auto found = all_.find(interface.value());
  return found != all_.end() && found->second.up;
}

bool Interfaces::any_up() const {
  return std::any_of(all_.begin(), all_.end(), [](const auto& one) { return one.second.up; });
}

std::vector<InterfaceId> Interfaces::all_up() const {
  std::vector<InterfaceId> out;
  for (const auto& [number, one] : all_) {
    if (one.up) out.emplace_back(number);
  }
  return out;
}

std::uint32_t Interfaces::mtu(InterfaceId interface) const {
  const auto found = all_.find(interface.value());
  const bool stream = found != all_.end() && found->second.setup.kind != Kind::kDatagrams;
  return stream ? kStreamMtu : static_cast<std::uint32_t>(reticulum::kMtu);
}

std::string Interfaces::name(InterfaceId interface) const {
  const auto found = all_.find(interface.value());
  return found == all_.end() ? std::string() : found->second.setup.name;
}

std::optional<InterfaceId> Interfaces::find(std::string_view name) const {
  for (const auto& [number, one] : all_) {
    if (!one.accepted && one.setup.name == name) return InterfaceId(number);
  }
  return std::nullopt;
}

bool Interfaces::send(InterfaceId interface, std::string_view packet, Wants& wanted) {
  const auto found = all_.find(interface.value());
  if (found == all_.end() || !found->second.up) return false;
  const One& one = found->second;
  const bool stream = one.setup.kind != Kind::kDatagrams;
  wanted.emplace_back(station::WriteLine{
      one.line, stream ? reticulum::encode_frame(packet) : std::string(packet),
      stream ? std::string() : one.setup.to});
  return true;
}

std::size_t Interfaces::send_to_all(std::string_view packet, Wants& wanted) {
  std::size_t sent = 0;
  for (const auto& [number, one] : all_)
    sent += send(InterfaceId(number), packet, wanted) ? 1U : 0U;
  return sent;
}

}  // namespace postrider::lxmf
