#include "postrider/node/daemon.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "postrider/base/check.h"
#include "postrider/base/durations.h"
#include "postrider/node/descriptors.h"
#include "postrider/node/node.h"
#include "postrider/node/token_principals.h"
#include "postrider/profiles/all.h"
#include "postrider/runtime/log.h"
#include "postrider/runtime/system_clock.h"
#include "postrider/stores/file_faults.h"

namespace postrider {
namespace {

constexpr Duration kTick(100);
constexpr Duration kLookAtSpace(100);  // in a second a quick disk is full
constexpr Duration kLookAtBrokers(1000);
constexpr std::string_view kSinkPath = "/dev/sink";
constexpr std::string_view kSinkName = "sink";

// Tells systemd, when it started us, how we are.
void notify_manager(std::string_view state) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path);
  if (length == 0 || length >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, length);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  static_cast<void>(::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), size));
  ::close(socket);
}

void read_memory(ProcessFigures& out) {
  std::ifstream statm("/proc/self/statm");
  statm >> out.virtual_bytes >> out.resident_bytes;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  out.virtual_bytes *= page;
  out.resident_bytes *= page;
}

std::uint64_t entries_of(const char* directory) {
  std::error_code error;
  std::uint64_t count = 0;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    ++count;
  return count;
}

std::uint64_t cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1000 +
           static_cast<std::uint64_t>(time.tv_usec) / 1000;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

LogLevel level_of(std::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  return name == "error" ? LogLevel::kError : LogLevel::kInfo;
}

void rehearse_fault(const DaemonOptions& options, FileFaults& faults) {
  using Fault = FileFaults::Fault;
  std::error_code error;
  const bool strikes = std::filesystem::exists(options.fault_while, error);
  const auto when = [strikes](bool wanted, Fault fault) {
    return strikes && wanted ? fault : Fault::kNone;
  };
  if (options.fault == DiskFault::kFull) {
    faults.writes = when(true, Fault::kNoSpace);
  } else {
    faults.writes = when(options.fault == DiskFault::kWriteError, Fault::kIoError);
  }
  faults.syncs = when(options.fault == DiskFault::kSyncError, Fault::kIoError);
}

constexpr std::string_view kClockWasSet =
    "the wall clock was set: timers go by our own, and follow it only when it stands";

std::string_view words_of(DoubtNews::Kind kind) {
  switch (kind) {
    case DoubtNews::Kind::kDoubted:
      return "the wall clock is more than a day ahead of the last commit, and the kernel does not "
             "call it synchronised: it is in doubt, and for ten minutes nothing expires or is "
             "forgotten by it";
    case DoubtNews::Kind::kBelieved: return "the wall clock is believed: timers follow it";
    case DoubtNews::Kind::kTakenBack:
      return "the wall clock was wrong at the start and went back: nothing has expired or was "
             "forgotten by it";
  }
  POSTRIDER_CHECK(false);
  return {};
}

NodeOptions daemon_options(const DaemonOptions& options) {
  const Config& config = options.config;
  NodeOptions node;
  node.store.directory = config.store.directory;
  node.store.cache_bytes = config.store.cache_bytes;
  node.store.memtable_bytes = config.store.memtable_bytes;
  node.store.wal_bytes_max = config.store.wal_bytes_max;
  node.store.open_files_max = static_cast<int>(config.store.open_files_max);
  node.store.drop_unsynced = options.drop_unsynced;
  node.store.sync = !options.skip_sync;
  node.free_bytes_min = config.store.free_bytes_min;
  node.reserve_bytes = config.store.free_bytes_reserve;
  node.host = config.host;
  node.transport = config.transport;
  node.grpc = config.grpc;
  node.transport_loops = config.transport_loops;
  node.brokers = config.brokers;
  node.stations = config.stations;
  node.host.shard.engine.profiles = options.profiles;
  if (options.dev) {
    node.transport.allow.emplace_back("127.0.0.0/8");
    node.transport.allow.emplace_back("::1/128");
  }
  return node;
}

}  // namespace

class Daemon::Impl {
 public:
  explicit Impl(DaemonOptions options)
      : options_(std::move(options)), started_with_(options_.config), log_(clock_) {
    log_.set(level_of(options_.config.log.level), options_.config.log.format == "json");
    if (options_.fault != DiskFault::kNone) faults_ = std::make_shared<FileFaults>();
  }

