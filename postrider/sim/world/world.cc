#include "postrider/sim/world/world.h"

#include <algorithm>
#include <map>
#include <memory>

#include "postrider/base/check.h"
#include "postrider/model/records/keys.h"
#include "postrider/sim/world/agenda.h"
#include "postrider/sim/world/checkers.h"
#include "postrider/sim/world/clients.h"
#include "postrider/sim/world/clock.h"
#include "postrider/sim/world/coverage.h"
#include "postrider/sim/world/describe.h"
#include "postrider/sim/world/machine.h"
#include "postrider/sim/world/network.h"
#include "postrider/sim/world/plan.h"
#include "postrider/sim/world/seeds.h"
#include "postrider/sim/world/staged.h"
#include "postrider/sim/world/store.h"
#include "postrider/sim/world/trace.h"
#include "postrider/sim/world/twin.h"
#include "postrider/sim/world/weather.h"

namespace postrider::sim {
namespace {

constexpr std::int64_t kBeginning = 1'700'000'000'000;  // any time will do, but not zero
constexpr std::size_t kViolationsMax = 20;

std::vector<std::string> names_of(const std::vector<DestinationConfig>& destinations) {
  std::vector<std::string> names;
  names.reserve(destinations.size());
  for (const DestinationConfig& config : destinations) names.push_back(config.name);
  return names;
}

// A destination that was taken away and put back has two notes and one name.
std::vector<DestinationReport> reports_of(const Notebook& notebook) {
  std::map<std::string, DestinationReport> by_name;
  for (const auto& [number, note] : notebook.destinations()) {
    DestinationReport& report = by_name[note->config.name];
    const auto ends = [&note = *note](Phase phase) {
      return note.tally.ends[static_cast<std::size_t>(phase)];
    };
    report.name = note->config.name;
    report.delivered += ends(Phase::kDelivered);
    report.dead += ends(Phase::kDead);
    report.expired += ends(Phase::kExpired);
    report.cancelled += ends(Phase::kCancelled);
    report.indeterminate += ends(Phase::kIndeterminate);
    report.worst_delay = std::max(report.worst_delay, note->tally.worst_delay);
  }
  std::vector<DestinationReport> list;
  list.reserve(by_name.size());
  for (auto& [name, report] : by_name) list.push_back(std::move(report));
  return list;
}

class World {
 public:
  World(const SimOptions& options, const Equipment& equipment);
  Report run();

 private:
  void run_until(Timestamp end);
  void calm_down();
  void drain();
  bool all_ended() const;
  Duration bound() const;
  bool given_up() const { return verdicts_.size() >= kViolationsMax || spins_; }
  void trace_limits();
  ShardOptions shard_options();
  std::unique_ptr<FarSides> make_far_sides();
  std::vector<DestinationConfig> draw_destinations();

