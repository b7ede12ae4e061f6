#include "postrider/sim/fields/matrix/receiver.h"

#include <utility>

#include "postrider/base/hash.h"
#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/matrix/x_matrix.h"

namespace postrider::sim {
namespace {

constexpr std::string_view kSendPrefix = "/_matrix/federation/v1/send/";

std::string error_body(std::string_view errcode, std::string_view error) {
  std::string out = "{\"errcode\":";
  matrix::append_quoted(out, errcode);
  matrix::append_quoted(out.append(",\"error\":"), error);
  return out.append("}");
}

}  // namespace

Receiver::Receiver(ReceiverOptions options, Rng rng) : options_(std::move(options)), rng_(rng) {}

void Receiver::reply(Timestamp at, ReceiverReply its) { replies_.emplace(at, std::move(its)); }

std::optional<Timestamp> Receiver::next() const {
  std::optional<Timestamp> found;
  if (!replies_.empty()) found = replies_.begin()->first;
  if (!finishing_.empty() && (!found || finishing_.begin()->first < *found))
    found = finishing_.begin()->first;
  return found;
}

std::vector<ReceiverReply> Receiver::due(Timestamp now) {
  while (!finishing_.empty() && finishing_.begin()->first <= now) {
    const auto [at, key] = *finishing_.begin();
    finishing_.erase(finishing_.begin());
    Remembered& it = remembered_.at(key);
    it.done = true;
    in_work_.erase(key.substr(0, key.find(' ')));
    for (const std::uint64_t ticket : std::exchange(it.waiting, {})) {
      const bool lost = chance(faults.lose_answers);
      reply(at, {.ticket = ticket, .cut = lost, .status = it.status, .body = it.body});
    }
    // Only a success is remembered: what failed is tried as if it were new.
    if (it.status != 200) remembered_.erase(key);
  }
  std::vector<ReceiverReply> out;
  while (!replies_.empty() && replies_.begin()->first <= now) {
    out.push_back(std::move(replies_.begin()->second));
    replies_.erase(replies_.begin());
  }
  return out;
}

void Receiver::forget(Timestamp now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const auto found = remembered_.find(ends_.begin()->second);
    if (found != remembered_.end() && found->second.done && found->second.until <= now)
      remembered_.erase(found);
    ends_.erase(ends_.begin());
  }
}

void Receiver::call(Timestamp now, const ReceiverCall& call) {
  ++counts_.requests;
  forget(now);
  const auto say = [&](int status, std::string body) {
    reply(now, {.ticket = call.ticket, .status = status, .body = std::move(body)});
  };
  const bool send = call.method == "PUT" && call.uri.starts_with(kSendPrefix) &&
                    call.uri.size() > kSendPrefix.size();
  if (!send) return say(404, error_body("M_UNRECOGNIZED", "Unrecognized request"));
  if (chance(faults.hang)) {
    ++counts_.hung;
    return;
  }
  if (chance(faults.fail)) {
    ++counts_.failed;
    return say(static_cast<int>(faults.fail_status), error_body("M_UNKNOWN", "a fault"));
  }
  if (call.authorization.empty()) {
    ++counts_.unauthorized;
    return say(401, error_body("M_UNAUTHORIZED", "Missing Authorization headers"));
  }
  const auto header = matrix::parse_x_matrix(call.authorization);
  if (!header) {
    ++counts_.malformed;
    return say(400, error_body("M_UNAUTHORIZED", "Malformed Authorization header"));
  }
  const std::string destination =
      options_.server_name.empty() ? header->destination.value_or("") : options_.server_name;
  matrix::Authentication how = matrix::Authentication::kValid;
  if (!options_.keys.empty()) {
    how = matrix::authenticate(*header,
                               {.method = call.method,
                                .uri = call.uri,
                                .origin = header->origin,
                                .destination = destination},
                               call.body, options_.keys);
  } else if (header->destination.value_or("") != destination) {
    how = matrix::Authentication::kWrongDestination;
  }
  if (how != matrix::Authentication::kValid) {
    ++(how == matrix::Authentication::kMalformed ? counts_.malformed : counts_.unauthorized);
    return say(matrix::status_of(how), error_body("M_UNAUTHORIZED", "Invalid signature"));
  }
  take_transaction(now, call, header->origin, call.uri.substr(kSendPrefix.size()));
}

