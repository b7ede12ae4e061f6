#include "postrider/transports/mqtt/mqtt_link.h"

#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <mosquitto.h>

#include "postrider/base/check.h"

namespace postrider {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr int kQos = 1;
constexpr int kRefusedQos = 128;
constexpr int kPacketsPerTurn = 256;

bool init_library() {
  static const bool kGood = mosquitto_lib_init() == MOSQ_ERR_SUCCESS;
  return kGood;
}

struct MosquittoFree {
  void operator()(mosquitto* handle) const { mosquitto_destroy(handle); }
};

}  // namespace

class MqttLink::Core final : public std::enable_shared_from_this<MqttLink::Core> {
 public:
  Core(asio::io_context& loop, const MqttLinkSettings& settings, MqttLinkUser& user)
      : loop_(loop), settings_(settings), user_(user), descriptor_(loop) {}

  Result<void> connect(const std::string& address, std::uint16_t port);
  Result<int> publish(const std::string& topic, std::string_view bytes);
  std::uint64_t writes() const { return writes_; }
  std::vector<MqttEvent> take_events() { return std::exchange(events_, {}); }
  void release();
  void tend();
  void say_goodbye();
  void close();

 private:
  Result<void> set_up();
  void set_callbacks();
  void on_connect(int code);
  void on_subscribe(int count, const int* granted);
  void wait_readable();
  void wait_writable();
  void read();
  void write();
  void after(int code);
  void lost(std::string why);

  asio::io_context& loop_;
  MqttLinkSettings settings_;
  MqttLinkUser& user_;  // not used once closed
  // Declared before the descriptor, which is a copy of the library's own.
  std::unique_ptr<mosquitto, MosquittoFree> handle_;
  asio::posix::stream_descriptor descriptor_;
  bool closed_ = false;
  bool held_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool ready_now_ = false;  // became ready and nobody was told yet
  std::uint64_t writes_ = 0;
  std::string problem_;
  std::vector<MqttEvent> events_;
  std::vector<int> published_;
};

void MqttLink::Core::set_callbacks() {
  mosquitto_connect_callback_set(handle_.get(), [](mosquitto*, void* self, int code) {
    static_cast<Core*>(self)->on_connect(code);
  });
  mosquitto_subscribe_callback_set(handle_.get(),
                                   [](mosquitto*, void* self, int, int count, const int* granted) {
                                     static_cast<Core*>(self)->on_subscribe(count, granted);
                                   });
  mosquitto_publish_callback_set(handle_.get(), [](mosquitto*, void* self, int id) {
    static_cast<Core*>(self)->published_.push_back(id);
  });
  mosquitto_message_callback_set(
      handle_.get(), [](mosquitto*, void* self, const mosquitto_message* message) {
        const auto size = static_cast<std::size_t>(message->payloadlen);
        static_cast<Core*>(self)->events_.push_back(
            {message->topic, std::string(static_cast<const char*>(message->payload), size)});
      });
}

Result<void> MqttLink::Core::set_up() {
  if (!init_library()) return fail(ErrorCode::kUnavailable, "libmosquitto cannot be set up");
  handle_.reset(mosquitto_new(settings_.client_id.c_str(), settings_.clean_session, this));
  if (handle_ == nullptr) return fail(ErrorCode::kInvalid, "the client id cannot be used");
  set_callbacks();
  bool good = mosquitto_threaded_set(handle_.get(), true) == MOSQ_ERR_SUCCESS;
  good = good && mosquitto_int_option(handle_.get(), MOSQ_OPT_TCP_NODELAY, 1) == MOSQ_ERR_SUCCESS;
  // The transport has its own bound, and what it has published should leave.
  good = good && mosquitto_max_inflight_messages_set(handle_.get(), 0) == MOSQ_ERR_SUCCESS;
  if (!settings_.user.empty()) {
    good = good && mosquitto_username_pw_set(handle_.get(), settings_.user.c_str(),
                                             settings_.password.c_str()) == MOSQ_ERR_SUCCESS;
  }
  if (settings_.tls != nullptr) {
    good = good && mosquitto_void_option(handle_.get(), MOSQ_OPT_SSL_CTX, settings_.tls.get()) ==
                       MOSQ_ERR_SUCCESS;
    good = good && mosquitto_int_option(handle_.get(), MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0) ==
                       MOSQ_ERR_SUCCESS;
  }
  if (!good) return fail(ErrorCode::kInvalid, "libmosquitto refuses the settings");
  return {};
}

Result<void> MqttLink::Core::connect(const std::string& address, std::uint16_t port) {
  if (const auto good = set_up(); !good) return tl::unexpected(good.error());
  const int code =
      mosquitto_connect_async(handle_.get(), address.c_str(), port, settings_.keep_alive_seconds);
  if (code != MOSQ_ERR_SUCCESS) return fail(ErrorCode::kUnavailable, mosquitto_strerror(code));
  // A copy, so that the library may close its own whenever it likes.
  const int copy = ::fcntl(mosquitto_socket(handle_.get()), F_DUPFD_CLOEXEC, 0);
  error_code error;
  if (copy >= 0) descriptor_.assign(copy, error);
  if (copy < 0 || error) {
    if (copy >= 0) ::close(copy);
    return fail(ErrorCode::kUnavailable, "no descriptor is left");
  }
  wait_readable();
  wait_writable();
  return {};
}

