// RecordAudit: what the records of one store must say about each other between any two events,
// whatever happened before. A restart believes them, so a record that is left over or missing is a
// message that is sent twice, late or never.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "postrider/model/destination.h"
#include "postrider/model/id_address.h"
#include "postrider/model/message.h"
#include "postrider/model/profile.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"

namespace postrider {

class RecordAudit {
 public:
  using Contents = std::map<std::string, std::string>;
  struct Live {
    Message message;
    bool hot = false;
    std::optional<State> state = {};  // as its record says
    StateIndex index = 0;             // by that, or the one in which messages begin
    const StateRow* row = nullptr;
    bool durable_intent = false;
    bool waits_until(Timestamp now) const {
      const bool may = row->phase == Phase::kBackoff || row->phase == Phase::kQueued;
      return state && may && state->due > now;
    }
  };

  RecordAudit(Contents contents, std::vector<const ProfileSpec*> profiles, Timestamp now)
      : contents_(std::move(contents)), profiles_(std::move(profiles)), now_(now) {
    read_destinations();
    read_messages();
    look_at_due();
    look_at_routes();
    look_at_marks();
    look_at_lanes();
    look_at_census();
  }
  const std::map<MessageId, Live>& live() const { return live_; }
  const std::vector<std::string>& misfits() const { return misfits_; }
  const Policy& policy(MessageId id) const {
    return *destinations_.at(id.destination().value()).policy;
  }
  std::size_t records_in(char space) const { return rows(space).size(); }

 private:
  struct Destination {
    DestinationConfig config;
    const ProfileSpec* profile = nullptr;
    std::optional<Policy> policy = {};
    Route route = {};
  };

  void expect(bool holds, const std::string& what, MessageId id = {}) {
    if (!holds) misfits_.push_back(id.is_set() ? what + ": " + to_string(id) : what);
  }
  bool has(const std::string& key) const { return contents_.contains(key); }
  std::vector<std::pair<std::string, std::string>> rows(char space) const {
    return {contents_.lower_bound(keys::space(space)),
            contents_.lower_bound(keys::after_prefix(keys::space(space)))};
  }

  void read_destinations() {
    for (const auto& [key, value] : rows(keys::kConfig)) {
      const auto config = decode_config(value);
      expect(config.has_value(), "a destination cannot be read");
      if (!config || config->removed) continue;
      Destination one{*config};
      for (const ProfileSpec* profile : profiles_) {
        if (profile->name == config->profile) one.profile = profile;
      }
      if (const auto policy = one.profile->settings.configure(config->settings))
        one.policy = *policy;
      const DestinationId id = *keys::parse_destination(key);
      if (const auto route = contents_.find(keys::route(id)); route != contents_.end())
        one.route = *decode_route(route->second);
      destinations_.emplace(id.value(), std::move(one));
    }
  }
  void read_messages() {
    for (const auto& [key, value] : rows(keys::kHot)) {
      const auto parsed = keys::parse_hot(key);
      if (parsed->part == keys::Part::kMessage) add(value, true);
    }
    for (const auto& [key, value] : rows(keys::kCold)) {
      const auto parsed = keys::parse_cold(key);
      if (parsed->part == keys::Part::kMessage) add(value, false);
    }
    std::size_t states = 0;
    for (auto& [id, one] : live_) {
      const auto found = contents_.find(one.hot ? keys::hot(id.sequence(), keys::Part::kState)
                                                : keys::cold(id, keys::Part::kState));
      const ProfileSpec& profile = *destinations_.at(id.destination().value()).profile;
      one.index = profile.methods[one.message.method].initial;
      if (found != contents_.end()) {
        ++states;
        one.state = decode_state(found->second)->state;
        one.index = one.state->state;
      }
      one.row = &profile.states[one.index];
      one.durable_intent =
          profile.methods[one.state ? one.state->method : one.message.method].durable_intent;
    }
    expect(states + live_.size() == records_in(keys::kHot) + records_in(keys::kCold),
           "a state is of no message");
  }
  void add(const std::string& value, bool hot) {
    const auto message = decode_message(Blob::copy_of(value));
    expect(message.has_value(), "a message cannot be read");
    const bool known = destinations_.contains(message->id.destination().value());
    expect(known, "a message has no destination", message->id);
    if (!known) return;
    expect(live_.emplace(message->id, Live{*message, hot}).second, "a message is in two places",
           message->id);
  }

