#include "postrider/stores/rocks/check_records.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "postrider/base/codec.h"
#include "postrider/model/destination.h"
#include "postrider/model/fanout.h"
#include "postrider/model/id_address.h"
#include "postrider/model/message.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "postrider/stores/rocks/describe_key.h"

namespace postrider::rocks {
namespace {

class RecordCheck {
 public:
  RecordCheck(const RecordSource& source, CheckReport& report) : source_(source), report_(report) {}

  void run() {
    read_books();
    const bool all = source_.for_each(
        "", "\xFF", [this](std::string_view key, std::string_view value) { see(key, value); });
    // Sums over records that could not all be read would only accuse the innocent.
    if (!all) {
      report_.notes.emplace_back("not every record could be read, so the sums were not compared");
      return;
    }
    for (const MessageId id : unled_)
      bad(keys::cold(id, keys::Part::kMessage),
          "nothing leads to it: no owed head, no due entry, not parked");
    if (!report_.records.empty() && !report_.records.contains(keys::kMeta))
      bad(keys::meta(), "it is gone, and the store has records");
    compare_counters();
    compare_buckets();
    compare_groups();
    compare_bodies();
    compare_cards();
    if (meta_.counted) compare_census();
    compare_sequences();
    if (strays_ > 0)
      report_.notes.push_back(std::to_string(strays_) +
                              " entries (W, P or A) lead to nothing, as quarantine leaves them");
  }

 private:
  void bad(std::string_view key, std::string what) {
    report_.add_damage(describe(key) + ": " + std::move(what));
  }
  std::string describe(std::string_view key) const {
    return describe_key(key, ids_ ? &*ids_ : nullptr);
  }
  bool has(const std::string& key) const { return source_.get(key).has_value(); }

  void read_books() {
    if (const auto record = source_.get(keys::meta())) {
      if (const auto meta = decode_meta(*record)) meta_ = *meta;  // told when its turn comes
    }
    if (const auto key = id_key_of(meta_)) ids_.emplace(report_.id_key = *key);
    report_.counters = meta_.counters;
    for (const Kept kept : kAllKept) {
      const auto at = static_cast<std::size_t>(kept);
      if (const auto record = source_.get(keys::buckets(space_of(kept)))) {
        if (const auto list = decode_buckets(*record)) buckets_[at] = *list;
      }
      buckets_[at].push_back(meta_.running[at]);
    }
  }

  void see_meta(std::string_view key, std::string_view value) {
    const auto meta = decode_meta(value);
    decodes(key, meta);
    if (!meta) return;
    if (const auto id_key = id_key_of(*meta); !id_key) bad(key, id_key.error().detail);
  }

  void see(std::string_view key, std::string_view value) {
    if (key.empty()) return bad(key, "an empty key");
    ++report_.records[key[0]];
    report_.bytes += key.size() + value.size();
    switch (key[0]) {
      case keys::kMeta: return see_meta(key, value);
      case keys::kBuckets: return decodes(key, decode_buckets(value));
      case keys::kConfig: return see_config(key, value);
      case keys::kRoute: return see_destination(key, decode_route(value));
      case keys::kOwed: return see_destination(key, decode_owed(value));
      case keys::kCensus: return see_census(key, value);
      case keys::kCensusPage: return see_census_page(key, value);
      case keys::kHot: return see_hot(key, value);
      case keys::kCold: return see_cold(key, value);
      case keys::kParked: return see_entry(key, keys::parse_parked(key));
      case keys::kHolding: return see_entry(key, keys::parse_holding(key));
      case keys::kDue: return see_due(key, value);
      case keys::kLedger: return see_kept(key, Kept::kLedger, decode_ledger(value));
      case keys::kSession: return see_kept(key, Kept::kLedger, decode_session(value));
      case keys::kLog: return see_log(key, value);
      case keys::kEnd: return see_end(key, value);
      case keys::kDead: return see_content(key, Kept::kDead, value);
      case keys::kHistory: return see_content(key, Kept::kHistory, value);
      case keys::kName: return see_kept(key, Kept::kNames, decode_name(value));
      case keys::kPendingNews: return see_kept(key, Kept::kPendingNews, decode_pending_news(value));
      case keys::kArrival: return see_kept(key, Kept::kArrivals, decode_arrival(value));
      case keys::kNested: return decodes(key, decode_nested(value));
      case keys::kAudit: return see_kept(key, Kept::kAudit, decode_audit(value));
      case keys::kGroup: return see_group(key, value);
      case keys::kJob: return see_job(key, value);
      case keys::kHold: return decodes(key, decode_hold(value));
      case keys::kBody: return see_body(key, value);
      case keys::kBodyLetter: return see_body_letter(key);
      case keys::kFanout: return see_fanout_group(key, value);
      case keys::kTemplate: return see_template(key, value);
      case keys::kLike: return see_like(key, value);
      case keys::kCard: return see_card(key, value);
      case keys::kQuarantine: return see_quarantined(key.substr(1));
      default: return bad(key, "a space that nobody knows");
    }
  }

