// RpcStation: sessions of callers over lines, as docs/rpc-wire.md says. It takes frames apart, asks
// the engine, and tells what is durable; it decides nothing about operations. One owner, one
// thread.
//
// Invariants
//   - WELCOME, ADMITTED and OUTCOME leave after `Told` only, so all that they speak of is durable.
//   - A session has one attachment at most. A newer one fences the older when its generation is
//     durable; of the older one nothing is heard or answered from then on.
//   - Calls of a session reach the engine in the order of their frames: calls of two services are
//     not under way at once, because the engine keeps the order of one destination only.
//   - A volatile operation that no attachment watches is cancelled after the grace of its service.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/model/seams/station.h"
#include "postrider/profiles/rpc/session_news.h"
#include "postrider/profiles/rpc/setup.h"
#include "postrider/profiles/rpc/told.h"
#include "postrider/protocols/rpc/frame_reader.h"

namespace postrider::rpc {

class RpcStation final : public Station {
 public:
  static constexpr Duration kGreetingTime{10'000};
  static constexpr Duration kListenAgain{5'000};
  static constexpr Duration kAskAgain{250};        // what the engine could not take
  static constexpr Duration kAwaitFor{10'000};     // at once; then again
  static constexpr Duration kWriteDown{3'600'000};  // that a session is used, while it is
  static constexpr Duration kIdleMax = kSessionLife - Duration(3'600'000);
  static constexpr Duration kGraceUsual{30'000};   // of a service that cannot be read
  static constexpr std::size_t kRequestsMax = 256;  // under way, of all attachments
  static constexpr std::size_t kRequestsOfOneMax = 64;
  static constexpr std::size_t kAwaitsMax = 600;
  static constexpr std::size_t kBacklogMax = 64;  // frames; then nothing is read for a while
  static constexpr std::size_t kBacklogBytesMax = std::size_t{1} << 20;
  static constexpr std::size_t kUnconfirmedBytesMax = std::size_t{2} << 20;
  static constexpr std::size_t kOrphansMax = 65'536;

  explicit RpcStation(StationSetup setup) : setup_(std::move(setup)) {}

  std::string_view verb() const override { return "SESSION"; }
  void on(const StationNow& now, const station::Happened& happened,
          std::vector<station::Wanted>& wanted) override;
  std::optional<Timestamp> next_deadline() const override;
  void tell(StationFigures& figures) const override;

 private:
  using Wants = std::vector<station::Wanted>;
  struct Call {
    const StationNow& now;
    Timestamp boot;
    Wants& wanted;
  };

  // What a frame of the caller asks for, on its way through the engine.
  struct Request {
    enum class Kind : std::uint8_t { kCall, kQuery, kCancel };
    enum class Stage : std::uint8_t { kLook, kSubmit, kCancel, kExplain };
    Kind kind = Kind::kCall;
    Stage stage = Stage::kSubmit;
    bool watch = true;
    bool repeated = false;  // a call of an operation that was there
    bool watched = false;   // when it came: an end that is told meanwhile answers it
    std::uint64_t order = 0;  // of its attachment
    std::uint64_t number = 1;
    MessageId id = {};
    CallFrame call = {};
  };
  // An operation whose end is told to its caller.
  struct Watch {
    MessageId id;
    Origin origin = Origin::kFirst;
    bool lived = false;     // its caller was told that it goes on
    bool repeated = false;  // of a call that was repeated
    bool released = false;  // of a volatile method: it may be given up
    std::string service;    // of such a one
    Token awaited = {};
  };
  enum class Step : std::uint8_t { kGreeting, kAttaching, kAttached };
  struct Peer {
    LineId line;
    Nearness nearness = Nearness::kElsewhere;
    Step step = Step::kGreeting;
    FrameReader reader = FrameReader();
    Timestamp heard;  // the last byte, or its beginning
    bool pinged = false;
    bool leaving = false;  // nothing more is read or told
    std::string out;       // written at the end of this call
    // From HELLO on.
    Principal principal = {};
    ResumeKey key = {};  // until WELCOME
    // From WELCOME on.
    SessionId session = {};
    std::uint32_t generation = 0;
    bool spoke = false;  // its first frame has come
    Timestamp begun = {};
    Timestamp used = {};     // boot time: the last call that was admitted
    Timestamp written = {};  // … and when that was written down
    std::uint64_t highest = 0;
    std::uint64_t highest_written = 0;
    std::deque<Request> backlog = {};  // by order
    std::uint64_t last_order = 0;
    Timestamp not_before = {};  // what could not be asked is asked again
    std::size_t backlog_bytes = 0;
    bool held = false;
    std::size_t under_way = 0;
    std::size_t submits = 0;  // under way, all of one service
    std::string service = {};
    std::map<std::uint64_t, Watch> watches = {};  // by number
    // Outcomes that left since the last PONG that answered a PING behind them.
    std::size_t unconfirmed = 0;
    bool measuring = false;
    std::set<std::uint64_t> later = {};  // ended operations that wait for it
  };
  using OrphanKey = std::pair<SessionId, std::uint64_t>;
  struct Orphan {
    MessageId id;
    std::string service;
    Timestamp since;
    Timestamp due = {};  // unset: the grace of its service is not known yet
  };
  struct Pending {
    enum class What : std::uint8_t { kAttach, kMark, kRequest, kAwait, kService };
    What what = What::kRequest;
    std::uint64_t line = 0;
    SessionId session = {};
    Request request = {};
    std::uint64_t number = 0;  // kAwait
    std::string service = {};  // kService
  };
  struct Due {
    enum class What : std::uint8_t { kListen, kPeer, kRequest, kAwait, kOrphan };
    What what = What::kPeer;
    std::uint64_t line = 0;
    OrphanKey orphan = {};  // kAwait: its second part
  };
  struct Counts {
    std::uint64_t begun = 0, resumed = 0, fenced = 0, refused = 0, lost = 0, idle = 0, calls = 0,
                  admitted = 0, outcomes = 0, queries = 0, cancels = 0, given_up = 0, silent = 0;
    std::uint64_t faults[9] = {};  // by code
  };

  // station.cc: lines, greetings, attachments, time.
  void begin_epoch(Epoch epoch, Call& call);
  void listen(Call& call);
  void opened(const station::LineOpened& opened, Call& call);
  void took(const station::LineTook& took, Call& call);
  bool take(Peer& peer, Frame&& frame, Call& call);
  bool take_hello(Peer& peer, HelloFrame&& hello, Call& call);
  void attached(Peer& peer, const Answer& answer, Call& call);
  void welcome(Peer& peer, const AttachReply& reply, Call& call);
  void refuse(Peer& peer, Refusal refusal, std::string detail, Call& call);
  void closed(LineId line, Call& call);
  void bye(Peer& peer, ByeReason reason, std::string detail, Call& call);
  bool fault(Peer& peer, FaultCode code, std::string detail, Call& call);
  void hang_up(Peer& peer, Call& call);
  void lose(Peer& peer, Call& call);
  void send(Peer& peer, const Frame& frame);
  void mark(const Peer& peer, MarkKind kind, Call& call);
  void note_use(Peer& peer, bool ends, Call& call);
  void told(const station::Told& told, Call& call);
  void deadlines(Call& call);
  void look_at(Peer& peer, Call& call);
  void finish(Call& call);
  Peer* find(std::uint64_t line);
  Token next_token() { return Token(++last_token_); }
  void post(Pending pending, Event event, Call& call);

  // station_calls.cc: operations.
  bool take_call(Peer& peer, CallFrame&& frame, Call& call);
  bool take_query(Peer& peer, const QueryFrame& frame, Call& call);
  bool take_cancel(Peer& peer, const CancelFrame& frame, Call& call);
  bool take_pong(Peer& peer, const PongFrame& frame);
  void push(Peer& peer, Request&& request);
  void put_back(Peer& peer, Request&& request, Call& call);
  void pump(Call& call);
  bool pump_one(Peer& peer, Call& call);
  void pump_awaits(Call& call);
  void ask(Peer& peer, Request&& request, Call& call);
  Event event_of(const Peer& peer, const Request& request) const;
  OperationKey key_of(const Peer& peer, std::uint64_t number) const;
  void answered(Pending&& pending, const Answer& answer, Call& call);
  void looked(Peer& peer, Request&& request, const Answer& answer, Call& call);
  void submitted(Peer& peer, Request&& request, const Answer& answer, Call& call);
  void explained(Peer& peer, Request&& request, const Answer& answer, Call& call);
  void watch(Peer& peer, const Request& request, Origin origin, bool lives);
  void want_await(Peer& peer, std::uint64_t number);
  void awaited(Peer& peer, std::uint64_t number, const Answer& answer, Call& call);
  void tell_outcome(Peer& peer, OutcomeFrame&& frame);
  void orphan(const OrphanKey& key, Orphan&& orphan, Call& call);
  void learn_grace(const std::string& service, const Answer& answer);
  void give_up(const Orphan& orphan, Call& call);

  const StationSetup setup_;
  std::uint64_t epoch_ = 0;
  std::uint64_t last_line_ = 0;
  std::uint64_t last_token_ = 0;
  std::map<std::uint64_t, std::size_t> listeners_;  // line to its address in the setup
  std::map<std::uint64_t, Peer> peers_;             // by line
  std::map<SessionId, std::uint64_t> attached_;     // to its line
  std::map<std::uint64_t, Pending> pending_;        // by token
  std::multimap<Timestamp, Due> agenda_;
  std::set<std::uint64_t> busy_;     // lines with a backlog
  std::uint64_t served_ = 0;         // the line that was served last
  std::set<std::uint64_t> written_;  // lines with something to write
  std::set<std::uint64_t> over_;     // lines that are closed at the end of this call
  std::deque<std::pair<std::uint64_t, std::uint64_t>> unwatched_;  // line and number
  std::map<OrphanKey, Orphan> orphans_;
  std::set<std::string> asked_services_;
  std::size_t under_way_ = 0;
  std::size_t awaits_ = 0;
  Counts counts_;
};

}  // namespace postrider::rpc
