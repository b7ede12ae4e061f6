#include "tests/crash/books.h"

#include <chrono>
#include <cstdlib>
#include <utility>

namespace postrider::crash {
namespace {

constexpr std::size_t kPagesMax = 10'000;
constexpr std::chrono::seconds kEventsMax(30);

std::uint64_t sample(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? UINT64_MAX
                                 : std::strtoull(text.c_str() + at + name.size() + 2, nullptr, 10);
}

}  // namespace

std::string to_text(const Counters& it) {
  return "accepted " + std::to_string(it.accepted) + " = delivered " +
         std::to_string(it.delivered) + " + dead " + std::to_string(it.dead) + " + expired " +
         std::to_string(it.expired) + " + cancelled " + std::to_string(it.cancelled) +
         " + indeterminate " + std::to_string(it.indeterminate) + " + live " +
         std::to_string(it.live());
}

std::optional<HttpAnswer> Books::get(const std::string& address, const std::string& path) {
  HttpConnection connection;
  std::optional<HttpAnswer> answer;
  if (connection.open(address)) answer = connection.ask({.method = "GET", .path = path});
  if (!answer) {
    why_ = path + " was not answered";
  } else if (answer->status != 200) {
    why_ = path + " was answered with " + std::to_string(answer->status) + ": " + answer->body;
  }
  return answer;
}

std::optional<Counters> Books::stats(const std::string& address) {
  const auto answer = get(address, "/v1/stats");
  if (!answer || answer->status != 200) return std::nullopt;
  Counters out;
  out.accepted = number_member(answer->body, "accepted");
  out.delivered = number_member(answer->body, "delivered");
  out.dead = number_member(answer->body, "dead");
  out.expired = number_member(answer->body, "expired");
  out.cancelled = number_member(answer->body, "cancelled");
  out.indeterminate = number_member(answer->body, "indeterminate");
  if (number_member(answer->body, "live") == out.live()) return out;
  why_ = "the counters of /v1/stats do not add up: " + answer->body;
  return std::nullopt;
}

std::optional<Counters> Books::metrics(const std::string& address) {
  const auto answer = get(address, "/metrics");
  if (!answer || answer->status != 200) return std::nullopt;
  const auto ended = [&](const std::string& how) {
    return sample(answer->body, "postrider_messages_ended_total{end=\"" + how + "\"}");
  };
  Counters out;
  out.accepted = sample(answer->body, "postrider_messages_accepted_total");
  out.delivered = ended("delivered");
  out.dead = ended("dead");
  out.expired = ended("expired");
  out.cancelled = ended("cancelled");
  out.indeterminate = ended("indeterminate");
  if (sample(answer->body, "postrider_messages_live") == out.live()) return out;
  why_ = "the counters of /metrics do not add up: " + to_text(out);
  return std::nullopt;
}

std::optional<std::unordered_set<PublicId>> Books::living(const std::string& address) {
  std::unordered_set<PublicId> out;
  std::string cursor;
  for (std::size_t page = 0; page < kPagesMax; ++page) {
    const auto answer =
        get(address, "/v1/messages?limit=1000" + (cursor.empty() ? "" : "&cursor=" + cursor));
    if (!answer || answer->status != 200) return std::nullopt;
    const std::string& body = answer->body;
    for (std::size_t at = 0; (at = body.find("{\"id\":\"", at)) != std::string::npos; ++at) {
      if (const auto id = parse_public_id(std::string_view(body).substr(at + 7, 32)))
        out.insert(*id);
    }
    const std::size_t next = body.rfind("],\"next\":\"");
    if (next == std::string::npos) return out;
    cursor = member(std::string_view(body).substr(next), "next");
  }
  why_ = "/v1/messages has no end";
  return std::nullopt;
}

std::optional<int> Books::explain(const std::string& address, PublicId id) {
  const auto answer = get(address, "/v1/messages/" + to_string(id) + "/explain");
  if (!answer) return std::nullopt;
  return answer->status;
}

bool Books::read_events(const std::string& address, std::uint64_t ends_wanted,
                        const Receiver& receiver) {
  if (ends_.size() >= ends_wanted) return true;
  HttpConnection connection;
  const std::string headers =
      position_.empty() ? std::string() : "last-event-id: " + position_ + "\r\n";
  if (!connection.open(address) ||
      !connection.send({.method = "GET", .path = "/v1/events?from=start", .headers = headers})) {
    why_ = "/v1/events cannot be reached";
    return false;
  }
  const auto head = connection.read_head();
  std::string text;
  // Heartbeats come for ever: silence is told by our own clock.
  const auto until = std::chrono::steady_clock::now() + kEventsMax;
  while (head && head->status == 200 && std::chrono::steady_clock::now() < until &&
         connection.read_piece(text)) {
    for (std::size_t end = 0; (end = text.find("\n\n")) != std::string::npos;) {
      take_event(std::string_view(text).substr(0, end + 1), receiver.size());
      text.erase(0, end + 2);
    }
    if (ends_.size() >= ends_wanted) return true;
  }
  why_ = "/v1/events told " + std::to_string(ends_.size()) + " ends and then nothing more, but " +
         std::to_string(ends_wanted) + " are counted";
  return false;
}

void Books::take_event(std::string_view event, std::size_t arrivals) {
  constexpr std::string_view kId = "id: ";
  if (event.starts_with(kId)) position_ = event.substr(kId.size(), event.find('\n') - kId.size());
  if (event.find("event: end\n") == std::string_view::npos) return;
  const std::string_view data = event.substr(event.find("data: "));
  const auto id = parse_public_id(member(data, "id"));
  if (!id) {
    complaints_.push_back("event: this end is nobody's: " + std::string(data));
    return;
  }
  End end{.phase = member(data, "phase"),
          .cause = member(data, "cause"),
          .reason = member(data, "reason"),
          .arrivals = arrivals};
  const auto [place, is_new] = ends_.emplace(*id, end);
  if (is_new) return;
  complaints_.push_back("ended twice: " + to_string(*id) + " " + place->second.phase + ", then " +
                        end.phase);
}

}  // namespace postrider::crash
