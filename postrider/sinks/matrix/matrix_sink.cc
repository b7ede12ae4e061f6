#include "postrider/sinks/matrix/matrix_sink.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "postrider/json/json_reader.h"
#include "postrider/json/json_writer.h"
#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/sinks/common/sink_control.h"

namespace postrider {
namespace {

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

class MatrixSink final : public FarSide {
 public:
  explicit MatrixSink(MatrixSinkOptions options)
      : options_(std::move(options)), receiver_(options_.receiver, Rng(options_.seed)) {
    receiver_.faults = options_.faults;
  }
  Result<void> open();

  std::string address() const override { return listener_->address(); }
  std::string control_address() const override { return control_->address(); }
  void run(bool until_signal) override { loop_.run(until_signal); }
  void stop() override { loop_.stop(); }
  std::string summary() const override;

 private:
  void take(const SinkRequest& request, SinkResponder responder);
  SinkControlAnswer control(const SinkRequest& request);
  std::string counts() const;
  std::string applied() const;
  void pump();

  MatrixSinkOptions options_;
  FarSideLoop loop_;  // before everything that lives on it
  sim::Receiver receiver_;
  std::unique_ptr<SinkListener> listener_;
  std::unique_ptr<SinkListener> control_;
  std::unordered_map<std::uint64_t, SinkResponder> calls_;
  std::uint64_t last_ticket_ = 0;
};

Result<void> MatrixSink::open() {
  SinkListenerLimits limits;
  limits.body_bytes_max = options_.receiver.limits.bytes_max;
  POSTRIDER_TRY(listens, SinkListener::open(
                             loop_.io(), options_.listen,
                             [this](const SinkRequest& request, SinkResponder responder) {
                               take(request, std::move(responder));
                             },
                             limits, options_.tls));
  listener_ = std::move(listens);
  POSTRIDER_TRY(controls, SinkListener::open(
                              loop_.io(), options_.control,
                              [this](const SinkRequest& request, const SinkResponder& responder) {
                                const SinkControlAnswer its = control(request);
                                responder.answer({its.status, kJson, its.body});
                              }));
  control_ = std::move(controls);
  return {};
}

void MatrixSink::take(const SinkRequest& request, SinkResponder responder) {
  calls_.emplace(++last_ticket_, std::move(responder));
  receiver_.call(loop_.now(), {.ticket = last_ticket_,
                               .method = request.method,
                               .uri = request.path,
                               .authorization = request.authorization,
                               .body = request.body});
  pump();
}

SinkControlAnswer MatrixSink::control(const SinkRequest& request) {
  if (request.method == "GET" && request.path == "/counts") return {200, counts()};
  if (request.method == "GET" && request.path == "/applied") return {200, applied()};
  if (request.method != "POST" || request.path != "/faults")
    return control_error(404, "GET /counts, GET /applied, POST /faults");
  if (const Result<void> set = set_faults(request.body, receiver_.faults); !set)
    return control_error(400, set.error().detail);
  return {200, "{}"};
}

std::string MatrixSink::counts() const {
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

std::string MatrixSink::applied() const {
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

// Lets happen what is due, and wakes up for the next.
void MatrixSink::pump() {
  for (const sim::ReceiverReply& reply : receiver_.due(loop_.now())) {
    const auto found = calls_.find(reply.ticket);
    if (found == calls_.end()) continue;
    if (reply.cut) {
      found->second.cut();
    } else {
      found->second.answer({reply.status, kJson, reply.body});
    }
    calls_.erase(found);
  }
  loop_.wake_at(receiver_.next(), [this] { pump(); });
}

std::string MatrixSink::summary() const {
  const sim::ReceiverCounts& it = receiver_.counts();
  return std::to_string(it.requests) + " requests: " + std::to_string(it.transactions) +
         " transactions with " + std::to_string(it.events) + " events and " +
         std::to_string(it.units) + " units, " + std::to_string(it.repeats) + " repeats; " +
         std::to_string(it.doubled) + " items came twice";
}

}  // namespace

Result<std::unique_ptr<FarSide>> open_matrix_sink(MatrixSinkOptions options) {
  return open_far_side<MatrixSink>(std::move(options));
}

}  // namespace postrider
