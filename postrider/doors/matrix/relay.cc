#include "postrider/doors/matrix/relay.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "postrider/doors/matrix/replies.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::matrix_door {
namespace {

// RFC 9110 §7.6.1, what a proxy was told, and what frames a request; the framing is made anew.
constexpr auto kHopByHop = std::to_array<std::string_view>(
    {"connection", "content-length", "expect", "host", "keep-alive", "proxy-authenticate",
     "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"});

// What one read and one write may have in their hands: pieces of the server, of the stream's
// plain and encrypted input, and of the head.
constexpr std::size_t kHandsBytes = std::size_t{2} * 16'384;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view why_of(WireEnd end) {
  switch (end) {
    case WireEnd::kAnswered: return "answered";
    case WireEnd::kRefused: return "the server cannot be connected to";
    case WireEnd::kNoName: return "the server cannot be found";
    case WireEnd::kNoTls: return "the server's certificate is not trusted";
    case WireEnd::kForbidden: return "the server is at an address that is not allowed";
    case WireEnd::kTimedOut: return "the server did not answer in time";
    case WireEnd::kReset: return "the server closed the connection";
    case WireEnd::kNoLogin:
    case WireEnd::kHeldBack: return "too many requests are under way";
  }
  return "the server did not answer";
}

StreamForm form_of(const HttpRequest& request, bool has_body) {
  if (has_body && request.length == 0) return {.body = StreamBody::kChunked, .length = 0};
  if (has_body) return {.body = StreamBody::kLength, .length = request.length};
  const bool bodiless = request.method == "GET" || request.method == "HEAD";
  return {.body = bodiless ? StreamBody::kNone : StreamBody::kLength, .length = 0};
}

}  // namespace

bool is_end_to_end(std::string_view lower_case_name, std::string_view connection) {
  if (std::find(kHopByHop.begin(), kHopByHop.end(), lower_case_name) != kHopByHop.end())
    return false;
  while (!connection.empty()) {
    const std::size_t comma = std::min(connection.find(','), connection.size());
    if (to_lower(trimmed(connection.substr(0, comma))) == lower_case_name) return false;
    connection.remove_prefix(std::min(comma + 1, connection.size()));
  }
  return true;
}

// One request. It ends by over(), which takes it out of the book; what is on the stack then still
// has a share of it.
class Relays::Relay final : public StreamUser, public std::enable_shared_from_this<Relay> {
 public:
  Relay(Relays& relays, std::uint64_t its_number, std::string its_server,
        HttpExchangePtr its_client)
      : number(its_number),
        server(std::move(its_server)),
        client(std::move(its_client)),
        owner_(relays) {}

  void start(bool was_closed) {
    closed = was_closed;
    attempt = owner_.ways_.stream(std::move(request), form, *this,
                                  [this](const WireReply& reply) { take_head(reply); });
    started = true;
  }

  // The client's body.
  void take_body(std::string_view piece, bool last) {
    if (!started) return;
    note_held(piece.size());
    owner_.ways_.streams().write(attempt, piece, last);
    if (owner_.ways_.streams().unsent(attempt) > kAheadBytes && client != nullptr) client->pause();
    note_held(0);
  }

  // StreamUser
  void stream_ready() override {
    if (client != nullptr) client->resume();
  }
  void stream_has_room() override {
    if (client != nullptr) client->resume();
  }
  void stream_piece(std::string_view bytes) override {
    const auto self = shared_from_this();
    if (client == nullptr || !client->write(bytes)) return abandon();
    note_held(0);
    if (client->unsent() <= kAheadBytes || waits_for_room_) return;
    waits_for_room_ = true;
    owner_.ways_.streams().pause(attempt);
    client->when_room([weak = weak_from_this()] {
      if (const auto relay = weak.lock()) relay->go_on();
    });
  }
  void stream_over(bool whole) override {
    const auto self = shared_from_this();
    ++(whole ? owner_.counts_.answered : owner_.counts_.broken);
    if (whole && client != nullptr) client->end();
    over();
  }

  void abandon() {
    ++owner_.counts_.abandoned;
    if (started) owner_.ways_.abort(attempt);
    over();
  }
  // Dropping the exchange cuts an answer that has begun.
  void over() {
    client.reset();
    owner_.drop(*this);
  }

  const std::uint64_t number;
  const std::string server;
  HttpExchangePtr client;  // null: it is over
  WireRequest request;     // until start()
  StreamForm form;
  AttemptId attempt;
  bool started = false;
  bool closed = false;  // the server was, when the relay began

 private:
  void go_on() {
    waits_for_room_ = false;
    owner_.ways_.streams().resume(attempt);
  }

