#include "postrider/sinks/device/calin_sink.h"

#include <unordered_map>

#include "postrider/json/json_writer.h"
#include "postrider/sinks/common/sink_listener.h"
#include "postrider/sinks/device/meter_control.h"

namespace postrider {
namespace {

class CalinSink final : public FarSide {
 public:
  explicit CalinSink(CalinSinkOptions options)
      : options_(std::move(options)),
        vendor_(options_.vendor, meters_, Rng(options_.seed), loop_.now()) {
    vendor_.faults = options_.faults;
  }
  Result<void> open();

  std::string address() const override { return listener_->address(); }
  std::string control_address() const override { return listener_->address(); }
  void run(bool until_signal) override { loop_.run(until_signal); }
  void stop() override { loop_.stop(); }
  std::string summary() const override;

 private:
  void take(const SinkRequest& request, SinkResponder responder);
  std::optional<SinkControlAnswer> control(const SinkRequest& request);
  std::string counts() const;
  void pump();

  CalinSinkOptions options_;
  FarSideLoop loop_;  // before everything that lives on it
  sim::Meters meters_;
  sim::Vendor vendor_;
  std::unique_ptr<SinkListener> listener_;
  std::unordered_map<std::uint64_t, SinkResponder> calls_;
  std::uint64_t last_ticket_ = 0;
};

Result<void> CalinSink::open() {
  if (options_.vendor.version != 1 && options_.vendor.version != 2)
    return fail(ErrorCode::kInvalid, "the version is 1 or 2");
  POSTRIDER_TRY(listens,
                SinkListener::open(loop_.io(), options_.listen,
                                   [this](const SinkRequest& request, SinkResponder responder) {
                                     take(request, std::move(responder));
                                   }));
  listener_ = std::move(listens);
  return {};
}

void CalinSink::take(const SinkRequest& request, SinkResponder responder) {
  if (const auto its = control(request))
    return responder.answer({its->status, "application/json", its->body});
  if (request.method != "POST") {
    const SinkControlAnswer its = control_error(405, "the vendor takes POST only");
    return responder.answer({its.status, "application/json", its.body});
  }
  calls_.emplace(++last_ticket_, std::move(responder));
  vendor_.call(loop_.now(), {last_ticket_, request.path, request.authorization, request.body, 0});
  pump();
}

std::optional<SinkControlAnswer> CalinSink::control(const SinkRequest& request) {
  auto its =
      answer_control(request.method, request.path, request.body, meters_.ledger, vendor_.faults);
  if (its) return its;
  if (request.path == "/counts" && request.method == "GET") return SinkControlAnswer{200, counts()};
  return std::nullopt;
}

std::string CalinSink::counts() const {
  const sim::VendorCounts& counts = vendor_.counts();
  std::string out;
  json::JsonWriter writer(out);
  writer.open_object().count("creates", counts.creates).count("taken", counts.taken);
  writer.count("polls", counts.polls).count("logins", counts.logins);
  writer.count("unauthorized", counts.unauthorized).count("tokens", counts.tokens);
  writer.count("runs", meters_.ledger.runs().size());
  writer.count("doubled", meters_.ledger.doubled().size()).close_object();
  return out;
}

// Lets happen what is due, and wakes up for the next.
void CalinSink::pump() {
  for (const sim::VendorReply& reply : vendor_.due(loop_.now())) {
    const auto found = calls_.find(reply.ticket);
    if (found == calls_.end()) continue;
    if (reply.end == sim::CallEnd::kAnswered)
      found->second.answer({reply.status, reply.content_type, reply.body, reply.twice});
    if (reply.end == sim::CallEnd::kCut) found->second.cut();
    calls_.erase(found);
  }
  loop_.wake_at(vendor_.next(), [this] { pump(); });
}

std::string CalinSink::summary() const {
  const sim::VendorCounts& counts = vendor_.counts();
  return std::to_string(counts.creates) + " commands: " + std::to_string(counts.taken) +
         " taken, " + std::to_string(meters_.ledger.runs().size()) + " run; " +
         std::to_string(counts.polls) + " polls, " + std::to_string(counts.logins) + " logins, " +
         std::to_string(counts.tokens) + " tokens made";
}

}  // namespace

Result<std::unique_ptr<FarSide>> open_calin_sink(CalinSinkOptions options) {
  return open_far_side<CalinSink>(std::move(options));
}

}  // namespace postrider
