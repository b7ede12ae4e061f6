#include "postrider/sinks/sink_matrix.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <unordered_map>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "postrider/json/json_reader.h"
#include "postrider/json/json_writer.h"
#include "postrider/protocols/matrix/json_fields.h"

namespace postrider {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kJson = "application/json";
constexpr std::uint32_t kSlowMsMax = 3'600'000;

struct FaultName {
  std::string_view name;
  std::uint32_t sim::ReceiverFaults::*value;
  std::uint32_t max;
};
constexpr auto kFaultNames = std::to_array<FaultName>({
    {"fail", &sim::ReceiverFaults::fail, 100},
    {"fail_status", &sim::ReceiverFaults::fail_status, 599},
    {"lose_answers", &sim::ReceiverFaults::lose_answers, 100},
    {"hang", &sim::ReceiverFaults::hang, 100},
    {"slow_ms", &sim::ReceiverFaults::slow_ms, kSlowMsMax},
});

// All of the body or nothing.
Result<void> set_faults(std::string_view body, sim::ReceiverFaults& faults) {
  json::JsonDocument document;
  if (auto read = document.parse(body, matrix::kItemLimits); !read) return read;
  if (!matrix::is_object(document.root()))
    return fail(ErrorCode::kInvalid, "the faults must be an object");
  sim::ReceiverFaults wanted = faults;
  std::string wrong;
  document.root().for_members([&](json::JsonValue name, json::JsonValue) {
    const std::string text = name.text();
    const auto known = std::find_if(kFaultNames.begin(), kFaultNames.end(),
                                    [&](const FaultName& it) { return it.name == text; });
    const auto number = matrix::integer_of(document.root(), text);
    if (known == kFaultNames.end() || !number || *number < 0 || *number > known->max) {
      wrong = text;
      return false;
    }
    wanted.*known->value = static_cast<std::uint32_t>(*number);
    return true;
  });
  if (!wrong.empty())
    return fail(ErrorCode::kInvalid, "'" + wrong + "' is no fault, or its number is too large");
  faults = wanted;
  return {};
}

}  // namespace

class MatrixSink::Impl {
 public:
  explicit Impl(MatrixSinkOptions options)
      : options_(std::move(options)), receiver_(options_.receiver, Rng(options_.seed)) {
    receiver_.faults = options_.faults;
  }

  Result<void> open();
  void run(bool until_signal);
  void stop() { loop_.stop(); }
  std::string summary() const;
  std::string address() const { return listener_->address(); }
  std::string control_address() const { return control_->address(); }

 private:
  void take(const SinkRequest& request, SinkResponder responder);
  void answer_control(const SinkRequest& request, const SinkResponder& responder);
  std::string counts() const;
  std::string applied() const;
  void pump();
  Timestamp now();

  MatrixSinkOptions options_;
  sim::Receiver receiver_;
  Timestamp last_;
  asio::io_context loop_{1};  // before everything that lives on it
  asio::steady_timer timer_{loop_};
  std::unique_ptr<SinkListener> listener_;
  std::unique_ptr<SinkListener> control_;
  std::unordered_map<std::uint64_t, SinkResponder> calls_;
  std::uint64_t last_ticket_ = 0;
};

// It never goes back, which the model relies on.
Timestamp MatrixSink::Impl::now() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  last_ = std::max(last_, Timestamp(std::chrono::duration_cast<Duration>(wall).count()));
  return last_;
}

Result<void> MatrixSink::Impl::open() {
  SinkListenerLimits limits;
  limits.body_bytes_max = options_.receiver.limits.bytes_max;
  POSTRIDER_TRY(listens, SinkListener::open(
                             loop_, options_.listen,
                             [this](const SinkRequest& request, SinkResponder responder) {
                               take(request, std::move(responder));
                             },
                             limits, options_.tls));
  listener_ = std::move(listens);
  POSTRIDER_TRY(control, SinkListener::open(
                             loop_, options_.control,
                             [this](const SinkRequest& request, const SinkResponder& responder) {
                               answer_control(request, responder);
                             }));
  control_ = std::move(control);
  return {};
}

