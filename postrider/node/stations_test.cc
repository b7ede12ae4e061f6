// The station of a profile, seated by a node: real lines on the loop, posts through the door,
// limits of the configuration.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "postrider/model/seams/station.h"
#include "postrider/node/node.h"
#include "postrider/profiles/mailbox/profile.h"
#include "postrider/profiles/webhook/profile.h"
#include "postrider/runtime/system_clock.h"

namespace postrider {
namespace {

constexpr auto kLinePatience = std::chrono::seconds(20);

// Takes lines at an address. What it hears is posted as an arrival, and told when it is durable;
// "wait" asks for the end of a message that never comes, "ask" for its card.
class CounterStation final : public Station {
 public:
  explicit CounterStation(std::string address) : address_(std::move(address)) {}
  std::string_view verb() const override { return "COUNT"; }
  void on(const StationNow&, const station::Happened& happened,
          std::vector<station::Wanted>& wanted) override {
    if (std::holds_alternative<station::NewEpoch>(happened)) {
      if (std::exchange(listens_, true)) return;
      wanted.emplace_back(station::OpenLine{LineId(1), {.address = address_, .listens = true}});
    } else if (const auto* took = std::get_if<station::LineTook>(&happened)) {
      line_ = took->line;
      wanted.emplace_back(station::Post{Token(++tokens_), event_of(took->bytes)});
    } else if (const auto* told = std::get_if<station::Told>(&happened)) {
      std::string text(name_of(told->answer.code));
      text += "/" + told->answer.reply;
      if (const auto* page = std::get_if<CardPage>(&told->answer.view))
        text += page->cards.empty() ? "none" : page->cards.front().bytes;
      wanted.emplace_back(station::WriteLine{line_, std::move(text), {}});
    }
  }
  std::optional<Timestamp> next_deadline() const override { return std::nullopt; }
  void tell(StationFigures& figures) const override { figures.push_back({"tokens", tokens_}); }

