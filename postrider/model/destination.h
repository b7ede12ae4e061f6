// Destination: where messages go, and how the way there is doing. The configuration is what the
// operator said; the route is what we learnt. They are stored apart, because the second changes
// with every outage.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/attributes.h"
#include "postrider/model/ids.h"
#include "postrider/model/policy.h"

namespace postrider {

inline constexpr std::size_t kDestinationNameBytesMax = 255;
// Letters, digits and some marks, a letter or digit first. '*' at the end makes it the name of a
// template, and is nowhere else.
bool is_destination_name(std::string_view name);
bool is_template_name(std::string_view name);
// Whether a destination of this name is made like the template: it begins as the template's name
// does, and goes on.
bool fits_template(std::string_view template_name, std::string_view name);

struct DestinationConfig {
  std::string name;
  std::string profile;  // empty with `like`
  NamedTexts settings;
  bool removed = false;   // a tombstone keeps the probes behind it findable
  bool draining = false;  // takes no new messages, and is removed when the last has ended
  // The template whose profile and settings hold for it; its own settings go before. Empty: none.
  std::string like = {};
  Timestamp idle_since = {};  // of a template: when it got its idle life; unset: it has none
};

// What a profile knows of a destination. The settings are those that hold, and may be shared by all
// that are like one template; the name is its own.
struct DestinationFacts {
  std::string_view name;
  const NamedTexts& settings;

  DestinationFacts(std::string_view its_name, const NamedTexts& its_settings)
      : name(its_name), settings(its_settings) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a configuration that stands alone says both
  DestinationFacts(const DestinationConfig& config)
      : name(config.name), settings(config.settings) {}
};

// Settings with changes in place of those of the same name; an empty one takes it away.
NamedTexts merged(NamedTexts settings, const NamedTexts& changes);

// Health of a route. kProbe is half-open: one attempt at a time, until one succeeds. kDeep is a
// wait that became too long to keep a window for; what is owed then is caught up with, by the lanes
// that the policy names, before all is normal. Stored, so only ever appended to.
enum class Health : std::uint8_t { kNormal, kWait, kProbe, kPaused, kDisabled, kDeep, kCatchUp };
inline constexpr std::size_t kHealths = 7;
std::string_view name_of(Health health);

inline constexpr std::size_t kBatchMembersMax = 512;  // the leader included

// The batch of a destination whose members are claimed: from its first attempt until its leader
// ends or is released.
struct OpenBatch {
  MessageId leader;                       // unset: no batch is open
  std::vector<MessageId> followers = {};  // in their order on the wire

  bool is_open() const { return leader.is_set(); }
  bool claims(MessageId id) const;  // as a follower
  friend bool operator==(const OpenBatch&, const OpenBatch&) = default;
};

struct Route {
  Health health = Health::kNormal;
  std::uint16_t strikes = 0;  // in a row
  std::uint16_t waits = 0;    // closings in a row: the exponent of the next wait
  Timestamp closed_until;     // unset: open
  Timestamp failing_since;    // first failure after the last success
  Timestamp health_since;
  Timestamp seen_at;     // last sign of life
  Timestamp held_since;  // paused or disabled since; unset: neither
  Duration held{0};      // time held before that
  Timestamp revive_at;   // some are parked for want of reach: one is tried then; unset: none is
  std::string reason;    // the operator's words, or ours
  Duration interval{0};  // the last wait, where the next one follows from it; 0: from `waits`
  // The last delivery, of routes that know a deep wait. A restart may know an older one, but knows
  // that there was one; unset: never.
  Timestamp delivered_at;
  Timestamp sweep_until;       // what was accepted up to then is to be swept; unset: nothing is
  Timestamp latest_until;      // older values of a key, of up to then, are to be swept; unset: none
  std::uint64_t position = 0;  // the greatest that was delivered; 0: none had one
  // How many batches were opened. With its leader's id the number of a batch names it for ever.
  std::uint32_t claims = 0;
  OpenBatch batch = {};
  std::uint16_t members_max = 0;  // learnt: a batch has at most so many; 0: as the policy says
  std::vector<MessageId> refused = {};  // members of a batch that was too much, as far as they live

  friend bool operator==(const Route&, const Route&) = default;
};

// Existence and lower bound of the lanes with messages on disk only. A lane without any has no
// head.
struct Owed {
  std::array<MessageId, kLanes> heads{};  // unset: nothing owed in this lane

  bool any() const {
    for (const MessageId& head : heads) {
      if (head.is_set()) return true;
    }
    return false;
  }
  friend bool operator==(const Owed&, const Owed&) = default;
};

std::string encode_config(const DestinationConfig& config);
Result<DestinationConfig> decode_config(std::string_view record);
std::string encode_route(const Route& route);
Result<Route> decode_route(std::string_view record);
std::string encode_owed(const Owed& owed);
Result<Owed> decode_owed(std::string_view record);
// Of the entry of a destination under its template: about when it was used last. Empty: not known.
std::string encode_used(Timestamp at);
Result<Timestamp> decode_used(std::string_view record);

}  // namespace postrider
