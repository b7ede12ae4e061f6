#include "postrider/transports/mqtt/mqtt_peer_testing.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <spawn.h>

#include "postrider/base/check.h"

namespace postrider {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr const char* kProgram = "/usr/sbin/mosquitto";
constexpr auto kPatience = std::chrono::seconds(20);

std::string two_bytes(std::size_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string packet(char head, const std::string& rest) {
  std::string length;
  std::size_t left = rest.size();
  do {
    length.push_back(static_cast<char>(left % 128 + (left >= 128 ? 128 : 0)));
    left /= 128;
  } while (left > 0);
  return head + length + rest;
}

std::uint16_t free_port() {
  asio::io_context loop;
  const tcp::acceptor acceptor(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint().port();
}

bool listens(std::uint16_t port) {
  asio::io_context loop;
  tcp::socket socket(loop);
  boost::system::error_code error;
  socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port), error);
  return !error;
}

}  // namespace

std::string mqtt_connack(int code) { return packet('\x20', {'\0', static_cast<char>(code)}); }
std::string mqtt_suback(std::uint16_t id, const std::vector<int>& granted) {
  std::string rest = two_bytes(id);
  for (const int qos : granted) rest.push_back(static_cast<char>(qos));
  return packet('\x90', rest);
}
std::string mqtt_puback(std::uint16_t id) { return packet('\x40', two_bytes(id)); }
std::string mqtt_publish(std::string_view topic, std::string_view bytes, std::uint16_t id) {
  return packet('\x32', two_bytes(topic.size()).append(topic).append(two_bytes(id)).append(bytes));
}

bool Broker::is_installed() { return ::access(kProgram, X_OK) == 0; }

Broker::Broker(std::string more_settings, const std::map<std::string, std::string>& files)
    : more_settings_(std::move(more_settings)) {
  std::string name = ::testing::TempDir() + "postrider_broker_XXXXXX";
  POSTRIDER_CHECK(::mkdtemp(name.data()) != nullptr);
  directory_ = name;
  for (const auto& [file, text] : files) write(file, text);
  // Between our asking and its listening somebody else may take the port.
  for (int i = 0; i < 10; ++i) {
    port_ = free_port();
    if (run()) return;
  }
  ADD_FAILURE() << "the broker does not start";
}

Broker::~Broker() {
  stop();
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
}

void Broker::write(const std::string& name, const std::string& text) const {
  std::ofstream(directory_ + "/" + name) << text;
}

bool Broker::run() {
  std::string more = more_settings_;
  for (std::size_t at = more.find("$DIR"); at != std::string::npos; at = more.find("$DIR"))
    more.replace(at, 4, directory_);
  write("settings",
        "listener " + std::to_string(port_) + " 127.0.0.1\nuser root\nlog_dest none\n" + more);
  const std::string settings = directory_ + "/settings";
  std::array<char*, 4> arguments = {const_cast<char*>(kProgram), const_cast<char*>("-c"),
                                    const_cast<char*>(settings.c_str()), nullptr};
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  const int spawned =
      posix_spawn(&process_, kProgram, &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) return false;
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < give_up) {
    if (listens(port_)) return true;
    if (::waitpid(process_, nullptr, WNOHANG) == process_) {
      process_ = 0;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // between two questions
  }
  return false;
}

void Broker::stop() {
  if (process_ == 0) return;
  ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
  process_ = 0;
}

void Broker::restart() {
  stop();
  if (!run()) ADD_FAILURE() << "the broker does not start again";
}

MqttTransportOptions MqttRig::local(std::uint16_t port, const std::string& client_id) {
  MqttTransportOptions options;
  options.host = "127.0.0.1";
  options.port = port;
  options.client_id = client_id;
  options.allow = {"127.0.0.0/8"};
  return options;
}

MqttRig::~MqttRig() = default;

void MqttRig::open(MqttTransportOptions options) {
  options.now = [this] { return now; };
  auto made = MqttTransport::make(
      loop, std::move(options),
      [this](AttemptId id, WireReply reply) { ended[id.value()].push_back(std::move(reply)); },
      [this](std::string_view topic, std::string_view bytes, MqttTransport::Durable durable) {
        events.push_back({std::string(topic), std::string(bytes), durable});
        if (verdict) durable(*verdict);
      });
  POSTRIDER_CHECK(made.has_value());
  transport = std::move(*made);
}

void MqttRig::open_ready(MqttTransportOptions options) {
  open(std::move(options));
  until([this] { return transport->ready(); });
}

AttemptId MqttRig::start(const std::string& topic, std::string_view body, Duration time_out) {
  const AttemptId attempt(next_++);
  const Blob owner = Blob::copy_of(body);
  const std::size_t before = ended.size();
  transport->start(attempt, WireRequest{.verb = "",
                                        .target = topic,
                                        .headers = {},
                                        .owner = owner,
                                        .body = owner.view(),
                                        .time_out = time_out,
                                        .trust = {}});
  EXPECT_EQ(ended.size(), before) << "told from inside start()";
  return attempt;
}

void MqttRig::until(const std::function<bool()>& so) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!so()) {
    if (loop.stopped()) loop.restart();
    loop.run_one_for(std::chrono::milliseconds(20));
    if (std::chrono::steady_clock::now() < give_up) continue;
    ADD_FAILURE() << "waited in vain; " << (transport ? transport->problem() : "");
    return;
  }
}

void MqttRig::settle() {
  if (loop.stopped()) loop.restart();
  while (loop.poll() > 0) continue;
}

void MqttRig::advance(Duration time) {
  now = now + time;
  transport->sweep();
}

WireReply MqttRig::end_of(AttemptId attempt) {
  until([&] { return has_ended(attempt); });
  settle();
  EXPECT_EQ(ended[attempt.value()].size(), 1U);
  return ended[attempt.value()].empty() ? WireReply{} : ended[attempt.value()].front();
}

}  // namespace postrider
