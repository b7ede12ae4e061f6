#include "tests/crash/damage_rounds.h"

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <unordered_set>
#include <utility>

#include "postrider/model/answer.h"
#include "postrider/model/ids.h"
#include "tests/crash/books.h"
#include "tests/crash/daemon_process.h"
#include "tests/crash/http.h"
#include "tests/crash/receiver.h"

namespace postrider::crash {
namespace {

constexpr std::chrono::milliseconds kLong(120'000);  // far more than it takes
constexpr int kSignals = 128;                        // exit codes from here on: ended by a signal

std::string text_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// What a life of the daemon showed.
struct Life {
  int code = 0;  // of a daemon that ended by itself
  bool ended = false;
  bool answered = false;  // all questions
  Counters counters;
  std::unordered_set<PublicId> living;
  std::string log;
};

struct Check {
  int code = 0;
  std::string said;
};

}  // namespace

// One store, as it was left, and copies of it.
class DamageRounds::Store {
 public:
  Store(const DamageOptions& options, Rng& rng, std::string directory, bool killed)
      : options_(options),
        rng_(rng),
        directory_(std::move(directory)),
        killed_(killed),
        receiver_(1, 1) {
    std::filesystem::create_directories(directory_);
  }

  // Empty, or why it could not be made.
  std::string make();
  struct Judged {
    Verdict verdict = Verdict::kFound;
    Damage damage;
    std::string finding;
  };
  Judged damage_once();
  const std::string& directory() const { return directory_; }

 private:
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  DaemonCommand serve(const std::string& store) const;
  bool ask(const HttpQuestion& question);
  bool fill(bool last);
  std::string lines(std::uint64_t count, std::uint64_t bytes);
  bool wait_delivered();
  Life live(const std::string& store);
  Check check(const std::string& store);
  std::string judge(const Check& check, const Life& life, Verdict& verdict) const;

  const DamageOptions& options_;
  Rng& rng_;
  std::string directory_;
  bool killed_;
  Receiver receiver_;
  std::string address_;
  HttpConnection connection_;
  std::uint64_t sent_ = 0;  // to the destination that is not paused
  Life sound_;
};

DaemonCommand DamageRounds::Store::serve(const std::string& store) const {
  DaemonCommand command;
  command.words = {options_.daemon, "serve", "--data", store, "--listen", "127.0.0.1:0"};
  // Small tables: several logs, and tables of several levels of age.
  command.environment = {"POSTRIDER_TRANSPORT_ALLOW=127.0.0.0/8",
                         "POSTRIDER_STORE_FREE_BYTES_MIN=0", "POSTRIDER_STORE_FREE_BYTES_RESERVE=0",
                         "POSTRIDER_STORE_MEMTABLE_BYTES=1MiB"};
  command.log_file = path("daemon.log");
  return command;
}

bool DamageRounds::Store::ask(const HttpQuestion& question) {
  if (!connection_.is_open() && !connection_.open(address_)) return false;
  const auto answer = connection_.ask(question);
  return answer && answer->status / 100 == 2;
}

std::string DamageRounds::Store::lines(std::uint64_t count, std::uint64_t bytes) {
  std::string out;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string body;
    for (const std::uint64_t size = 1 + rng_.below(bytes); body.size() < size;)
      body += std::to_string(rng_.next());
    out += R"({"destination":"away","body":")" + body + "\"}\n";
  }
  return out;
}