  template <class T>
  void decodes(std::string_view key, const Result<T>& decoded) {
    if (!decoded) bad(key, decoded.error().detail);
  }
  template <class T>
  void see_destination(std::string_view key, const Result<T>& decoded) {
    if (!keys::parse_destination(key)) return bad(key, "the key has the wrong length");
    decodes(key, decoded);
  }

  // A destination that is like a template and the entry that says so belong together, and so does
  // the template.
  void see_config(std::string_view key, std::string_view value) {
    const auto config = decode_config(value);
    see_destination(key, config);
    const auto id = keys::parse_destination(key);
    if (!config || !id || config->like.empty()) return;
    if (!has(keys::like(config->like, *id)))
      bad(key, "it is like template '" + config->like + "', and no entry says so");
    const std::string wide = keys::template_of(config->like);
    if (!has(wide) && !is_quarantined(wide))
      bad(key, "the template '" + config->like + "' that it is like is not there");
  }
  void see_template(std::string_view key, std::string_view value) {
    const auto config = decode_config(value);
    if (!config) return bad(key, config.error().detail);
    if (key != keys::template_of(config->name)) bad(key, "it is another template's");
  }
  void see_like(std::string_view key, std::string_view value) {
    const auto like = keys::parse_like(key);
    if (!like) return bad(key, "the key is not one of a destination that is like a template");
    const auto record = source_.get(keys::config(like->destination));
    const auto config = decode_config(record.value_or(""));
    if (config ? config->like != like->template_name
               : !is_quarantined(keys::config(like->destination)))
      bad(key, "the destination is not like this template");
    decodes(key, decode_used(value));
  }

  void see_sequence(std::string_view key, Sequence sequence) {
    if (sequence.value() >> kCounterBits > source_.epochs_given)
      bad(key, "its epoch was never given out");
  }

  bool is_quarantined(std::string_view key) const { return has(keys::quarantine(key)); }

  void see_hot(std::string_view key, std::string_view value) {
    const auto parsed = keys::parse_hot(key);
    if (!parsed) return bad(key, "the key is not one of the hot space");
    see_sequence(key, parsed->sequence);
    if (parsed->part == keys::Part::kState)
      return see_state(key, value, keys::hot(parsed->sequence, keys::Part::kMessage));
    const auto message = decode_message(Blob::copy_of(value));
    last_message_ = key;
    ++report_.hot;
    live_.push_back(parsed->sequence.value());
    if (!message) return bad(key, message.error().detail);
    if (message->id.sequence() != parsed->sequence) return bad(key, "it holds another message");
    see_message(key, *message);
  }

  void see_cold(std::string_view key, std::string_view value) {
    const auto parsed = keys::parse_cold(key);
    if (!parsed) return bad(key, "the key is not one of the cold space");
    see_sequence(key, parsed->sequence);
    if (parsed->part == keys::Part::kState)
      return see_state(key, value, keys::cold(parsed->id, keys::Part::kMessage));
    const auto message = decode_message(Blob::copy_of(value));
    last_message_ = key;
    ++report_.cold;
    ++cold_of_[parsed->id.destination().value()];
    live_.push_back(parsed->sequence.value());
    if (!is_covered(parsed->id)) unled_.insert(parsed->id);
    if (!message) return bad(key, message.error().detail);
    if (message->id != parsed->id) return bad(key, "it holds another message");
    see_message(key, *message);
  }

  void see_census(std::string_view key, std::string_view value) {
    const auto id = keys::parse_destination(key);
    if (!id) return bad(key, "the key has the wrong length");
    const auto census = decode_census(value);
    if (!census) return bad(key, census.error().detail);
    if (!paged_.contains(id->value())) counted_of_[id->value()] = sum_of(*census);
  }

