#include "tests/crash/conductor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "postrider/stores/rocks/check.h"
#include "tests/crash/daemon_process.h"
#include "tests/crash/world.h"

namespace postrider::crash {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStartMax(60'000);
constexpr milliseconds kStopMax(60'000);
constexpr milliseconds kLoadMax(4'000);  // a round is not longer, however slow the machine is
constexpr milliseconds kSettleMax(240'000);
constexpr std::uint32_t kRoundsPerAudit = 4;
constexpr std::uint64_t kLivingMax = 3'000;  // then all receivers get healthy

Manner draw_manner(Rng& rng, const std::vector<Manner>& allowed) {
  if (!allowed.empty()) return allowed[rng.below(allowed.size())];
  const std::uint64_t luck = rng.below(100);
  if (luck < 12) return Manner::kKillEarly;
  if (luck < 24) return Manner::kKillRestore;
  if (luck < 78) return Manner::kKillLoad;
  if (luck < 90) return Manner::kKillDrain;
  return luck < 93 ? Manner::kStopRestore : Manner::kStopLoad;
}

template <std::size_t kCount>
std::string one_of(Rng& rng, const std::array<const char*, kCount>& values) {
  return values[static_cast<std::size_t>(rng.below(kCount))];
}

// Small limits make the rare paths frequent: windows that run over, restores in many steps.
std::vector<std::string> draw_settings(Rng& rng) {
  constexpr std::array<const char*, 4> kRows = {"1", "7", "64", "1000"};
  constexpr std::array<const char*, 4> kMany = {"1", "20", "1000", "10000"};
  constexpr std::array<const char*, 4> kSleeps = {"0", "50ms", "300ms", "30s"};
  constexpr std::array<const char*, 4> kEvents = {"4", "64", "1000", "10000"};
  constexpr std::array<const char*, 3> kAttempts = {"3", "40", "1024"};
  return {"POSTRIDER_LOG_LEVEL=info",
          "POSTRIDER_TRANSPORT_ALLOW=127.0.0.0/8",
          "POSTRIDER_STORE_FREE_BYTES_MIN=0",
          "POSTRIDER_STORE_FREE_BYTES_RESERVE=0",
          "POSTRIDER_ENGINE_RESTORE_ROWS_MAX=" + one_of(rng, kRows),
          "POSTRIDER_ENGINE_REFILL_ROWS_MAX=" + one_of(rng, kRows),
          "POSTRIDER_ENGINE_DUE_ROWS_MAX=" + one_of(rng, kRows),
          "POSTRIDER_ENGINE_HOT_SLEEPERS_MAX=" + one_of(rng, kMany),
          "POSTRIDER_ENGINE_RESIDENTS_MAX=" + one_of(rng, kMany),
          "POSTRIDER_ENGINE_HOT_SLEEP_MAX=" + one_of(rng, kSleeps),
          "POSTRIDER_ENGINE_OPEN_ATTEMPTS_MAX=" + one_of(rng, kAttempts),
          "POSTRIDER_DOOR_TURN_EVENTS_MAX=" + one_of(rng, kEvents)};
}

}  // namespace

class Conductor::Campaign {
 public:
  Campaign(Conductor& conductor, std::string directory)
      : conductor_(conductor),
        options_(conductor.options_),
        totals_(conductor.totals_),
        rng_(conductor.rng_.next()),
        directory_(std::move(directory)),
        settings_(draw_settings(rng_)) {
    std::filesystem::create_directories(directory_);
    world_ = options_.world == WorldKind::kDevice
                 ? make_device_world(options_, rng_.next(), directory_)
                 : make_webhook_world(options_, rng_.next(), conductor.next_serial_);
  }

  Findings run(std::uint32_t rounds);

 private:
  void round(std::uint32_t number);
  void finish();
  void stop_well();
  void look_again(const Counters& before);

  DaemonCommand command() const;
  void start();
  std::string wait_address();
  void end_by_kill();
  bool wait_all_ended(const std::string& address);
  void audit_living(const std::string& address);
  void audit_store();
  void collect_complaints();
  void add_totals(const Counters& counters);
  void write_down() const;
  void found(std::string what) { findings_.push_back(std::move(what)); }
  void pause(std::int64_t at_most_us) {
    std::this_thread::sleep_for(std::chrono::microseconds(rng_.between(0, at_most_us)));
  }
  std::string store() const { return directory_ + "/store"; }

  Conductor& conductor_;
  const RoundsOptions& options_;
  RoundsTotals& totals_;
  Rng rng_;
  std::string directory_;
  std::vector<std::string> settings_;
  std::unique_ptr<World> world_;
  Books books_;
  Findings findings_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::uint32_t life_ = 0;
  std::set<std::uint32_t> clean_lives_;
  Counters last_;
  IdKey id_key_{};  // that the store was made with
};

DaemonCommand Conductor::Campaign::command() const {
  DaemonCommand command;
  command.words = {options_.daemon};
  const auto add = [&command](const std::vector<std::string>& words) {
    command.words.insert(command.words.end(), words.begin(), words.end());
  };
  add(options_.arguments);
  add(world_->serve_words());
  add({"--data", store(), "--listen", "127.0.0.1:0"});
  command.environment = settings_;
  command.environment.insert(command.environment.end(), options_.environment.begin(),
                             options_.environment.end());
  command.log_file = directory_ + "/daemon.log";
  return command;
}

void Conductor::Campaign::start() {
  world_->receiver().begin_life(++life_);
  daemon_ = std::make_unique<DaemonProcess>(command());
}

// Empty: something was found.
std::string Conductor::Campaign::wait_address() {
  const std::string address = daemon_->wait_address(kStartMax);
  if (address.empty()) {
    found("start: the daemon does not start; see " + directory_ + "/daemon.log");
    return {};
  }
  world_->prepare(address, findings_);
  return findings_.empty() ? address : std::string();
}

void Conductor::Campaign::end_by_kill() {
  const int code = daemon_->kill_now();
  if (code != 128 + SIGKILL)
    found("died: the daemon ended by itself with code " + std::to_string(code) + "; see " +
          directory_ + "/daemon.log");
}

void Conductor::Campaign::round(std::uint32_t number) {
  const Manner manner = draw_manner(rng_, options_.manners);
  ++totals_.lives[static_cast<std::size_t>(manner)];
  world_->change_weather(last_.live() > kLivingMax);
  start();
  if (manner == Manner::kKillEarly) {
    pause(150'000);
    return end_by_kill();
  }
  const std::string address = wait_address();
  if (address.empty()) return;
  if (number % kRoundsPerAudit == 0) audit_living(address);
  Load& load = world_->load();
  load.open(address);
  if (manner == Manner::kKillRestore || manner == Manner::kStopRestore) {
    pause(10'000);
    return manner == Manner::kStopRestore ? stop_well() : end_by_kill();
  }
  const auto count = static_cast<std::uint64_t>(rng_.between(1, options_.accepted_max));
  static_cast<void>(load.wait_accepted(count, kLoadMax));
  pause(world_->linger_us_max());
  if (manner == Manner::kStopLoad) return stop_well();
  if (manner == Manner::kKillLoad) return end_by_kill();
  daemon_->signal(SIGTERM);
  pause(30'000);
  // It may have been quicker than we.
  const int code = daemon_->kill_now();
  if (code == 0) clean_lives_.insert(life_);
  if (code != 0 && code != 128 + SIGKILL)
    found("died: asked to stop, the daemon ended with code " + std::to_string(code));
}

void Conductor::Campaign::stop_well() {
  daemon_->signal(SIGTERM);
  const int code = daemon_->wait_end(kStopMax).value_or(-1);
  if (code != 0)
    found("stop: asked to stop, the daemon " +
          (code < 0 ? "does not" : "ended with code " + std::to_string(code)) + "; see " +
          directory_ + "/daemon.log");
  clean_lives_.insert(life_);
}

// Between two lives: what lies on the disk.
void Conductor::Campaign::audit_store() {
  const Bounds bounds = world_->bounds();
  // Killed so early that there is nothing yet.
  if (!std::filesystem::exists(store()) && bounds.low == 0) return;
  const auto report = check_store(store());
  if (!report) {
    if (report.error().code == ErrorCode::kNotFound && bounds.low == 0) return;
    return found("store: " + report.error().detail);
  }
  for (const std::string& damage : report->damage) found("store: " + damage);
  audit_counters(last_, report->counters, bounds, "the store", findings_);
  if (report->hot + report->cold + report->quarantined != report->counters.live())
    found("conservation: " + std::to_string(report->hot + report->cold) + " messages lie there, " +
          to_text(report->counters));
  if (report->quarantined != 0) found("store: messages are quarantined");
  if (id_key_ != IdKey() && id_key_ != report->id_key)
    found("store: its key for message ids has changed");
  id_key_ = report->id_key;
  last_ = report->counters;
}

// While nobody submits.
void Conductor::Campaign::audit_living(const std::string& address) {
  const auto counters = books_.stats(address);
  if (!counters || !books_.read_events(address, counters->ended(), world_->receiver()))
    return found("answer: " + books_.why());
  audit_counters(last_, *counters, world_->bounds(), "/v1/stats", findings_);
  last_ = *counters;
  world_->audit_living(address, books_, findings_);
}

bool Conductor::Campaign::wait_all_ended(const std::string& address) {
  const auto until = std::chrono::steady_clock::now() + kSettleMax;
  while (std::chrono::steady_clock::now() < until) {
    const auto counters = books_.stats(address);
    if (!counters) return false;
    last_ = *counters;
    if (counters->live() == 0) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

void Conductor::Campaign::finish() {
  start();
  const std::string address = wait_address();
  if (address.empty()) return;
  audit_living(address);
  if (!world_->make_fine(address))
    return found("answer: the daemon does not answer in fine weather");
  bool ended = wait_all_ended(address);
  if (ended) {
    world_->wait_quiet(findings_);
    ended = wait_all_ended(address);
  }
  if (!ended)
    return found("stuck: not everything ends in fine weather: " + to_text(last_) + " " +
                 books_.why());
  if (!books_.read_events(address, last_.ended(), world_->receiver()))
    return found("answer: " + books_.why());
  const auto metrics = books_.metrics(address);
  if (!metrics || to_text(*metrics) != to_text(last_))
    found("conservation: /metrics and /v1/stats differ: " +
          (metrics ? to_text(*metrics) + "; " + to_text(last_) : books_.why()));
  audit_counters(last_, last_, world_->bounds(), "/v1/stats", findings_);
  const Counters before = last_;
  world_->look_back(address, findings_);
  stop_well();
  audit_store();
  world_->audit(
      {.ends = books_.ends(), .clean_lives = clean_lives_, .counters = before, .id_key = id_key_},
      findings_);
  if (findings_.empty()) look_again(before);
  add_totals(before);
}

// A further life changes nothing, and tells the same from the beginning.
void Conductor::Campaign::look_again(const Counters& before) {
  Receiver& receiver = world_->receiver();
  const std::size_t arrivals = receiver.size();
  start();
  const std::string address = wait_address();
  if (address.empty()) return;
  Books again;
  const auto counters = again.stats(address);
  if (!counters || !again.read_events(address, before.ended(), receiver))
    return found("answer: " + again.why());
  if (to_text(*counters) != to_text(before))
    found("changed: " + to_text(before) + " is now " + to_text(*counters));
  for (const std::string& complaint : again.complaints()) found(complaint);
  for (const auto& [id, end] : books_.ends()) {
    const auto same = again.ends().find(id);
    if (same == again.ends().end() || same->second.phase != end.phase)
      found("changed: " + to_string(id) + " was told as " + end.phase + " and is it no more");
  }
  stop_well();
  receiver.begin_life(++life_);
  if (receiver.size() != arrivals) found("changed: something was sent after everything had ended");
}

void Conductor::Campaign::collect_complaints() {
  for (const std::string& complaint : world_->complaints()) found(complaint);
  for (const std::string& complaint : books_.complaints()) found(complaint);
}

void Conductor::Campaign::add_totals(const Counters& counters) {
  world_->add_to(totals_);
  totals_.counters.accepted += counters.accepted;
  totals_.counters.delivered += counters.delivered;
  totals_.counters.dead += counters.dead;
  totals_.counters.expired += counters.expired;
  totals_.counters.cancelled += counters.cancelled;
  totals_.counters.indeterminate += counters.indeterminate;
  ++totals_.campaigns;
}

// For whoever has to find out why.
void Conductor::Campaign::write_down() const {
  world_->write_down(directory_);
  std::ofstream ends(directory_ + "/ends.txt");
  for (const auto& [id, end] : books_.ends())
    ends << to_string(id) << " " << end.phase << " " << end.cause << " " << end.arrivals << "\n";
}

Findings Conductor::Campaign::run(std::uint32_t rounds) {
  world_->begin(findings_);
  for (std::uint32_t number = 1; number <= rounds && findings_.empty(); ++number) {
    round(number);
    world_->load().close();
    world_->load().wait_idle();
    if (findings_.empty()) audit_store();
    collect_complaints();
    ++totals_.rounds;
    conductor_.progress_(totals_);
  }
  if (findings_.empty()) finish();
  if (findings_.empty()) collect_complaints();
  if (!findings_.empty()) write_down();
  return findings_;
}

Conductor::Conductor(RoundsOptions options, Progress progress)
    : options_(std::move(options)), progress_(std::move(progress)), rng_(options_.seed) {}

Findings Conductor::run() {
  const auto began = std::chrono::steady_clock::now();
  while (totals_.rounds < options_.rounds) {
    const auto left = static_cast<std::uint32_t>(options_.rounds - totals_.rounds);
    const std::string directory =
        options_.directory + "/campaign-" + std::to_string(totals_.campaigns + 1);
    Findings findings;
    {
      Campaign campaign(*this, directory);
      findings = campaign.run(std::min(left, options_.rounds_per_campaign));
    }
    if (!findings.empty()) return findings;
    std::filesystem::remove_all(directory);
    const auto took = std::chrono::steady_clock::now() - began;
    if (options_.seconds_max != 0 && took >= std::chrono::seconds(options_.seconds_max)) break;
  }
  return {};
}

}  // namespace postrider::crash
