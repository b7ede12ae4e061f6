// The engine's inside, split over files by what happens: admission.cc (submit), delivery.cc (rows,
// attempts, ends), dispatch.cc (whose turn it is), fairness.cc (who has room), residents.cc
// (destinations in memory), refill.cc (disk to window and back), priorities.cc (turns of the lower
// ones), poison.cc (who is in the way of others), revival.cc, restore.cc, arrivals.cc (news from
// outside), fanout.cc, operators.cc, explain.cc, questions.cc, shape.cc, census.cc (how many there
// are of each), queue_rows.cc (how deep and how old each queue is), attempts.cc (what is told of
// them), rerun.cc (messages made of former ones). engine.cc only dispatches.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/core/books/bodies.h"
#include "postrider/core/books/census_pages.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/desk/jobs.h"
#include "postrider/core/engine.h"
#include "postrider/core/news/recent_names.h"
#include "postrider/core/rules/health.h"
#include "postrider/core/rules/ledger.h"
#include "postrider/core/rules/retry.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/starts/ring.h"
#include "postrider/core/window/entries.h"
#include "postrider/model/id_codec.h"

namespace postrider {

class Engine::Impl {
 public:
  Impl(EngineOptions options, Epoch epoch, Books books, Timestamp now);

  Stepped step(Now now, const Event& event, const Found& found, Effects& out);
  void close_turn(Timestamp now, const WallBooks& wall, Effects& out);
  void set_wall(const WallBooks& wall) { receipts_.set_wall(wall); }
  std::optional<Timestamp> next_deadline() const { return timers_.next(); }
  void hold_starts() { starts_held_ = true; }
  bool restoring() const { return restoring_hot_ || !owed_scanned_; }
  Stats stats() const;
  void tell_states(Stats& stats) const;
  std::vector<RowUse> rows_used() const;
  std::size_t memory_bytes() const;

 private:
  // One step: what it may look at, what it lacks, what it decided. Handlers first look everything
  // up; when something is lacking they return at once, having changed nothing that anybody can see
  // (a destination in the cache is not seen).
  struct Step {
    Timestamp now;
    Timestamp wall;
    Duration doubt;  // how far the wall is ahead and not believed
    const Found& found;
    Effects& out;
    Reads need;
    std::vector<GateName> freed_gates = {};  // served at the end of the step
    std::vector<GateName> freed_groups = {};
    std::vector<Row> damaged =
        {};  // records that could not be read; quarantined when the step is done

    const std::optional<Blob>* get(const std::string& key) {
      const auto* value = found.get(key);
      if (value == nullptr) need.keys.push_back(key);
      return value;
    }
    const Rows* scan(const Scan& scan) {
      const Rows* rows = found.scan(scan);
      if (rows == nullptr) need.scans.push_back(scan);
      return rows;
    }
    bool lacks() const { return !need.empty(); }
  };

  // engine.cc
  void on(Step& step, const AttemptNews& news);
  void on(Step& step, const AttemptEnded& ended);
  void on(Step& step, const ReceiptArrived& receipt);
  void end_attempt(Step& step, Slot slot, const Reading& reading);
  void on(Step& step, const TimersDue&);
  void on(Step& step, const Chore& chore);
  void fire(Step& step, const Timer& timer);
  void quarantine(Step& step, const Row& row);
  void release_unreadable(Step& step, Sequence sequence);
  Sequence next_sequence() { return Sequence(++last_sequence_); }
  void reply(Step& step, Ticket ticket, Answer answer);
  void finish_step(Step& step);