  // Everything that waits for a time has an entry for it, and every entry is of something.
  void look_at_due() {
    for (const auto& [key, value] : rows(keys::kDue)) {
      const auto due = keys::parse_due(key);
      if (due->kind == keys::DueKind::kOpening) {
        const auto found = destinations_.find(due->id.high >> 20);
        expect(found != destinations_.end() && (found->second.route.closed_until == due->at ||
                                                found->second.route.revive_at == due->at),
               "an opening is of no route", due->id);
        continue;
      }
      const auto found = live_.find(due->id);
      expect(found != live_.end(), "a due entry is of no message", due->id);
      if (found == live_.end()) continue;
      const Live& one = found->second;
      if (due->kind == keys::DueKind::kExpiry)
        expect(one.message.expires == due->at, "an expiry is at another time", due->id);
      if (due->kind == keys::DueKind::kAttempt)
        expect(!one.hot && one.state && one.state->due == due->at &&
                   (one.row->phase == Phase::kBackoff || one.row->phase == Phase::kQueued),
               "a due entry is at another time", due->id);
    }
    for (const auto& [id, one] : live_) {
      if (one.message.expires.is_set())
        expect(has(keys::due(one.message.expires, keys::DueKind::kExpiry, id)),
               "a message has no expiry", id);
      if (!one.hot && one.waits_until(now_))
        expect(has(keys::due(one.state->due, keys::DueKind::kAttempt, id)) || is_owed(id),
               "nobody wakes a message", id);
    }
  }
  void look_at_routes() {
    for (const auto& [number, one] : destinations_) {
      const MessageId id{number << 20, 0};
      const bool held =
          one.route.health == Health::kPaused || one.route.health == Health::kDisabled;
      if (one.route.closed_until > now_)
        expect(has(keys::due(one.route.closed_until, keys::DueKind::kOpening, id)),
               "nobody opens a route", id);
      if (one.route.revive_at.is_set() && (!held || one.route.revive_at > now_))
        expect(has(keys::due(one.route.revive_at, keys::DueKind::kOpening, id)),
               "nobody looks at those that are parked", id);
    }
  }
  // Parked, and those that hold gates on disk.
  void look_at_marks() {
    std::map<std::uint64_t, std::size_t> stranded;
    for (const auto& [id, one] : live_) {
      const auto parked = contents_.find(keys::parked(id));
      const bool is_parked = one.row->phase == Phase::kParked;
      expect((parked != contents_.end()) == is_parked, "a mark of parking is wrong", id);
      expect(!is_parked || !one.hot, "a parked message is hot", id);
      if (is_parked && parked != contents_.end()) {
        const bool reach = keys::parse_parked_for_reach(parked->second).has_value();
        expect(reach == one.row->revives, "a mark of parking says something else", id);
        stranded[id.destination().value()] += reach ? 1U : 0U;
      }
      const bool lasts = one.message.lasting != 0 && one.state && one.state->first_attempt.is_set();
      const bool keeps = (one.row->phase == Phase::kAwaiting && one.row->keeps_gates) ||
                         (one.row->phase == Phase::kInFlight && one.durable_intent);
      if (!one.hot)
        expect(has(keys::holding(id)) == (lasts || keeps), "a mark of holding is wrong", id);
    }
    for (const auto& [key, value] : rows(keys::kParked))
      expect(live_.contains(*keys::parse_parked(key)), "a mark of parking is of no message");
    for (const auto& [key, value] : rows(keys::kHolding)) {
      const auto found = live_.find(*keys::parse_holding(key));
      expect(found != live_.end() && !found->second.hot, "a mark of holding is of no message");
    }
    for (const auto& [number, one] : destinations_)
      expect(one.route.revive_at.is_set() || stranded[number] == 0,
             "nobody revives: " + one.config.name);
  }

  bool is_owed(MessageId id) const {
    const auto found = contents_.find(keys::owed(id.destination()));
    if (found == contents_.end()) return false;
    const MessageId head = decode_owed(found->second)->heads[id.lane()];
    return head.is_set() && head <= id;
  }
  // A restart finds every message on disk that can go.
  void look_at_lanes() {
    std::set<std::pair<std::uint64_t, std::uint8_t>> used;
    for (const auto& [id, one] : live_) {
      if (one.hot) continue;
      used.emplace(id.destination().value(), id.lane());
      const bool sleeps = one.state && one.state->due.is_set() &&
                          has(keys::due(one.state->due, keys::DueKind::kAttempt, id));
      const bool held = has(keys::holding(id)) &&
                        (one.row->phase == Phase::kAwaiting || one.row->phase == Phase::kInFlight);
      if (one.row->phase != Phase::kParked && !sleeps && !held)
        expect(is_owed(id), "a message on disk is not owed", id);
    }
    for (const auto& [key, value] : rows(keys::kOwed)) {
      const std::uint64_t number = keys::parse_destination(key)->value();
      const auto found = destinations_.find(number);
      expect(found != destinations_.end(), "something is owed to nobody");
      if (found == destinations_.end()) continue;
      const auto owed = decode_owed(value);
      expect(owed->any() || found->second.config.draining, "nothing is owed, and it is written");
    }
  }
  void look_at_census() {
    std::map<std::uint64_t, std::map<StateIndex, std::uint64_t>> counted;
    for (const auto& [id, one] : live_) {
      if (!one.hot) ++counted[id.destination().value()][one.index];
    }
    std::map<std::uint64_t, CensusRecord> told;  // the newest page that has one holds
    for (const auto& [key, value] : rows(keys::kCensus))
      told[keys::parse_destination(key)->value()] = *decode_census(value);
    for (const auto& [key, value] : rows(keys::kCensusPage)) {
      const auto page = decode_census_page(value);
      for (const CensusOf& count : *page) told[count.destination.value()] = count.census;
    }
    for (const auto& [number, census] : told) {
      std::map<StateIndex, std::uint64_t> states(census.states.begin(), census.states.end());
      expect(states == counted[number], "a census is wrong");
      counted.erase(number);
    }
    expect(counted.empty(), "a census is missing");
  }

  Contents contents_;
  std::vector<const ProfileSpec*> profiles_;
  Timestamp now_;
  std::map<std::uint64_t, Destination> destinations_;
  std::map<MessageId, Live> live_;
  std::vector<std::string> misfits_;
};

}  // namespace postrider