  void take_head(const WireReply& reply) {
    const auto self = shared_from_this();
    if (client == nullptr) return;
    if (reply.end != WireEnd::kAnswered) {
      ++owner_.counts_.failed;
      std::string why(why_of(reply.end));
      if (!reply.body.empty()) why.append(" (").append(clean_excerpt(reply.body, 200)).append(")");
      client->respond(not_relayed(why));
      return over();
    }
    if (closed && reply.status >= 200 && reply.status <= 299 && owner_.options_.seen)
      owner_.options_.seen(server);
    HttpResponse head;
    head.status = reply.status;
    head.content_type.clear();
    const std::string* const connection = find_text(reply.headers, "connection");
    for (const auto& [name, value] : reply.headers) {
      if (name == "date" || !is_end_to_end(name, connection == nullptr ? "" : *connection))
        continue;
      if (name == "content-type" && head.content_type.empty()) {
        head.content_type = value;
      } else {
        head.headers.emplace_back(name, value);
      }
    }
    client->begin(std::move(head));
    // It goes by the client's pace: a client that has said all is no reason to cut.
    client->when_room([] {});
  }

  void note_held(std::size_t more) {
    const std::size_t held = owner_.ways_.streams().unsent(attempt) + more + kHandsBytes +
                             (client == nullptr ? 0 : client->unsent());
    owner_.counts_.held_peak = std::max(owner_.counts_.held_peak, held);
  }

  Relays& owner_;
  bool waits_for_room_ = false;
};

Relays::Relays(Ways& ways, RelayOptions options) : ways_(ways), options_(std::move(options)) {}

Relays::~Relays() {
  for (const auto& [number, relay] : relays_) {
    if (relay->started) ways_.abort(relay->attempt);
    relay->client.reset();
  }
}

void Relays::refuse(Relay& relay, std::string_view why) {
  ++counts_.refused;
  relay.client->respond(not_relayed(why));
  relay.over();
}

HttpBodySink Relays::relay(const HttpRequest& request, const matrix::EgressTarget& target,
                           const HttpExchangePtr& exchange) {
  const bool has_body = request.body_waits || request.length > 0;
  const auto relay = std::make_shared<Relay>(*this, next_++, target.server.text, exchange);
  if (relays_.size() >= options_.relays_max) {
    ++counts_.refused;
    exchange->respond(not_relayed("too many requests are relayed"));
    return {};
  }
  ++counts_.begun;
  relays_.emplace(relay->number, relay);
  ++by_server_[relay->server];
  WireRequest& out = relay->request;
  out.verb = request.method;
  out.target = matrix::matrix_target(target.server.text, target.uri);
  out.time_out = options_.time_out;
  out.trust = options_.trust;
  bool has_agent = false;
  const std::string_view connection = request.header("connection");
  for (const auto& [name, value] : request.headers) {
    if (!is_end_to_end(name, connection)) continue;
    has_agent = has_agent || name == "user-agent";
    out.headers.add(name, value);
  }
  if (!has_agent && !options_.user_agent.empty())
    out.headers.add("user-agent", options_.user_agent);
  relay->form = form_of(request, has_body);
  HttpBodySink sink;
  if (has_body) {
    exchange->pause();  // until there is a connection
    sink = [weak = std::weak_ptr(relay)](std::string_view piece, bool last) {
      if (const auto it = weak.lock()) it->take_body(piece, last);
    };
  }
  if (by_server_[relay->server] > options_.per_server_max) {
    refuse(*relay, "too many requests to this server are relayed");
    return sink;
  }
  const auto go_on = [this, weak = std::weak_ptr(relay)](bool closed) {
    if (const auto it = weak.lock(); it != nullptr && it->client != nullptr) begin(*it, closed);
  };
  if (options_.ask_closed) {
    options_.ask_closed(relay->server, go_on);
  } else {
    go_on(false);
  }
  return sink;
}

void Relays::begin(Relay& relay, bool closed) {
  if (closed && by_server_[relay.server] > 1)
    return refuse(relay, "the server does not answer, and another request is tried already");
  relay.start(closed);
}

void Relays::drop(Relay& relay) {
  if (relays_.erase(relay.number) == 0) return;
  const auto count = by_server_.find(relay.server);
  if (--count->second == 0) by_server_.erase(count);
}

void Relays::look() {
  std::vector<std::shared_ptr<Relay>> gone;
  for (const auto& [number, relay] : relays_) {
    if (relay->client != nullptr && relay->client->gone()) gone.push_back(relay);
  }
  for (const auto& relay : gone) relay->abandon();
}

}  // namespace postrider::matrix_door
