#include "tests/crash/stage.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "postrider/base/rng.h"

namespace postrider::crash {
namespace {

constexpr std::chrono::milliseconds kStartMax(60'000);
constexpr std::chrono::seconds kEndMax(60);

}  // namespace

Stage::Stage(std::string program, std::string store)
    : receiver(1, 1), program_(std::move(program)), store_(std::move(store)) {
  directory_ = std::filesystem::temp_directory_path().string() + "/postrider-stage-XXXXXX";
  if (::mkdtemp(directory_.data()) == nullptr) std::abort();
  if (store_.empty()) store_ = path("store");
}

Stage::~Stage() {
  daemon_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

bool Stage::start(const std::vector<std::string>& more, const std::vector<std::string>& settings,
                  const std::vector<std::string>& before) {
  connection_.close();
  daemon_.reset();
  DaemonCommand command;
  command.words = before;
  for (const std::string& word : {program_, std::string("serve"), std::string("--data"), store(),
                                  std::string("--listen"), std::string("127.0.0.1:0")})
    command.words.push_back(word);
  command.words.insert(command.words.end(), more.begin(), more.end());
  command.environment = settings;
  for (const char* usual :
       {"POSTRIDER_TRANSPORT_ALLOW=127.0.0.0/8", "POSTRIDER_STORE_FREE_BYTES_MIN=0",
        "POSTRIDER_STORE_FREE_BYTES_RESERVE=0"}) {
    const std::string name(usual, std::string_view(usual).find('=') + 1);
    if (std::none_of(settings.begin(), settings.end(),
                     [&](const std::string& setting) { return setting.starts_with(name); }))
      command.environment.emplace_back(usual);
  }
  command.log_file = path("daemon.log");
  daemon_ = std::make_unique<DaemonProcess>(command);
  address_ = daemon_->wait_address(kStartMax);
  return !address_.empty();
}

std::string Stage::log() const {
  std::ostringstream out;
  out << std::ifstream(path("daemon.log")).rdbuf();
  return out.str();
}

std::optional<HttpAnswer> Stage::ask(const HttpQuestion& question) {
  if (!connection_.is_open() && !connection_.open(address_)) return std::nullopt;
  return connection_.ask(question);
}

bool Stage::put_destination() {
  const std::string body = "{\"profile\":\"webhook\",\"settings\":{\"url\":\"" + receiver.url(0) +
                           "\",\"ladder\":\"100ms\",\"wait_base\":\"100ms\",\"wait_max\":\"100ms\","
                           "\"time_out\":\"60s\"}}";
  const auto answer = ask({.method = "PUT", .path = "/v1/destinations/site", .body = body});
  return answer && answer->status / 100 == 2;
}

std::optional<HttpAnswer> Stage::submit(std::uint64_t serial, std::size_t longer) {
  std::string text = body_of(serial, false);
  Rng rng(serial);
  while (longer > 0) {
    std::uint64_t letters = rng.next();
    for (int i = 0; i < 12 && longer > 0; ++i, --longer, letters /= 26)
      text.push_back(static_cast<char>('a' + letters % 26));
  }
  const std::string body = "{\"destination\":\"site\",\"body\":\"" + text + "\"}";
  return ask({.method = "POST", .path = "/v1/messages", .body = body});
}

bool Stage::wait_all_ended() {
  const auto until = std::chrono::steady_clock::now() + kEndMax;
  while (std::chrono::steady_clock::now() < until) {
    const auto counters = books.stats(address_);
    if (!counters) return false;
    if (counters->live() == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace postrider::crash
