// StationsTest: stations with a wire and a door that write down what they are asked for.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/shard/stations.h"

namespace postrider {

// What a wire was asked to do, in words.
class BookWire final : public Wire {
 public:
  void open(LineId line, LineOrder order) override {
    book.push_back("open " + std::to_string(line.value()) + " " + order.address);
    last = line;
  }
  void write(LineId line, std::string bytes, std::string_view to) override {
    book.push_back("write " + std::to_string(line.value() & ~kAcceptedLine) + " " + bytes +
                   std::string(to));
  }
  void hold(LineId line, bool held) override {
    book.push_back((held ? "hold " : "free ") + std::to_string(line.value()));
  }
  void close(LineId line) override {
    book.push_back("close " + std::to_string(line.value() & ~kAcceptedLine));
  }
  std::vector<std::string> book;
  LineId last;
};

class BookDoor final : public StationDoor {
 public:
  std::optional<AnswerCode> post(Ticket ticket, Event event) override {
    if (shut) return shut;
    posted.emplace_back(ticket, std::move(event));
    return std::nullopt;
  }
  void attempt_ended(AttemptId attempt, WireReply reply) override {
    ended[attempt.value()].push_back(reply.end);
  }
  void start_exchange(AttemptId exchange, WireRequest request) override {
    exchanges.emplace_back(exchange, std::move(request));
  }
  void abort_exchange(AttemptId exchange) override { aborted.push_back(exchange); }
  void misused(std::string_view verb, std::string what) override {
    misuses.push_back(std::string(verb) + " " + what);
  }
  std::optional<AnswerCode> shut;
  std::vector<std::pair<Ticket, Event>> posted;
  std::map<std::uint64_t, std::vector<WireEnd>> ended;
  std::vector<std::pair<AttemptId, WireRequest>> exchanges;
  std::vector<AttemptId> aborted;
  std::vector<std::string> misuses;
};

// A station that writes down what it hears and wants what the test says.
class BookStation final : public Station {
 public:
  explicit BookStation(std::string verb) : verb_(std::move(verb)) {}
  std::string_view verb() const override { return verb_; }
  void on(const StationNow& now, const station::Happened& happened,
          std::vector<station::Wanted>& wanted) override {
    heard.push_back(words(happened));
    if (draws) {
      std::array<std::uint8_t, 32> drawn{};
      now.entropy.fill(drawn);
      draws->emplace_back(drawn.begin(), drawn.end());
    }
    if (answer) answer(happened, wanted);
    for (station::Wanted& one : next) wanted.push_back(std::move(one));
    next.clear();
  }
  std::optional<Timestamp> next_deadline() const override { return deadline; }
  void tell(StationFigures& figures) const override { figures.push_back({"heard", heard.size()}); }

  static std::string words(const station::Happened& happened) {
    const auto number = [](const auto& id) { return std::to_string(id.value() & ~kAcceptedLine); };
    if (const auto* one = std::get_if<station::NewEpoch>(&happened))
      return "epoch " + number(one->epoch);
    if (const auto* one = std::get_if<station::LineOpened>(&happened))
      return "opened " + number(one->line) +
             (one->listener.is_set() ? " by " + number(one->listener) : "");
    if (const auto* one = std::get_if<station::LineTook>(&happened))
      return "took " + number(one->line) + " " + std::string(one->bytes) + std::string(one->from);
    if (const auto* one = std::get_if<station::LineDrained>(&happened))
      return "drained " + number(one->line);
    if (const auto* one = std::get_if<station::LineClosed>(&happened))
      return "closed " + number(one->line) + " " + std::string(name_of(one->end));
    if (const auto* one = std::get_if<station::Started>(&happened))
      return "started " + number(one->attempt);
    if (const auto* one = std::get_if<station::Aborted>(&happened))
      return "aborted " + number(one->attempt);
    if (const auto* one = std::get_if<station::Told>(&happened))
      return "told " + number(one->token) + " " + std::string(name_of(one->answer.code));
    if (const auto* one = std::get_if<station::Exchanged>(&happened))
      return "exchanged " + number(one->token) +
             (one->reply.end == WireEnd::kHeldBack ? " held-back" : "");
    return "deadline";
  }

  std::vector<std::string> heard;
  std::vector<station::Wanted> next;  // wanted at the next call
  std::function<void(const station::Happened&, std::vector<station::Wanted>&)> answer;
  std::vector<std::string>* draws = nullptr;
  std::optional<Timestamp> deadline;

 private:
  std::string verb_;
};

class StationsTest : public ::testing::Test {
 protected:
  explicit StationsTest(StationLimits limits = {})
      : stations_(
            limits, [this] { return seed(); }, wire_, door_) {
    auto station = std::make_unique<BookStation>("BOOK");
    book_ = station.get();
    stations_.add(std::move(station));
    stations_.new_epoch(Epoch(1));
    run();
    book_->heard.clear();
  }

  EntropySeed seed() {
    EntropySeed out{};
    out[0] = static_cast<std::uint8_t>(++seeds_);
    out[1] = static_cast<std::uint8_t>(seeds_ >> 8);
    return out;
  }
  void run() { stations_.run(now_); }
  // The station wants this now.
  void want(station::Wanted wanted) {
    book_->next.push_back(std::move(wanted));
    book_->deadline = now_.boot;
    run();
    book_->deadline.reset();
    std::erase(book_->heard, "deadline");
  }
  void want_all(std::vector<station::Wanted> wanted) {
    book_->next = std::move(wanted);
    book_->deadline = now_.boot;
    run();
    book_->deadline.reset();
    std::erase(book_->heard, "deadline");
  }
  LineId open(std::uint64_t local) {
    want(station::OpenLine{LineId(local), {.address = "tcp://x:1"}});
    const LineId number = wire_.last;
    stations_.line(now_, station::LineOpened{number, {}, "x"});
    book_->heard.clear();
    return number;
  }
  void start(std::uint64_t attempt, Duration time_out = Duration(0)) {
    Action action = StartAttempt{AttemptId(attempt), {}, {.verb = "BOOK", .time_out = time_out}};
    EXPECT_TRUE(stations_.offer(action, now_));
    run();
  }
  void abort(std::uint64_t attempt) {
    Action action = AbortAttempt{AttemptId(attempt)};
    EXPECT_TRUE(stations_.offer(action, now_));
  }
  static station::Post ended(std::uint64_t attempt) {
    return {{}, AttemptEnded{AttemptId(attempt), {}}};
  }
  static station::Post arrived(std::uint64_t token) { return {Token(token), Arrived{}}; }
  void answer(std::size_t post, AnswerCode code = AnswerCode::kAccepted) {
    Answer answer;
    answer.code = code;
    Action action = Reply{door_.posted[post].first, std::move(answer)};
    EXPECT_TRUE(stations_.offer(action, now_));
    run();
  }
  using Words = std::vector<std::string>;

  std::uint32_t seeds_ = 0;
  Instant now_{Timestamp(1000), Timestamp(5000)};
  BookWire wire_;
  BookDoor door_;
  Stations stations_;
  BookStation* book_ = nullptr;
};

}  // namespace postrider