  Result<void> start();
  int run();

  std::vector<std::string> addresses_;

 private:
  Result<void> share_out_descriptors();
  Result<void> let_doors_listen(const HttpTransportOptions& transport);
  HttpHandler handler();
  Result<Arrived> arrival_of(const BrokerEvent& event) const;
  ProcessFigures figures();
  void wait_for_signal();
  void on_signal(int number);
  void reload();
  void take(const Config& config);
  void put_destinations(const std::vector<DestinationConfig>& destinations);
  void put_sink();
  const doors::DevSink* dev_sink() const;
  void look_for_listeners();
  void look_around();
  void watch_space();
  void watch_brokers();

  DaemonOptions options_;
  const Config started_with_;  // what a reload is compared with; options_ has it as shared out
  SystemClock clock_;
  const std::uint64_t started_ms_ = static_cast<std::uint64_t>(clock_.read().wall.ms());
  std::uint64_t descriptor_limit_ = 0;
  Log log_;
  TokenPrincipals principals_;  // for stations
  std::unique_ptr<Node> node_;
  std::unique_ptr<HttpApi> api_;
  std::vector<doors::OpenDoor*> doors_;  // kept by api_
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<boost::asio::signal_set> signals_;
  std::map<std::string, BrokerState, std::less<>> brokers_;  // as they were told last
  // Only when one is rehearsed: otherwise the store writes to the disk without a layer between.
  std::shared_ptr<FileFaults> faults_;
  bool has_space_ = true;
  bool was_restarting_ = false;
  bool was_ready_ = false;
  bool draining_ = false;
  Timestamp give_up_at_;
  int exit_code_ = 0;
};

// The store comes first: when it cannot open a file the process must stop, while clients and
// attempts can wait.
Result<void> Daemon::Impl::share_out_descriptors() {
  const std::uint64_t limit = descriptor_limit_ = raise_descriptor_limit();
  Config& config = options_.config;
  POSTRIDER_TRY(shares, share_descriptors(limit, config.store.open_files_max));
  config.store.open_files_max = shares.store_files_max;
  config.server.limits.descriptors_max = shares.network_max;
  config.transport.descriptors_max = shares.network_max;
  const ConnectionShares wanted{
      .server = config.server.limits.connections_max,
      .http = config.transport.connections_max,
      .grpc = config.grpc.connections_max,
      .lines = config.stations.empty() ? 0 : config.host.stations.lines.lines_max};
  const ConnectionShares given =
      share_connections(wanted, static_cast<std::uint64_t>(shares.network_max));
  if (given == wanted) return {};
  config.server.limits.connections_max = given.server;
  config.transport.connections_max = given.http;
  config.transport.idle_connections_max =
      std::min(config.transport.idle_connections_max, given.http);
  config.grpc.connections_max = given.grpc;
  if (given.lines != 0) config.host.stations.lines.lines_max = given.lines;
  config.warnings.push_back(
      "the process may open " + std::to_string(limit) + " files (ulimit -n), so " +
      std::to_string(shares.network_max) + " are for connections: " + std::to_string(given.server) +
      " of clients, " + std::to_string(given.http) + " by HTTP and " + std::to_string(given.grpc) +
      " by gRPC" +
      (given.lines == 0 ? std::string()
                        : ", and " + std::to_string(given.lines) + " lines of stations") +
      ", fewer than configured");
  return {};
}