void Receiver::take_transaction(Timestamp now, const ReceiverCall& call, const std::string& origin,
                                std::string_view id) {
  const std::string key = origin + " " + std::string(id);
  const std::uint64_t hash = hash64(call.body, 0);
  if (const auto found = remembered_.find(key); found != remembered_.end()) {
    ++counts_.repeats;
    if (found->second.hash != hash) ++counts_.changed;
    if (!found->second.done) return found->second.waiting.push_back(call.ticket);
    return reply(
        now, {.ticket = call.ticket, .status = found->second.status, .body = found->second.body});
  }
  if (in_work_.contains(origin)) {
    ++counts_.busy;
    return reply(now, {.ticket = call.ticket,
                       .status = 429,
                       .body = error_body("M_UNKNOWN", "Too many concurrent transactions")});
  }
  Outcome outcome = apply(call.body);
  const Timestamp done = now + Duration(faults.slow_ms);
  Remembered& it = remembered_[key];
  it.hash = hash;
  it.until = now + options_.memory;
  it.status = outcome.status;
  it.body = std::move(outcome.body);
  it.waiting.push_back(call.ticket);
  in_work_.emplace(origin, key);
  ends_.emplace(it.until, key);
  finishing_.emplace(done, key);
}

Receiver::Outcome Receiver::apply(std::string_view body) {
  const auto transaction = matrix::read_transaction(body, options_.limits);
  if (!transaction) {
    ++counts_.malformed;
    const bool counted = transaction.error().code == ErrorCode::kLimit;
    return {.status = 400,
            .body = counted ? "{}" : error_body("M_BAD_JSON", transaction.error().detail)};
  }
  for (const matrix::TransactionItem& unit : transaction->edus) {
    const bool poison =
        !options_.poison.empty() && unit.bytes.find(options_.poison) != std::string_view::npos;
    if (!poison && unit.fault == matrix::ItemFault::kNone) continue;
    ++counts_.poisoned;
    return {.status = 500, .body = error_body("M_UNKNOWN", "Error handing EDU of type")};
  }
  for (const matrix::TransactionItem& event : transaction->pdus) apply_event(event.bytes);
  for (const matrix::TransactionItem& unit : transaction->edus) apply_unit(unit.bytes);
  ++counts_.transactions;
  return {.status = 200, .body = R"({"pdus":{}})", .applied = true};
}

void Receiver::apply_event(std::string_view event) {
  ++counts_.events;
  const std::vector<std::string> ids = matrix::event_ids(event);
  const auto facts = matrix::read_event(event);
  if (ids.empty() || !facts) return;
  count_item(ids.front(), facts->room_id);
}

// Of units only messages to devices must not be applied twice.
void Receiver::apply_unit(std::string_view unit) {
  ++counts_.units;
  matrix::JsonDocument document;
  if (!document.parse(unit, matrix::kItemLimits)) return;
  const matrix::JsonValue root = document.root();
  const auto content = matrix::object_of(root, "content");
  if (!content || matrix::text_of(root, "edu_type").value_or("") != "m.direct_to_device") return;
  count_item(matrix::text_of(*content, "sender").value_or("") + " " +
                 matrix::text_of(*content, "message_id").value_or(""),
             "");
}

void Receiver::count_item(std::string id, std::string room) {
  const auto [place, fresh] = places_.try_emplace(id, applied_.size());
  if (fresh && applied_.size() >= options_.items_max) {
    places_.erase(place);
    return;
  }
  if (fresh) applied_.push_back({.id = std::move(id), .room = std::move(room), .times = 0});
  if (++applied_[place->second].times == 2) ++counts_.doubled;
}

}  // namespace postrider::sim