  // admission.cc
  void on(Step& step, const Submit& submit);
  void expect_more(const Step& step, const Submit& submit);
  std::optional<Answer> invalid(const Caller& caller, std::uint8_t lane,
                                std::string_view attributes, std::string_view body) const;
  static std::optional<std::string> closed_to_new(const Resident& resident);  // and why
  static std::optional<Answer> refuse_expired(const Step& step, Timestamp expires);
  using ParsedMessage = std::unique_ptr<const Opaque>;
  struct Draft {  // a message on its way in
    Slot resident;
    std::uint8_t lane;
    std::uint16_t priority;
    Timestamp not_before;
    Timestamp expires;
    MessageId origin;
    std::string_view attributes;
    std::string_view body;
    const SharedBody* shared = nullptr;      // where the body is, when others have it too
    const Dictionary* dictionary = nullptr;  // of the body, instead of the profile's
    ParsedMessage parsed = {};  // by the profile's `read`, when that was called already
  };
  static Result<ParsedMessage> read_message(const ProfileSpec& profile, std::string_view attributes,
                                            std::string_view body);
  std::optional<Result<MessageId>> take_message(Step& step, Draft draft);
  MessageId admit_instead(Step& step, Draft draft, const Admission& admission, NameEntry& older);
  MessageId admit(Step& step, Draft draft, const Admission& admission);
  bool fits_window(const Resident& resident, const Lane* lane, std::size_t bytes,
                   Timestamp now) const;
  void accept_hot(Step& step, Slot resident, Message message, ParsedMessage parsed);
  void accept_cold(Step& step, Slot resident, const Message& message);
  struct Remembered {  // what the ledger holds of a key
    std::optional<LedgerEntry> entry;
    std::optional<SessionEntry> session;
    bool damaged = false;  // there was an entry, and it cannot be read
  };
  Remembered recall(Step& step, const OperationKey& key);
  LedgerRule ledger_rule(const Step& step) const {
    return {options_.key_window, options_.key_ahead, step.doubt};
  }
  // The ledger's part of a command: nullopt when it may go on (or lacks something); otherwise the
  // answer.
  std::optional<Answer> consult_ledger(Step& step, const OperationKey& key,
                                       const Fingerprint& fingerprint);
  void seal(Step& step, const OperationKey& key, const Fingerprint& fingerprint,
            const Answer& answer);
  // Runs `act` under the caller's key: replay, conflict, or act and seal.
  template <class Act>
  void once(Step& step, const Caller& caller, const std::string& canonical_bytes, Act&& act);
  // The same for an operator's command: what it changed is in the audit of the same commit.
  struct AuditLine {
    std::string_view action;
    std::string target;  // empty: the job that was made
    std::string_view reason;
  };
  template <class Act>
  void once(Step& step, const Caller& caller, const std::string& canonical_bytes,
            const AuditLine& line, Act&& act);
  void audit(Step& step, const Caller& caller, const AuditLine& line, const Answer& answer);

  // fanout.cc
  void on(Step& step, const FanOut& fanout);
  void on(Step& step, const ChangeGroup& change);
  struct Fanning {  // a fan-out on its way in
    struct Member {
      std::string name;
      Slot resident = kNoSlot;
      Admission admission = {};
      NameEntry older = {};
      ParsedMessage parsed = {};
    };
    std::vector<Member> members;
    std::vector<std::string> skipped;
  };
  std::optional<FanoutGroup> find_group(Step& step, const std::string& name);
  std::optional<Answer> fan_out(Step& step, const FanOut& fanout);
  std::optional<Answer> choose_members(Step& step, const FanOut& fanout, const FanoutGroup& group,
                                       Fanning& fanning);
  std::optional<Answer> ask_members(Step& step, const FanOut& fanout, Fanning& fanning);
  FanoutView take_all(Step& step, const FanOut& fanout, Fanning& fanning);
  static Draft draft_for(const FanOut& fanout, Slot resident);
  std::optional<Answer> invalid(const ChangeGroup& change) const;
  std::optional<Answer> change_group(Step& step, const ChangeGroup& change);
  std::optional<Answer> show_group(Step& step, const Query& query);
  std::optional<Answer> list_fanout_groups(Step& step, const Query& query);
  bool load_body(Step& step, std::uint64_t id, bool with_bytes);
  void need_body(Step& step, const Row& row);  // of an encoded message
  bool give_body(Message& message) const;      // false: it is lost
  void release_later(Step& step, const SharedBody& shared, MessageId id);
  void count_down(Step& step);
  void lose_body(Step& step, const Row& row);
  static SharedBody shared_of_letter(std::string_view letter);
  std::optional<Message> message_of_letter(Step& step, std::string_view letter);

  // arrivals.cc
  void on(Step& step, const Arrived& arrived);
  std::optional<Answer> take_arrival(Step& step, const ProfileSpec& profile,
                                     const Arrived& arrived);
  struct Target {  // whom a subject is about
    Slot slot = kNoSlot;
    MessageId id = {};
    std::uint16_t attempt = 0;
    MessageId late = {};    // it has ended
    std::string tail = {};  // nobody yet: the name for which the news waits
    Reading reading = {};   // what the news means to it
  };
  class Witness;
  struct Candidate {
    NameEntry::Holder holder;
    bool by_gate = false;
    bool second = false;  // by another name than the first: when it has ended, that says nothing
    bool idle = false;
  };
  std::vector<Candidate> candidates_for(Step& step, const ProfileSpec& profile,
                                        const Subject& subject);
  Timestamp debt_before(Step& step, const ProfileSpec& profile, const Entry& entry);
  Target find_target(Step& step, const ProfileSpec& profile, const Subject& subject);
  struct Waiting {  // news of one name
    keys::Bucket bucket = 0;
    std::string key = {};  // empty: there is none
    PendingNews entry = {};
  };
  NameEntry find_name(Step& step, std::string_view tail, Duration window = Duration(0));
  NameEntry find_named(Step& step, std::string_view scope, std::string_view name);
  void put_name(Step& step, std::string_view scope, std::string_view name, const NameEntry& entry);
  Waiting find_pending_news(Step& step, std::string_view tail);
  static std::string tail_in(std::string_view key);
  void keep_pending_news(Step& step, const std::string& tail, const Subject& subject);
  bool fits(const Subject& subject) const;
  void give_names(Step& step, const ProfileSpec& profile, NameEntry::Holder holder,
                  const std::vector<ExternalName>& names, Timestamp at);
  void claim(Step& step, const Chore& chore);
  void absorb(Step& step, Entry& entry, const Reading& reading, bool answers_send);
  void apply_reading(Step& step, Slot slot, const Reading& reading, std::uint16_t attempt,
                     Timestamp at);
  void tell(Step& step, Slot slot, const Reading& reading, std::uint16_t attempt, Timestamp at);
  void note_late(Step& step, MessageId id, std::string_view source);
  static std::string supersede_scope(DestinationId destination);
  NameEntry find_older(Step& step, std::string_view scope, std::string_view key);
  void supersede(Step& step, NameEntry& older);
  void write_nested(Step& step, const ProfileSpec& profile, MessageId from,
                    const std::vector<NestedSubmit>& submits);
  void submit_nested(Step& step, const Chore& chore);

