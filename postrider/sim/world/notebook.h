// Notebook: what the disk and the peers tell about messages and destinations, kept up to date batch
// by batch, so that each checker need not read everything itself. It knows the formats of the store
// and nothing of the engine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "postrider/model/audit.h"
#include "postrider/model/dead_groups.h"
#include "postrider/model/destination.h"
#include "postrider/model/jobs.h"
#include "postrider/model/message.h"
#include "postrider/model/profile.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "postrider/sim/world/field.h"
#include "postrider/sim/world/history.h"

namespace postrider::sim {

// How messages ended, and how long the slowest delivery took.
struct EndTally {
  std::array<std::uint64_t, kPhases> ends{};
  Duration worst_delay{0};
};

struct DestinationNote {
  DestinationId id;
  DestinationConfig config;  // with the settings that hold, its template's too
  NamedTexts own;            // as its record has them
  bool is_new = false;       // since the last batch
  const Field* field = nullptr;
  const ProfileSpec* profile = nullptr;
  Policy policy;
  std::optional<Route> route;  // as the disk has it
  bool damaged = false;        // a record of it was damaged: nothing is asked of it any more
  Timestamp configured;        // engine time of the last change, as far as the disk tells
  EndTally tally;
};

struct MessageNote {
  MessageId id;
  Timestamp accepted;
  Timestamp not_before;
  Timestamp expires;
  MessageId origin;
  std::uint8_t method = 0;
  std::array<GateName, kGatesMax> gates{};
  std::uint8_t lasting = 0;
  std::string line;  // what orders it with others of its destination and lane
  // As far as its field reads these in it.
  std::string key;              // what it is the value of in its lane, as its record says
  std::string supersedes;       // the key whose older messages it ends
  std::string then;             // where its end sends a message
  std::string begins;           // where its first start sends a message
  std::string order;            // the gate that it holds to its end is that of this order
  bool nested = false;          // it followed from its origin
  std::uint64_t operation = 0;  // number in the body
  std::uint64_t body_hash = 0;
  std::uint64_t shared = 0;    // the body that it shares; 0: it has its own
  std::uint32_t overhead = 0;  // bytes of its record beyond body and attributes
  DestinationNote* destination = nullptr;
  std::shared_ptr<const FieldNote> own;  // of the field's checkers; shared because notes are copied

  bool hot = false;  // where its record lies
  bool cold = false;
  bool parked = false;
  bool was_parked = false;
  std::optional<Timestamp> reach_from;  // parked for want of reach, and revived from then on
  std::optional<GateName> gap;          // parked out of the way of others: in whose order
  bool damaged = false;                 // a record of it was damaged on purpose
  bool quarantined = false;
  std::optional<EndRecord> end;
  std::optional<State> state;       // the durable one; none when the record was removed
  std::optional<State> last_state;  // the last there was
  std::uint32_t writes = 0;         // records given to the store on its account
  std::uint32_t state_writes = 0;
  std::uint32_t due_writes = 0;
  bool was_cold = false;
  std::uint64_t last_batch = 0;  // the last one with a state of it, and where in its list
  std::uint32_t place_in_batch = 0;

  bool live() const { return hot || cold; }
};

// One durable batch, read. Lists hold what the batch did, in its order.
struct Batch {
  struct StatePut {
    MessageNote* note;
    State state;
    std::optional<State> before;
    std::string notes;
    std::string past;
    std::string reason;
    std::uint32_t revived = 0;  // how often it was parked for want of reach and went back
    bool awaited = false;       // one of its states in this batch awaits the far side
  };
  struct NamePut {
    std::string tail;  // scope and name, as they would stand in a key if it were not short
    NameEntry entry;
  };
  struct RoutePut {
    DestinationNote* note;
    Route route;
    std::optional<Route> before;
  };
  Moment when;
  const Applied& applied;
  std::vector<MessageNote*> entered;                  // new
  std::vector<MessageNote*> moved;                    // from hot to cold
  std::vector<MessageNote*> left;                     // no record any more
  std::vector<StatePut> states;                       // the last of each message
  std::vector<std::pair<MessageNote*, State>> steps;  // all of them
  std::vector<RoutePut> routes;
  std::vector<DestinationNote*> configured;  // made, changed, drained or taken away
  std::vector<MessageNote*> gaps;            // parked out of the way of others
  std::vector<EndRecord> ends;
  std::vector<LogEntry> log;
  std::vector<NamePut> names;
  std::vector<ArrivalRecord> arrivals;
  std::vector<NestedRecord> nested;
  std::vector<AuditRecord> audits;
  struct JobPut {
    Job job;
    std::optional<Job> before;
  };
  std::vector<JobPut> jobs;  // in the order of the batch
  struct KeptPut {
    DeadLetter end;
    keys::Bucket bucket = 0;
    std::uint64_t body_hash = 0;
  };
  std::vector<KeptPut> kept;         // content that came into the history
  std::vector<MessageId> buried;     // dead letters that came
  std::vector<MessageId> exhumed;    // dead letters that left, one by one
  std::vector<GroupName> regrouped;  // groups that were written or removed
  std::optional<Meta> meta;
  Meta meta_before;
  std::uint64_t quarantined = 0;  // records that came into quarantine
  std::uint32_t ledger_puts = 0;
  std::uint32_t session_puts = 0;
  std::uint32_t log_puts = 0;
  std::uint32_t meta_puts = 0;
  std::uint32_t dead_puts = 0;
  std::uint32_t dead_removes = 0;
  std::uint32_t letters_lost = 0;  // dead letters that came into quarantine
};

// A dead letter that is there.
struct LetterNote {
  keys::Bucket bucket = 0;
  bool damaged = false;
  bool bodiless = false;  // it can be read, and listed, but the body that it shares is damaged
  DeadLetter letter;
  std::uint64_t batch = 0;  // in which it came
};

// The bucket of a key of a space with a retention, also when nothing follows it.
keys::Bucket bucket_in(std::string_view key);

// The longest that any settings ask for, those that were changed since among them: a message goes
// by what held when it came.
struct Spans {
  Duration wait{0};
  Duration life{0};
};

class Notebook {
 public:
  // Of a world of `field`; both outlive it.
  Notebook(const Fields& fields, const Field& field)
      : fields_(fields), field_(field), dictionaries_(dictionaries_of(fields.profiles())) {}

