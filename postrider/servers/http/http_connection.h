// HttpConnection: one client. Reads its requests, hands them on, writes the answers in the order of
// the requests. Owned by its hub; on the loop's thread. At rest it holds no buffer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "postrider/servers/http/http_hub.h"
#include "postrider/servers/http/http_listener.h"
#include "postrider/servers/http/http_reader.h"
#include "postrider/servers/http/http_socket.h"

namespace postrider {

class HttpSlotExchange;

// The budget of all connections is used up.
inline constexpr HttpRefusal kNoRoom{
    503, "requests and answers of all clients take as much memory as they may; try again"};

// The place of one request in the order of its connection. The exchange, which the handler holds,
// points to it until the client is gone or the answer is on its way.
struct HttpSlot {
  enum class Stage : std::uint8_t { kWaiting, kBegun, kDone };

  HttpConnection* connection = nullptr;
  HttpSlotExchange* exchange = nullptr;  // empty when the handler dropped it
  HttpSlot* next = nullptr;
  std::string held;            // its answer, while earlier ones are owed
  std::uint64_t kept = 0;      // its body, or what the handler holds for it; until it is answered
  std::function<void()> room;  // called when there is room for more of a long answer
  Stage stage = Stage::kWaiting;
  bool paced = false;  // that was asked for
  bool asks = false;   // it changes nothing, so that its answer may be refused
  bool head_only = false;
  bool old_version = false;
  bool close = false;
  bool owes_continue = false;
  bool chunked = false;
  bool mute = false;  // a long answer without a body
};

class HttpConnection final : public HttpWatched {
 public:
  HttpConnection(HttpHub& hub, int fd, const HttpPeer& peer);
  ~HttpConnection() override;
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // For the hub.
  bool start(const TlsIdentity* tls);
  void turn_away();  // answers 503: there are too many
  void on_ready(std::uint32_t events) override;
  void settle();
  void expire();
  void drain();
  void cut();
  void offer_room();
  std::size_t index = 0;  // where the hub keeps it
  bool marked = false;
  bool roomy = false;  // the hub will call offer_room()

  // For exchanges.
  void respond(HttpSlot& slot, const HttpResponse& response);
  void begin(HttpSlot& slot, const HttpResponse& head);
  bool write(HttpSlot& slot, std::string_view piece);
  void end(HttpSlot& slot);
  void dropped(HttpSlot& slot);
  std::size_t unsent(const HttpSlot& slot) const;
  void when_room(HttpSlot& slot, std::function<void()> call);
  bool has_room(std::size_t bytes) const { return hub_.has_room(bytes); }
  bool parted() const { return parted_; }
  void keep_for(HttpSlot& slot, std::uint64_t bytes);
  void pause(const HttpSlot& slot);
  void resume(const HttpSlot& slot);

 private:
  // Reading.
  void receive();
  void take(std::span<char> bytes);
  void consume(std::span<char> input);
  void keep(std::span<char> rest);
  void on_head(std::span<char>& input, const char* head_begin);
  bool on_body(HttpSlot& slot, const HttpExchangePtr& exchange, bool here);
  void collect(std::span<char>& input, const char* head_begin, HttpExchangePtr exchange);
  void on_piece(std::string_view piece, bool last);
  void feed_sink(std::string_view piece, bool last);
  void hand_over_collected();
  void on_end_of_input();
  void refuse(HttpRefusal refusal);
  bool can_take() const;
  bool idle() const;

  // Writing.
  HttpSlot& push_slot(const HttpFraming& framing, std::string_view method);
  std::string& output_of(HttpSlot& slot);
  template <class Append>
  void put(HttpSlot& slot, Append append);
  void offer_continue(HttpSlot& slot);
  void prepare_answer(HttpSlot& slot, const HttpResponse& response);
  void answer(HttpSlot& slot, const HttpResponse& response);
  void finish(HttpSlot& slot);
  void detach(HttpSlot& slot);
  void drop_slots();
  void flush();
  void forget_sent();
  void account();
  void close_when_done();
  std::size_t unsent() const { return out_.size() - sent_; }
  Timestamp due() const;
  void watch();

  HttpHub& hub_;
  HttpSocket socket_;
  HttpReader reader_;
  HttpPeer peer_;
  std::uint32_t watched_ = 0;  // events asked of the set
  std::uint32_t slot_count_ = 0;
  bool closed_ = false;
  bool closing_ = false;  // close when all is written
  bool linger_ = false;   // then wait for the client to take it: it may still be sending
  bool lingering_ = false;
  bool stopped_ = false;  // no further request is read
  bool paused_ = false;   // by the handler, a streamed body
  bool blocked_ = false;  // the socket takes no more
  bool end_of_input_ = false;
  bool parted_ = false;  // the client has closed its side, though not all it said may be read yet
  Timestamp since_;             // what we wait for from the client began here
  Timestamp collecting_since_;  // a request that is collected: when its head was there
  Timestamp write_since_;       // the last time that the client took something
  HttpSlot* first_ = nullptr;
  HttpSlot* last_ = nullptr;
  HttpSlot* receiving_ = nullptr;  // its body is not complete; always last_
  HttpExchangePtr collecting_;     // for the handler, when the body is complete
  HttpBodySink sink_;
  std::string in_;    // received, not understood yet
  std::string head_;  // of the request whose body is collected
  std::string body_;
  std::uint64_t body_bytes_max_ = 0;  // of the body that is being received
  std::string out_;
  std::size_t sent_ = 0;          // of out_
  std::uint64_t slot_bytes_ = 0;  // held and kept by all slots
  std::uint64_t counted_ = 0;     // what the hub was told that we hold
};

}  // namespace postrider
