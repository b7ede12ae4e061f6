// Engine: decides everything and does nothing. `step` takes an event and what was read for it, and
// appends what must be written and what may be done afterwards. No thread, socket, file, clock or
// random device inside; one owner, the shard.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "postrider/base/entropy.h"
#include "postrider/base/time.h"
#include "postrider/model/effects.h"
#include "postrider/model/event.h"
#include "postrider/model/profile.h"
#include "postrider/model/records/records.h"
#include "postrider/model/seams/store.h"

namespace postrider {

// Every queue, table and buffer of the engine has its bound here.
struct EngineLimits {
  std::uint32_t body_bytes_max = 256 * 1024;
  std::uint32_t attributes_bytes_max = 16 * 1024;
  std::uint32_t key_bytes_max = 255;
  std::uint32_t name_bytes_max = 255;
  std::uint32_t settings_bytes_max = 16 * 1024;
  std::uint32_t reason_bytes_max = 200;
  std::uint32_t attempts_kept_max = 16;          // of one message; older ones are counted
  std::uint32_t open_attempts_max = 1024;        // in the whole engine
  std::uint64_t window_bytes_max = 64ULL << 20;  // of all windows together
  std::uint32_t refill_rows_max = 64;            // of one read
  std::uint32_t hot_sleepers_max = 65536;        // messages in a short back-off, outside the window
  Duration hot_sleep_max{60'000};        // a longer back-off moves the message to the cold space
  std::uint32_t residents_max = 16384;   // destinations in memory that have nothing to do
  std::uint32_t due_rows_max = 1024;     // due entries of one read
  Duration due_horizon{600'000};         // due entries beyond it stay in the store
  std::uint32_t restore_rows_max = 256;  // of one page
  std::uint32_t timers_per_step_max = 256;
  std::uint32_t answer_rows_max = 1000;  // log entries or dead letters in one answer
  std::uint32_t arrival_bytes_max = 256 * 1024;
  std::uint32_t lane_waiters_max = 1024;    // at gates, beyond the window
  std::uint32_t news_per_name_max = 8;      // that wait for one name
  std::uint32_t recent_names_max = 16'384;  // names in memory; all are in the store
  std::uint32_t superseded_max = 8;         // older messages of one key that are looked at
  std::uint32_t swept_keys_max = 100'000;   // that sweeps remember, all together
  std::uint32_t sweep_cold_min = 256;       // messages on disk, below which no sweep begins
  std::uint64_t live_max = 1'000'000;      // at so many, profiles that are bounded take no new ones
  std::uint32_t dead_groups_max = 16'384;  // counted apart; beyond them together
  std::uint32_t holds_max = 64;
  std::uint32_t jobs_running_max = 8;
  std::uint32_t jobs_kept_max = 256;           // finished ones too; the oldest go first
  std::uint32_t job_rows_max = 32;             // of one page, from each bucket
  std::uint32_t job_rate_max = 100'000;        // per second
  std::uint32_t job_rate_usual = 100;          // when the order names none
  Duration job_every_min{60'000};              // between two rounds of one
  std::uint32_t dry_runs_max = 4;              // at a time
  std::uint32_t dry_run_rows_max = 1'000'000;  // that are read for one
  std::uint32_t group_members_max = 1000;      // of one group: they are accepted in one commit
  std::uint32_t group_bytes_max = 256 * 1024;  // of the record of one
  std::uint32_t member_types_max = 64;         // that one member subscribes to
  std::uint32_t awaits_max = 4096;             // callers that wait for something, in all …
  std::uint32_t awaits_of_one_max = 64;        // … and for one message or mailbox
  Duration await_max{600'000};                 // for so long at most
  std::uint32_t confirm_ids_max = 256;         // messages of one confirmation
  std::uint32_t mailbox_rows_max = 100;        // messages of one reading …
  std::uint32_t mailbox_bytes_max = 1 << 20;   // … and their contents, beyond the first
  std::uint32_t templates_max = 64;            // all are in memory
  std::uint32_t list_destinations_max = 1000;  // of one list: they are accepted in one commit
  std::uint32_t card_bytes_max = 512 * 1024;   // of one card
  std::uint32_t cards_of_step_max = 1024;      // changed by one event …
  std::uint32_t card_bytes_of_step_max = 1 << 20;
  std::uint64_t cards_max = 1'000'000;      // of one profile; nothing goes for a new one
  std::uint32_t recent_cards_max = 16'384;  // in memory; all are in the store
  std::uint64_t recent_card_bytes_max = 32ULL << 20;
  std::uint32_t body_rows_max = 64;          // references that are counted down in one step
  std::uint32_t census_pages_max = 256;      // counts of what is on disk, by commit …
  std::uint32_t census_counts_max = 16'384;  // … and all counts in them
};

struct Retention {
  Duration age{0};          // of the oldest thing kept
  std::uint64_t bytes = 0;  // 0: no limit
  std::uint64_t count = 0;  // of records; 0: no limit
};

struct EngineOptions {
  std::span<const ProfileSpec* const> profiles;
  EngineLimits limits;
  Duration key_window{24h};  // an operation key answers for so long …
  Duration key_ahead{2h};    // … and a timed key may be so far ahead of us
  Retention ledger{.age = 26h, .bytes = 0};
  Retention log{.age = 7 * 24h, .bytes = 1ULL << 30};
  Retention ends{.age = 7 * 24h, .bytes = 1ULL << 30};
  Retention dead{.age = 30 * 24h, .bytes = 4ULL << 30};
  Retention names{.age = 8 * 24h, .bytes = 0};  // longer than any message lives
  Retention pending_news{.age = 1h, .bytes = 0, .count = 100'000};
  Retention arrivals{.age = 24h, .bytes = 1ULL << 30};
  Retention audit{.age = 90 * 24h, .bytes = 256ULL << 20};
  Retention history{.age = 7 * 24h, .bytes = 16ULL << 30};  // content of those that keep it
  std::uint64_t seed = 0;                                   // of jitter
  // Of the ids that are shown outside: the store's, or for a new store the one that was drawn for
  // it, which is written with the first commit.
  IdKey id_key{};
  // The key files of the configuration, for functions of profiles. Null: there are none.
  std::shared_ptr<const Secrets> secrets = nullptr;
};

// What must be known before the first event: counters, clock, and which buckets there are.
struct Books {
  Meta meta;
  std::array<BucketList, kKept> closed;
  std::map<GroupName, GroupRecord> groups;
  std::vector<Job> jobs;  // oldest first
  std::vector<Hold> holds;
  std::vector<CensusPage> census;  // oldest first
  std::vector<DestinationConfig> templates;
  std::vector<Row> damaged;  // groups, jobs, holds and pages that could not be read
  // The clock begins at its floor, because the wall is behind it or not believed: how late the
  // former owner acted is not known.
  bool clock_lost = false;
};
// The keys that hold them, and what they say. Unreadable books are an Error: guessing would break
// the promises.
Reads books_reads();
Result<Books> read_books(const Found& found);

// Done when nothing is needed; otherwise nothing was changed, and the same event comes again with
// more found.
struct Stepped {
  Reads need;
  bool done() const { return need.empty(); }
};

struct Now {
  Timestamp engine;  // decides
  Timestamp wall;    // for stamps on the wire
  // How far the wall is ahead and not believed. Callers go by the wall, and so do their times.
  Duration doubt{0};
  // Of the turn, shared by its steps, so that no two of them draw the same. Null: nothing may be
  // drawn.
  Entropy* entropy = nullptr;
};

class Engine {
 public:
  // `books` as the last owner left them; a new store has empty ones. Feed `Chore{kRestore}` first.
  Engine(EngineOptions options, Epoch epoch, Books books, Timestamp now);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Stepped step(Now now, const Event& event, const Found& found, Effects& out);

  // Once per commit, last: the page of ends and the meta record. Does nothing when the turn wrote
  // nothing, unless what is known of the wall clock has changed, which a restart must know.
  void close_turn(Timestamp now, const WallBooks& wall, Effects& out);

  // What is known of the wall clock from now on; before the step in which engine time leaps.
  void set_wall(const WallBooks& wall);

  // The key files as they are now; what was encoded before stays as it is.
  void set_secrets(std::shared_ptr<const Secrets> secrets);

  // When to come back with TimersDue; not later than anything that is due, perhaps earlier.
  std::optional<Timestamp> next_deadline() const;

  // From now on nothing is started: the process is about to stop. What is open may still end.
  void hold_starts();

  bool restoring() const;
  Stats stats() const;

  // Rows of the profile's tables that were used so far, for the simulator: (profile, method, row).
  struct RowUse {
    std::string_view profile;
    std::size_t method;
    std::size_t row;
    std::uint64_t times;
  };
  std::vector<RowUse> rows_used() const;

  // Bytes that the engine holds beyond the payloads; for the benchmark.
  std::size_t memory_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
