// Feeds what a wire may hand in to Stations and the station of the drill: any bytes in any pieces,
// from any line, between starts, aborts, answers, new epochs and ends. The station keeps its
// contract whatever comes: no line or token is used after its end, each start has at most one end,
// and nothing is proven before it was answered. Addresses of lines and identities are read too.
//
// The first byte chooses: an address, an identity, or steps. A step is a byte that says what
// happens, a byte with the number of a line, and for bytes a length and those.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/shard/stations.h"
#include "postrider/sim/fields/drill/link_profile.h"
#include "postrider/sim/fields/drill/link_station.h"
#include "postrider/transports/wire/line_address.h"
#include "postrider/transports/wire/line_tls.h"

namespace postrider {
namespace {

class FuzzWire final : public Wire {
 public:
  void open(LineId line, LineOrder order) override {
    POSTRIDER_CHECK(open_lines.insert(line.value()).second);
    if (order.listens && order.address.starts_with("tcp")) listener = line;
    if (order.listens && order.address.starts_with("udp")) datagrams = line;
  }
  void write(LineId line, std::string bytes, std::string_view /*to*/) override {
    POSTRIDER_CHECK(open_lines.contains(line.value()));
    const sim::LinkTaken taken = sim::take_link_frame(bytes);
    POSTRIDER_CHECK(taken.how == sim::LinkTaken::How::kFrame);
    if (taken.frame.kind == sim::LinkKind::kProof)
      POSTRIDER_CHECK(durable.contains(std::string(taken.frame.id)));
  }
  void hold(LineId line, bool /*held*/) override {
    POSTRIDER_CHECK(open_lines.contains(line.value()));
  }
  void close(LineId line) override { POSTRIDER_CHECK(open_lines.erase(line.value()) == 1); }

  std::set<std::uint64_t> open_lines;
  std::set<std::string> durable;  // ids that the shard has answered for
  LineId listener;
  LineId datagrams;
};

class FuzzDoor final : public StationDoor {
 public:
  std::optional<AnswerCode> post(Ticket ticket, Event event) override {
    if (busy) return AnswerCode::kBusy;
    if (const auto* arrived = std::get_if<Arrived>(&event))
      waiting[ticket.value()] = arrived->caller.key.key;
    return std::nullopt;
  }
  void attempt_ended(AttemptId attempt, WireReply /*reply*/) override {
    POSTRIDER_CHECK(started.erase(attempt.value()) == 1);
  }
  void start_exchange(AttemptId /*exchange*/, WireRequest /*request*/) override {}
  void abort_exchange(AttemptId /*exchange*/) override {}
  void misused(std::string_view /*verb*/, std::string what) override {
    check_failed(what.c_str(), __FILE__, __LINE__);
  }
  bool busy = false;
  std::map<std::uint64_t, std::string> waiting;  // ticket to id
  std::set<std::uint64_t> started;
};

class FuzzSteps {
 public:
  explicit FuzzSteps(std::string_view bytes) : bytes_(bytes) {
    stations_.add(std::make_unique<sim::LinkStation>("a", sim::LinkBug::kNone));
    new_epoch();
  }
  void run() {
    while (!bytes_.empty()) step(byte(), byte());
    stations_.drop(sim::kLinkVerb);
    POSTRIDER_CHECK(door_.started.empty() && stations_.open_attempts() == 0);
    POSTRIDER_CHECK(wire_.open_lines.empty() && stations_.figures().misuses == 0);
  }

