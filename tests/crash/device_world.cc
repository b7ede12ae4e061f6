// The world of devices: clients that command meters by push and by pull, a network server and a
// vendor that lose, double, delay, refuse and hang, and a consumer of events that is healthy, slow,
// flaky or dead.
#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "postrider/base/rng.h"
#include "tests/crash/conductor.h"
#include "tests/crash/device_audit.h"
#include "tests/crash/device_client.h"
#include "tests/crash/world.h"

namespace postrider::crash {
namespace {

constexpr std::chrono::seconds kQuietMax(20);
constexpr std::chrono::milliseconds kBetweenLooks(50);
constexpr std::uint32_t kConsumer = 0;

// Hours of waiting would make no good rounds: everything takes a fraction of its usual time. What
// cannot be set are the 5 s between two looks, the 10 s of a half acknowledgement, and the 2 min
// after which a server has forgotten a command.
constexpr std::string_view kConfig = R"([plugins.lorawan]
secret = "SECRET"
[plugins.lorawan.settings]
way = "chirpstack"
url = "http://NETWORK"
events = "consumer"
events_cancelled = "true"
spacing = "SPACING"
call_time_out = "500ms"
probe_time_out = "500ms"
server_time_out = "1s"
air_time_out = "1s"
expires_after = "1m"
retry_base = "50ms"
retry_cap = "1s"
ask_again_base = "200ms"
ask_again_cap = "1s"
"repeat.TURN_OFF" = "never"
"repeat.CLEAR_TAMPER" = "never"

[plugins.calin]
[plugins.calin.settings]
way = "calin-v2"
url = "http://VENDOR"
events = "consumer"
events_cancelled = "true"
company = "crash"
user = "crash"
password = "crash"
customer = "1"
in_flight_max = "PLACES"
call_time_out = "1s"
poll_time_out = "500ms"
poll_first = "100ms"
poll_waits = "100ms,200ms,300ms,500ms"
poll_ages = "1s,3s,6s"
retry_base = "50ms"
retry_cap = "1s"
ask_again_base = "200ms"
ask_again_cap = "1s"
strikes_max = "0"
"repeat.TURN_OFF" = "never"
"repeat.CLEAR_TAMPER" = "never"

[destinations.consumer.settings]
url = "CONSUMER"
id_header = "X-Device-Messaging-Event-Id"
ladder = "100ms,150ms,200ms"
in_flight_max = "16"
wait_base = "100ms"
wait_max = "300ms"
disable_after = "0"
time_out = "60s"
)";

void replace(std::string& text, std::string_view what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
}

class DeviceWorld final : public World {
 public:
  DeviceWorld(const RoundsOptions& options, std::uint64_t seed, std::string directory)
      : directory_(std::move(directory)),
        rng_(seed),
        far_sides_(options.sinks, rng_.next(), directory_),
        receiver_(1, rng_.next(), Receiver::Keeps::kBodies),
        load_(options.clients, [this](std::uint32_t number, std::function<void()> accepted) {
          return std::make_unique<DeviceClient>(number, rng_.next(), far_sides_, journal_,
                                                std::move(accepted));
        }) {}

