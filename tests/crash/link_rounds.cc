#include "tests/crash/link_rounds.h"

#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <netinet/in.h>
#include <random>
#include <set>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "tests/crash/daemon_process.h"
#include "tests/crash/http.h"

namespace postrider::crash {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartPatience = 30s;
constexpr auto kEndPatience = 120s;

// A port that is free now.
std::uint16_t free_port(int type) {
  const int descriptor = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  std::uint16_t port = 0;
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    port = ntohs(address.sin_port);
  ::close(descriptor);
  return port;
}

// Every text between `before` and the next quotation mark.
std::vector<std::string> all_after(std::string_view text, std::string_view before) {
  std::vector<std::string> out;
  for (std::size_t at = text.find(before); at != std::string_view::npos;
       at = text.find(before, at + 1)) {
    const std::size_t begin = at + before.size();
    const std::size_t end = text.find('"', begin);
    if (end == std::string_view::npos) break;
    out.emplace_back(text.substr(begin, end - begin));
  }
  return out;
}

struct Wanted {  // a message that a client has until it is told that it is accepted
  std::string text;
  std::string key;
  std::string destination;
};

struct Side {
  std::string name;
  std::string far;
  std::string stream_port;
  std::string datagram_port;
  std::unique_ptr<DaemonProcess> process = {};
  std::string address = {};
  HttpConnection connection = {};
  std::vector<Wanted> waiting = {};
  bool configured = false;
  std::uint64_t made = 0;
};

class Rounds {
 public:
  explicit Rounds(const LinkRoundsOptions& options) : options_(options), random_(options.seed) {
    for (std::size_t i = 0; i < 2; ++i) {
      sides_[i].name = i == 0 ? "a" : "b";
      sides_[i].far = i == 0 ? "b" : "a";
      sides_[i].stream_port = std::to_string(free_port(SOCK_STREAM));
      sides_[i].datagram_port = std::to_string(free_port(SOCK_DGRAM));
    }
  }

  LinkRoundsReport run() {
    for (Side& side : sides_) start(side);
    for (std::uint32_t round = 0; round < options_.rounds && report_.findings.empty(); ++round) {
      for (Side& side : sides_) make_messages(side);
      for (std::uint64_t steps = random_() % 12; steps > 0; --steps) work();
      Side& victim = sides_[random_() % 2];
      victim.connection.close();
      victim.process->kill_now();
      ++report_.kills;
      for (std::uint64_t steps = random_() % 4; steps > 0; --steps) work();
      start(victim);
    }
    const auto give_up = std::chrono::steady_clock::now() + kEndPatience;
    while (report_.findings.empty() && !all_confirmed()) {
      work();
      if (std::chrono::steady_clock::now() > give_up) find("lost: not all messages arrived");
      std::this_thread::sleep_for(5ms);
    }
    for (const std::string& text : accepted_) {
      if (!confirmed_.contains(text)) find("lost: " + text);
    }
    report_.accepted = accepted_.size();
    report_.confirmed = confirmed_.size();
    return report_;
  }

 private:
  void find(std::string what) {
    if (report_.findings.size() < 20) report_.findings.push_back(std::move(what));
  }

  void start(Side& side) {
    const std::string base = options_.directory + "/" + side.name;
    Side& far = &side == &sides_[0] ? sides_[1] : sides_[0];
    const bool tls = options_.way == LinkWay::kTls;
    const std::string scheme = tls ? "tls://127.0.0.1:" : "tcp://127.0.0.1:";
    std::ofstream config(base + ".toml");
    if (tls) config << "[secrets]\nlink = \"" << options_.certificate << "\"\n";
    config.close();
    DaemonCommand command;
    command.words = {options_.daemon, "--config",   base + ".toml", "--data", base,
                     "--listen",      "127.0.0.1:0"};
    const auto tell = [&](const std::string& name, const std::string& value) {
      command.words.emplace_back("--station");
      command.words.push_back(name + "=" + value);
    };
    tell("machine", side.name);
    tell("listen", scheme + side.stream_port);
    tell("listen_datagrams", "udp://127.0.0.1:" + side.datagram_port);
    tell("stream." + far.name, scheme + far.stream_port);
    tell("datagrams." + far.name, "127.0.0.1:" + far.datagram_port);
    if (tls) {
      tell("tls", "link");
      tell("peer_key", options_.peer_key);
    }
    command.log_file = base + ".log";
    side.process = std::make_unique<DaemonProcess>(command);
    side.address = side.process->wait_address(kStartPatience);
    if (side.address.empty()) find("start: " + side.name + " does not start");
  }

  std::optional<HttpAnswer> ask(Side& side, const HttpQuestion& question) {
    if (!side.connection.is_open() && !side.connection.open(side.address)) return std::nullopt;
    return side.connection.ask(question);
  }