  // Pages come before the records of destinations, oldest first; the newest that has one holds.
  void see_census_page(std::string_view key, std::string_view value) {
    const auto sequence = keys::parse_census_page(key);
    if (!sequence) return bad(key, "the key has the wrong length");
    see_sequence(key, *sequence);
    const auto counts = decode_census_page(value);
    if (!counts) return bad(key, counts.error().detail);
    for (const CensusOf& count : *counts) {
      paged_.insert(count.destination.value());
      counted_of_[count.destination.value()] = sum_of(count.census);
    }
  }

  static std::uint64_t sum_of(const CensusRecord& census) {
    std::uint64_t sum = 0;
    for (const auto& [state, count] : census.states) sum += count;
    return sum;
  }

  void compare_census() {
    for (const auto& [destination, count] : counted_of_) cold_of_.try_emplace(destination, 0);
    for (const auto& [destination, count] : cold_of_) {
      const auto told = counted_of_.find(destination);
      const std::uint64_t counted = told == counted_of_.end() ? 0 : told->second;
      if (counted == count) continue;
      bad(keys::census(DestinationId(destination)), "it counts " + std::to_string(counted) +
                                                        " cold messages, and there are " +
                                                        std::to_string(count));
    }
  }

  void see_state(std::string_view key, std::string_view value, const std::string& message) {
    decodes(key, decode_state(value));
    if (last_message_ != message && !is_quarantined(message))
      bad(key, "the message that it belongs to is not there");
  }

  void see_message(std::string_view key, const Message& message) {
    const DestinationId destination = message.id.destination();
    if (destination != checked_destination_) {
      const auto record = source_.get(keys::config(destination));
      const auto config = decode_config(record.value_or(""));
      destination_known_ =
          (config && !config->removed) || is_quarantined(keys::config(destination));
      checked_destination_ = destination;
    }
    if (!destination_known_) bad(key, "its destination is not there");
    if (message.shared.id != 0) ++bodies_[message.shared.id].references;
    if (message.expires.is_set() &&
        !has(keys::due(message.expires, keys::DueKind::kExpiry, message.id)))
      bad(key, "it expires, and no due entry says when");
  }

  // Most cold messages lie behind their lane's head, and the head is read once for a destination.
  bool is_covered(MessageId id) {
    if (id.destination() != owed_destination_) {
      owed_destination_ = id.destination();
      owed_ = Owed();
      const auto record = source_.get(keys::owed(id.destination()));
      const auto owed = decode_owed(record.value_or(""));
      if (owed) owed_ = *owed;
      owed_unknown_ = record && !owed;  // told by itself
    }
    if (owed_unknown_) return true;
    const MessageId head = owed_.heads[id.lane()];
    if (head.is_set() && head <= id) return true;
    if (has(keys::parked(id)) || has(keys::holding(id))) return true;
    const auto state = source_.get(keys::cold(id, keys::Part::kState));
    const auto stored = decode_state(state.value_or(""));
    return stored && has(keys::due(stored->state.due, keys::DueKind::kAttempt, id));
  }

  bool is_live(MessageId id) const {
    return has(keys::cold(id, keys::Part::kMessage)) ||
           has(keys::hot(id.sequence(), keys::Part::kMessage)) ||
           is_quarantined(keys::cold(id, keys::Part::kMessage)) ||
           is_quarantined(keys::hot(id.sequence(), keys::Part::kMessage));
  }

  void see_entry(std::string_view key, const std::optional<MessageId>& id) {
    if (!id) return bad(key, "the key has the wrong length");
    const std::string message = keys::cold(*id, keys::Part::kMessage);
    if (!has(message) && !is_quarantined(message)) ++strays_;
  }

  void see_card(std::string_view key, std::string_view value) {
    const auto parsed = keys::parse_card(key);
    if (!parsed) return bad(key, "the key is not one of a card");
    ++cards_[std::string(parsed->profile)];
    const auto card = decode_card(value);
    if (!card) return bad(key, card.error().detail);
    if (!card->expires.is_set()) return;
    const auto entry = source_.get(
        keys::due(card->expires, keys::DueKind::kCardExpiry, keys::due_id_of_card(key)));
    if (!entry || *entry != key) bad(key, "it expires, and no due entry says when");
  }

