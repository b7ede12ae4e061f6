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
#include "tests/crash/load.h"

namespace postrider::crash {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStartMax(60'000);
constexpr milliseconds kStopMax(60'000);
constexpr milliseconds kLoadMax(4'000);  // a round is not longer, however slow the machine is
constexpr milliseconds kSettleMax(120'000);
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
        settings_(draw_settings(rng_)),
        journal_(conductor.next_serial_),
        receiver_(kSites, rng_.next()),
        load_(options_.clients, rng_.next(), journal_) {
    std::filesystem::create_directories(directory_);
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
  void change_weather();
  bool put_destinations(const std::string& address);
  bool resume_all(const std::string& address);
  bool wait_all_ended(const std::string& address);
  void audit_living(const std::string& address);
  void audit_store();
  Evidence evidence() const;
  void collect_complaints();
  void add_totals(const Counters& counters);
  void write_down() const;
  void found(std::string what) { findings_.push_back(std::move(what)); }
  void pause(std::int64_t at_most_us) {
    std::this_thread::sleep_for(std::chrono::microseconds(rng_.between(0, at_most_us)));
  }
  Bounds bounds() const { return {journal_.accepted(), journal_.accepted() + journal_.unknown()}; }
  std::string store() const { return directory_ + "/store"; }

  Conductor& conductor_;
  const RoundsOptions& options_;
  RoundsTotals& totals_;
  Rng rng_;
  std::string directory_;
  std::vector<std::string> settings_;
  Journal journal_;
  Receiver receiver_;
  Load load_;
  Books books_;
  Findings findings_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::uint32_t life_ = 0;
  std::set<std::uint32_t> clean_lives_;
  bool configured_ = false;
  Counters last_;
};

DaemonCommand Conductor::Campaign::command() const {
  DaemonCommand command;
  command.words = {options_.daemon};
  command.words.insert(command.words.end(), options_.arguments.begin(), options_.arguments.end());
  for (const char* word : {"--data", "", "--listen", "127.0.0.1:0"})
    command.words.emplace_back(word);
  *(command.words.end() - 3) = store();
  command.environment = settings_;
  command.environment.insert(command.environment.end(), options_.environment.begin(),
                             options_.environment.end());
  command.log_file = directory_ + "/daemon.log";
  return command;
}

void Conductor::Campaign::start() {
  receiver_.begin_life(++life_);
  daemon_ = std::make_unique<DaemonProcess>(command());
}

// Empty: something was found.
std::string Conductor::Campaign::wait_address() {
  const std::string address = daemon_->wait_address(kStartMax);
  if (address.empty()) found("start: the daemon does not start; see " + directory_ + "/daemon.log");
  return address;
}

void Conductor::Campaign::end_by_kill() {
  const int code = daemon_->kill_now();
  if (code != 128 + SIGKILL)
    found("died: the daemon ended by itself with code " + std::to_string(code) + "; see " +
          directory_ + "/daemon.log");
}

void Conductor::Campaign::change_weather() {
  const bool crowded = last_.live() > kLivingMax;
  for (std::uint32_t site = 0; site < kSites; ++site) {
    if (crowded) {
      receiver_.set_mood(site, Mood::kHealthy);
    } else if (rng_.chance(1, 4)) {
      receiver_.set_mood(site, static_cast<Mood>(rng_.below(4)));
    }
  }
}

bool Conductor::Campaign::put_destinations(const std::string& address) {
  HttpConnection connection;
  for (std::uint32_t site = 0; site < kSites && !configured_; ++site) {
    const std::string body =
        "{\"profile\":\"webhook\",\"settings\":{\"url\":\"" + receiver_.url(site) +
        "\",\"order\":\"" + (is_fifo(site) ? "fifo" : "none") +
        "\",\"ladder\":\"100ms,150ms,200ms\",\"wait_base\":\"100ms\",\"wait_max\":\"300ms\","
        "\"disable_after\":\"0\",\"time_out\":\"60s\"}}";
    const std::string path = "/v1/destinations/" + destination_of(site);
    std::optional<HttpAnswer> answer;
    if (connection.is_open() || connection.open(address))
      answer = connection.ask({.method = "PUT", .path = path, .body = body});
    if (!answer || answer->status / 100 != 2) {
      found("answer: a destination cannot be put: " + (answer ? answer->body : "no answer"));
      return false;
    }
  }
  configured_ = true;
  return true;
}

void Conductor::Campaign::round(std::uint32_t number) {
  const Manner manner = draw_manner(rng_, options_.manners);
  ++totals_.lives[static_cast<std::size_t>(manner)];
  change_weather();
  start();
  if (manner == Manner::kKillEarly) {
    pause(150'000);
    return end_by_kill();
  }
  const std::string address = wait_address();
  if (address.empty() || !put_destinations(address)) return;
  if (number % kRoundsPerAudit == 0) audit_living(address);
  load_.open(address);
  if (manner == Manner::kKillRestore || manner == Manner::kStopRestore) {
    pause(10'000);
    return manner == Manner::kStopRestore ? stop_well() : end_by_kill();
  }
  const auto count = static_cast<std::uint64_t>(rng_.between(1, options_.accepted_max));
  static_cast<void>(load_.wait_accepted(count, kLoadMax));
  pause(2'000);
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
  // Killed so early that there is nothing yet.
  if (!std::filesystem::exists(store()) && bounds().high == 0) return;
  const auto report = check_store(store());
  if (!report) {
    if (report.error().code == ErrorCode::kNotFound && bounds().low == 0) return;
    return found("store: " + report.error().detail);
  }
  for (const std::string& damage : report->damage) found("store: " + damage);
  audit_counters(last_, report->counters, bounds(), "the store", findings_);
  if (report->hot + report->cold + report->quarantined != report->counters.live())
    found("conservation: " + std::to_string(report->hot + report->cold) + " messages lie there, " +
          to_text(report->counters));
  if (report->quarantined != 0) found("store: messages are quarantined");
  last_ = report->counters;
}

// While nobody submits: every message that was accepted lives or has ended.
void Conductor::Campaign::audit_living(const std::string& address) {
  const std::vector<Submission> submissions = journal_.all();
  const std::vector<Arrival> arrivals = receiver_.arrivals();
  const auto living = books_.living(address);
  const auto counters = living ? books_.stats(address) : std::nullopt;
  if (!counters || !books_.read_events(address, counters->ended(), receiver_))
    return found("answer: " + books_.why());
  audit_counters(last_, *counters, bounds(), "/v1/stats", findings_);
  last_ = *counters;
  const auto is_known = [&](MessageId id) {
    return living->contains(id) || books_.ends().contains(id) || books_.explain(address, id) == 200;
  };
  for (const Submission& submission : submissions) {
    if (submission.fate == Submission::Fate::kAccepted && !is_known(submission.id))
      found("lost: " + to_string(submission.id) + " was accepted and is nowhere");
  }
  for (const Arrival& arrival : arrivals) {
    if (!is_known(arrival.id))
      found("phantom: " + to_string(arrival.id) + " was sent, but was never accepted");
  }
}

bool Conductor::Campaign::resume_all(const std::string& address) {
  HttpConnection connection;
  if (!connection.open(address)) return false;
  for (std::uint32_t site = 0; site < kSites; ++site) {
    receiver_.set_mood(site, Mood::kHealthy);
    const std::string path = "/v1/destinations/" + destination_of(site) + "/resume";
    const auto answer = connection.ask({.method = "POST", .path = path});
    if (!answer || answer->status / 100 != 2) return false;
  }
  return true;
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
  if (address.empty() || !put_destinations(address)) return;
  audit_living(address);
  if (!load_.settle(address) || !resume_all(address))
    return found("answer: the daemon does not answer in fine weather");
  if (!wait_all_ended(address))
    return found("stuck: not everything ends in fine weather: " + to_text(last_) + " " +
                 books_.why());
  if (!books_.read_events(address, last_.ended(), receiver_))
    return found("answer: " + books_.why());
  const auto metrics = books_.metrics(address);
  if (!metrics || to_text(*metrics) != to_text(last_))
    found("conservation: /metrics and /v1/stats differ: " +
          (metrics ? to_text(*metrics) + "; " + to_text(last_) : books_.why()));
  audit_counters(last_, last_, bounds(), "/v1/stats", findings_);
  const Counters before = last_;
  stop_well();
  audit_store();
  const Evidence all = evidence();
  audit_arrivals(all, findings_);
  audit_order_of_ids(all, findings_);
  audit_ends(all, before, findings_);
  if (findings_.empty()) look_again(before);
  add_totals(before);
}

// A further life changes nothing, and tells the same from the beginning.
void Conductor::Campaign::look_again(const Counters& before) {
  const std::size_t arrivals = receiver_.size();
  start();
  const std::string address = wait_address();
  if (address.empty()) return;
  Books again;
  const auto counters = again.stats(address);
  if (!counters || !again.read_events(address, before.ended(), receiver_))
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
  receiver_.begin_life(++life_);
  if (receiver_.size() != arrivals) found("changed: something was sent after everything had ended");
}

Evidence Conductor::Campaign::evidence() const {
  return {.first_serial = journal_.first(),
          .submissions = journal_.all(),
          .arrivals = receiver_.arrivals(),
          .ends = books_.ends(),
          .clean_lives = clean_lives_};
}

void Conductor::Campaign::collect_complaints() {
  for (const std::string& complaint : journal_.complaints()) found(complaint);
  for (const std::string& complaint : books_.complaints()) found(complaint);
}

void Conductor::Campaign::add_totals(const Counters& counters) {
  std::unordered_map<MessageId, std::uint64_t> good;
  for (const Arrival& arrival : receiver_.arrivals()) {
    ++totals_.arrivals;
    if (arrival.status / 100 == 2 && good[arrival.id]++ != 0) ++totals_.duplicates;
  }
  totals_.submitted += journal_.all().size();
  totals_.unanswered += journal_.unknown();
  totals_.counters.accepted += counters.accepted;
  totals_.counters.delivered += counters.delivered;
  totals_.counters.dead += counters.dead;
  totals_.counters.expired += counters.expired;
  totals_.counters.cancelled += counters.cancelled;
  ++totals_.campaigns;
}

// For whoever has to find out why.
void Conductor::Campaign::write_down() const {
  std::ofstream submissions(directory_ + "/submissions.txt");
  std::uint64_t serial = journal_.first();
  for (const Submission& it : journal_.all()) {
    submissions << serial++ << " client " << it.client << " site " << it.site << " lane "
                << int{it.lane} << (it.keyed ? " keyed" : "") << (it.unwanted ? " unwanted" : "")
                << (it.expires ? " expires" : "") << (it.repeated ? " repeated" : "") << " cancel "
                << static_cast<int>(it.cancel) << " fate " << static_cast<int>(it.fate) << " "
                << (it.id.is_set() ? to_string(it.id) : "-") << it.more << "\n";
  }
  std::ofstream arrivals(directory_ + "/arrivals.txt");
  for (const Arrival& it : receiver_.arrivals()) {
    arrivals << "life " << it.life << " site " << it.site << " " << to_string(it.id) << " "
             << it.serial << " " << it.status << (it.intact ? "" : " BROKEN") << "\n";
  }
  std::ofstream ends(directory_ + "/ends.txt");
  for (const auto& [id, end] : books_.ends())
    ends << to_string(id) << " " << end.phase << " " << end.cause << " " << end.arrivals << "\n";
}

Findings Conductor::Campaign::run(std::uint32_t rounds) {
  for (std::uint32_t number = 1; number <= rounds && findings_.empty(); ++number) {
    round(number);
    load_.close();
    load_.wait_idle();
    if (findings_.empty()) audit_store();
    collect_complaints();
    ++totals_.rounds;
    conductor_.progress_(totals_);
  }
  if (findings_.empty()) finish();
  if (findings_.empty()) collect_complaints();
  if (!findings_.empty()) write_down();
  conductor_.next_serial_ += journal_.all().size();
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
