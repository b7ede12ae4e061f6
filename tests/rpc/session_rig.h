// SessionRig: the station of rpc sessions in front of a shard with a service of four methods.
// Callers are lines that speak in frames; whatever the station wrote for them is kept as frames.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "postrider/profiles/rpc/station.h"
#include "postrider/protocols/rpc/frame_reader.h"
#include "postrider/protocols/rpc/frames.h"
#include "postrider/shard/stations.h"
#include "tests/support/operation_rig.h"

namespace postrider {

class SessionRig : public OperationRig, private Wire, private StationDoor, private Principals {
 protected:
  static constexpr const char* kUnix = "unix:/run/rpc";

  SessionRig() {
    options.seeds = [this] { return seed(); };
    setup.listen = {"tcp://127.0.0.1:7420", kUnix};
  }

  // A process: from what is durable, with a service; lines of an earlier one are gone.
  void start(NamedTexts more = {}) {
    lines_.clear();
    listeners_.clear();
    stations_.reset();
    told_ = 0;
    open_bank(std::move(more));
    stations_ = std::make_unique<Stations>(StationLimits{}, [this] { return seed(); }, wire(),
                                           static_cast<StationDoor&>(*this));
    stations_->set_principals(this);
    stations_->add(std::make_unique<rpc::RpcStation>(setup));
    stations_->new_epoch(shard->epoch());
    settle();
  }
  // The shard is made anew, and the process goes on.
  void new_epoch() {
    stations_->interrupted();
    told_ = 0;
    open();
    stations_->new_epoch(shard->epoch());
    settle();
  }
  void settle() {
    for (int i = 0; i < 100; ++i) {
      const std::size_t before = actions.size();
      const std::size_t wrote = writes_ + posts_;
      turn();
      for (; told_ < actions.size(); ++told_) {
        // As a host does with a request that may not be sent.
        if (const auto* start = std::get_if<StartAttempt>(&actions[told_]);
            start != nullptr && !start->request.held_back.empty()) {
          AttemptEnded end;
          end.attempt = start->attempt;
          end.reply.end = WireEnd::kHeldBack;
          EXPECT_TRUE(shard->post(std::move(end)));
        }
        auto* const reply = std::get_if<Reply>(&actions[told_]);
        if (reply != nullptr && (reply->ticket.value() & kOfStation) != 0)
          stations_->told(reply->ticket, reply->answer);
      }
      stations_->run(instant());
      if (before == actions.size() && wrote == writes_ + posts_ && told_ == actions.size()) return;
    }
    ADD_FAILURE() << "it never comes to rest";
  }
  void pass(Duration by) {
    for (Duration left = by; left > Duration(0); left -= std::min<Duration>(left, 1s)) {
      elapsed += std::min<Duration>(left, 1s);
      settle();
    }
  }
  void pass_at_once(Duration by) {
    elapsed += by;
    settle();
  }
  void handler_answers(int status, std::string body = {}) {
    answers(status, std::move(body));
    settle();
  }
  void release() {
    release_commit();
    settle();
  }

  // A connection of a caller.
  LineId connect(const std::string& peer = "127.0.0.1:5000",
                 const std::string& by = "tcp://127.0.0.1:7420") {
    const LineId line(++last_line_);
    lines_[line.value()];
    stations_->line(instant(), station::LineOpened{line, listeners_.at(by), peer});
    settle();
    return line;
  }
  void send_bytes(LineId line, std::string_view bytes) {
    stations_->line(instant(), station::LineTook{line, bytes, {}});
    settle();
  }
  void send(LineId line, const rpc::Frame& frame) { send_bytes(line, rpc::encode(frame)); }
  void cut(LineId line) {
    stations_->line(instant(), station::LineClosed{line, LineEnd::kLost, {}});
    settle();
  }
  // What came since it was asked last.
  std::vector<rpc::Frame> heard(LineId line) {
    return std::exchange(lines_.at(line.value()).frames, {});
  }
  bool is_closed(LineId line) { return lines_.at(line.value()).closed; }
  bool is_held(LineId line) { return lines_.at(line.value()).held; }
  template <class Type>
  Type only(LineId line) {
    const std::vector<rpc::Frame> all = heard(line);
    EXPECT_EQ(all.size(), 1U);
    if (all.empty()) return {};
    const auto* one = std::get_if<Type>(&all.front());
    EXPECT_NE(one, nullptr) << "frame " << static_cast<int>(rpc::type_of(all.front()));
    return one == nullptr ? Type{} : *one;
  }