Result<void> Daemon::Impl::start() {
  if (auto shared = share_out_descriptors(); !shared) return shared;
  NodeOptions options = daemon_options(options_);
  options.store.faults = faults_;
  options.store.tell = [this](const StoreNotice& notice) {
    constexpr std::string_view kSays = "the database of the store says";
    if (notice.is_error) return log_.error(kSays, {{"text", notice.text}});
    log_.warning(kSays, {{"text", notice.text}});
  };
  options.arrival = [this](const BrokerEvent& event) { return arrival_of(event); };
  options.host.clock_was_set = [this](Duration by) {
    log_.warning(kClockWasSet, {{"by_seconds", std::to_string(by.count() / 1000)}});
  };
  options.host.clock_in_doubt = [this](const DoubtNews& news) {
    log_.warning(words_of(news.kind), {{"by_seconds", std::to_string(news.by.count() / 1000)}});
  };
  options.host.station_misused = [this](std::string_view verb, const std::string& what) {
    log_.error("a station broke its contract", {{"station", std::string(verb)}, {"what", what}});
  };
  principals_.set_tokens(options_.config.api.tokens);
  options.host.principals = &principals_;
  const HttpTransportOptions transport = options.transport;
  POSTRIDER_TRY(node, Node::open(std::move(options), clock_));
  node_ = std::move(node);
  HttpApiOptions api = options_.config.api;
  api.profiles = options_.profiles.empty() ? all_profiles() : options_.profiles;
  api.version = options_.version;
  api.figures = [this] { return figures(); };
  for (const doors::ProfileDoor* door : options_.doors) {
    if (door->open == nullptr) continue;
    auto opened = door->open(
        options_.config,
        {.warn = [this](std::string_view what, std::string_view field, std::string_view value) {
          log_.warning(what, {{field, std::string(value)}});
        }});
    doors_.push_back(opened.get());
    api.doors.push_back(std::move(opened));
  }
  api_ = std::make_unique<HttpApi>(std::move(api), node_->host(), clock_);
  server_ = std::make_unique<HttpServer>(node_->loop().context(), options_.config.server.limits,
                                         handler());
  for (const HttpListen& listen : listeners(options_.config)) {
    POSTRIDER_TRY(address, server_->listen(listen));
    // A name may lead elsewhere than the configuration could know.
    if (options_.config.api.tokens.empty() && !is_loopback_listen(address))
      return fail(ErrorCode::kInvalid, "server.listen has '" + listen.address + "', which is " +
                                           address +
                                           " and can be reached by others: that needs a token "
                                           "([[tokens]]), or listen on 127.0.0.1");
    addresses_.push_back(address);
  }
  if (auto listening = let_doors_listen(transport); !listening) return listening;
  signals_ =
      std::make_unique<boost::asio::signal_set>(node_->loop().context(), SIGTERM, SIGINT, SIGHUP);
  wait_for_signal();
  put_destinations(options_.config.destinations);
  put_sink();
  for (const std::string& warning : options_.config.warnings) log_.warning(warning);
  look_for_listeners();
  node_->loop().every(kTick, [this] { look_around(); });
  node_->loop().every(kLookAtSpace, [this] { watch_space(); });
  if (node_->brokers() != nullptr) node_->loop().every(kLookAtBrokers, [this] { watch_brokers(); });
  return {};
}

Result<void> Daemon::Impl::let_doors_listen(const HttpTransportOptions& transport) {
  const doors::DoorGround ground{.loop = node_->loop().context(),
                                 .clock = clock_,
                                 .limits = options_.config.server.limits,
                                 .transport = transport};
  for (doors::OpenDoor* door : doors_) {
    POSTRIDER_TRY(addresses, door->listen(ground));
    for (const std::string& address : addresses)
      log_.info("a profile listens", {{"address", address}});
  }
  return {};
}

HttpHandler Daemon::Impl::handler() {
  HttpHandler handler = api_->handler();
  const doors::DevSink* const sink = dev_sink();
  if (sink == nullptr) return handler;
  // The sink of --dev: it takes everything, so that the first message has somewhere to go.
  handler.handle = [this, sink, handle = handler.handle](const HttpRequest& request,
                                                         HttpExchangePtr exchange) {
    if (request.target != kSinkPath) return handle(request, std::move(exchange));
    log_.info("the sink got a message", {{"id", std::string(request.header(sink->id_header))},
                                         {"bytes", std::to_string(request.body.size())}});
    exchange->respond({.status = 200, .content_type = "text/plain", .body = "thank you\n"});
  };
  handler.stream = [stream = handler.stream](const HttpRequest& request, HttpExchangePtr exchange) {
    if (request.target == kSinkPath) return HttpBodySink();
    return stream(request, std::move(exchange));
  };
  return handler;
}

Result<Arrived> Daemon::Impl::arrival_of(const BrokerEvent& event) const {
  for (const doors::OpenDoor* door : doors_) {
    auto arrival = door->arrival(event);
    if (arrival || arrival.error().code != ErrorCode::kNotFound) return arrival;
  }
  return fail(ErrorCode::kNotFound, "no profile reads it");
}