  void compare_cards() {
    for (const auto& [profile, count] : cards_) {
      const auto counted = meta_.cards.find(profile);
      const std::uint64_t told = counted == meta_.cards.end() ? 0 : counted->second;
      if (told != count)
        bad(keys::meta(), "cards of profile '" + profile + "': " + std::to_string(told) +
                              " are counted, and there are " + std::to_string(count));
    }
    for (const auto& [profile, count] : meta_.cards) {
      if (!cards_.contains(profile))
        bad(keys::meta(), "cards of profile '" + profile + "': " + std::to_string(count) +
                              " are counted, and there are none");
    }
  }

  // Of a card that went to quarantine the entry stays; it removes itself when its time has come.
  void see_card_due(std::string_view key, const keys::DueKey& due, std::string_view card) {
    if (!keys::parse_card(card) || keys::due_id_of_card(card) != due.id)
      return bad(key, "it names no card");
    const auto record = decode_card(source_.get(std::string(card)).value_or(""));
    if (!record || record->expires != due.at) ++strays_;
  }

  void see_due(std::string_view key, std::string_view value) {
    const auto due = keys::parse_due(key);
    if (!due) return bad(key, "the key is not a due entry");
    if (due->kind == keys::DueKind::kCardExpiry) return see_card_due(key, *due, value);
    if (due->kind == keys::DueKind::kOpening ? !has(keys::route(due->id.destination()))
                                             : !is_live(due->id))
      ++strays_;
    // A state that was lost no longer says when its message is due; the entry still wakes it.
    if (due->kind == keys::DueKind::kAttempt) unled_.erase(due->id);
  }

  void count_kept(std::string_view key, Kept kept) {
    const auto at = static_cast<std::size_t>(kept);
    Reader reader(key.substr(1));
    const std::uint32_t number = reader.u32();
    const BucketList& list = buckets_[at];
    const bool known = std::any_of(list.begin(), list.end(), [&](const BucketInfo& bucket) {
      return bucket.number == number;
    });
    if (!reader.ok() || !known) return bad(key, "its bucket is not in the books");
    ++kept_[at][number];
  }

  template <class T>
  void see_kept(std::string_view key, Kept kept, const Result<T>& decoded) {
    decodes(key, decoded);
    count_kept(key, kept);
  }

  void see_log(std::string_view key, std::string_view value) {
    const auto parsed = keys::parse_bucketed(key);
    if (!parsed) return bad(key, "the key is not one of the log");
    see_sequence(key, Sequence(parsed->high));
    if (parsed->high <= last_page_) bad(key, "the page is not newer than the one before it");
    last_page_ = parsed->high;
    see_kept(key, Kept::kLog, decode_log(value, parsed->bucket, Sequence(parsed->high)));
  }

  void see_end(std::string_view key, std::string_view value) {
    const auto parsed = keys::parse_bucketed(key);
    if (!parsed) return bad(key, "the key is not one of an end");
    see_sequence(key, Sequence(parsed->high));
    ended_.push_back(parsed->high);
    const auto end = decode_end(value);
    see_kept(key, Kept::kEnds, end);
    if (end && end->id.sequence() != Sequence(parsed->high)) bad(key, "it is another message's");
  }

  void see_content(std::string_view key, Kept kept, std::string_view value) {
    const auto parsed = keys::parse_bucketed(key);
    if (!parsed || key.size() != 21)
      return bad(key, "the key is not one of a dead letter or history");
    const auto dead = decode_dead(value);
    see_kept(key, kept, dead);
    if (!dead) return;
    const auto message = decode_message(Blob::copy_of(dead->message));
    const MessageId id{parsed->high, parsed->low};
    if (!message) return bad(key, "its message: " + message.error().detail);
    if (message->id != id || dead->letter.id != id) bad(key, "it is another message's");
    const std::uint64_t body = message->shared.id;
    if (body != 0 && !has(keys::body_letter(parsed->bucket, body, id)))
      bad(key, "it shares a body, and nothing says so");
  }

  void see_group(std::string_view key, std::string_view value) {
    const auto name = parse_group_key(key);
    const auto group = decode_group(value);
    if (!name) return bad(key, "the key is not one of a group of dead letters");
    if (!group) return bad(key, group.error().detail);
    if (name->bucket == 0) return;  // parked messages
    if (name->phase == Phase::kIndeterminate) {
      lost_letters_[name->bucket] += group->count;
    } else {
      grouped_[name->bucket] += group->count;
    }
  }