  bool configure(Side& side) {
    if (side.configured) return true;
    const auto put = [&](const std::string& name, const std::string& settings) {
      const std::string body = R"({"profile":"drill-link","settings":{)" + settings + "}}";
      const auto answer =
          ask(side, {.method = "PUT", .path = "/v1/destinations/" + name, .body = body});
      if (answer && answer->status >= 400 && answer->status < 500) find("refused: " + answer->body);
      return answer && answer->status < 300;
    };
    const std::string way = options_.way == LinkWay::kUdp ? "datagrams" : "stream";
    side.configured =
        put("inbox", R"("machine":"application")") &&
        put("proof", R"("cap":"200","machine":")" + side.far + R"(","way":")" + way + "\"") &&
        put("done",
            R"("cap":"200","until":"done","machine":")" + side.far + R"(","way":")" + way + "\"");
    return side.configured;
  }

  void make_messages(Side& side) {
    for (std::uint32_t i = 0; i < options_.messages; ++i) {
      const std::string text = side.name + "-" + std::to_string(++side.made) + ".";
      side.waiting.push_back({text, "key-" + text, side.made % 2 == 0 ? "proof" : "done"});
    }
  }

  // One request of each kind at each side that is there.
  void work() {
    for (Side& side : sides_) {
      if (!side.process || !configure(side)) continue;
      submit(side);
      read(side);
    }
  }

  // With the same key until it is answered.
  void submit(Side& side) {
    if (side.waiting.empty() || !sides_[0].configured || !sides_[1].configured) return;
    const Wanted& wanted = side.waiting.front();
    const std::string body =
        R"({"destination":")" + wanted.destination + R"(","body":")" + wanted.text + "\"}";
    const std::string key = "idempotency-key: " + wanted.key + "\r\n";
    const auto answer =
        ask(side, {.method = "POST", .path = "/v1/messages", .body = body, .headers = key});
    if (!answer || answer->status >= 500 || answer->status == 429) return;
    if (answer->status >= 300) return find("refused: " + answer->body);
    accepted_.insert(wanted.text);
    side.waiting.erase(side.waiting.begin());
  }

  void read(Side& side) {
    const auto page = ask(side, {.method = "GET", .path = "/v1/mailboxes/inbox/messages?limit=20"});
    if (!page || page->status != 200) return;
    const std::vector<std::string> ids = all_after(page->body, R"("id":")");
    const std::vector<std::string> bodies = all_after(page->body, R"("body":")");
    if (ids.empty()) return;
    if (ids.size() != bodies.size()) return find("odd page: " + page->body);
    std::string list;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      take(side, ids[i], bodies[i]);
      list += (i == 0 ? "\"" : ",\"") + ids[i] + "\"";
    }
    const auto done = ask(side, {.method = "POST",
                                 .path = "/v1/mailboxes/inbox/confirm",
                                 .body = R"({"ids":[)" + list + "]}"});
    if (!done || done->status != 200) return;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      told_confirmed_.insert(side.name + ids[i]);
      confirmed_.insert(text_of(bodies[i]));
    }
  }

  // "ID SENDER#NUMBER TEXT"; the text is JSON, and its quotation marks are escaped.
  static std::string text_of(const std::string& body) {
    const std::size_t mark = body.find('#');
    const std::size_t begin = mark == std::string::npos ? mark : body.find_first_of("ab", mark);
    const std::size_t end = begin == std::string::npos ? begin : body.find('.', begin);
    return end == std::string::npos ? body : body.substr(begin, end + 1 - begin);
  }

  void take(const Side& side, const std::string& id, const std::string& body) {
    const std::string text = text_of(body);
    const auto [holder, is_new] = holders_.emplace(text, side.name + id);
    if (!is_new && holder->second != side.name + id) find("doubled: " + text);
    if (told_confirmed_.contains(side.name + id)) find("back after its confirmation: " + text);
    const std::size_t sender = body.find(' ') + 1;
    const std::size_t end = body.find(' ', sender);
    const std::string number = side.name + body.substr(sender, end - sender);
    const auto [owner, first] = numbers_.emplace(number, side.name + id);
    if (!first && owner->second != side.name + id) find("number twice: " + number);
  }

  bool all_confirmed() const {
    return sides_[0].waiting.empty() && sides_[1].waiting.empty() &&
           confirmed_.size() >= accepted_.size();
  }

  const LinkRoundsOptions& options_;
  std::mt19937_64 random_;
  std::array<Side, 2> sides_;
  std::set<std::string> accepted_;
  std::set<std::string> confirmed_;             // texts
  std::set<std::string> told_confirmed_;        // ids, with their side
  std::map<std::string, std::string> holders_;  // of texts
  std::map<std::string, std::string> numbers_;  // of messages of one sender
  LinkRoundsReport report_;
};

}  // namespace

LinkRoundsReport run_link_rounds(const LinkRoundsOptions& options) { return Rounds(options).run(); }

}  // namespace postrider::crash
