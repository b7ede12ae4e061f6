// The world of one scenario: a shard over the memory store, a clock that moves when the script says
// so, and a peer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/device/message.h"
#include "postrider/shard/shard.h"
#include "postrider/stores/memory.h"
#include "tests/support/scenario/peer.h"
#include "tests/support/scenario/text.h"
#include "tests/support/scenario/words.h"

namespace postrider::scenario {

class World {
 public:
  explicit World(std::string profile);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Runs one command and returns what was seen.
  std::vector<std::string> run(std::string_view command);

 private:
  using Handler = void (World::*)(Words&);
  struct Open {  // an attempt that the peer has seen begin
    MessageId message;
    int number = 0;
    bool regardless = false;
    std::string target = {};  // of its request, and the body
    std::string body = {};
  };
  struct Coming {  // an answer on its way
    AttemptId attempt;
    WireReply reply;
  };

  static const std::map<std::string, Handler, std::less<>>& handlers();
  void engine_option(Words& words);
  bool set_limit(std::string_view name, std::string_view value, Words& words);
  bool set_duration(std::string_view name, std::string_view value, Words& words);
  void destination(Words& words);
  void remove(Words& words);
  void drain(Words& words);
  void submit(Words& words);
  void submit_one(const std::string& name, const Submit& event);
  void group(Words& words);
  void fan_out(Words& words);
  void cancel(Words& words) { command_on_message<Cancel>("cancel", words); }
  void retry(Words& words) { command_on_message<RetryNow>("retry", words); }
  void drop(Words& words) { command_on_message<Drop>("drop", words); }
  void redrive(Words& words);
  void pause(Words& words);
  void resume(Words& words) { command_on_destination<Resume>("resume", words); }
  void wake(Words& words) { command_on_destination<Wake>("wake", words); }
  void seen(Words& words);
  void receipt(Words& words);
  void news(Words& words);
  void peer(Words& words);
  void advance(Words& words);
  void crash(Words& words);
  void wall(Words& words);
  void kernel(Words& words);
  void explain(Words& words);
  void stats(Words& words);
  void log(Words& words);
  void dead_letters(Words& words);
  void show_destination(Words& words);
  void list_destinations(Words& words);
  void list_messages(Words& words);
  void show_message(Words& words);
  void operation(Words& words);
  template <class Page, class Show>
  void list(const std::string& what, Query question, Show show_page);
  void memory(Words& words);
  void record(Words& words);
  void damage(Words& words);

  // device.cc: the words of network servers, vendors and meters
  void command(Words& words);
  void status(Words& words);
  void server(Words& words);
  void server_says(Words& words);
  void vendor(Words& words);
  void answer(MessageId message, WireReply reply);  // to its open attempt
  Open* open_of(MessageId message);
  void name_event(const StartAttempt& attempt);

  template <class Command>
  void command_on_message(const std::string& verb, Words& words);
  template <class Command>
  void command_on_destination(const std::string& verb, Words& words);

  void open_shard();
  Instant instant() const;
  OperationKey take_key(Words& words) const;
  MessageId message_named(Words& words);
  On signal_named(Words& words) const;
  void learn(const std::string& name, const std::string& destination, const Answer& answer,
             std::string& line);
  // Posts the event with a new ticket; `then` gets the answer, at once or when it comes.
  Caller caller(OperationKey key, std::function<void(const Answer&)> then);
  void post(Event event);
  void post_and_say(std::string what, Event event);
  Answer ask(Query question);
  void act(Action&& action);
  void start(StartAttempt&& attempt);
  void settle();
  bool turn_until_quiet();
  bool hand_over_answers();
  void observe();
  void observe_health(const std::string& name);
  std::optional<Duration> next_instant() const;
  void say(std::string line);
  std::string name_of_message(MessageId id) const;

  std::string profile_;
  EngineOptions options_;
  MemoryStore store_{{.remember_once = true}};
  std::unique_ptr<Shard> shard_;
  Duration elapsed_{0};
  Duration wall_offset_{0};
  bool synchronised_ = true;
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, std::function<void(const Answer&)>> waiting_;
  std::map<std::string, MessageId> messages_;
  std::map<MessageId, std::string> message_names_;
  std::map<MessageId, std::string> destination_of_;
  std::map<std::string, int> destinations_;  // by name; the order in which they came
  std::map<DestinationId, std::string> destination_names_;
  std::map<std::string, std::pair<Health, Timestamp>> health_;
  std::map<MessageId, int> attempts_seen_;
  std::map<AttemptId, Open> open_;
  std::map<MessageId, device::DeviceMessage> commands_;
  std::map<MessageId, chirpstack::QueueItem> items_;  // as they were last sent
  std::multimap<Duration, Coming> coming_;
  Peer peer_;
  LogPosition cursor_;                          // of the transcript's own reader
  std::map<std::string, LogPosition> readers_;  // of those that the script names
  Names names_;
  std::vector<std::string> lines_;
  bool quiet_ = false;
  int quiet_attempts_ = 0;
};

}  // namespace postrider::scenario