 private:
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto out = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return out;
  }
  std::string_view piece() {
    const std::string_view out = bytes_.substr(0, byte());
    bytes_.remove_prefix(std::min(out.size(), bytes_.size()));
    return out;
  }
  LineId line(std::uint8_t number) const {
    if (wire_.open_lines.empty()) return {};
    auto at = wire_.open_lines.begin();
    std::advance(at, number % wire_.open_lines.size());
    return LineId(*at);
  }
  void new_epoch() {
    door_.waiting.clear();
    door_.started.clear();
    stations_.new_epoch(Epoch(++epochs_));
    stations_.run(now_);
  }
  void start(std::uint8_t number) {
    WireRequest request;
    request.verb = sim::kLinkVerb;
    request.target = number % 3 == 0 ? std::string(sim::kLinkApplication) : "b";
    request.headers.add("way", number % 2 == 0 ? "datagrams" : "stream");
    request.headers.add("id", std::string(31, '0') + "0123456789abcdef"[number % 16]);
    request.time_out = Duration(number);
    door_.started.insert(++attempts_);
    Action action = StartAttempt{AttemptId(attempts_), {}, std::move(request)};
    POSTRIDER_CHECK(stations_.offer(action, now_));
  }
  void answer(std::uint8_t number) {
    if (door_.waiting.empty()) return;
    auto at = door_.waiting.begin();
    std::advance(at, number % door_.waiting.size());
    Answer answer;
    answer.code = number % 4 == 0 ? AnswerCode::kInvalid : AnswerCode::kDone;
    if (answer.code == AnswerCode::kDone) wire_.durable.insert(at->second);
    Action action = Reply{Ticket(at->first), std::move(answer)};
    door_.waiting.erase(at);
    POSTRIDER_CHECK(stations_.offer(action, now_));
  }
  void step(std::uint8_t what, std::uint8_t number) {
    const LineId chosen = line(number);
    switch (what % 12) {
      case 0:
      case 1:
      case 2:
        if (!chosen.is_set()) return;
        return stations_.line(
            now_, station::LineTook{chosen, piece(), chosen == wire_.datagrams ? "far" : ""});
      case 3:
        if (!chosen.is_set() || chosen == wire_.listener) return;
        wire_.open_lines.erase(chosen.value());
        return stations_.line(now_, station::LineClosed{chosen, LineEnd::kLost, {}});
      case 4:
        if (!wire_.open_lines.contains(wire_.listener.value())) return;
        wire_.open_lines.insert(kAcceptedLine | ++accepted_);
        return stations_.line(
            now_, station::LineOpened{LineId(kAcceptedLine | accepted_), wire_.listener, "far"});
      case 5:
        if (chosen.is_set()) stations_.line(now_, station::LineOpened{chosen, {}, "far"});
        return;
      case 6: return start(number);
      case 7: return answer(number);
      case 8: now_.boot = now_.boot + Duration(number * 100); break;
      case 9: door_.busy = number % 2 == 0; return;
      case 10: {
        if (door_.started.empty()) return;
        const std::uint64_t attempt = *door_.started.begin();
        door_.started.erase(attempt);
        Action action = AbortAttempt{AttemptId(attempt)};
        POSTRIDER_CHECK(stations_.offer(action, now_));
        return;
      }
      case 11:
        if (number % 8 == 0) return new_epoch();
        break;
    }
    stations_.run(now_);
  }

  std::string_view bytes_;
  Instant now_{Timestamp(1'000), Timestamp(1'000)};
  FuzzWire wire_;
  FuzzDoor door_;
  std::uint8_t seeds_ = 0;
  Stations stations_{{.lines = {.lines_max = 16}, .posts_max = 8, .wants_max = 64},
                     [this] {
                       EntropySeed seed{};
                       seed[0] = ++seeds_;
                       return seed;
                     },
                     wire_,
                     door_};
  std::uint64_t epochs_ = 0;
  std::uint64_t attempts_ = 0;
  std::uint64_t accepted_ = 0;
};

void read_address(std::string_view text) {
  if (const auto address = parse_line_address(text)) {
    POSTRIDER_CHECK(address->path.size() <= kUnixPathBytesMax);
    POSTRIDER_CHECK(address->kind == LineAddress::Kind::kUnix ||
                    address->host.kind != HostKind::kNonsense);
  }
  if (const auto endpoint = parse_line_endpoint(text))
    POSTRIDER_CHECK(parse_line_endpoint(to_string(*endpoint)) == endpoint);
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0: postrider::read_address(bytes); break;
    case 1:
      if (const auto identity = postrider::read_line_identity(bytes))
        POSTRIDER_CHECK(identity->key != nullptr && !identity->chain.empty());
      break;
    default: postrider::FuzzSteps(bytes).run(); break;
  }
  return 0;
}