  // Reads a batch; what cannot be read is reported in `faults`, because our own engine wrote it.
  Batch read(const Durable& durable, std::vector<std::string>& faults);

  void left(const Left& left);
  void damaged(std::string_view key);

  MessageNote* find(MessageId id);
  MessageNote* find(Sequence sequence);
  DestinationNote* find(DestinationId id);
  // All that ever were, removed ones too, by number.
  using Destinations = std::map<std::uint64_t, std::unique_ptr<DestinationNote>>;
  const Destinations& destinations() const { return destinations_; }
  const Spans& spans() const { return spans_; }
  const LetterNote* letter(MessageId id) const;
  using Letters = std::map<MessageId, LetterNote>;
  bool is_kept(MessageId id) const { return history_.contains(id); }  // its content, as history
  const Letters& all_letters() const { return letters_; }
  using Groups = std::map<GroupName, GroupRecord>;
  const Groups& groups() const { return groups_; }
  using Parked = std::map<std::uint64_t, std::uint64_t>;
  const Parked& parked() const { return parked_; }  // how many, by destination
  using Jobs = std::map<std::uint64_t, Job>;
  const Jobs& jobs() const { return jobs_; }
  std::uint64_t batches() const { return batches_; }
  const DestinationNote* find(std::string_view name) const;  // one that was not removed
  using Templates = std::map<std::string, DestinationConfig>;
  const Templates& templates() const { return templates_; }

  std::uint64_t live() const { return live_; }        // messages with a record that is not damaged
  std::uint64_t records() const { return records_; }  // message records, damaged ones too
  std::uint64_t lost() const { return lost_; }        // live messages that are in quarantine
  std::uint64_t letters() const { return letters_.size(); }     // dead ones that are there
  std::uint64_t letters_lost() const { return letters_lost_; }  // that are in quarantine
  const Counters& counters() const { return meta_.counters; }
  const Meta& meta() const { return meta_; }
  // By the time that is right now: what was accepted while the wall was in doubt says less.
  Timestamp accepted_of(const MessageNote& note) const { return meta_.wall.meant(note.accepted); }
  Timestamp expires_of(const MessageNote& note) const {
    return note.expires + (accepted_of(note) - note.accepted);
  }
  std::uint64_t attempts() const { return attempts_; }
  // How often messages came into each phase, as the disk and the network saw it.
  using Visits = std::array<std::uint64_t, kPhases>;
  const Visits& visits() const { return visits_; }

 private:
  struct Reading {
    Batch& batch;
    std::vector<std::string>& faults;
  };
  void read_put(Reading& reading, const Write& write);
  void read_remove(Reading& reading, std::string_view key, bool once);
  void read_message(Reading& reading, const Write& write);
  void read_own(MessageNote& note, const Message& message) const;
  void read_state(Reading& reading, const Write& write);
  void read_config(Reading& reading, const Write& write);
  void read_template(Reading& reading, const Write& write);
  void settle_config(Reading& reading, DestinationNote& note);
  void read_route(Reading& reading, const Write& write);
  void read_quarantine(Reading& reading, const Write& write);
  void read_letter(Reading& reading, const Write& write);
  void read_history(Reading& reading, const Write& write);
  void read_group(Reading& reading, const Write& write);
  void read_job(Reading& reading, const Write& write);
  void remove_letters(const Write& range);
  void read_books(Reading& reading, const Write& write);
  MessageNote* owner_of(std::string_view key);
  void damage(MessageNote& note);
  void share(MessageNote& note);
  void visit(Phase phase) { ++visits_[static_cast<std::size_t>(phase)]; }

  const Fields& fields_;
  const Field& field_;
  std::vector<const Dictionary*> dictionaries_;
  std::unordered_map<std::uint64_t, MessageNote> messages_;  // by sequence; never iterated
  struct SharedNote {
    Blob record;
    std::vector<std::uint64_t> sharers = {};  // sequences
    bool damaged = false;
  };
  std::unordered_map<std::uint64_t, SharedNote> bodies_;  // that are shared; all that ever were
  Destinations destinations_;
  Spans spans_;
  Templates templates_;
  std::map<MessageId, keys::Bucket> history_;
  Letters letters_;
  Groups groups_;
  Jobs jobs_;
  Parked parked_;
  std::uint64_t letters_lost_ = 0;
  Meta meta_;
  std::uint64_t live_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t attempts_ = 0;
  Visits visits_{};
  std::uint64_t batches_ = 0;
};

}  // namespace postrider::sim
