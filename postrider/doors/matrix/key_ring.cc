#include "postrider/doors/matrix/key_ring.h"

#include <algorithm>
#include <utility>

namespace postrider::matrix_door {
namespace {

constexpr Duration kMinute{60'000};

bool has_key(const matrix::ServerKeys& keys, const std::string& id) {
  return std::any_of(keys.keys.begin(), keys.keys.end(),
                     [&](const matrix::VerifyKey& key) { return key.id == id; });
}

}  // namespace

KeyRing::KeyRing(const Clock& clock, Fetch fetch, KeyRingLimits limits)
    : clock_(clock), fetch_(std::move(fetch)), limits_(limits) {}

void KeyRing::find(const std::string& server, const std::string& key_id, Found found) {
  const Instant now = clock_.read();
  const auto known = entries_.find(server);
  if (known != entries_.end()) {
    Entry& entry = known->second;
    if (entry.keys.valid_until <= now.wall) entry.keys.keys.clear();
    if (has_key(entry.keys, key_id)) return found(entry.keys.keys);
    if (entry.fetching) {
      if (entry.waiting.size() < limits_.waiting_max)
        return entry.waiting.push_back(std::move(found));
      ++counts_.held_back;
      return found({});
    }
    if (!may_fetch(entry)) return found(entry.keys.keys);
  } else if (!may_fetch({})) {
    return found({});
  }
  if (known == entries_.end()) make_room();
  Entry& entry = entries_[server];
  entry.fetching = true;
  entry.fetched = now.boot;
  entry.waiting.push_back(std::move(found));
  ++fetching_;
  ++this_minute_;
  ++counts_.fetches;
  fetch_(server, [this, server, alive = std::weak_ptr(alive_)](const Result<std::string>& body) {
    if (!alive.expired()) fetched(server, body);
  });
}

bool KeyRing::may_fetch(const Entry& entry) {
  const Timestamp now = clock_.read().boot;
  if (!minute_.is_set() || now - minute_ >= kMinute) {
    minute_ = now;
    this_minute_ = 0;
  }
  const bool just_now = entry.fetched.is_set() && now - entry.fetched < limits_.server_pause;
  const bool may =
      !just_now && fetching_ < limits_.fetches_max && this_minute_ < limits_.fetches_per_minute;
  if (!may) ++counts_.held_back;
  return may;
}

void KeyRing::fetched(const std::string& server, const Result<std::string>& body) {
  Entry& entry = entries_[server];
  entry.fetching = false;
  --fetching_;
  Result<matrix::ServerKeys> keys = fail(ErrorCode::kUnavailable, "no answer");
  if (body) keys = matrix::read_key_object(*body, server, clock_.read().wall);
  if (keys) {
    entry.keys = std::move(*keys);
  } else {
    ++counts_.failures;  // those that we have hold on until their time is over
  }
  const std::vector<matrix::VerifyKey> found = entry.keys.keys;
  for (const Found& waiting : std::exchange(entry.waiting, {})) waiting(found);
}

// The one that was fetched longest ago goes.
void KeyRing::make_room() {
  if (entries_.size() < limits_.servers_max) return;
  auto oldest = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->second.fetching) continue;
    if (oldest == entries_.end() || entry->second.fetched < oldest->second.fetched) oldest = entry;
  }
  if (oldest != entries_.end()) entries_.erase(oldest);
}

}  // namespace postrider::matrix_door
