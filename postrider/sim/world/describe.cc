#include "postrider/sim/world/describe.h"

#include <array>

#include "postrider/model/destination.h"
#include "postrider/model/id_address.h"
#include "postrider/model/message.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"

namespace postrider::sim {
namespace {

std::string words(std::string_view name, std::initializer_list<std::int64_t> numbers) {
  std::string out(name);
  for (const std::int64_t number : numbers) out += " " + std::to_string(number);
  return out;
}

std::string describe_key(std::string_view key) {
  std::string out(1, key.empty() ? '?' : key[0]);
  if (const auto hot = keys::parse_hot(key)) {
    return out + " " + to_string(MessageId{0, hot->sequence.value()}).substr(16) +
           (hot->part == keys::Part::kState ? " state" : " message");
  }
  if (const auto cold = keys::parse_cold(key))
    return out + " " + to_string(cold->id) +
           (cold->part == keys::Part::kState ? " state" : " message");
  if (const auto due = keys::parse_due(key))
    return words(out + " " + to_string(due->id), {due->at.ms(), static_cast<int>(due->kind)});
  if (const auto parked = keys::parse_parked(key)) return out + " " + to_string(*parked);
  if (key.size() == 9) {
    const auto destination = keys::parse_destination(key);
    if (destination)
      return out + " " + to_string(MessageId{destination->value() << 20, 0}).substr(0, 11);
  }
  return out;
}

std::string describe_value(std::string_view key, const Blob& value) {
  const bool is_state =
      (keys::parse_hot(key) && keys::parse_hot(key)->part == keys::Part::kState) ||
      (keys::parse_cold(key) && keys::parse_cold(key)->part == keys::Part::kState);
  if (is_state) {
    const auto stored = decode_state(value.view());
    if (!stored) return " unreadable";
    const State& state = stored->state;
    return words(
        " state/method/attempts/since/due/first/failure/cancel",
        {state.state, state.method, state.attempts, state.since.ms(), state.due.ms(),
         state.first_attempt.ms(), static_cast<int>(state.failure), state.cancel_wanted ? 1 : 0});
  }
  if (key[0] == keys::kRoute) {
    const auto route = decode_route(value.view());
    if (!route) return " unreadable";
    return " " + std::string(name_of(route->health)) +
           words(
               " strikes/waits/closed/since",
               {route->strikes, route->waits, route->closed_until.ms(), route->health_since.ms()}) +
           " " + route->reason;
  }
  if (key[0] == keys::kOwed) {
    const auto owed = decode_owed(value.view());
    std::string out;
    for (std::size_t i = 0; owed && i < owed->heads.size(); ++i) {
      if (owed->heads[i].is_set()) out += " " + std::to_string(i) + ":" + to_string(owed->heads[i]);
    }
    return out;
  }
  if (key[0] == keys::kEnd) {
    const auto end = decode_end(value.view());
    return end ? " " + to_string(end->id) + " " + std::string(name_of(end->phase)) + " " +
                     end->reason
               : " unreadable";
  }
  return {};
}

}  // namespace

std::string describe(const Write& write) {
  constexpr std::array<std::string_view, 5> kKinds = {"put-once", "remove-once", "put", "remove",
                                                      "remove-range"};
  std::string out(kKinds[static_cast<std::size_t>(write.kind)]);
  out += " " + describe_key(write.key);
  const bool puts = write.kind == Write::Kind::kPut || write.kind == Write::Kind::kPutOnce;
  return puts ? out + describe_value(write.key, write.value) : out;
}

std::string describe(const Event& event) {
  constexpr std::array<std::string_view, std::variant_size_v<Event>> kNames = {
      "submit",    "cancel",    "retry-now",    "redrive",      "drop",          "configure",
      "pause",     "resume",    "wake",         "start-job",    "cancel-job",    "put-hold",
      "drop-hold", "fan-out",   "change-group", "attempt-news", "attempt-ended", "receipt",
      "arrived",   "peer-seen", "timers-due",   "ask",          "chore"};
  std::string out(kNames[event.index()]);
  std::visit(
      [&out](const auto& one) {
        if constexpr (requires { one.caller.key; }) {
          if (one.caller.key.kind != OperationKey::Kind::kNone) out += " key " + one.caller.key.key;
        }
        if constexpr (requires { one.id; }) out += " " + to_string(one.id);
        if constexpr (requires { one.attempt; })
          out += " attempt " + std::to_string(one.attempt.value());
        if constexpr (requires { one.signal; }) out += " " + std::string(name_of(one.signal));
        if constexpr (requires { one.reply.status; }) {
          out += words(" end/status", {static_cast<int>(one.reply.end), one.reply.status});
          for (const NamedText& header : one.reply.headers)
            out += " " + header.first + "=" + header.second;
        }
        if constexpr (requires {
                        one.lane;
                        one.body;
                        one.expires;
                        one.destination;
                      }) {
          out += words(" to " + one.destination + " lane/priority/not-before/expires",
                       {one.lane, one.priority, one.not_before.ms(), one.expires.ms()});
        } else if constexpr (requires { std::string(one.destination); }) {
          out += " " + one.destination;
        }
        if constexpr (requires { one.destinations; }) {
          for (const std::string& name : one.destinations) out += " " + name;
        }
        if constexpr (requires { one.config.settings; }) {
          out += " " + one.config.name +
                 (one.config.draining  ? " drained"
                  : one.config.removed ? " removed"
                                       : "");
          for (const NamedText& setting : one.config.settings)
            out += " " + setting.first + "=" + setting.second;
        }
      },
      event);
  return out;
}

}  // namespace postrider::sim