 private:
  static Event event_of(std::string_view bytes) {
    if (bytes == "ask") {
      Query query;
      query.what = Query::What::kCard;
      query.profile = "counter";
      query.drawer = "counts";
      query.card = "all";
      return query;
    }
    if (bytes == "wait") {
      Await await;
      await.destination = "box";
      await.at_most = 10min;
      return await;
    }
    Arrived arrived;
    arrived.profile = "counter";
    arrived.source = {.origin = "line", .kind = "text", .format = "raw"};
    arrived.bytes = bytes;
    return arrived;
  }
  std::string address_;
  bool listens_ = false;
  LineId line_;
  std::uint64_t tokens_ = 0;
};

Result<std::unique_ptr<Station>> make_counter(const NamedTexts& settings,
                                              const Secrets& /*secrets*/) {
  for (const NamedText& one : settings) {
    if (one.first == "address") return std::unique_ptr<Station>(new CounterStation(one.second));
  }
  return fail(ErrorCode::kInvalid, "setting 'address' is missing");
}

// Counts what arrives on a card, and says how many that were before.
Received count_arrival(const Inbound& inbound) {
  Received out;
  const std::string* before = inbound.cabinet->card("counts", "all");
  if (inbound.cabinet->lacks()) return out;
  out.reply = before == nullptr ? "0" : *before;
  out.cards.push_back(
      {.drawer = "counts", .key = "all", .bytes = std::to_string(std::stoi(out.reply) + 1)});
  return out;
}
Reading notice_none(const Facts&, const Notice&) { return Reading{.declines = true}; }

ProfileSpec counter_profile() {
  ProfileSpec spec = kWebhook;
  spec.name = "counter";
  spec.news.receive = &count_arrival;
  spec.news.notice = &notice_none;
  spec.make_station = &make_counter;
  return spec;
}

class SeatedStation : public ::testing::Test {
 protected:
  SeatedStation() {
    std::string pattern = testing::TempDir() + "postrider_seated_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    options.store.directory = directory_ + "/data";
    options.free_bytes_min = 0;
    options.host.shard.engine.profiles = profiles_;
    options.stations["counter"] = {{"address", "unix:" + path()}};
  }
  ~SeatedStation() override {
    for (const int line : lines_) ::close(line);
    node.reset();
    std::filesystem::remove_all(directory_);
  }
  std::string path() const { return directory_ + "/line"; }
  void open() {
    auto made = Node::open(options, clock_);
    ASSERT_TRUE(made) << made.error().detail;
    node = std::move(*made);
    until([&] { return std::filesystem::exists(path()); });
  }
  void until(const std::function<bool()>& so) {
    const auto give_up = std::chrono::steady_clock::now() + kLinePatience;
    while (!so()) {
      if (node) node->loop().context().run_one_for(std::chrono::milliseconds(5));
      if (std::chrono::steady_clock::now() < give_up) continue;
      ADD_FAILURE() << "waited in vain";
      return;
    }
  }
  int connect() {
    const int line = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(line, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    lines_.push_back(line);
    return line;
  }
  static void say(int line, std::string_view text) {
    ASSERT_EQ(::write(line, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // What comes next on a line; "(closed)" when its far side has closed it.
  std::string hear(int line) {
    std::string heard;
    until([&] {
      char bytes[256];
      const ssize_t size = ::read(line, bytes, sizeof bytes);
      if (size == 0) heard = "(closed)";
      if (size > 0) heard.assign(bytes, static_cast<std::size_t>(size));
      return !heard.empty();
    });
    return heard;
  }

  ProfileSpec spec_ = counter_profile();
  std::array<const ProfileSpec*, 2> profiles_ = {&spec_, &kMailbox};
  std::string directory_;
  SystemClock clock_;
  NodeOptions options;
  std::unique_ptr<Node> node;
  std::vector<int> lines_;
};

// req: station.seat.1
TEST_F(SeatedStation, SpeaksOverARealLineAndIsToldWhatIsDurable) {
  open();
  const int line = connect();
  say(line, "one");
  EXPECT_EQ(hear(line), "done/0");
  say(line, "two");
  EXPECT_EQ(hear(line), "done/1");
  say(line, "ask");
  EXPECT_EQ(hear(line), "done/2");
  EXPECT_EQ(node->host().station_figures().lines, 2U) << "the listener and the line";
  StationFigures figures;
  node->host().tell_stations(figures);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].value, 3U);
  // Its card is there after a stop.
  node->host().drain();
  until([&] { return node->host().state() == Host::State::kStopped; });
  EXPECT_EQ(hear(line), "(closed)");
  EXPECT_TRUE(node->close());
  node.reset();
  open();
  const int again = connect();
  say(again, "three");
  EXPECT_EQ(hear(again), "done/2");
}

// req: station.seat.2
TEST_F(SeatedStation, KeepsToTheLimitsOfTheConfiguration) {
  options.host.stations.lines.lines_max = 3;
  options.host.shard.engine.limits.cards_max = 0;
  open();
  const int first = connect();
  const int second = connect();
  say(second, "ask");
  EXPECT_EQ(hear(second), "done/none");
  const int third = connect();  // with the listener it would be the fourth
  EXPECT_EQ(hear(third), "(closed)");
  EXPECT_EQ(node->host().station_figures().lines, 3U);
  say(first, "counted");
  EXPECT_EQ(hear(first), "full/") << "there is no room for its card";
}

// req: station.seat.3
TEST_F(SeatedStation, ThatWaitsForAMessageHoldsUpNoStop) {
  open();
  const int line = connect();
  Configure box;
  box.config.name = "box";
  box.config.profile = "mailbox";
  bool done = false;
  ASSERT_EQ(node->host().post("t", box, [&](const Answer&) { done = true; }), Door::kOpen);
  until([&] { return done; });
  say(line, "one");
  EXPECT_EQ(hear(line), "done/0");
  node->host().set_space(false);
  say(line, "two");
  EXPECT_EQ(hear(line), "busy/") << "the disk has no room";
  node->host().set_space(true);
  say(line, "two");
  EXPECT_EQ(hear(line), "done/1");
  say(line, "wait");  // for ten minutes
  StationFigures figures;
  until([&] {
    figures.clear();
    node->host().tell_stations(figures);
    return figures[0].value == 4;
  });
  node->host().drain();
  until([&] { return node->host().state() == Host::State::kStopped; });
  EXPECT_EQ(node->host().failure(), "");
}

// req: station.seat.4
TEST_F(SeatedStation, IsRefusedByNameWhenItCannotBeMade) {
  const auto detail = [this] {
    const auto made = Node::open(options, clock_);
    return made ? std::string("made") : made.error().detail;
  };
  options.stations = {{"counter", {}}};
  EXPECT_EQ(detail(), "stations.counter: setting 'address' is missing");
  options.stations = {{"nobody", {}}};
  EXPECT_EQ(detail(), "there is no profile 'nobody' with a station");
  spec_.make_station = nullptr;
  options.stations = {{"counter", {}}};
  EXPECT_EQ(detail(), "there is no profile 'counter' with a station");
}

}  // namespace
}  // namespace postrider