  rpc::WelcomeFrame greet(LineId line, const std::string& token = "shop-token",
                          std::optional<rpc::ResumeClaim> resume = {}) {
    send(line, rpc::HelloFrame{token, "test", resume});
    return only<rpc::WelcomeFrame>(line);
  }
  // A new session on a new line.
  struct Session {
    LineId line;
    rpc::Attachment granted;
    rpc::ResumeClaim claim() const { return {granted.session, granted.generation, granted.key}; }
  };
  Session begin(const std::string& token = "shop-token") {
    Session out;
    out.line = connect();
    const auto welcome = greet(out.line, token);
    EXPECT_TRUE(welcome.attachment && !welcome.attachment->resumed) << welcome.detail;
    out.granted = welcome.attachment.value_or(rpc::Attachment{});
    return out;
  }
  Session resume(const Session& former, const std::string& token = "shop-token") {
    Session out;
    out.line = connect();
    const auto welcome = greet(out.line, token, former.claim());
    EXPECT_TRUE(welcome.attachment && welcome.attachment->resumed) << welcome.detail;
    out.granted = welcome.attachment.value_or(rpc::Attachment{});
    return out;
  }
  rpc::CallFrame frame_of(const Session& session, const std::string& method, std::uint64_t number,
                          std::string arguments = "{}") const {
    rpc::CallFrame frame;
    frame.number = number;
    frame.service = "bank";
    frame.method = method;
    frame.policy = {.persist = is_persist(method), .idem = is_idem(method)};
    frame.first_epoch = session.granted.epoch;
    frame.content_type = "text/plain";
    frame.arguments = std::move(arguments);
    return frame;
  }
  void call_by(const Session& session, const std::string& method, std::uint64_t number,
               std::string arguments = "{}") {
    send(session.line, frame_of(session, method, number, std::move(arguments)));
  }
  // A call that begins the operation.
  void begin_call(const Session& session, const std::string& method, std::uint64_t number) {
    call_by(session, method, number);
    EXPECT_EQ(only<rpc::AdmittedFrame>(session.line),
              (rpc::AdmittedFrame{number, rpc::LiveState::kQueued, rpc::Origin::kFirst}));
  }
  std::uint64_t figure(std::string_view name) {
    StationFigures figures;
    stations_->tell(figures);
    for (const StationFigure& one : figures) {
      if (one.name == name) return one.value;
    }
    ADD_FAILURE() << "there is no figure " << name;
    return 0;
  }
  std::uint64_t misuses() const { return stations_->figures().misuses; }

  rpc::StationSetup setup;
  std::map<std::string, std::string> tenants = {{"shop-token", "shop"}, {"bob-token", "bob"}};
  std::optional<AnswerCode> shut;  // what the door says to posts

 private:
  struct Line {
    rpc::FrameReader reader{rpc::kFrameBytesMax};
    std::vector<rpc::Frame> frames;
    bool closed = false;
    bool held = false;
  };
  Wire& wire() { return *this; }
  EntropySeed seed() {
    EntropySeed out{};
    ++seeds_;
    for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<std::uint8_t>(seeds_ >> (8 * i));
    return out;
  }

  void open(LineId line, LineOrder order) override { listeners_[order.address] = line; }
  void write(LineId line, std::string bytes, std::string_view /*to*/) override {
    ++writes_;
    Line& one = lines_.at(line.value());
    const auto error = one.reader.feed(bytes, [&](rpc::Frame frame) {
      EXPECT_TRUE(rpc::is_of_server(rpc::type_of(frame)));
      one.frames.push_back(std::move(frame));
      return true;
    });
    EXPECT_FALSE(error.has_value());
  }
  void hold(LineId line, bool held) override { lines_.at(line.value()).held = held; }
  void close(LineId line) override {
    const auto found = lines_.find(line.value());
    if (found != lines_.end()) found->second.closed = true;
  }

  std::optional<AnswerCode> post(Ticket ticket, Event event) override {
    ++posts_;
    if (shut) return shut;
    if (Ticket* const place = ticket_of(event); place != nullptr) *place = ticket;
    EXPECT_TRUE(shard->post(std::move(event)));
    return std::nullopt;
  }
  void attempt_ended(AttemptId /*attempt*/, WireReply /*reply*/) override {}
  void start_exchange(AttemptId /*exchange*/, WireRequest /*request*/) override {}
  void abort_exchange(AttemptId /*exchange*/) override {}
  void misused(std::string_view verb, std::string what) override {
    ADD_FAILURE() << verb << ": " << what;
  }
  std::optional<Principal> find(std::string_view token, Nearness nearness) const override {
    if (token.empty() && nearness == Nearness::kSocket) return Principal{"default", "socket"};
    const auto found = tenants.find(std::string(token));
    if (found == tenants.end()) return std::nullopt;
    return Principal{found->second, "till"};
  }

  using OperationRig::open;
  using OperationRig::post;
  std::unique_ptr<Stations> stations_;
  std::map<std::uint64_t, Line> lines_;
  std::map<std::string, LineId> listeners_;
  std::uint64_t last_line_ = kAcceptedLine;
  std::uint64_t seeds_ = 0;
  std::size_t told_ = 0;
  std::size_t writes_ = 0;
  std::size_t posts_ = 0;
};

}  // namespace postrider