  void see_job(std::string_view key, std::string_view value) {
    const auto job = decode_job(value);
    if (!job) return bad(key, job.error().detail);
    if (key != keys::job(job->id.value())) bad(key, "it is another job's");
    see_sequence(key, Sequence(job->id.value()));
  }

  // Those of an older store have no groups; the next start counts them together.
  void compare_groups() {
    for (const auto& [bucket, letters] : grouped_) {
      const std::uint64_t there =
          kept_[static_cast<std::size_t>(Kept::kDead)][bucket] + lost_letters_[bucket];
      if (letters > there)
        bad(keys::bucket(keys::kGroup, bucket), "its groups count " + std::to_string(letters) +
                                                    " dead letters, and there are " +
                                                    std::to_string(there));
    }
  }

  void see_body(std::string_view key, std::string_view value) {
    const auto parsed = keys::parse_body(key);
    if (!parsed) return bad(key, "the key is not one of a shared body");
    see_sequence(key, Sequence(parsed->id));
    BodyNote& note = bodies_[parsed->id];
    if (parsed->part == keys::BodyPart::kBytes) {
      const auto body = decode_body(value);
      decodes(key, body);
      note.there = true;
      note.bytes = body ? body->size() : 0;
      return;
    }
    const auto count = decode_body_count(value);
    decodes(key, count);
    note.counted = true;
    if (count) note.count = *count;
  }

  // One of a bucket that is gone, or of none, is a reference that the next start counts down.
  void see_body_letter(std::string_view key) {
    const auto parsed = keys::parse_body_letter(key);
    if (!parsed) return bad(key, "the key is not one of a letter that shares a body");
    ++bodies_[parsed->body].references;
    const BucketList& list = buckets_[static_cast<std::size_t>(Kept::kDead)];
    const bool kept = std::any_of(list.begin(), list.end(), [&](const BucketInfo& bucket) {
      return bucket.number == parsed->bucket;
    });
    const std::string letter = keys::dead(parsed->bucket, parsed->id);
    if (kept && !has(letter) && !is_quarantined(letter))
      bad(key, "the dead letter that it speaks of is not there");
  }

  void see_fanout_group(std::string_view key, std::string_view value) {
    const auto group = decode_fanout_group(value);
    if (!group) return bad(key, group.error().detail);
    if (key != keys::fanout_group(group->name)) bad(key, "it is another group's");
  }

  // What went to quarantine unread may have referred to any of them.
  void compare_bodies() {
    std::uint64_t there = 0;
    std::uint64_t bytes = 0;
    for (const auto& [id, note] : bodies_) {
      const std::string key = keys::body(id, keys::BodyPart::kBytes);
      there += note.there ? 1 : 0;
      bytes += note.bytes;
      if (!note.there && !is_quarantined(key)) {
        bad(key, "it is referred to, and is not there");
      } else if (note.there && !note.counted) {
        if (!is_quarantined(keys::body(id, keys::BodyPart::kCount)))
          bad(key, "nobody counts who refers to it");
      } else if (note.there &&
                 (note.count.references < note.references ||
                  (note.count.references > note.references && report_.quarantined == 0))) {
        bad(key, "it should have " + std::to_string(note.count.references) +
                     " references and has " + std::to_string(note.references));
      }
    }
    if (meta_.counters.shared_bodies != there || meta_.counters.shared_bytes != bytes)
      bad(keys::meta(), "shared bodies: " + std::to_string(meta_.counters.shared_bodies) +
                            " are counted, and there are " + std::to_string(there));
  }

  void see_quarantined(std::string_view key) {
    const auto hot = keys::parse_hot(key);
    const auto cold = keys::parse_cold(key);
    const bool message =
        (hot && hot->part == keys::Part::kMessage) || (cold && cold->part == keys::Part::kMessage);
    if (message) ++report_.quarantined;
    if (!key.empty() && key[0] == keys::kEnd) {
      if (const auto end = keys::parse_bucketed(key)) ++quarantined_ends_[end->bucket];
    }
    report_.notes.push_back("in quarantine: " + describe(key));
    if (report_.notes.size() > CheckReport::kLinesMax) report_.notes.pop_back();
  }