  // residents.cc
  struct Destined {
    bool known = false;   // everything was read
    Slot slot = kNoSlot;  // none: there is no such destination
  };
  Destined find_destination(Step& step, std::string_view name);
  Destined find_destination(Step& step, DestinationId id);
  Slot make_resident(Step& step, DestinationId id, const Blob& config);
  std::shared_ptr<const Bound> bind(const DestinationConfig& config);
  static std::shared_ptr<const Bound> bound_to(const DestinationConfig& config,
                                               const ProfileSpec& profile, const Policy& policy);
  Route read_route(Step& step, DestinationId id, const std::optional<Blob>& record);
  Route peek_at_route(Step& step, DestinationId id, const std::optional<Blob>& record) const;
  void touch(Slot resident);  // after each change: cache, ring, owed record
  void leave_lru(Slot resident);
  void evict_surplus();
  void forget_resident(Slot resident);
  void write_owed(Step& step, Slot resident);
  void cover(Step& step, Slot resident, Lane& lane, MessageId id);
  void settle_owed(Step& step, Slot resident, Lane& lane);
  void tell_health(Step& step, Slot resident, HealthOn on, std::string_view reason);
  static void begin_throttle(Resident& resident);
  void learn(Resident& resident, HealthOn on, const HealthChange& change);
  void count_start(const Resident& resident);
  // What a sign of life that is no delivery means to this route.
  HealthOn contact(Slot resident) const {
    return residents_[resident].bound->policy.health.contact_clears ? HealthOn::kOk
                                                                    : HealthOn::kSeen;
  }
  void hold_route(Step& step, Slot resident, Timestamp until, std::string_view reason);
  void write_route(Step& step, Slot resident);
  bool startable(const Resident& resident, Timestamp now) const;

  // delivery.cc
  const Method& method_of(const Entry& entry) const;
  const StateRow& state_of(const Entry& entry) const;
  Phase phase_of(const Entry& entry) const { return state_of(entry).phase; }
  Facts facts_of(const Step& step, const Entry& entry) const;
  const Opaque* parsed_of(const Entry& entry) const;
  static const Intent* intent_of(const Entry& entry);
  void leave_step(const Step& step, Entry& entry, StateIndex to, On on);
  static Timestamp back_off_end(const Step& step, const Entry& entry);
  void apply(Step& step, Slot slot, On signal, const Reading* reading);
  const Transition* next_row(Step& step, Entry& entry, On signal, const Reading* reading,
                             std::optional<Timestamp>& due);
  std::optional<Timestamp> retry_due(Step& step, const Entry& entry, const Reading* reading);
  void raise(Step& step, Slot resident, const Transition& row, const Entry& entry);
  void carry_out(Step& step, Slot slot, const Transition& row, std::optional<Timestamp> due);
  void enter(Step& step, Slot slot, StateIndex to, std::optional<Timestamp> due);
  void settle_visitor(Entry& entry);
  void mark_holding(Step& step, Entry& entry, bool holding);
  void leave_attempt(Step& step, Slot slot, bool ended = false);
  bool raise_remembered(Step& step, Slot slot);  // true: the message moved on
  void start_attempt(Step& step, Slot slot, StateIndex to, AttemptKind kind);
  void take_gates(Step& step, Entry& entry);
  WireRequest encode_intent(Step& step, Entry& entry, StateIndex to);
  void start_probe(Step& step, Slot slot, StateIndex to);
  void abandon(Step& step, const Entry& entry);
  Timestamp timer_due(const Step& step, const Entry& entry, const StateRow& target) const;
  void store_dirty(Step& step, Entry& entry);
  void release_lasting(Step& step, MessageId id);
  void sleep(Step& step, Slot slot);
  void tell_lost(Entry& entry, Phase phase);
  void end(Step& step, Slot slot, StateIndex to);
  void store_state(Step& step, Entry& entry);
  void store_awake(Step& step, Entry& entry);
  void forget_state(Step& step, Entry& entry);
  bool move_to_cold(Step& step,
                    Slot slot);  // true: its state record is gone and must be stored again
  void give_back_gates(Step& step, Slot slot);
  void set_reason(Entry& entry, std::string_view reason);
  TimerHandle put_due(Step& step, Timestamp at, keys::DueKind kind, MessageId id);

