#include "postrider/sim/fields/drill/link_station.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "postrider/sim/fields/drill/link_profile.h"

namespace postrider::sim {
namespace {

constexpr std::size_t kIdBytes = 32;
constexpr std::size_t kNonceBytes = 32;
constexpr Duration kSilence{20'000};       // a line on which nothing is proven is hung up
constexpr Duration kDatagramAgain{2'000};  // between two datagrams of one request
constexpr std::size_t kGivenUpMax = 256;
constexpr std::size_t kAskedMax = 512;

constexpr std::size_t kAwaitedMax = 512;
constexpr Duration kAwaitFor{60'000};

// Empty: that is not what it is.
std::string bytes_of_hex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned byte = 0;
    const auto read = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (read.ptr != text.data() + i + 2) return {};
    out.push_back(static_cast<char>(byte));
  }
  return text.size() % 2 == 0 ? out : std::string();
}

bool is_id(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string encode_link_frame(const LinkFrame& frame) {
  const std::size_t size = 1 + kIdBytes + kNonceBytes + frame.body.size();
  std::string out;
  out.reserve(size + 2);
  out.push_back(static_cast<char>(size >> 8U));
  out.push_back(static_cast<char>(size & 255U));
  out.push_back(static_cast<char>(frame.kind));
  out.append(frame.id).append(frame.nonce).append(frame.body);
  return out;
}

LinkTaken take_link_frame(std::string_view bytes) {
  if (bytes.size() < 2) return {};
  const std::size_t size = (static_cast<std::size_t>(static_cast<unsigned char>(bytes[0])) << 8U) |
                           static_cast<unsigned char>(bytes[1]);
  if (size < 1 + kIdBytes + kNonceBytes || size > kLinkFrameBytesMax)
    return {.how = LinkTaken::How::kNonsense};
  if (bytes.size() < size + 2) return {};
  const char kind = bytes[2];
  LinkTaken out{.how = LinkTaken::How::kFrame,
                .frame = {.kind = static_cast<LinkKind>(kind),
                          .id = bytes.substr(3, kIdBytes),
                          .nonce = bytes.substr(3 + kIdBytes, kNonceBytes),
                          .body = bytes.substr(kLinkHeadBytes, size + 2 - kLinkHeadBytes)},
                .bytes = size + 2};
  if (kind < 1 || kind > 3 || !is_id(out.frame.id)) return {.how = LinkTaken::How::kNonsense};
  return out;
}

Result<std::unique_ptr<Station>> make_link_station(const NamedTexts& settings,
                                                   const Secrets& /*secrets*/) {
  LinkSetup setup;
  for (const auto& [name, value] : settings) {
    if (name == "machine") {
      setup.machine = value;
    } else if (name == "listen") {
      setup.stream_listen = value;
    } else if (name == "listen_datagrams") {
      setup.datagram_listen = value;
    } else if (name == "tls") {
      setup.tls = value;
    } else if (name == "peer_key") {
      setup.peer_key = bytes_of_hex(value);
      if (setup.peer_key.size() != 32)
        return fail(ErrorCode::kInvalid, "'peer_key' must have 64 hexadecimal digits");
    } else if (name.starts_with("stream.")) {
      setup.streams[name.substr(7)] = value;
    } else if (name.starts_with("datagrams.")) {
      setup.datagrams[name.substr(10)] = value;
    } else {
      return fail(ErrorCode::kInvalid, "there is no setting '" + name + "'");
    }
  }
  if (setup.machine.empty()) return fail(ErrorCode::kInvalid, "setting 'machine' is missing");
  return std::unique_ptr<Station>(std::make_unique<LinkStation>(std::move(setup), LinkBug::kNone));
}

std::string_view LinkStation::verb() const { return kLinkVerb; }

std::string LinkStation::stream_address(const std::string& machine) const {
  const auto found = setup_.streams.find(machine);
  return found == setup_.streams.end() ? "tcp://" + machine + ":1" : found->second;
}
std::string LinkStation::datagram_address(const std::string& machine) const {
  const auto found = setup_.datagrams.find(machine);
  return found == setup_.datagrams.end() ? "udp://" + machine + ":1" : found->second;
}

std::string LinkStation::nonce(const StationNow& now) const {
  std::array<std::uint8_t, kNonceBytes> bytes{};
  now.entropy.fill(bytes);
  return {bytes.begin(), bytes.end()};
}

void LinkStation::on(const StationNow& now, const station::Happened& happened, Wants& wanted) {
  if (std::holds_alternative<station::NewEpoch>(happened)) {
    begin(now, wanted);
  } else if (const auto* opened = std::get_if<station::LineOpened>(&happened)) {
    Line& line = lines_[opened->line.value()];
    line.open = true;
    line.heard = now.instant.boot;
    for (auto& [id, one] : sends_) {
      if (!one.datagrams && !one.sent && !line.machine.empty() && one.machine == line.machine)
        send(now, opened->line, id, one, wanted);
    }
  } else if (const auto* took_bytes = std::get_if<station::LineTook>(&happened)) {
    took(now, *took_bytes, wanted);
  } else if (const auto* over = std::get_if<station::LineClosed>(&happened)) {
    closed(over->line, wanted);
  } else if (const auto* start = std::get_if<station::Started>(&happened)) {
    started(now, *start, wanted);
  } else if (const auto* aborted = std::get_if<station::Aborted>(&happened)) {
    const auto found = std::find_if(sends_.begin(), sends_.end(), [&](const auto& one) {
      return one.second.attempt == aborted->attempt;
    });
    if (found != sends_.end()) {
      given_up_[found->first] = messages_[found->first];
      given_up_order_.push_back(found->first);
      messages_.erase(found->first);
      sends_.erase(found);
    }
    for (; given_up_order_.size() > kGivenUpMax; given_up_order_.pop_front())
      given_up_.erase(given_up_order_.front());
  } else if (const auto* answer = std::get_if<station::Told>(&happened)) {
    told(now, *answer, wanted);
  } else if (std::holds_alternative<station::DeadlineReached>(happened)) {
    deadline(now, wanted);
  }
}

// Attempts and posts of an earlier epoch are over; what was asked for comes again.
void LinkStation::begin(const StationNow& /*now*/, Wants& wanted) {
  sends_.clear();
  messages_.clear();
  asked_.clear();
  awaited_.clear();
  if (bug_ != LinkBug::kWakeUpLostWithEpoch) asked_ids_.clear();
  if (bug_ != LinkBug::kAwaitLostWithEpoch) awaited_ids_.clear();
  Query counts;
  counts.what = Query::What::kCards;
  counts.profile = kLinkProfile;
  counts.drawer = kLinkCounts;
  wanted.emplace_back(station::Post{next_token(), std::move(counts)});
  listen(wanted);
}

// Whatever of its own lines it does not have, at the start or because it was lost.
void LinkStation::listen(Wants& wanted) {
  const auto open = [&](LineId& line, LineOrder order) {
    if (line.is_set()) return;
    line = LineId(++last_line_);
    lines_[line.value()] = {};
    order.listens = true;
    wanted.emplace_back(station::OpenLine{line, std::move(order)});
  };
  const auto listen_at = [this](const std::string& address, std::string otherwise) {
    return address.empty() ? std::move(otherwise) : address;
  };
  LineOrder stream;
  stream.address = listen_at(setup_.stream_listen, stream_address(setup_.machine));
  stream.tls = setup_.tls;
  stream.peer_key = setup_.peer_key;
  open(stream_listener_, std::move(stream));
  LineOrder datagrams;
  datagrams.address = listen_at(setup_.datagram_listen, datagram_address(setup_.machine));
  open(datagram_line_, std::move(datagrams));
}

void LinkStation::started(const StationNow& now, const station::Started& started, Wants& wanted) {
  const std::string id(started.request.headers.find("id"));
  Send one{.attempt = started.attempt,
           .machine = started.request.target,
           .body = setup_.machine + "|" + std::string(started.request.body),
           .datagrams = started.request.headers.find("way") == "datagrams",
           .until_done = started.request.headers.find("until") == "done",
           .sent = false,
           .again = {}};
  messages_[id] = started.message;
  Send& kept = sends_[id] = std::move(one);
  if (kept.datagrams) return send_datagram(now, id, kept, wanted);
  const LineId line = line_to(now, kept.machine, wanted);
  if (lines_[line.value()].open) send(now, line, id, kept, wanted);
}

LineId LinkStation::line_to(const StationNow& now, const std::string& machine, Wants& wanted) {
  for (const auto& [number, line] : lines_) {
    if (line.machine == machine) return LineId(number);
  }
  const LineId line(++last_line_);
  lines_[line.value()] = {.machine = machine, .in = {}, .open = false, .heard = now.instant.boot};
  LineOrder order;
  order.address = stream_address(machine);
  order.tls = setup_.tls;
  order.peer_key = setup_.peer_key;
  wanted.emplace_back(station::OpenLine{line, std::move(order)});
  return line;
}

void LinkStation::send(const StationNow& now, LineId line, const std::string& id, Send& send,
                       Wants& wanted) {
  send.sent = true;
  ++requests_;
  wanted.emplace_back(station::WriteLine{
      line,
      encode_link_frame(
          {.kind = LinkKind::kRequest, .id = id, .nonce = nonce(now), .body = send.body}),
      {}});
}

void LinkStation::send_datagram(const StationNow& now, const std::string& id, Send& one,
                                Wants& wanted) {
  one.again = now.instant.boot + kDatagramAgain;
  listen(wanted);
  send(now, datagram_line_, id, one, wanted);
  std::get<station::WriteLine>(wanted.back()).to = datagram_address(one.machine);
}

void LinkStation::took(const StationNow& now, const station::LineTook& took, Wants& wanted) {
  const auto found = lines_.find(took.line.value());
  if (found == lines_.end()) return;
  found->second.heard = now.instant.boot;
  if (!took.from.empty()) {
    const LinkTaken taken = take_link_frame(took.bytes);
    if (taken.how == LinkTaken::How::kFrame && taken.bytes == took.bytes.size())
      take_frame(now, took.line, took.from, taken.frame, wanted);
    return;
  }
  std::string bytes = std::exchange(found->second.in, {});
  bytes.append(took.bytes);
  std::string_view rest = bytes;
  for (;;) {
    const LinkTaken taken = take_link_frame(rest);
    if (taken.how == LinkTaken::How::kNonsense) return hang_up(took.line, wanted);
    if (taken.how == LinkTaken::How::kMore) break;
    take_frame(now, took.line, {}, taken.frame, wanted);
    rest.remove_prefix(taken.bytes);
  }
  found->second.in = rest;
}

void LinkStation::take_frame(const StationNow& now, LineId line, std::string_view from,
                             const LinkFrame& frame, Wants& wanted) {
  const std::string id(frame.id);
  if (frame.kind != LinkKind::kRequest) {
    const auto sent = sends_.find(id);
    if (sent != sends_.end()) {
      if (frame.kind == LinkKind::kProof && sent->second.until_done) return;
      ++(frame.kind == LinkKind::kProof ? proofs_ : dones_);
      return end(id, {.status = 200}, wanted);
    }
    const auto late = given_up_.find(id);
    if (late == given_up_.end() || frame.kind == LinkKind::kDone) return;
    ++late_proofs_;
    wanted.emplace_back(station::Post{{}, ReceiptArrived{late->second, On::kConfirmed, {}}});
    return;
  }
  const Asked asked{.id = id, .line = line, .from = std::string(from)};
  if (bug_ == LinkBug::kProofBeforeCommit) answer(now, LinkKind::kProof, asked, wanted);
  // It is on its way to the store already, or too much is: then it is not proven, and comes again.
  if (asked_ids_.contains(id) || asked_.size() >= kAskedMax) return;
  asked_ids_.insert(id);
  const Token token =
      bug_ == LinkBug::kTokenUsedTwice && last_token_ % 8 == 7 ? Token(last_token_) : next_token();
  asked_[token.value()] = asked;
  Arrived arrived;
  arrived.caller.key = {.kind = OperationKey::Kind::kOpaque,
                        .scope = std::string(kLinkProfile),
                        .key = id,
                        .made = {},
                        .sequence = 0};
  arrived.profile = kLinkProfile;
  const bool apart = bug_ == LinkBug::kCardInAnotherCommit;
  arrived.source = {.origin = "link",
                    .kind = std::string(apart ? kLinkUncounted : kLinkRequest),
                    .format = "raw"};
  arrived.bytes = id + " " + std::string(frame.body);
  if (!apart) return void(wanted.emplace_back(station::Post{token, std::move(arrived)}));
  Arrived count = arrived;
  count.source.kind = kLinkCount;
  count.caller.key.key += "-count";
  wanted.emplace_back(station::Post{token, std::move(arrived)});
  wanted.emplace_back(station::Post{{}, std::move(count)});
}

void LinkStation::told(const StationNow& now, const station::Told& told, Wants& wanted) {
  if (const auto* page = std::get_if<CardPage>(&told.answer.view)) {
    counted_ = 0;
    for (const Card& card : page->cards) {
      std::uint64_t number = 0;
      std::from_chars(card.bytes.data(), card.bytes.data() + card.bytes.size(), number);
      counted_ += number;
    }
    return;
  }
  const AnswerCode code = told.answer.code;
  if (const auto over = awaited_.extract(told.token.value()); !over.empty()) {
    const Awaited& awaited = over.mapped();
    awaited_ids_.erase(awaited.asked.id);
    if (code == AnswerCode::kDone) return answer(now, LinkKind::kDone, awaited.asked, wanted);
    if (code == AnswerCode::kPending) await(awaited.asked, awaited.message, wanted);
    return;  // its far side asks again
  }
  const auto found = asked_.find(told.token.value());
  if (found == asked_.end()) return;
  const Asked asked = std::move(found->second);
  asked_.erase(found);
  asked_ids_.erase(asked.id);
  if (code != AnswerCode::kAccepted && code != AnswerCode::kDone && code != AnswerCode::kNothing)
    return;
  answer(now, LinkKind::kProof, asked, wanted);
  if (told.answer.id.is_set()) await(asked, told.answer.id, wanted);
}

// When the application has confirmed it, the far side hears of that.
void LinkStation::await(const Asked& asked, MessageId message, Wants& wanted) {
  if (!lines_.contains(asked.line.value()) || awaited_.size() >= kAwaitedMax) return;
  if (!awaited_ids_.insert(asked.id).second) {  // it asked again, perhaps by another line
    for (auto& [token, awaited] : awaited_) {
      if (awaited.asked.id == asked.id) awaited.asked = asked;
    }
    return;
  }
  Await event;
  event.id = message;
  event.at_most = kAwaitFor;
  const Token token = next_token();
  awaited_[token.value()] = {asked, message};
  wanted.emplace_back(station::Post{token, std::move(event)});
}

void LinkStation::answer(const StationNow& now, LinkKind kind, const Asked& asked, Wants& wanted) {
  if (!lines_.contains(asked.line.value())) {
    if (bug_ != LinkBug::kLineUsedAfterEnd) return;  // its far side will ask again
  }
  wanted.emplace_back(station::WriteLine{
      asked.line,
      encode_link_frame({.kind = kind, .id = asked.id, .nonce = nonce(now), .body = {}}),
      asked.from});
}

void LinkStation::end(const std::string& id, WireReply reply, Wants& wanted) {
  const auto found = sends_.find(id);
  wanted.emplace_back(station::Post{{}, AttemptEnded{found->second.attempt, std::move(reply)}});
  messages_.erase(id);
  sends_.erase(found);
}

void LinkStation::closed(LineId line, Wants& wanted) {
  const auto found = lines_.extract(line.value());
  if (found.empty()) return;
  if (line == stream_listener_) stream_listener_ = {};
  if (line == datagram_line_) datagram_line_ = {};
  const std::string machine = found.mapped().machine;
  if (machine.empty()) return;
  std::vector<std::pair<std::string, bool>> over;
  for (const auto& [id, one] : sends_) {
    if (!one.datagrams && one.machine == machine) over.emplace_back(id, one.sent);
  }
  for (const auto& [id, sent] : over)
    end(id, {.end = sent ? WireEnd::kReset : WireEnd::kRefused}, wanted);
}

void LinkStation::hang_up(LineId line, Wants& wanted) {
  wanted.emplace_back(station::CloseLine{line});
  closed(line, wanted);
}

void LinkStation::deadline(const StationNow& now, Wants& wanted) {
  for (auto& [id, one] : sends_) {
    if (one.datagrams && one.again <= now.instant.boot) send_datagram(now, id, one, wanted);
  }
  std::vector<LineId> silent;
  for (const auto& [number, line] : lines_) {
    if (!line.machine.empty() && line.heard + kSilence <= now.instant.boot)
      silent.emplace_back(number);
  }
  for (const LineId line : silent) hang_up(line, wanted);
}

std::optional<Timestamp> LinkStation::next_deadline() const {
  std::optional<Timestamp> next;
  const auto not_after = [&next](Timestamp at) { next = next ? std::min(*next, at) : at; };
  for (const auto& [id, one] : sends_) {
    if (one.datagrams) not_after(one.again);
  }
  for (const auto& [number, line] : lines_) {
    if (!line.machine.empty()) not_after(line.heard + kSilence);
  }
  return next;
}

void LinkStation::tell(StationFigures& figures) const {
  figures.push_back({"link requests", requests_});
  figures.push_back({"link proofs", proofs_});
  figures.push_back({"link ends that were told", dones_});
  figures.push_back({"link arrivals counted before", counted_});
  figures.push_back({"link proofs that came late", late_proofs_});
}

}  // namespace postrider::sim