// What is delivered has ended when this returns, so that every later life finds the same.
bool DamageRounds::Store::wait_delivered() {
  const auto until = std::chrono::steady_clock::now() + kLong;
  Books books;
  while (std::chrono::steady_clock::now() < until) {
    const auto counters = books.stats(address_);
    if (!counters || counters->delivered >= sent_) return counters.has_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// Some messages are delivered; the others wait for destinations that are paused.
bool DamageRounds::Store::fill(bool last) {
  const std::string settings =
      R"({"profile":"webhook","settings":{"url":")" + receiver_.url(0) + "\"}}";
  bool good = true;
  for (const char* name : {"site", "away"})
    good =
        good &&
        ask({.method = "PUT", .path = std::string("/v1/destinations/") + name, .body = settings});
  good = good && ask({.method = "POST", .path = "/v1/destinations/away/pause"});
  for (const std::uint64_t wanted = sent_ + 20; good && sent_ < wanted; ++sent_)
    good = ask(
        {.method = "POST", .path = "/v1/messages", .body = R"({"destination":"site","body":"x"})"});
  good = good && wait_delivered();
  constexpr std::string_view kLines = "application/x-ndjson";
  const std::uint64_t bytes = rng_.below(2) == 0 ? 200 : 12'000;
  const std::string batch = lines(50 + rng_.below(400), bytes);
  good = good &&
         ask({.method = "POST", .path = "/v1/messages", .body = batch, .content_type = kLines});
  if (!good || !last || rng_.below(2) == 0) return good;
  // The kill strikes in the middle of these.
  const std::string more = lines(500, bytes);
  return connection_.send(
      {.method = "POST", .path = "/v1/messages", .body = more, .content_type = kLines});
}

std::string DamageRounds::Store::make() {
  const auto lives = 1 + rng_.below(3);
  for (std::uint64_t life = 1; life <= lives; ++life) {
    DaemonProcess daemon(serve(path("sound")));
    address_ = daemon.wait_address(kLong);
    connection_.close();
    if (address_.empty() || !fill(life == lives))
      return "a store cannot be made: " + text_of(path("daemon.log"));
    if (life == lives && killed_) {
      std::this_thread::sleep_for(std::chrono::microseconds(rng_.below(30'000)));
      daemon.kill_now();
    } else {
      daemon.signal(SIGTERM);
      if (daemon.wait_end(kLong) != 0) return "the daemon does not stop";
    }
  }
  std::filesystem::copy(path("sound"), path("copy"), std::filesystem::copy_options::recursive);
  sound_ = live(path("copy"));
  std::filesystem::remove_all(path("copy"));
  return sound_.answered ? "" : "an undamaged store does not start: " + sound_.log;
}

Life DamageRounds::Store::live(const std::string& store) {
  Life out;
  std::filesystem::remove(path("daemon.log"));
  DaemonProcess daemon(serve(store));
  const std::string address = daemon.wait_address(kLong);
  if (!address.empty()) {
    // All is told only when all was read.
    HttpConnection connection;
    const auto until = std::chrono::steady_clock::now() + kLong;
    std::optional<HttpAnswer> ready;
    while (std::chrono::steady_clock::now() < until && connection.open(address)) {
      ready = connection.ask({.method = "GET", .path = "/readyz"});
      if (ready && ready->status == 200) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    Books books;
    const auto living = books.living(address);
    const auto counters = books.stats(address);
    out.answered = ready && ready->status == 200 && living && counters;
    if (living) out.living = *living;
    if (counters) out.counters = *counters;
  }
  // One that listened may be stopping; one that did not has said why, or hangs.
  const auto code = daemon.wait_end(std::chrono::milliseconds(out.answered ? 0 : 5'000));
  out.ended = code.has_value();
  out.code = code.value_or(0);
  daemon.kill_now();
  out.log = text_of(path("daemon.log"));
  return out;
}

Check DamageRounds::Store::check(const std::string& store) {
  DaemonCommand command;
  command.words = {options_.daemon, "check", "--json", store};
  command.log_file = path("check.log");
  std::filesystem::remove(command.log_file);
  DaemonProcess process(command);
  Check out;
  out.said = process.wait_said("{\"whole\":", kLong);
  out.code = process.wait_end(kLong).value_or(kSignals);
  if (out.said.empty()) out.said = text_of(command.log_file);
  return out;
}

// Empty, or the finding.
std::string DamageRounds::Store::judge(const Check& check, const Life& life,
                                       Verdict& verdict) const {
  verdict = Verdict::kFound;
  if (check.code >= kSignals) return "died: the check ended by a signal: " + check.said;
  if (life.ended && life.code >= kSignals) return "died: the daemon ended by a signal: " + life.log;
  const bool whole = check.code == 0;
  if (life.ended) {
    if (life.log.find(path("damaged")) == std::string::npos)
      return "unnamed: the daemon refuses and does not say what: " + life.log;
    if (whole) return "check: it passes what the daemon refuses: " + last_line(life.log);
    verdict = Verdict::kRefused;
    return "";
  }
  const bool same = life.answered && life.living == sound_.living &&
                    to_text(life.counters) == to_text(sound_.counters);
  if (same && whole) {
    verdict = Verdict::kHarmless;
    return "";
  }
  if (!whole) {
    verdict = Verdict::kTold;
    return "";
  }
  std::size_t lost = 0;
  std::size_t more = 0;
  for (const PublicId id : sound_.living) lost += life.living.count(id) == 0 ? 1U : 0U;
  for (const PublicId id : life.living) more += sound_.living.count(id) == 0 ? 1U : 0U;
  return "silent: " + std::to_string(lost) + " of " + std::to_string(sound_.living.size()) +
         " live messages are gone and " + std::to_string(more) + " came back; " +
         to_text(sound_.counters) + " was, " + to_text(life.counters) + " is";
}

DamageRounds::Store::Judged DamageRounds::Store::damage_once() {
  Judged out;
  const std::string damaged = path("damaged");
  std::optional<Damage> damage;
  while (!damage) {
    std::filesystem::remove_all(damaged);
    std::filesystem::copy(path("sound"), damaged, std::filesystem::copy_options::recursive);
    damage = do_damage(damaged, rng_);
  }
  out.damage = *damage;
  // The daemon changes what it opens; a finding is looked at as it was.
  const std::string kept = path("kept");
  std::filesystem::remove_all(kept);
  std::filesystem::copy(damaged, kept, std::filesystem::copy_options::recursive);
  const Check checked = check(damaged);
  out.finding = judge(checked, live(damaged), out.verdict);
  if (!out.finding.empty())
    out.finding += " [" + std::string(killed_ ? "killed" : "closed") + " store, " + damage->file +
                   ": " + damage->what + "]";
  return out;
}

DamageRounds::DamageRounds(DamageOptions options, Progress progress)
    : options_(std::move(options)), progress_(std::move(progress)), rng_(options_.seed) {}

std::vector<std::string> DamageRounds::run() {
  std::vector<std::string> findings;
  for (std::uint64_t number = 1; totals_.damages < options_.damages; ++number) {
    const bool killed = number % 3 != 0;
    ++(killed ? totals_.killed : totals_.closed);
    Store store(options_, rng_, options_.directory + "/store-" + std::to_string(number), killed);
    const std::string trouble = store.make();
    if (!trouble.empty()) return {trouble};
    bool found = false;
    for (std::uint32_t i = 0; i < options_.damages_per_store && totals_.damages < options_.damages;
         ++i) {
      const Store::Judged judged = store.damage_once();
      ++totals_.damages;
      ++totals_.verdicts[judged.damage.kind][static_cast<std::size_t>(judged.verdict)];
      progress_(totals_);
      if (judged.finding.empty()) continue;
      const std::string kept = store.directory() + "-finding-" + std::to_string(totals_.damages);
      std::filesystem::rename(store.directory() + "/kept", kept);
      findings.push_back(judged.finding + " kept as " + kept);
      found = true;
      if (findings.size() >= options_.findings_max) return findings;
    }
    if (!found) std::filesystem::remove_all(store.directory());
  }
  return findings;
}

}  // namespace postrider::crash