  // attempts.cc
  AttemptList* attempts_of(Entry& entry) const;
  void lose_attempt(Entry& entry) const;
  void note_attempt(const Step& step, Entry& entry, Phase to, On signal, const Reading* reading);

  // dispatch.cc
  void pump(Step& step);
  bool start_next(Step& step, Slot resident);
  bool try_start(Step& step, Slot slot);
  bool lets_older_pass(Step& step, Slot slot);
  bool goes_by_lane(const Entry& entry) const;
  void leave_lines(Slot resident);
  void look_later(Slot resident, Timestamp at);
  void make_ready(Slot slot);
  void unready(Slot slot);
  static void leave_gate(Entry& entry, Lane& lane);
  void ring(Slot resident);
  SharedGate& shared_gate(Slot destination, GateName name);
  void wait_at_gate(Step& step, Slot slot, GateName name, Timestamp again);
  void serve_gate(Step& step, GateName name);

  // priorities.cc
  Slot first_by_age(const Lane& lane, const Policy& policy, Timestamp now) const;
  void begin_run(Lane& lane, Slot slot);
  void end_run(Lane& lane, const Entry& entry);
  bool start_by_turns(Step& step, Slot resident, Slot chosen);
  bool start_lowest(Step& step, Slot resident, const Lane& lane);
  std::uint64_t top_of(const Lane& lane) const;
  Slot whose_turn(Step& step, Slot resident, Lane& lane);
  Slot favourite(Step& step, Slot resident, Lane& lane);
  Slot next_lower(const Lane& lane, MessageId from) const;
  void look_below(Step& step, Slot resident, Lane& lane);
  bool look_from(Step& step, Slot resident, Lane& lane, MessageId from);
  Scan lower_scan(const Resident& resident, const Lane& lane) const;
  void read_lower(Step& step, const Chore& chore);
  MessageId take_lower(Step& step, Slot resident, std::uint8_t lane, const Rows& rows);
  void end_look(Step& step, Slot resident, Lane& lane, MessageId behind, bool complete);
  void remember_turns(const Resident& resident);
  void recall_turns(DestinationId destination, Lane& lane);

  // poison.cc
  bool in_order(const Entry& entry) const;
  On poison_signal(const Entry& entry) const;
  void let_others_pass(Step& step, Entry& entry, const Transition& row);
  bool find_gap(Step& step, const Entry& entry, Explanation& out);

  // fairness.cc
  static constexpr std::size_t kBytesPerCost = 64U << 10;  // so many bytes cost one start more …
  static constexpr std::uint32_t kCostMax = 16;            // … up to this
  bool has_room(Step& step, Slot resident);
  static bool is_proven(const Resident& resident);
  std::uint32_t unproven_max() const;
  void attempt_opened(Entry& entry);
  void attempt_closed(Entry& entry);
  bool let_crowd_in();
  struct LimitGroup;
  LimitGroup& group_of(const Policy& policy);
  bool enter_group(Step& step, Slot resident);
  void take_group(const Step& step, Entry& entry);
  void occupy_group(Entry& entry);
  void leave_group(Step& step, Entry& entry);
  void serve_group(Step& step, GateName name);

  // shared_gates.cc
  static bool has_gates(const Message& message) {
    return (message.gates[0] | message.gates[1] | message.gates[2]) != 0;
  }
  static_assert(kGatesMax == 3);
  static GateState::Permit permit_at(const SharedGate& gate, Timestamp now);
  Duration shut_for(const Entry& entry, Timestamp now) const;
  void probe_again(Step& step, Slot slot);
  void begin_trial(const Step& step, Entry& entry);
  void give_up_trial(Step& step, Entry& entry);
  void strike_gates(Step& step, Slot slot);
  void note_closing(const Entry& entry, GateName name);
  void open_gate(Step& step, GateName name);
  void hear_alive(Step& step, GateName name);
  static void give_back_one(Step& step, std::pair<const GateName, SharedGate>& gate, MessageId id);