ProcessFigures Daemon::Impl::figures() {
  ProcessFigures out;
  read_memory(out);
  out.cpu_ms = cpu_ms();
  out.started_ms = started_ms_;
  out.threads = entries_of("/proc/self/task");
  out.free_bytes = node_->store().free_bytes().value_or(0);
  out.open_files = entries_of("/proc/self/fd");
  out.open_files_max = descriptor_limit_;
  out.connections_in = server_->connections();
  for (const doors::OpenDoor* door : doors_) out.connections_in += door->connections();
  out.held_bytes = server_->held_bytes();
  out.connections_out = node_->transport().connections();
  out.store = node_->committer().counters();
  return out;
}

void Daemon::Impl::put_destinations(const std::vector<DestinationConfig>& destinations) {
  for (const DestinationConfig& config : destinations) {
    const Door door = node_->host().post(
        {},
        Configure{.caller = {.ticket = {}, .key = {}, .said = {}, .actor = "configuration"},
                  .config = config},
        [this, name = config.name](const Answer& answer) {
          if (answer.code == AnswerCode::kDone || answer.code == AnswerCode::kNothing) return;
          log_.error("a destination could not be configured",
                     {{"destination", name}, {"why", answer.detail}});
        });
    if (door != Door::kOpen)
      log_.error("a destination could not be configured; reload to try again",
                 {{"destination", config.name}});
  }
}

// The first that a profile offers; null without --dev.
const doors::DevSink* Daemon::Impl::dev_sink() const {
  if (!options_.dev) return nullptr;
  for (const doors::ProfileDoor* door : options_.doors) {
    if (door->dev_sink != nullptr) return door->dev_sink;
  }
  return nullptr;
}

void Daemon::Impl::put_sink() {
  const doors::DevSink* const sink = dev_sink();
  if (sink == nullptr) return;
  for (const std::string& address : addresses_) {
    if (address.starts_with("unix:")) continue;
    const bool tls = !options_.config.server.tls_certificate.empty();
    DestinationConfig config =
        sink->destination((tls ? "https://" : "http://") + address + std::string(kSinkPath));
    config.name = kSinkName;
    return put_destinations({config});
  }
}

// Events for a destination that nobody has put yet are told to nobody. Whoever put it by hand has
// it in the store, so the engine is asked.
void Daemon::Impl::look_for_listeners() {
  for (const UnheardEvents& it :
       unheard_events(options_.config, doors::config_parts(options_.doors))) {
    Query query;
    query.what = Query::What::kDestination;
    query.destination = it.destination;
    // When the door is shut nobody is warned; a reload looks again.
    static_cast<void>(node_->host().post({}, std::move(query), [this, it](const Answer& answer) {
      if (answer.code == AnswerCode::kNotFound)
        log_.warning("a " + std::string(it.kind) +
                         " tells its events to a destination that is not there: nobody hears them",
                     {{it.kind, it.teller}, {"destination", it.destination}});
    }));
  }
}

void Daemon::Impl::wait_for_signal() {
  signals_->async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    on_signal(number);
    wait_for_signal();
  });
}

void Daemon::Impl::on_signal(int number) {
  if (number == SIGHUP) return reload();
  if (draining_) {
    log_.warning("asked again: open attempts are given up");
    return node_->host().give_up();
  }
  draining_ = true;
  log_.info("stopping: open attempts may end",
            {{"at_most", to_string(options_.config.drain_time_out)}});
  notify_manager("STOPPING=1");
  give_up_at_ = clock_.read().boot + options_.config.drain_time_out;
  server_->stop_accepting();
  for (doors::OpenDoor* door : doors_) door->stop_listening();
  node_->host().drain();
}

void Daemon::Impl::reload() {
  notify_manager("RELOADING=1");
  auto read = options_.reload ? reload_config(started_with_, options_.reload,
                                              doors::config_parts(options_.doors))
                              : Result<Reload>(Reload{options_.config, {}});
  if (read) {
    take(read->config);
    for (const std::string& setting : read->kept)
      log_.warning("a changed setting needs a restart: the daemon goes on with the former one",
                   {{"setting", setting}});
    log_.info("reloaded: tokens, secrets, log, drain, destinations and plugins");
  } else {
    log_.error("the configuration is not taken: everything stays as it was",
               {{"why", read.error().detail}});
  }
  notify_manager("READY=1");
}

