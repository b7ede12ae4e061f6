#include "postrider/servers/http/http_hub.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/protocols/web/http_text.h"
#include "postrider/servers/http/http_connection.h"

namespace postrider {
namespace {

constexpr int kEventsMax = 128;  // of one turn; other work of the loop comes in between

// What is kept for the next busy connection, so that a request allocates nothing.
constexpr std::size_t kBuffersKept = 64;
constexpr std::size_t kBufferBytesKept = 32'768;
constexpr std::size_t kSlotsKept = 1024;

// Refused connections wait a little for their client to read why.
constexpr std::size_t kTurnedAwayMax = 64;

}  // namespace

HttpHub::HttpHub(const HttpLimits& limits, HttpHandler handler, std::function<void()> wake)
    : limits_(limits),
      reader_limits_{limits.head_bytes_max, limits.headers_max, handler.forwards},
      handler_(std::move(handler)),
      wake_(std::move(wake)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      scratch_(new char[kScratchBytes]) {
  POSTRIDER_CHECK(epoll_ >= 0);
}

HttpHub::~HttpHub() {
  cut_all();
  graveyard_.clear();
  ::close(epoll_);
}

void HttpHub::set_time(Instant now) {
  now_ = now.boot;
  const std::int64_t second = now.wall.ms() / 1000;
  if (second == date_second_) return;
  date_second_ = second;
  date_line_ = "date: " + to_http_date(now.wall) + "\r\n";
}

void HttpHub::turn(Instant now) {
  set_time(now);
  std::array<epoll_event, kEventsMax> events;
  const int ready = ::epoll_wait(epoll_, events.data(), kEventsMax, 0);
  in_turn_ = true;
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    static_cast<HttpWatched*>(event.data.ptr)->on_ready(event.events);
  }
  settle_marked();
}

void HttpHub::settle(Instant now) {
  set_time(now);
  woken_ = false;
  in_turn_ = true;
  for (HttpConnection* connection : std::exchange(roomy_, {})) connection->offer_room();
  settle_marked();
}

void HttpHub::offer_room_to(HttpConnection& connection) {
  if (connection.roomy) return;
  connection.roomy = true;
  roomy_.push_back(&connection);
  if (woken_) return;
  woken_ = true;
  wake_();
}

// Settling one may mark it again, or another.
void HttpHub::settle_marked() {
  for (std::size_t i = 0; i < marked_.size(); ++i) marked_[i]->settle();
  marked_.clear();
  in_turn_ = false;
  graveyard_.clear();
}

void HttpHub::mark(HttpConnection& connection) {
  if (connection.marked) return;
  connection.marked = true;
  marked_.push_back(&connection);
  ask_for_settling();
}

void HttpHub::ask_for_settling() {
  if (in_turn_ || woken_) return;
  woken_ = true;
  wake_();
}

void HttpHub::sweep(Instant now) {
  set_time(now);
  in_turn_ = true;
  // A connection that goes away leaves its place to the last one, which has been looked at.
  for (std::size_t i = connections_.size(); i-- > 0;) {
    if (i < dues_.size() && dues_[i] <= now_) connections_[i]->expire();
  }
  settle_marked();
}

void HttpHub::drain() {
  draining_ = true;
  for (std::size_t i = connections_.size(); i-- > 0;) {
    if (i < connections_.size()) connections_[i]->drain();
  }
}

void HttpHub::cut_all() {
  while (!connections_.empty()) connections_.back()->cut();
}

void HttpHub::adopt(int fd, const HttpPeer& peer, const TlsIdentity* tls) {
  const std::size_t count = connections_.size();
  const bool too_many = count >= limits_.connections_max;
  // Nothing is said before a TLS handshake, and that would be work.
  if (too_many && (tls != nullptr || count >= limits_.connections_max + kTurnedAwayMax)) {
    ::close(fd);
    return;
  }
  connections_.push_back(std::make_unique<HttpConnection>(*this, fd, peer));
  dues_.push_back(Timestamp::never());
  HttpConnection& connection = *connections_.back();
  connection.index = count;
  if (!connection.start(tls)) {
    connection.cut();
  } else if (too_many) {
    connection.turn_away();
  }
}

void HttpHub::remove(HttpConnection& connection) {
  const std::size_t index = connection.index;
  if (connection.roomy) std::erase(roomy_, &connection);
  graveyard_.push_back(std::move(connections_[index]));
  if (index + 1 != connections_.size()) {
    connections_[index] = std::move(connections_.back());
    connections_[index]->index = index;
    dues_[index] = dues_.back();
  }
  connections_.pop_back();
  dues_.pop_back();
  ask_for_settling();
}

void HttpHub::watch(int fd, HttpWatched& watched, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.ptr = &watched}};
  // It fails for want of memory only; then the descriptor stays silent and times out.
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void HttpHub::change(int fd, HttpWatched& watched, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.ptr = &watched}};
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

// The entry may be too early, never too late: who is found due is asked again.
void HttpHub::expire_at(std::size_t index, Timestamp due) { dues_[index] = due; }

HttpResponse HttpHub::refusal(int status, std::string_view detail) const {
  HttpResponse response;
  if (handler_.refuse) {
    response = handler_.refuse(status, detail);
  } else {
    response.status = status;
    response.content_type = "text/plain";
    response.body = std::string(detail) + "\n";
  }
  response.close = true;
  return response;
}

std::string HttpHub::take_buffer() {
  if (buffers_.empty()) return {};
  std::string buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

void HttpHub::give_buffer(std::string& buffer) {
  std::string returned = std::exchange(buffer, {});
  if (returned.capacity() <= sizeof(std::string) || returned.capacity() > kBufferBytesKept) return;
  if (buffers_.size() == kBuffersKept) return;
  returned.clear();
  buffers_.push_back(std::move(returned));
}

HttpSlot* HttpHub::take_slot() {
  if (slots_.empty()) return std::make_unique<HttpSlot>().release();
  HttpSlot* slot = slots_.back().release();
  slots_.pop_back();
  return slot;
}

void HttpHub::give_slot(HttpSlot* slot) {
  std::unique_ptr<HttpSlot> returned(slot);
  if (slots_.size() == kSlotsKept) return;
  give_buffer(returned->held);
  *returned = HttpSlot{};
  slots_.push_back(std::move(returned));
}

}  // namespace postrider