void MatrixSink::Impl::take(const SinkRequest& request, SinkResponder responder) {
  calls_.emplace(++last_ticket_, std::move(responder));
  receiver_.call(now(), {.ticket = last_ticket_,
                         .method = request.method,
                         .uri = request.path,
                         .authorization = request.authorization,
                         .body = request.body});
  pump();
}

void MatrixSink::Impl::answer_control(const SinkRequest& request, const SinkResponder& responder) {
  if (request.method == "GET" && request.path == "/counts")
    return responder.answer({200, kJson, counts()});
  if (request.method == "GET" && request.path == "/applied")
    return responder.answer({200, kJson, applied()});
  if (request.method != "POST" || request.path != "/faults")
    return responder.answer({404, kJson, R"({"error":"GET /counts, GET /applied, POST /faults"})"});
  const Result<void> set = set_faults(request.body, receiver_.faults);
  std::string body = "{}";
  if (!set) {
    body.clear();
    json::JsonWriter(body).open_object().field("error", set.error().detail).close_object();
  }
  responder.answer({set ? 200 : 400, kJson, body});
}

std::string MatrixSink::Impl::counts() const {
  const sim::ReceiverCounts& it = receiver_.counts();
  std::string out;
  json::JsonWriter json(out);
  json.open_object().count("requests", it.requests).count("transactions", it.transactions);
  json.count("repeats", it.repeats).count("changed", it.changed).count("busy", it.busy);
  json.count("unauthorized", it.unauthorized).count("malformed", it.malformed);
  json.count("poisoned", it.poisoned).count("failed", it.failed).count("hung", it.hung);
  json.count("events", it.events).count("units", it.units);
  json.count("items", receiver_.applied().size()).count("doubled", it.doubled).close_object();
  return out;
}

std::string MatrixSink::Impl::applied() const {
  std::string out;
  json::JsonWriter json(out);
  json.open_array();
  for (const sim::Receiver::Applied& item : receiver_.applied()) {
    json.open_object().field("id", item.id).field("room", item.room);
    json.count("times", item.times).close_object();
  }
  json.close_array();
  return out;
}

void MatrixSink::Impl::run(bool until_signal) {
  asio::signal_set signals(loop_);
  if (until_signal) {
    boost::system::error_code error;
    signals.add(SIGINT, error);
    signals.add(SIGTERM, error);
    signals.async_wait([this](boost::system::error_code, int) { stop(); });
  }
  loop_.run();
}

// Lets happen what is due, and wakes up for the next.
void MatrixSink::Impl::pump() {
  for (const sim::ReceiverReply& reply : receiver_.due(now())) {
    const auto found = calls_.find(reply.ticket);
    if (found == calls_.end()) continue;
    if (reply.cut) {
      found->second.cut();
    } else {
      found->second.answer({reply.status, kJson, reply.body});
    }
    calls_.erase(found);
  }
  const std::optional<Timestamp> next = receiver_.next();
  if (!next) return;
  timer_.expires_after(std::max(*next - now(), Duration(0)));
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) pump();
  });
}

std::string MatrixSink::Impl::summary() const {
  const sim::ReceiverCounts& it = receiver_.counts();
  return std::to_string(it.requests) + " requests: " + std::to_string(it.transactions) +
         " transactions with " + std::to_string(it.events) + " events and " +
         std::to_string(it.units) + " units, " + std::to_string(it.repeats) + " repeats; " +
         std::to_string(it.doubled) + " items came twice";
}

Result<std::unique_ptr<MatrixSink>> MatrixSink::open(MatrixSinkOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (const Result<void> opened = impl->open(); !opened)
    return tl::unexpected<Error>(opened.error());
  return std::unique_ptr<MatrixSink>(new MatrixSink(std::move(impl)));
}

MatrixSink::MatrixSink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MatrixSink::~MatrixSink() = default;
std::string MatrixSink::address() const { return impl_->address(); }
std::string MatrixSink::control_address() const { return impl_->control_address(); }
void MatrixSink::run(bool until_signal) { impl_->run(until_signal); }
void MatrixSink::stop() { impl_->stop(); }
std::string MatrixSink::summary() const { return impl_->summary(); }

}  // namespace postrider
