// Every key of the store, defined once. The first byte is the space; numbers are big-endian, so
// order in the store is order in time or in the lane. docs/store-format.md tells how to change one.
#pragma once

#include <string>
#include <string_view>

#include "postrider/base/time.h"
#include "postrider/model/ids.h"

namespace postrider::keys {

// Spaces.
inline constexpr char kMeta = 'M';         // the books: one record, rewritten by each commit
inline constexpr char kBuckets = 'B';      // closed buckets of each space with a retention
inline constexpr char kConfig = 'D';       // destination
inline constexpr char kRoute = 'T';        // destination
inline constexpr char kOwed = 'O';         // destination
inline constexpr char kHot = 'H';          // sequence ‖ part
inline constexpr char kCold = 'C';         // message id ‖ part
inline constexpr char kParked = 'P';       // message id: from when a success revives it
inline constexpr char kHolding = 'A';      // message id: cold, awaiting, holding gates
inline constexpr char kDue = 'W';          // time ‖ kind ‖ message id, or destination
inline constexpr char kLedger = 'L';       // bucket ‖ scope ‖ key
inline constexpr char kSession = 'N';      // bucket ‖ scope ‖ session
inline constexpr char kLog = 'E';          // bucket ‖ sequence of the page
inline constexpr char kEnd = 'R';          // bucket ‖ sequence of the message
inline constexpr char kDead = 'Q';         // bucket ‖ message id
inline constexpr char kHistory = 'v';      // bucket ‖ message id: content of what has ended
inline constexpr char kName = 'X';         // bucket ‖ scope ‖ name: its holders
inline constexpr char kPendingNews = 'U';  // bucket ‖ scope ‖ name: news that waits for it
inline constexpr char kArrival = 'I';      // bucket ‖ sequence: what arrived, as it came
inline constexpr char kNested = 'J';       // sequence: a submit that follows from another message
inline constexpr char kGroup = 'G';   // bucket of dead letters ‖ destination ‖ phase ‖ cause
inline constexpr char kJob = 'K';     // sequence: one action for everything of a filter
inline constexpr char kHold = 'F';    // name: what keeps destinations paused
inline constexpr char kAudit = 'Y';   // bucket ‖ sequence: what an operator did
inline constexpr char kBody = 'S';    // sequence ‖ part: a body that several messages share
inline constexpr char kFanout = 'g';  // name: a group of destinations, and what each subscribes to
// bucket of dead letters ‖ sequence of the body ‖ message id: a letter that refers to a body; when
// the bucket is gone, and in bucket 0, a reference that is to be counted down.
inline constexpr char kBodyLetter = 'V';
inline constexpr char kCensus = 's';      // destination: its cold messages, by state
inline constexpr char kCensusPage = 'd';  // sequence: the same, of the counts that changed last
inline constexpr char kTemplate = 'e';    // name: settings for destinations that are like it
inline constexpr char kLike = 'l';        // name of a template ‖ destination that is like it
inline constexpr char kCard = 'c';        // profile ‖ drawer ‖ key: what a profile remembers
inline constexpr char kQuarantine = 'Z';  // the key of the record that could not be read

enum class Part : std::uint8_t { kMessage = 0, kState = 1 };
enum class BodyPart : std::uint8_t { kBytes = 0, kCount = 1 };
// The value of a due entry of a card is the key of the card.
enum class DueKind : std::uint8_t { kAttempt = 1, kExpiry = 2, kOpening = 3, kCardExpiry = 4 };
using Bucket = std::uint32_t;

std::string meta();
std::string buckets(char space);
std::string config(DestinationId destination);
std::string route(DestinationId destination);
std::string owed(DestinationId destination);
std::string census(DestinationId destination);
std::string census_page(Sequence sequence);
std::string hot(Sequence sequence, Part part);
std::string cold(MessageId id, Part part);
std::string parked(MessageId id);
std::string parked_for_reach(Timestamp from);  // the value; empty when only an operator revives it
// The value of a message that was parked to let its order go on: a gap in the order of this gate,
// or of its lane when that is 0.
std::string parked_as_gap(std::uint64_t gate);
std::string holding(MessageId id);
std::string due(Timestamp at, DueKind kind, MessageId id);
std::string ledger(Bucket bucket, std::string_view scope, std::string_view key);
std::string session(Bucket bucket, std::string_view scope, std::string_view key);
std::string log(Bucket bucket, Sequence page);
std::string end(Bucket bucket, Sequence message);
std::string dead(Bucket bucket, MessageId id);
std::string history(Bucket bucket, MessageId id);
// Names that far sides give to messages are mostly UUIDs, or digits and one: keys hold them as
// their bytes. The way back is for people that look at a store.
std::string short_name(std::string_view name);
std::string long_name(std::string_view name);
std::string name(Bucket bucket, std::string_view scope, std::string_view name);
std::string pending_news(Bucket bucket, std::string_view scope, std::string_view name);
std::string arrival(Bucket bucket, Sequence sequence);
std::string nested(Sequence sequence);
std::string job(std::uint64_t sequence);
std::string hold(std::string_view name);
std::string audit(Bucket bucket, Sequence sequence);
std::string body(std::uint64_t id, BodyPart part);
std::string body_letter(Bucket bucket, std::uint64_t body, MessageId id);
std::string fanout_group(std::string_view name);
std::string template_of(std::string_view name);
std::string like(std::string_view template_name);  // the start of all that are like it
std::string like(std::string_view template_name, DestinationId destination);
std::string card(std::string_view profile, std::string_view drawer, std::string_view key);
std::string card_drawer(std::string_view profile, std::string_view drawer);  // the start of all
MessageId due_id_of_card(std::string_view card);  // as which it stands in its due entry
std::string quarantine(std::string_view key);

// The first key behind every key that starts with `prefix`.
std::string after_prefix(std::string prefix);
std::string space(char prefix);
std::string bucket(char space, Bucket number);  // the start of a bucket
std::string cold_lane(DestinationId destination, std::uint8_t lane);

struct DueKey {
  Timestamp at;
  DueKind kind;
  MessageId id;
};
// Keys come back from the store, so they are outside data: nullopt for what is not such a key.
std::optional<DueKey> parse_due(std::string_view key);
struct PartKey {
  MessageId id;  // cold
  Sequence sequence;
  Part part;
};
std::optional<PartKey> parse_hot(std::string_view key);
std::optional<PartKey> parse_cold(std::string_view key);
std::optional<DestinationId> parse_destination(std::string_view key);
std::optional<Sequence> parse_census_page(std::string_view key);
std::optional<MessageId> parse_parked(std::string_view key);
std::optional<Timestamp> parse_parked_for_reach(std::string_view value);
std::optional<std::uint64_t> parse_parked_as_gap(std::string_view value);
std::optional<MessageId> parse_holding(std::string_view key);
struct BucketKey {
  Bucket bucket;
  std::uint64_t high;  // sequence of a log page or an end; first half of a dead letter's id
  std::uint64_t low;
};
std::optional<BucketKey> parse_bucketed(std::string_view key);
struct LikeKey {
  std::string_view template_name;  // looks into the key
  DestinationId destination;
};
std::optional<LikeKey> parse_like(std::string_view key);
struct CardKey {  // looks into the key
  std::string_view profile;
  std::string_view drawer;
  std::string_view key;
};
std::optional<CardKey> parse_card(std::string_view key);
struct BodyKey {
  std::uint64_t id;
  BodyPart part;
};
std::optional<BodyKey> parse_body(std::string_view key);
struct BodyLetterKey {
  Bucket bucket;
  std::uint64_t body;
  MessageId id;
};
std::optional<BodyLetterKey> parse_body_letter(std::string_view key);

}  // namespace postrider::keys