  void begin(Findings& out) override;
  std::vector<std::string> serve_words() const override { return {"--config", config_file()}; }
  void change_weather(bool crowded) override;
  void prepare(const std::string& address, Findings& out) override;
  Load& load() override { return load_; }
  Receiver& receiver() override { return receiver_; }
  std::int64_t linger_us_max() const override { return 300'000; }
  // Events are messages, too.
  Bounds bounds() const override { return {journal_.accepted(), UINT64_MAX}; }
  void audit_living(const std::string& address, Books& books, Findings& out) override;
  bool make_fine(const std::string& address) override;
  void wait_quiet(Findings& out) override;
  void look_back(const std::string& address, Findings& out) override;
  void audit(const Ended& ended, Findings& out) override;
  std::vector<std::string> complaints() const override { return journal_.complaints(); }
  void add_to(RoundsTotals& totals) const override;
  void write_down(const std::string& directory) const override;

 private:
  std::string config_file() const { return directory_ + "/postrider.toml"; }

  std::string directory_;
  Rng rng_;
  DeviceJournal journal_;
  FarSides far_sides_;
  Receiver receiver_;
  Load load_;
  std::vector<DeviceHistory> histories_;
  Ledger ledger_;
};

void DeviceWorld::begin(Findings& out) {
  if (!far_sides_.wait_started())
    return out.push_back("start: the sinks do not start; see " + directory_ + "/*.log");
  std::string config(kConfig);
  replace(config, "SECRET", kIngressSecret);
  replace(config, "NETWORK", far_sides_.network());
  replace(config, "VENDOR", far_sides_.vendor());
  replace(config, "CONSUMER", receiver_.url(kConsumer));
  replace(config, "SPACING", rng_.chance(1, 2) ? "0" : "5ms");
  replace(config, "PLACES", rng_.chance(1, 2) ? "5" : "50");
  std::ofstream(config_file()) << config;
  static_cast<void>(far_sides_.set_weather(Weather::kRough, Weather::kRough));
}

void DeviceWorld::change_weather(bool crowded) {
  if (crowded) {
    receiver_.set_mood(kConsumer, Mood::kHealthy);
    static_cast<void>(far_sides_.set_weather(Weather::kCalm, Weather::kCalm));
    return;
  }
  if (rng_.chance(1, 4)) receiver_.set_mood(kConsumer, static_cast<Mood>(rng_.below(4)));
  if (!rng_.chance(1, 4)) return;
  const auto of_network = static_cast<Weather>(rng_.below(3));
  const auto of_vendor = static_cast<Weather>(rng_.below(3));
  static_cast<void>(far_sides_.set_weather(of_network, of_vendor));
}

// A new daemon has another port; the network server is told, as its operator would.
void DeviceWorld::prepare(const std::string& address, Findings& out) {
  if (!far_sides_.send_events_to("http://" + address + "/ingress/lorawan"))
    out.push_back("start: the network server does not answer; see " + directory_ + "/*.log");
}

// Every command that was accepted lives or has ended.
void DeviceWorld::audit_living(const std::string& address, Books& books, Findings& out) {
  const auto living = books.living(address);
  if (!living) return out.push_back("answer: " + books.why());
  for (const DeviceCommand& command : journal_.all()) {
    const PublicId id = command.id;
    if (id.is_set() && !living->contains(id) && !books.ends().contains(id) &&
        books.explain(address, id) != 200)
      out.push_back("lost: " + command.correlation + " was accepted as " + to_string(id) +
                    " and is nowhere");
  }
}

bool DeviceWorld::make_fine(const std::string& address) {
  receiver_.set_mood(kConsumer, Mood::kHealthy);
  return far_sides_.set_weather(Weather::kCalm, Weather::kCalm) && load_.settle(address);
}

// What the far sides still hold may yet run, and what a meter says by itself becomes an event.
void DeviceWorld::wait_quiet(Findings& out) {
  const auto until = std::chrono::steady_clock::now() + kQuietMax;
  do {
    auto ledger = far_sides_.read_ledger();
    if (!ledger) return out.push_back("start: a sink does not answer; see " + directory_);
    ledger_ = std::move(*ledger);
    if (ledger_.open() == 0 && far_sides_.told_all()) return;
    std::this_thread::sleep_for(kBetweenLooks);
  } while (std::chrono::steady_clock::now() < until);
}

void DeviceWorld::look_back(const std::string& address, Findings& out) {
  HttpConnection connection;
  for (const DeviceCommand& command : journal_.all()) {
    std::optional<HttpAnswer> answer;
    const std::string path = "/message/" + command.correlation + "/history";
    if (connection.is_open() || connection.open(address))
      answer = connection.ask({.method = "GET", .path = path});
    if (!answer) return out.push_back("answer: " + path + " was not answered");
    histories_.push_back({.status = answer->status,
                          .id = parse_contract_id(member(answer->body, "id")),
                          .outcome = member(answer->body, "outcome"),
                          .may_have_run = member(answer->body, "mayHaveRun") == "true"});
  }
}

void DeviceWorld::audit(const Ended& ended, Findings& out) {
  if (!out.empty()) return;  // what we have is not all
  const DeviceEvidence evidence{.commands = journal_.all(),
                                .histories = histories_,
                                .ends = ended.ends,
                                .events = receiver_.arrivals(),
                                .ledger = ledger_};
  audit_outcomes(evidence, out);
  audit_meters(evidence, out);
  audit_events(evidence, out);
}

void DeviceWorld::add_to(RoundsTotals& totals) const {
  std::unordered_map<std::string, std::uint64_t> good;
  for (const Arrival& arrival : receiver_.arrivals()) {
    ++totals.arrivals;
    if (arrival.status / 100 == 2 && good[arrival.event]++ != 0) ++totals.duplicates;
  }
  totals.submitted += journal_.all().size();
  totals.joins += far_sides_.joins();
  for (const LedgerCopy& copy : ledger_.copies) {
    ++totals.copies;
    totals.runs += copy.ran;
  }
  for (const DeviceHistory& history : histories_) ++totals.outcomes[history.outcome];
}

void DeviceWorld::write_down(const std::string& directory) const {
  const std::vector<DeviceCommand> all = journal_.all();
  std::ofstream commands(directory + "/commands.txt");
  for (std::size_t i = 0; i < all.size(); ++i) {
    commands << all[i].correlation << " " << all[i].what << (all[i].is_push ? " push" : " pull")
             << " class " << static_cast<int>(all[i].repeat) << " cancel "
             << static_cast<int>(all[i].cancel) << " "
             << (all[i].id.is_set() ? to_string(all[i].id) : "-");
    if (i < histories_.size())
      commands << " " << histories_[i].outcome
               << (histories_[i].may_have_run ? " may-have-run" : "");
    commands << "\n";
  }
  std::ofstream events(directory + "/events.txt");
  for (const Arrival& it : receiver_.arrivals())
    events << "life " << it.life << " " << it.status << " " << to_string(it.id) << " " << it.event
           << " " << it.body << "\n";
  const auto ledger = far_sides_.read_ledger();
  std::ofstream copies(directory + "/ledger.txt");
  if (!ledger) return;
  for (const LedgerCopy& it : ledger->copies) {
    copies << it.meter << " " << it.what << " " << it.name << " " << it.end << " ran " << it.ran
           << " did " << it.executed << "\n";
  }
}

}  // namespace

std::unique_ptr<World> make_device_world(const RoundsOptions& options, std::uint64_t seed,
                                         const std::string& directory) {
  return std::make_unique<DeviceWorld>(options, seed, directory);
}

}  // namespace postrider::crash
