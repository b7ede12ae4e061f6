#include "tests/support/scenario/peer.h"

#include <optional>
#include <utility>

namespace postrider::scenario {
namespace {

std::optional<WireEnd> parse_end(std::string_view verb) {
  if (verb == "refuses") return WireEnd::kRefused;
  if (verb == "resets") return WireEnd::kReset;
  if (verb == "times-out") return WireEnd::kTimedOut;
  if (verb == "no-name") return WireEnd::kNoName;
  if (verb == "no-tls") return WireEnd::kNoTls;
  if (verb == "forbidden") return WireEnd::kForbidden;
  if (verb == "no-login") return WireEnd::kNoLogin;
  if (verb == "held-back") return WireEnd::kHeldBack;
  return std::nullopt;
}

std::string_view end_name(WireEnd end) {
  switch (end) {
    case WireEnd::kAnswered: return "answered";
    case WireEnd::kRefused: return "connection refused";
    case WireEnd::kNoName: return "no such name";
    case WireEnd::kNoTls: return "no trust";
    case WireEnd::kForbidden: return "forbidden address";
    case WireEnd::kNoLogin: return "no login";
    case WireEnd::kHeldBack: return "held back";
    case WireEnd::kTimedOut: return "no answer in time";
    case WireEnd::kReset: return "connection reset";
  }
  return "?";
}

}  // namespace

Behaviour Peer::parse(Words& words, const std::string& verb) {
  Behaviour behaviour;
  if (const auto after = words.duration("after")) behaviour.after = *after;
  behaviour.regardless = words.flag("regardless");
  behaviour.silent = verb == "silent";
  if (behaviour.silent) return behaviour;
  if (const auto end = parse_end(verb)) {
    behaviour.reply.end = *end;
    behaviour.reply.status = 0;
    behaviour.at_time_out = *end == WireEnd::kTimedOut;
    return behaviour;
  }
  if (verb != "answers") {
    words.complain("the peer cannot '" + verb + "'");
    return behaviour;
  }
  if (const auto wish = words.option("retry-after")) {
    behaviour.reply.headers.emplace_back("retry-after", *wish);
  }
  behaviour.reply.status = static_cast<int>(words.to_number(words.next("a status")));
  return behaviour;
}

void Peer::instruct(Words& words, const std::map<std::string, int>& destinations) {
  std::string verb = words.next("what the peer does");
  if (verb == "shows-requests") {
    shows_requests_ = true;
    return;
  }
  std::string destination;
  if (destinations.contains(verb))
    destination = std::exchange(verb, words.next("what the peer does"));
  const bool once = verb == "next";
  if (once) verb = words.next("what the peer does");
  const Behaviour behaviour = parse(words, verb);
  if (words.complaint()) return;
  if (once) {
    next_.push_back(behaviour);
  } else if (destination.empty()) {
    standing_ = behaviour;
    of_destination_.clear();
  } else {
    of_destination_[destination] = behaviour;
  }
}

Behaviour Peer::meet(const std::string& destination) {
  if (!next_.empty()) {
    Behaviour behaviour = next_.front();
    next_.pop_front();
    return behaviour;
  }
  const auto own = of_destination_.find(destination);
  return own == of_destination_.end() ? standing_ : own->second;
}

std::string Peer::show(const WireReply& reply) {
  if (reply.end != WireEnd::kAnswered) return std::string(end_name(reply.end));
  std::string out = "HTTP " + std::to_string(reply.status);
  if (const std::string* wish = find_text(reply.headers, "retry-after"))
    out += ", retry-after " + *wish;
  return out;
}

}  // namespace postrider::scenario