  // refill.cc
  Slot add_entry(Step& step, Slot resident, Message message, bool hot);
  void forget_entry(Step& step, Slot slot);
  void unlink(Resident& resident, const Entry& entry);
  std::uint64_t& in_state(const Entry& entry);  // how many are in its state
  std::size_t profile_number(Slot resident) const;
  void set_state(Entry& entry, StateIndex to) {
    --in_state(entry);
    entry.state.state = to;
    ++in_state(entry);
  }
  void count_adopted(Entry& entry, const std::optional<StoredState>& stored) {
    --in_state(entry);
    adopt_state(entry, stored);
    ++in_state(entry);
    if (may_be_lost(entry)) entry.state.lost = true;
  }
  struct Located {
    bool known = false;
    Slot slot = kNoSlot;
  };
  Located locate(Step& step, MessageId id);  // in memory, or read as a visitor
  void dismiss_visitor(Step& step, Slot slot);
  struct Stored {  // a message as the disk has it
    bool known = false;
    bool hot = false;
    Slot resident = kNoSlot;
    std::optional<Message> message;  // none: not there, or unreadable
    std::optional<StoredState> state;
  };
  Stored read_message(Step& step, MessageId id);
  std::optional<Message> decode_row(Step& step, Slot resident, const Row& row, const Row* state,
                                    std::optional<StoredState>& stored);
  void adopt_state(Entry& entry, const std::optional<StoredState>& stored);
  bool may_be_lost(const Entry& entry) const;
  // The times of a message that was accepted while the wall was in doubt mean later ones.
  Duration later(const Message& message) const {
    return receipts_.wall().meant(message.accepted) - message.accepted;
  }
  bool is_expired(const Message& message, Timestamp now) const {
    return message.expires.is_set() && message.expires + later(message) <= now;
  }
  Timestamp due_of(const Message& message, const State& state) const {
    return state.due + (state.due == message.not_before ? later(message) : Duration(0));
  }
  static bool is_whole(const Rows& rows,
                       std::string_view message_key);  // its state, if any, is among the rows
  static bool is_state_of(std::string_view state_key, std::string_view message_key);
  void maybe_refill(Step& step, Slot resident);
  void take_rows(Step& step, Slot resident, std::uint8_t lane, const Rows& rows);
  void occupy_gates(Entry& entry);
  bool keeps_gates(const Entry& entry) const;
  void hold_lasting(Slot destination, const Message& message, const State& state);
  void refill(Step& step, const Chore& chore);
  Scan refill_scan(const Resident& resident, const Lane& lane) const;
  void take_row(Step& step, Slot resident, std::uint8_t lane, const Row& row, const Row* state);
  // Puts a message from disk where its state says it belongs. False: it sleeps on, and is not in
  // memory.
  bool settle_in(Step& step, Slot resident, Message message,
                 const std::optional<StoredState>& stored, bool hot);
  void resume_state(Step& step, Slot slot);
  void wake_message(Step& step, const Chore& chore);
  void rouse_lane(Step& step, MessageId id);  // the message at its head is gone, or may go on
  void expire_message(Step& step, const Chore& chore);
  void wake_route(Step& step, const Chore& chore);
  void open_route(Step& step, Slot resident);
  void load_due(Step& step);
  void spill(Step& step, Slot resident, Lane& lane);
  void spill_all(Step& step, Slot resident);
  bool awake(const Resident& resident, Timestamp now) const;  // worth keeping a window for

  // revival.cc
  void park(Step& step, Slot slot);
  void unpark(Step& step, MessageId id);
  void park_for_reach(Step& step, Slot slot);
  void refresh_attempts(const Step& step, Entry& entry) const;
  void hear_success(Step& step, Slot resident);
  void look_at_parked(Step& step, Slot resident);
  void begin_revival(Step& step, Slot resident, bool all, Timestamp until);
  void revive(Step& step, const Chore& chore);
  void put_back(Step& step, Slot slot);
  void end_revival(Step& step, Slot resident, bool some_wait);
  void set_revival(Step& step, Slot resident, Timestamp at);
  void move_look(Step& step, const Resident& resident, Timestamp& entry, Timestamp wanted);

  // restore.cc
  void restore(Step& step, const Chore& chore);
  void restore_hot(Step& step, const Chore& chore);
  void restore_holding(Step& step, const Chore& chore);
  void restore_hot_row(Step& step, const Row& row, const Row* state);
  void restore_owed(Step& step, const Chore& chore);
  void restore_nested(Step& step, const Chore& chore);
  void restore_pending_news(Step& step, const Chore& chore);
  void go_on_with_owed(Step& step, bool regardless);

  // operators.cc
  void on(Step& step, const Cancel& cancel);
  void on(Step& step, const RetryNow& retry);
  void on(Step& step, const Redrive& redrive);
  void on(Step& step, const Drop& drop);
  void on(Step& step, const Configure& configure);
  void on(Step& step, const Pause& pause);
  void on(Step& step, const Resume& resume);
  void on(Step& step, const Wake& wake);
  void on(Step& step, const PeerSeen& seen);
  Answer missing(Step& step, MessageId id);  // why a message is not live
  struct Buried {
    bool known = false;
    std::optional<EndRecord> end;
    std::optional<Blob> letter;  // the dead letter's record
  };
  Buried find_end(Step& step, MessageId id);
  Buried find_letter(Step& step, MessageId id);
  Buried find_content(Step& step, MessageId id);
  std::optional<EndRecord> end_of_letter(Step& step, const Row& row, keys::Bucket bucket);
  // `moves`: what it refers to goes on with a new message.
  void take_letter(Step& step, const Buried& buried, bool moves = false);
  Answer retry_now(Step& step, Slot slot);
  Answer redrive_letter(Step& step, Slot resident, const Buried& buried, bool regardless);
  std::optional<Answer> send_content(Step& step, Slot resident, const Buried& buried,
                                     bool regardless);
  std::optional<Answer> put_destination(Step& step, Slot resident, const DestinationConfig& config);
  std::optional<Answer> remove_destination(Step& step, Slot resident,
                                           const DestinationConfig& config);
  std::optional<bool> is_empty(Step& step, Slot resident);
  std::optional<bool> has_none_on_disk(Step& step, DestinationId id);
  void take_away(Step& step, Slot resident);
  void remove_drained(Step& step, const Chore& chore);
  // Without a signal: a sign of life, which means what the destination's rule says.
  std::optional<Answer> change_health(Step& step, const std::string& name,
                                      std::optional<HealthOn> on, std::string_view reason);
  std::optional<DestinationId> free_probe(Step& step, std::string_view name);

