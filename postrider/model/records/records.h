// Records of the engine's own books: the meta record, buckets, ledger entries, log pages, ends and
// dead letters. Each value begins with a format version and ends with a checksum;
// docs/store-format.md tells how to change one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/hash.h"
#include "postrider/base/packing.h"
#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/answer.h"
#include "postrider/model/arrival_source.h"
#include "postrider/model/ids.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/wall_books.h"

namespace postrider {

// Everything with a retention lies in numbered buckets, which are closed by age or size and dropped
// by range.
struct BucketInfo {
  keys::Bucket number = 1;
  Timestamp started;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t last_page = 0;  // of the log: the newest page in it
  friend bool operator==(const BucketInfo&, const BucketInfo&) = default;
};

// Spaces with a retention.
enum class Kept : std::uint8_t {
  kLedger,
  kLog,
  kEnds,
  kDead,
  kNames,
  kPendingNews,
  kArrivals,
  kAudit,
  kHistory
};
inline constexpr std::size_t kKept = 9;
inline constexpr std::array<Kept, kKept> kAllKept = {
    Kept::kLedger,      Kept::kLog,      Kept::kEnds,  Kept::kDead,   Kept::kNames,
    Kept::kPendingNews, Kept::kArrivals, Kept::kAudit, Kept::kHistory};
char space_of(Kept kept);

struct Meta {
  Counters counters;
  Timestamp clock_floor;  // engine time never starts before it
  WallBooks wall;
  std::array<BucketInfo, kKept> running{};
  std::uint64_t log_removed = 0;  // the newest page of the log that retention removed
  bool counted = true;  // what is said of cold messages (CensusRecord) is all that there are
  IdKey id_key{};       // of the ids that are shown outside; never changes
  std::map<std::string, std::uint64_t, std::less<>> cards;  // by profile; none of them 0
  friend bool operator==(const Meta&, const Meta&) = default;
};
std::string encode_meta(const Meta& meta);
Result<Meta> decode_meta(std::string_view record);
// The key of a store that has a meta record. kCorrupt when it has none: a new one would give its
// messages other names.
Result<IdKey> id_key_of(const Meta& meta);

using BucketList = std::vector<BucketInfo>;  // closed ones, oldest first
std::string encode_buckets(const BucketList& buckets);
Result<BucketList> decode_buckets(std::string_view record);

struct LedgerEntry {
  Fingerprint fingerprint{};
  Timestamp at;
  std::string answer;  // encode_answer
};
std::string encode_ledger(const LedgerEntry& entry);
Result<LedgerEntry> decode_ledger(std::string_view record);

struct SessionEntry {
  std::uint64_t highest = 0;
  Timestamp at;
};
std::string encode_session(const SessionEntry& entry);
Result<SessionEntry> decode_session(std::string_view record);

std::string encode_log(const std::vector<LogEntry>& entries);
// Positions are filled in from the page's key.
Result<std::vector<LogEntry>> decode_log(std::string_view record, keys::Bucket bucket,
                                         Sequence page);

struct EndRecord {
  MessageId id;
  Phase phase = Phase::kDelivered;
  FailureClass cause = FailureClass::kNone;
  std::uint16_t attempts = 0;
  Timestamp accepted;
  Timestamp at;
  keys::Bucket content_bucket = 0;  // where its dead letter or its history lies; 0: it left none
  MessageId origin;
  std::string reason;
  std::string notes;  // the profile's own, as they were last
  std::string past;   // encode_attempt_history
  friend bool operator==(const EndRecord&, const EndRecord&) = default;
};
std::string encode_end(const EndRecord& end);
void encode_end(const EndRecord& end, std::string& out);  // into memory that is used again
Result<EndRecord> decode_end(std::string_view record);
// What cannot be read of it is left out.
inline AttemptHistory attempt_history_of(const EndRecord& end) {
  return decode_attempt_history(end.past, {end.at, end.reason}).value_or(AttemptHistory());
}

// The holders of a name: one message, or, for a key by which messages supersede each other, the
// messages that may still be waiting, oldest first.
struct NameEntry {
  struct Holder {
    MessageId id;
    std::uint16_t attempt = 0;
    friend bool operator==(const Holder&, const Holder&) = default;
  };
  Timestamp at;
  std::vector<Holder> holders;
  friend bool operator==(const NameEntry&, const NameEntry&) = default;
};
std::string encode_name(const NameEntry& entry);
Result<NameEntry> decode_name(std::string_view record);

// News that waits for its name, oldest first.
struct PendingNews {
  struct News {
    Timestamp at;
    Duration window{0};  // 0: it waits for as long as pending news is kept
    std::string detail;
    friend bool operator==(const News&, const News&) = default;
  };
  std::vector<News> news;
  friend bool operator==(const PendingNews&, const PendingNews&) = default;
};
std::string encode_pending_news(const PendingNews& entry);
Result<PendingNews> decode_pending_news(std::string_view record);

struct ArrivalRecord {
  Timestamp at;
  std::string profile;
  ArrivalSource source;
  std::string bytes;
  friend bool operator==(const ArrivalRecord&, const ArrivalRecord&) = default;
};
// With a dictionary the bytes are packed where that makes them smaller. What is packed by none of
// the reader's dictionaries is left out; the rest is there.
std::string encode_arrival(const ArrivalRecord& arrival, const Dictionary* dictionary = nullptr);
Result<ArrivalRecord> decode_arrival(std::string_view record, Dictionaries dictionaries = {});

struct NestedRecord {
  MessageId from;
  std::string destination;
  std::uint8_t lane = 0;
  std::uint16_t priority = 0;
  std::string attributes;
  std::string body;
  std::uint8_t dictionary = 0;  // by which the record has the body packed; 0: as it is
  friend bool operator==(const NestedRecord&, const NestedRecord&) = default;
};
// As of arrivals.
std::string encode_nested(const NestedRecord& nested, const Dictionary* dictionary = nullptr);
Result<NestedRecord> decode_nested(std::string_view record, Dictionaries dictionaries = {});

struct CardRecord {
  Timestamp written;  // for leaps of the wall: what it was made by
  Timestamp expires;  // unset: never
  std::string bytes;
  friend bool operator==(const CardRecord&, const CardRecord&) = default;
};
std::string encode_card(const CardRecord& card);
Result<CardRecord> decode_card(std::string_view record);

// How many messages of a destination lie in the cold space, by the states that their records say.
struct CensusRecord {
  std::string profile;
  std::vector<std::pair<StateIndex, std::uint64_t>> states;  // none of them 0
  std::uint64_t kept_bytes = 0;                              // of a mailbox
  friend bool operator==(const CensusRecord&, const CensusRecord&) = default;
};
std::string encode_census(const CensusRecord& census);
Result<CensusRecord> decode_census(std::string_view record);

// The same of all destinations for which one commit changed it.
struct CensusOf {
  DestinationId destination;
  CensusRecord census;
  friend bool operator==(const CensusOf&, const CensusOf&) = default;
};
struct CensusPage {
  Sequence sequence;
  std::vector<CensusOf> counts;
};
std::string encode_census_page(const std::vector<CensusOf>& counts);
Result<std::vector<CensusOf>> decode_census_page(std::string_view record);

struct DeadRecord {
  DeadLetter letter;
  std::string_view message;  // the encoded message; looks into the record
};
// A message that ended so leaves a dead letter; of any other the content may be kept as history.
inline bool leaves_letter(Phase phase) { return phase == Phase::kDead || phase == Phase::kExpired; }
inline std::string content_key(keys::Bucket bucket, MessageId id, Phase phase) {
  return leaves_letter(phase) ? keys::dead(bucket, id) : keys::history(bucket, id);
}
std::string encode_dead(const DeadLetter& letter, std::string_view message);
Result<DeadRecord> decode_dead(std::string_view record);

}  // namespace postrider