  SimOptions options_;
  const Fields& fields_;
  const Field& field_;
  std::vector<const ProfileSpec*> profiles_;
  Rng rng_;
  Seeds seeds_;
  Agenda agenda_;
  SimClock clock_;
  Trace trace_;
  Faults faults_;
  SimDisk disk_;
  StoreSurroundings store_;
  Verdicts verdicts_;
  std::vector<DestinationConfig> destinations_;
  ShardOptions shard_;
  std::unique_ptr<FarSides> far_sides_;  // null: the field has none
  std::vector<Figure> figures_;          // of a staged world
  Checkers checkers_;
  Coverage coverage_;
  Machine machine_;
  Network network_;
  Clients clients_;
  Stage stage_;
  Weather weather_;
  Twins twins_;
  bool spins_ = false;  // time stands still: nothing more to learn
};

World::World(const SimOptions& options, const Equipment& equipment)
    : options_(options.world == WorldKind::kDrawn ? options : staged(options)),
      fields_(equipment.fields),
      field_(fields_.of(options_)),
      profiles_(fields_.profiles()),
      rng_(options.seed * 0x9E3779B97F4A7C15ULL + 1),
      seeds_(options.seed),
      agenda_(Timestamp(kBeginning)),
      clock_(agenda_),
      trace_(options.trace),
      faults_({options_.faults, Timestamp(kBeginning), options_.span}, rng_.fork(1)),
      store_{agenda_, disk_, &faults_, rng_.fork(2), false, [this] { machine_.store_operation(); }},
      verdicts_(agenda_),
      destinations_(draw_destinations()),
      shard_(shard_options()),
      far_sides_(make_far_sides()),
      checkers_({verdicts_, shard_, destinations_, clock_, options_.world, &figures_},
                {equipment.checkers, fields_, field_, far_sides_.get()}),
      machine_(
          {agenda_, clock_, store_, trace_, checkers_, fields_, shard_,
           [this](Incarnation process, const StartAttempt& start, const Call& call) {
             twins_.disturb();
             network_.start(process, start, call);
           },
           [this](Incarnation process, AttemptId attempt) { network_.abort(process, attempt); },
           [this](Incarnation process, Ticket ticket, const Answer& answer) {
             if (!twins_.take(process, ticket, answer)) clients_.told(process, ticket, answer);
           },
           [this](Incarnation process) {
             twins_.disturb();
             network_.process_died(process);
             clients_.process_died(process);
           },
           [this](const std::string& what) {
             verdicts_.violation(0, what);
             spins_ = true;
           },
           [this](const Engine& engine) { coverage_.add(engine.rows_used()); },
           [this] {
             return Duration(rng_.chance(1, 10) ? rng_.between(60'000, 7'200'000)
                                                : rng_.between(0, 5'000));
           }}),
      network_({agenda_, faults_, checkers_,
                [this](Incarnation process) { return machine_.moment(process); },
                [this](Incarnation process, Event event) {
                  return machine_.post(process, std::move(event));
                },
                [this] { return machine_.running(); },
                [this](std::string text) { clients_.arrive(std::move(text)); }, field_,
                far_sides_.get()},
               options_.destinations, rng_.fork(3)),
      clients_({agenda_, trace_, checkers_, options_, fields_, field_, destinations_,
                [this] { return machine_.running(); },
                [this](Incarnation process, Event event) {
                  return machine_.post(process, std::move(event));
                },
                [this](Incarnation process) { return machine_.moment(process); },
                [this] { return machine_.engine_now(); },
                [this](MessageId about) { network_.rumour(about); }},
               rng_.fork(4)),
      stage_({agenda_, network_, options_,
              [this](std::uint32_t destination, std::uint32_t count) {
                clients_.send(destination, count);
              }}),
      weather_({agenda_, clock_, faults_, store_, network_, machine_, trace_, checkers_,
                [this](std::uint32_t destination) { clients_.maintain(destination); }},
               rng_.fork(5)),
      twins_({agenda_, machine_, disk_, shard_, checkers_.notebook(), verdicts_},
             names_of(destinations_)) {
  trace_.watch_for(shard_.engine.secrets);
  disk_.observe([this](const Applied& applied) {
    trace_.line(agenda_.now(), "durable")
        .number(std::uint64_t{applied.batch.writes().size()})
        .number(std::uint64_t{applied.batch.bytes()})
        .end();
    if (trace_.wants_details()) {
      for (const Write& write : applied.batch.writes()) trace_.detail(describe(write));
    }
    twins_.disturb();
    checkers_.durable({machine_.moment(machine_.running()), applied});
  });
  if (options.crash_point) {
    machine_.crash_after(options.crash_point->after,
                         options.crash_point->keep ? Machine::Fate::kKeep : Machine::Fate::kLose);
  }
}

std::vector<DestinationConfig> World::draw_destinations() {
  Rng rng = rng_.fork(6);
  std::vector<DestinationConfig> list;
  for (std::uint32_t i = 0; i < options_.destinations; ++i)
    list.push_back(draw_destination(fields_, options_, i, rng));
  return list;
}

ShardOptions World::shard_options() {
  Rng rng = rng_.fork(7);
  const bool tight = faults_.enabled(Fault::kTightLimits);
  if (tight) faults_.count(Fault::kTightLimits);
  ShardOptions shard = draw_shard_options(options_, tight, rng);
  shard.engine.profiles = profiles_;
  shard.engine.secrets = with_secrets_of(field_, *shard.engine.secrets);
  shard.seeds = [this] { return seeds_.next(); };
  return shard;
}

std::unique_ptr<FarSides> World::make_far_sides() {
  FarSides::Surroundings around{
      agenda_,
      [this](std::uint64_t ticket, WireReply reply) {
        network_.answered_by_far_side(ticket, std::move(reply));
      },
      [this](Arrived event, bool repeats) { clients_.bring(std::move(event), repeats); }};
  return field_.make_far_sides(std::move(around), options_, rng_);
}

void World::run_until(Timestamp end) {
  while (!agenda_.empty() && agenda_.next_at() <= end && !given_up()) {
    agenda_.run_next();
    machine_.pump();
    if (options_.twins) twins_.consider();
  }
}

void World::calm_down() {
  weather_.clear();
  clients_.calm();
  trace_.line(agenda_.now(), "calm").end();
}

bool World::all_ended() const { return checkers_.notebook().live() == 0; }

// After this long without a fault nothing can be alive any more: the longest sleep of any policy,
// the longest life, the latest not-before, and then everything that waits in line, one after the
// other.
Duration World::bound() const {
  const auto& [longest, life] = checkers_.notebook().spans();
  // What was asked for in engine time may lie further ahead than true time says, by as much as
  // clocks were set forward.
  const Duration ahead = std::max(Duration(0), machine_.engine_now() - agenda_.now());
  return 3 * longest + Duration(72h) + life + ahead +
         Duration(30s) * static_cast<std::int64_t>(checkers_.notebook().live());
}

void World::drain() {
  const Timestamp end = agenda_.now() + bound();
  for (Timestamp until = agenda_.now(); !all_ended() && until < end && !given_up();) {
    until = until + Duration(10min);
    run_until(until);
  }
  if (!all_ended() && !given_up()) checkers_.report_stuck();
  run_until(agenda_.now() + Duration(5h));  // the readers catch up
  if (options_.idle) run_until(agenda_.now() + Duration(20h));
  // A client that insisted may have got its message in when all others had ended already.
  const Timestamp late_end = agenda_.now() + bound();
  for (Timestamp until = agenda_.now(); !all_ended() && until < late_end && !given_up();) {
    until = until + Duration(10min);
    run_until(until);
  }
}

// The limits belong to the world: a trace without them explains little.
void World::trace_limits() {
  const EngineLimits& limits = shard_.engine.limits;
  const auto say = [this](std::string_view name, std::uint64_t value) {
    trace_.line(agenda_.now(), "limit").word(name).number(value).end();
  };
  say("open_attempts_max", limits.open_attempts_max);
  say("window_bytes_max", limits.window_bytes_max);
  say("refill_rows_max", limits.refill_rows_max);
  say("hot_sleepers_max", limits.hot_sleepers_max);
  say("hot_sleep_max", static_cast<std::uint64_t>(limits.hot_sleep_max.count()));
  say("residents_max", limits.residents_max);
  say("due_rows_max", limits.due_rows_max);
  say("due_horizon", static_cast<std::uint64_t>(limits.due_horizon.count()));
  say("restore_rows_max", limits.restore_rows_max);
  say("timers_per_step_max", limits.timers_per_step_max);
  say("answer_rows_max", limits.answer_rows_max);
  say("event_queue_max", shard_.event_queue_max);
  say("parked_max", shard_.parked_max);
  say("turn_events_max", shard_.turn_events_max);
  say("turn_bytes_max", shard_.turn_bytes_max);
  say("key_window", static_cast<std::uint64_t>(shard_.engine.key_window.count()));
  const auto keep = [&say](std::string_view age, std::string_view bytes, const Retention& kept) {
    say(age, static_cast<std::uint64_t>(kept.age.count()));
    say(bytes, kept.bytes);
  };
  keep("log_age", "log_bytes", shard_.engine.log);
  keep("ends_age", "ends_bytes", shard_.engine.ends);
  keep("dead_age", "dead_bytes", shard_.engine.dead);
}

Report World::run() {
  trace_limits();
  machine_.start();
  if (options_.world == WorldKind::kDrawn) {
    clients_.begin();
  } else {
    clients_.begin_staged();
    stage_.begin();
  }
  weather_.begin();
  run_until(agenda_.now() + options_.span);
  calm_down();
  drain();
  if (trace_.leaked()) verdicts_.violation(51, "the trace holds a secret");
  if (!given_up()) checkers_.finished({machine_.moment(machine_.running()), disk_});

  Report report;
  report.seed = options_.seed;
  report.points = machine_.points();
  report.restarts = machine_.restarts();
  if (Shard* shard = machine_.owner(); shard != nullptr && shard->ready())
    coverage_.add(shard->engine().rows_used());
  report.destinations = reports_of(checkers_.notebook());
  report.rows = coverage_.rows(field_);
  report.trace_hash = trace_.hash();
  report.events = trace_.lines();
  report.messages = clients_.accepted();
  report.virtual_time = agenda_.now() - Timestamp(kBeginning);
  report.counters = checkers_.notebook().counters();
  for (std::size_t i = 0; i < kFaults; ++i)
    report.faults[i] = faults_.struck(static_cast<Fault>(i));
  report.violations = verdicts_.list();
  report.figures = figures_;
  report.twins = twins_.compared();
  report.attempts = checkers_.notebook().attempts();
  report.visits = checkers_.notebook().visits();
  return report;
}

}  // namespace

Report simulate(const SimOptions& options, const Equipment& equipment) {
  const auto world = std::make_unique<World>(options, equipment);
  return world->run();
}

}  // namespace postrider::sim