  // rerun.cc
  struct RerunOrder {  // a new message is to be made of this one
    MessageId former;
    const Opaque* parsed = nullptr;
    bool told_ran = false;    // where it came from could not rule it out
    bool regardless = false;  // whoever asks takes it upon himself
  };
  void look_at_runs(Step& step, const ProfileSpec& profile, MessageId former);
  std::string why_not_again(Step& step, const ProfileSpec& profile, const RerunOrder& order);
  std::optional<Answer> refuse_rerun(Step& step, const ProfileSpec& profile,
                                     const RerunOrder& order);
  void note_run(Step& step, const ProfileSpec& profile, MessageId former, MessageId id);
  DeadLetter::Rerun rerun_of_letter(Step& step, MessageId id, const Blob& content);
  std::optional<Answer> list_runs(Step& step, MessageId first);

  // jobs.cc
  void on(Step& step, const StartJob& start);
  void on(Step& step, const CancelJob& cancel);
  std::optional<std::string> invalid(const JobOrder& order) const;
  Answer start_job(Step& step, const StartJob& start);
  void begin_job(Step& step, JobId id);
  void begin_round(Step& step, Job& job);
  void end_round(Step& step, Job& job);
  std::size_t jobs_running() const;
  void resume_jobs(Step& step);
  void forget_old_jobs(Step& step);
  void end_job(Step& step, Job& job, JobState state);
  std::optional<std::uint64_t> count_by_groups(Step& step, const JobOrder& order);
  std::optional<Answer> begin_dry_run(Step& step, const StartJob& start);
  static Answer answer_of(const Job& job, bool complete);
  void dry_run(Step& step, const Chore& chore);
  void run_job(Step& step, const Chore& chore);
  void wait_with_job(Step& step, const Job& job, Timestamp at);
  void job_timer(Step& step, std::uint64_t number);
  std::optional<Answer> list_jobs(const Query& query) const;
  struct JobItem {
    MessageId id;
    std::string place;  // the cursor that begins with it
    keys::Bucket bucket = 0;
    const Row* row = nullptr;          // of a dead letter; in what was found
    std::optional<DeadLetter> letter;  // none: it is a live message
  };
  struct JobPage {
    std::vector<JobItem> items;
    std::string next;
    bool complete = false;
  };
  struct JobLeave {  // what a page may do
    DestinationId destination;
    std::uint64_t actions = 0;
  };
  struct JobProgress {
    std::string cursor;
    std::uint64_t looked = 0;
    std::uint64_t done = 0;
    std::uint64_t refused = 0;
    std::string refusal;
    DestinationId destination;  // of the next page
    bool over = false;
  };
  struct Acted {
    enum class Kind : std::uint8_t { kNothing, kDone, kRefused };
    Kind kind = Kind::kNothing;
    std::string why;
  };
  JobProgress work_through(Step& step, const Job& job, const JobPage& page, const JobLeave& leave);

  // holds.cc
  void on(Step& step, const PutHold& put);
  void on(Step& step, const DropHold& drop);
  static bool is_held(const Resident& resident);
  const HoldRule* hold_on(const Resident& resident) const;
  void apply_holds(Step& step, Slot slot);
  void apply_holds_to_all(Step& step);
  void look_at_holds(Step& step);
  void look_at_held(Step& step, const Chore& chore);
  static void look_at_all_held(Step& step);
  void note_for_holds(const Resident& resident);
  Answer list_holds() const;

  // job_pages.cc
  JobPage read_page(Step& step, const Job& job);
  void read_letters(Step& step, const Job& job, std::optional<DestinationId> only, JobPage& page);
  void read_parked(Step& step, const Job& job, std::optional<DestinationId> only, JobPage& page);
  void read_live(Step& step, const Job& job, std::optional<DestinationId> only, JobPage& page);
  bool job_fits(Step& step, const Job& job, const JobItem& item);
  static bool letter_fits(const Job& job, const DeadLetter& letter);
  Acted act_on(Step& step, const Job& job, const JobItem& item);
  Acted act_on_letter(Step& step, const Job& job, const JobItem& item);
  Acted retry_parked(Step& step, const JobItem& item);