void Daemon::Impl::take(const Config& config) {
  api_->set_tokens(config.api.tokens);
  principals_.set_tokens(config.api.tokens);
  node_->set_secrets(config.host.shard.engine.secrets);
  options_.config.parts = config.parts;
  for (doors::OpenDoor* door : doors_) door->reload(config);
  log_.set(level_of(config.log.level), config.log.format == "json");
  options_.config.drain_time_out = config.drain_time_out;
  options_.config.destinations = config.destinations;
  for (const std::string& warning : config.warnings) log_.warning(warning);
  put_destinations(config.destinations);
  look_for_listeners();
}

void Daemon::Impl::look_around() {
  Host& host = node_->host();
  if (faults_) rehearse_fault(options_, *faults_);
  api_->tick();
  if (draining_ && clock_.read().boot >= give_up_at_) host.give_up();
  const bool restarting = host.state() == Host::State::kRestarting;
  if (restarting && !was_restarting_)
    log_.error("the store is being opened again", {{"why", node_->committer().last_reason()}});
  was_restarting_ = restarting;
  if (!was_ready_ && host.state() == Host::State::kRunning) {
    was_ready_ = true;
    notify_manager("READY=1");
  }
  if (host.state() != Host::State::kStopped) return;
  if (!host.failure().empty()) {
    exit_code_ = kExitStoreFailed;
    log_.error("stopped: the store failed, and going on could lose messages",
               {{"why", host.failure()}, {"store", node_->committer().last_reason()}});
  }
  node_->loop().stop();
}

void Daemon::Impl::watch_space() {
  const bool enough = node_->look_at_space();
  if (enough == has_space_) return;
  has_space_ = enough;
  if (enough) return log_.info("there is room on the disk again: messages are accepted");
  log_.error("the disk is nearly full: new messages are refused until there is room",
             {{"free_bytes", std::to_string(node_->store().free_bytes().value_or(0))},
              {"wanted", std::to_string(options_.config.store.free_bytes_min)}});
}

void Daemon::Impl::watch_brokers() {
  for (BrokerState& now : node_->brokers()->states()) {
    const auto lost = [](const BrokerCounts& it) { return it.unknown + it.malformed + it.refused; };
    BrokerState& then = brokers_[std::string(now.name)];
    const std::string name(now.name);
    if (now.ready && !then.ready) log_.info("a broker has taken us", {{"broker", name}});
    if (!now.ready && now.problem != then.problem)
      log_.warning("a broker cannot be used", {{"broker", name}, {"why", now.problem}});
    if (lost(now.counts) > lost(then.counts))
      log_.warning("a broker brought events that are not kept",
                   {{"broker", name},
                    {"unknown", std::to_string(now.counts.unknown)},
                    {"malformed", std::to_string(now.counts.malformed)},
                    {"refused", std::to_string(now.counts.refused)},
                    {"why", now.ready ? now.problem : ""}});
    then = std::move(now);
  }
}

int Daemon::Impl::run() {
  node_->loop().run();
  server_->close();
  if (exit_code_ != 0) return exit_code_;
  const auto closed = node_->close();
  if (!closed && closed.error().code == ErrorCode::kLimit) {
    log_.warning("the disk is full: the store has no mark of a clean end; nothing is lost",
                 {{"why", closed.error().detail}});
  } else if (!closed) {
    log_.error("the store could not be closed", {{"why", closed.error().detail}});
    return kExitStoreFailed;
  }
  log_.info("stopped");
  return 0;
}

Result<std::unique_ptr<Daemon>> Daemon::start(DaemonOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (const auto started = impl->start(); !started) return tl::unexpected<Error>(started.error());
  return std::unique_ptr<Daemon>(new Daemon(std::move(impl)));
}

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Daemon::~Daemon() = default;
const std::vector<std::string>& Daemon::addresses() const { return impl_->addresses_; }
int Daemon::run() { return impl_->run(); }

}  // namespace postrider