  void compare_counters() {
    const Counters& counters = meta_.counters;
    const std::uint64_t there = report_.hot + report_.cold + report_.quarantined;
    if (counters.accepted < counters.ended() || counters.live() != there) {
      bad(keys::meta(), "accepted " + std::to_string(counters.accepted) + " - ended " +
                            std::to_string(counters.ended()) + " = live " +
                            std::to_string(counters.live()) + ", but there are " +
                            std::to_string(there) + " (hot " + std::to_string(report_.hot) +
                            ", cold " + std::to_string(report_.cold) + ", quarantined " +
                            std::to_string(report_.quarantined) + ")");
    }
    std::uint64_t ends = ended_.size();
    for (const BucketInfo& bucket : buckets_[static_cast<std::size_t>(Kept::kEnds)]) {
      const auto lost = quarantined_ends_.find(bucket.number);
      if (lost != quarantined_ends_.end()) ends += lost->second;
    }
    if (counters.ended() != counters.removed_ends + ends)
      bad(keys::meta(), "ended " + std::to_string(counters.ended()) + ", but there are " +
                            std::to_string(ends) + " ends and retention removed " +
                            std::to_string(counters.removed_ends));
  }

  // Pages and letters are counted exactly. Ledger entries and sessions may be written again and
  // records may go to quarantine, so for the others the books hold at least what is there.
  void compare_buckets() {
    for (const Kept kept : kAllKept) {
      const auto at = static_cast<std::size_t>(kept);
      const bool exact = kept == Kept::kDead;
      for (const BucketInfo& bucket : buckets_[at]) {
        const std::uint64_t there = kept_[at][bucket.number];
        if (there == bucket.count || (!exact && there < bucket.count)) continue;
        bad(keys::buckets(space_of(kept)), "bucket " + std::to_string(bucket.number) +
                                               " should hold " + std::to_string(bucket.count) +
                                               " records and holds " + std::to_string(there));
      }
    }
  }

  // A message is live once, or has ended once.
  void compare_sequences() {
    std::sort(live_.begin(), live_.end());
    std::sort(ended_.begin(), ended_.end());
    find_twice(live_, "it is in the store twice");
    find_twice(ended_, "it ended twice");
    std::vector<std::uint64_t> both;
    std::set_intersection(live_.begin(), live_.end(), ended_.begin(), ended_.end(),
                          std::back_inserter(both));
    for (const std::uint64_t sequence : both)
      report_.add_damage("message of sequence " + hex_of(sequence) +
                         ": it ended and is still live");
  }
  void find_twice(const std::vector<std::uint64_t>& sorted, const std::string& what) {
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[i] == sorted[i - 1])
        report_.add_damage("message of sequence " + hex_of(sorted[i]) + ": " + what);
    }
  }

  const RecordSource& source_;
  CheckReport& report_;
  Meta meta_;
  std::optional<IdCodec> ids_;             // none: the meta record cannot be read
  std::array<BucketList, kKept> buckets_;  // closed and running
  std::array<std::map<keys::Bucket, std::uint64_t>, kKept> kept_;
  std::map<keys::Bucket, std::uint64_t> quarantined_ends_;
  std::map<keys::Bucket, std::uint64_t> grouped_;       // dead letters, as their groups count
  std::map<keys::Bucket, std::uint64_t> lost_letters_;  // … and which of these went to quarantine
  struct BodyNote {
    bool there = false;
    bool counted = false;
    std::uint64_t bytes = 0;
    BodyCount count;
    std::uint64_t references = 0;
  };
  std::map<std::uint64_t, BodyNote> bodies_;
  std::vector<std::uint64_t> live_;                 // sequences
  std::vector<std::uint64_t> ended_;                // sequences
  std::string last_message_;                        // the key before a state
  std::map<std::uint64_t, std::uint64_t> cold_of_;  // messages of a destination in the cold space
  std::map<std::uint64_t, std::uint64_t> counted_of_;  // … as its census says
  std::set<std::uint64_t> paged_;                      // … and those of which a page says so
  DestinationId checked_destination_;
  bool destination_known_ = false;
  DestinationId owed_destination_;
  Owed owed_;
  bool owed_unknown_ = false;
  std::map<std::string, std::uint64_t> cards_;  // that there are, by profile
  std::set<MessageId> unled_;  // cold messages that nothing seen so far leads to; hardly ever any
  std::uint64_t last_page_ = 0;
  std::uint64_t strays_ = 0;
};

}  // namespace

void check_records(const RecordSource& source, CheckReport& report) {
  RecordCheck(source, report).run();
}

}  // namespace postrider::rocks