  // explain.cc
  std::optional<Answer> explain(Step& step, MessageId id);
  std::optional<Answer> explain_unreadable(Step& step, MessageId id);
  void name_destination(const Destined& destined, Explanation& out) const;
  Slot holder_behind(const Lane& lane) const;
  bool owes_before(const Lane& lane, const Entry& entry) const;
  bool waits_behind(const Lane& lane, const Entry& entry) const;
  Explanation explain_entry(const Step& step, const Entry& entry) const;
  void explain_gates(const Step& step, const Entry& entry, const Resident& resident,
                     Explanation& out) const;
  void explain_next(const Step& step, const Entry& entry, const Resident& resident,
                    Explanation& out) const;

  // census.cc
  StateIndex initial_state(const Entry& entry) const;
  void count_cold(Slot resident, StateIndex state, bool comes);
  void record_state(Entry& entry, StateIndex state);
  void read_census(Step& step, Resident& resident, const std::optional<Blob>& record);
  void write_census(WriteBatch& out);
  void forget_census(Slot resident);
  void add_to_census(const CensusRecord& census);
  std::map<std::uint64_t, const Row*> census_between(const Rows& rows,
                                                     const std::string& first) const;
  void restore_census(Step& step, const Chore& chore);
  void lose_cold(const Step& step, const keys::PartKey& key);
  void put_to_sleep(Slot resident, MessageId id, StateIndex state, Timestamp accepted);
  void wake_sleeper(MessageId id);

  // queue_rows.cc
  std::optional<Answer> list_queues(Step& step, const Query& query);
  std::optional<Answer> go_on_with_queue(Step& step, const std::string& cursor);
  struct QueuePlaces;
  QueuePlaces queues_from(Step& step, const std::string& first, std::uint32_t limit) const;
  QueueRow queue_row(Step& step, DestinationId id, const std::optional<Blob>* census);
  void look_for_oldest(const Resident& resident, QueueRow& row) const;

  // questions.cc
  void on(Step& step, const Query& query);
  std::optional<Answer> read_log(Step& step, const Query& query);
  std::optional<Answer> list_dead(Step& step, const Query& query);
  bool list_parked(Step& step, const Query& query, std::uint32_t limit, DeadLetters& out);
  std::optional<Answer> describe(Step& step, const Query& query);
  static DestinationView view_of(const Resident& resident, Timestamp now);
  std::optional<Answer> list_destinations(Step& step, const Query& query);
  std::optional<Answer> list_messages(Step& step, const Query& query);
  std::string list_rows(Step& step, const Rows& rows, std::optional<DestinationId> only,
                        std::uint32_t limit, MessagePage& page);
  std::optional<Explanation> explain_row(Step& step, const Row& row, const Row* state);

  // shape.cc
  std::optional<Answer> shape(Step& step, const Query& query);
  struct Census;
  bool know(Step& step, DestinationId id, Census& census) const;
  void count_in(Step& step, const Message& message, const Row* state, Census& census) const;
  static DestinationView::Activity activity_of(const Resident& resident, Timestamp now);
  void note_end(const Step& step, const Entry& entry, Phase phase);
  void note_failure(Timestamp now, const Entry& entry);
  std::optional<Answer> show_message(Step& step, MessageId id);
  std::optional<Answer> list_arrivals(Step& step, const Query& query);
  std::optional<Answer> look_up_operation(Step& step, const OperationKey& key);
  std::string name_of_destination(Step& step, DestinationId id);
  std::optional<Answer> list_groups(Step& step, const Query& query);
  std::optional<Answer> list_audit(Step& step, const Query& query);

  EngineOptions options_;
  const EngineLimits& limits_;
  const std::vector<const Dictionary*> dictionaries_;  // of the profiles
  Rng rng_;
  Receipts receipts_;
  const IdCodec ids_;  // for whatever leaves: requests, the audit, answers to people
  Timers timers_;
  std::uint64_t first_sequence_;  // of this epoch; smaller ones are of former owners
  std::uint64_t last_sequence_;
  std::uint64_t last_attempt_ = 0;
  Tallies tallies_;
  RecentNames recent_names_;
  Timestamp started_;
  Timestamp now_;      // of the last step
  Duration doubt_{0};  // of the last step

  // The two tables that change with every message take their nodes from a pool.
  std::pmr::unsynchronized_pool_resource pool_;
  Slab<Entry> entries_;
  std::pmr::unordered_map<MessageId, Slot> by_id_{&pool_};
  struct OpenAttempt {
    Slot slot = kNoSlot;
    Timestamp started;  // the state's own time may begin anew while the attempt stays open
  };
  std::pmr::unordered_map<std::uint64_t, OpenAttempt> by_attempt_{&pool_};
  std::map<MessageId, Sleeper> hot_sleepers_;  // in order, so that those of a queue stand together
  std::uint64_t window_bytes_ = 0;
  Bodies bodies_;
  bool bodies_wait_ = false;    // references are to be counted down …
  bool counting_down_ = false;  // … and that is under way
  std::uint64_t window_used() const { return window_bytes_ + bodies_.bytes(); }
  using StateCounts = std::vector<std::array<std::uint64_t, kStatesMax>>;  // by profile
  StateCounts in_states_;  // of the entries, as they are
  StateCounts recorded_;   // of the cold ones among them, as their records say
  StateCounts asleep_;     // of hot_sleepers_
  StateCounts cold_;       // of all in the cold space, as their records say
  std::unordered_map<std::uint64_t, std::uint64_t> asleep_of_;  // by destination
  std::string census_cursor_ = keys::space(keys::kCensus);      // counted so far; empty: all are
  bool unserved_ = false;                 // some messages are of a profile that we do not have
  std::vector<DestinationId> recounted_;  // whose census is to be written with this commit
  CensusPages census_pages_;