void MqttLink::Core::on_connect(int code) {
  if (code != 0) {
    problem_ = mosquitto_connack_string(code);
    return;
  }
  if (settings_.subscriptions.empty()) {
    ready_now_ = true;
    return;
  }
  std::vector<char*> filters;
  for (std::string& filter : settings_.subscriptions) filters.push_back(filter.data());
  const int done = mosquitto_subscribe_multiple(
      handle_.get(), nullptr, static_cast<int>(filters.size()), filters.data(), kQos, 0, nullptr);
  if (done != MOSQ_ERR_SUCCESS) problem_ = "subscribing: " + std::string(mosquitto_strerror(done));
}

void MqttLink::Core::on_subscribe(int count, const int* granted) {
  for (int i = 0; i < count; ++i) {
    if (granted[i] != kRefusedQos) continue;
    problem_ = "the broker refuses the subscription '" +
               settings_.subscriptions.at(static_cast<std::size_t>(i)) + "'";
    return;
  }
  ready_now_ = true;
}

Result<int> MqttLink::Core::publish(const std::string& topic, std::string_view bytes) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return fail(ErrorCode::kLimit, "too large");
  int id = 0;
  const int code = mosquitto_publish(handle_.get(), &id, topic.c_str(),
                                     static_cast<int>(bytes.size()), bytes.data(), kQos, false);
  if (code != MOSQ_ERR_SUCCESS) return fail(ErrorCode::kInvalid, mosquitto_strerror(code));
  wait_writable();
  return id;
}

void MqttLink::Core::wait_readable() {
  if (closed_ || reading_ || held_) return;
  reading_ = true;
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](error_code error) {
                           self->reading_ = false;
                           if (!error && !self->closed_) self->read();
                         });
}

void MqttLink::Core::wait_writable() {
  if (closed_ || writing_ || held_) return;
  writing_ = true;
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_write,
                         [self = shared_from_this()](error_code error) {
                           self->writing_ = false;
                           if (!error && !self->closed_) self->write();
                         });
}

// Reads until there is nothing more, or enough for one round of making durable.
void MqttLink::Core::read() {
  if (held_) return;
  int code = MOSQ_ERR_SUCCESS;
  for (int i = 0; i < kPacketsPerTurn && code == MOSQ_ERR_SUCCESS; ++i) {
    errno = 0;
    code = mosquitto_loop_read(handle_.get(), 1);
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    if (events_.size() >= settings_.events_max || !problem_.empty()) break;
  }
  after(code);
}

void MqttLink::Core::write() {
  if (held_) return;
  ++writes_;
  after(mosquitto_loop_write(handle_.get(), 1));
}

// Tells what the library has called back about, now that it is not running.
void MqttLink::Core::after(int code) {
  const auto self = shared_from_this();
  if (!events_.empty()) held_ = true;
  if (!published_.empty()) user_.link_published(std::exchange(published_, {}));
  if (closed_) return;
  if (!problem_.empty()) return lost(problem_);
  if (code != MOSQ_ERR_SUCCESS) return lost(mosquitto_strerror(code));
  if (std::exchange(ready_now_, false)) user_.link_ready();
  if (closed_) return;
  if (held_) return user_.link_arrived();
  wait_readable();
  if (mosquitto_want_write(handle_.get())) wait_writable();
}

void MqttLink::Core::release() {
  if (closed_ || !held_) return;
  held_ = false;
  wait_writable();
  // With TLS the library may hold bytes that no descriptor tells of.
  asio::post(loop_, [self = shared_from_this()] {
    if (!self->closed_) self->read();
  });
}

void MqttLink::Core::tend() {
  if (closed_ || held_) return;
  const int code = mosquitto_loop_misc(handle_.get());
  if (code == MOSQ_ERR_SUCCESS) return wait_writable();
  asio::post(loop_, [self = shared_from_this(), code] { self->lost(mosquitto_strerror(code)); });
}

void MqttLink::Core::lost(std::string why) {
  if (closed_) return;
  close();
  user_.link_lost(std::move(why));
}

void MqttLink::Core::say_goodbye() {
  if (closed_ || held_ || handle_ == nullptr) return;
  if (mosquitto_disconnect(handle_.get()) == MOSQ_ERR_SUCCESS)
    mosquitto_loop_write(handle_.get(), 1);
}

void MqttLink::Core::close() {
  if (closed_) return;
  closed_ = true;
  error_code error;
  descriptor_.close(error);
  handle_.reset();
}

MqttLink::MqttLink(asio::io_context& loop, const MqttLinkSettings& settings, MqttLinkUser& user)
    : core_(std::make_shared<Core>(loop, settings, user)) {}
MqttLink::~MqttLink() { core_->close(); }

Result<void> MqttLink::connect(const std::string& address, std::uint16_t port) {
  return core_->connect(address, port);
}
Result<int> MqttLink::publish(const std::string& topic, std::string_view bytes) {
  return core_->publish(topic, bytes);
}
bool MqttLink::has_left(std::uint64_t published) const { return core_->writes() > published; }
std::uint64_t MqttLink::writes() const { return core_->writes(); }
std::vector<MqttEvent> MqttLink::take_events() { return core_->take_events(); }
void MqttLink::release() { core_->release(); }
void MqttLink::tend() { core_->tend(); }
void MqttLink::say_goodbye() { core_->say_goodbye(); }

}  // namespace postrider