  Slab<Resident> residents_;
  std::unordered_map<std::uint64_t, Slot> by_destination_;
  Slot lru_first_ = kNoSlot;
  Slot lru_last_ = kNoSlot;
  std::uint32_t lru_size_ = 0;
  struct Turns {  // of the lower priorities of a lane whose destination is not in memory
    std::uint64_t last_turn = 0;
    std::uint64_t ahead = UINT64_MAX;
    std::uint8_t passed = 0;
  };
  std::unordered_map<std::uint64_t, Turns> turns_;  // by the lane's first id, its high half
  Ring ring_;
  std::uint32_t spent_ = 0;          // by the starts of one turn of a tenant
  std::deque<Slot> crowded_;         // destinations that are not known to answer, and want a place
  std::uint32_t unproven_open_ = 0;  // attempts that have one
  struct LimitGroup {                // destinations that share a limit
    GateState state;
    GateLimits limits;
    std::deque<Slot> waiters;
    TimerHandle timer = 0;
  };
  std::unordered_map<GateName, LimitGroup> limit_groups_;
  std::unordered_map<GateName, SharedGate> gates_;
  std::unordered_map<MessageId, HeldGates> lasting_;  // who holds gates until its end
  std::uint32_t open_attempts_ = 0;
  std::vector<Slot> visitors_;
  Phase last_end_ =
      Phase::kDelivered;  // how the last message ended, for the answer to whoever ended it

  bool starts_held_ = false;
  std::vector<DestinationId> drained_;  // draining, and perhaps empty: to be looked at
  bool restoring_hot_ =
      true;  // nothing starts, and new messages are cold, until gates and hot messages are back
  bool owed_scanned_ = false;
  bool nested_restored_ = false;  // until then submits that follow from others wait for the scan
  std::optional<std::string> owed_waits_at_;  // the scan of owed destinations waits for room …
  TimerHandle owed_timer_ = 0;                // … but not for ever
  Timestamp due_loaded_until_;                // due entries before it are in the wheel
  std::string due_cursor_ = keys::space(keys::kDue);
  std::optional<Scan> due_scan_;  // the page on its way …
  Timestamp due_scan_until_;      // … and how far it goes
  TimerHandle retain_timer_ = 0;
  std::uint32_t old_claims_ = 0;  // of news from before the start, not looked at yet
  bool all_old_claims_known_ = false;
  std::vector<Timer> fired_;
  std::vector<Row> damaged_books_;    // found when the books were read
  std::vector<Row> damaged_at_load_;  // what destinations that are in memory now were made of
  std::map<std::string, Hold> holds_;
  std::vector<DestinationId> unlooked_;  // destinations that a hold may fit
  std::map<std::uint64_t, Job> jobs_;
  std::map<std::uint64_t, JobRun> job_runs_;  // of those that run
  std::map<std::uint64_t, DryRunning> dry_runs_;
  std::uint64_t last_dry_run_ = 0;

  std::vector<std::vector<std::vector<std::uint64_t>>> row_use_;  // profile, method, row
};

template <class Act>
void Engine::Impl::once(Step& step, const Caller& caller, const std::string& canonical_bytes,
                        Act&& act) {
  const bool keyed = caller.key.kind != OperationKey::Kind::kNone;
  Fingerprint print{};
  if (keyed) {
    print = fingerprint(caller.said.empty() ? canonical_bytes : caller.said);
    auto answer = consult_ledger(step, caller.key, print);
    if (step.lacks()) return;
    if (answer) return reply(step, caller.ticket, std::move(*answer));
  }
  std::optional<Answer> answer = act();
  if (step.lacks()) return;
  POSTRIDER_CHECK(answer.has_value());
  if (keyed) seal(step, caller.key, print, *answer);
  reply(step, caller.ticket, std::move(*answer));
}

template <class Act>
void Engine::Impl::once(Step& step, const Caller& caller, const std::string& canonical_bytes,
                        const AuditLine& line, Act&& act) {
  once(step, caller, canonical_bytes, [&]() -> std::optional<Answer> {
    std::optional<Answer> answer = act();
    if (answer && !step.lacks()) audit(step, caller, line, *answer);
    return answer;
  });
}

}  // namespace postrider
