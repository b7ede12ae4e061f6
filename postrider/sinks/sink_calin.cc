#include "postrider/sinks/sink_calin.h"

#include <csignal>
#include <unordered_map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "postrider/json/json_writer.h"
#include "postrider/sinks/sink_control.h"
#include "postrider/sinks/sink_listener.h"

namespace postrider {

namespace asio = boost::asio;

class CalinSink::Impl {
 public:
  explicit Impl(CalinSinkOptions options)
      : options_(std::move(options)),
        vendor_(options_.vendor, meters_, Rng(options_.seed), clock_.now()) {
    vendor_.faults = options_.faults;
  }

  Result<void> open();
  void run(bool until_signal);
  void stop() { loop_.stop(); }
  std::string summary() const;
  std::string address() const { return listener_->address(); }

 private:
  void take(const SinkRequest& request, SinkResponder responder);
  std::optional<SinkControlAnswer> control(const SinkRequest& request);
  std::string counts() const;
  void pump();

  CalinSinkOptions options_;
  SinkClock clock_;
  sim::Meters meters_;
  sim::Vendor vendor_;
  asio::io_context loop_{1};  // before everything that lives on it
  asio::steady_timer timer_{loop_};
  std::unique_ptr<SinkListener> listener_;
  std::unordered_map<std::uint64_t, SinkResponder> calls_;
  std::uint64_t last_ticket_ = 0;
};

Result<void> CalinSink::Impl::open() {
  if (options_.vendor.version != 1 && options_.vendor.version != 2)
    return fail(ErrorCode::kInvalid, "the version is 1 or 2");
  POSTRIDER_TRY(listens,
                SinkListener::open(loop_, options_.listen,
                                   [this](const SinkRequest& request, SinkResponder responder) {
                                     take(request, std::move(responder));
                                   }));
  listener_ = std::move(listens);
  return {};
}

void CalinSink::Impl::take(const SinkRequest& request, SinkResponder responder) {
  if (const auto its = control(request))
    return responder.answer({its->status, "application/json", its->body});
  if (request.method != "POST") {
    const SinkControlAnswer its = control_error(405, "the vendor takes POST only");
    return responder.answer({its.status, "application/json", its.body});
  }
  calls_.emplace(++last_ticket_, std::move(responder));
  vendor_.call(clock_.now(), {last_ticket_, request.path, request.authorization, request.body, 0});
  pump();
}

std::optional<SinkControlAnswer> CalinSink::Impl::control(const SinkRequest& request) {
  auto its =
      answer_control(request.method, request.path, request.body, meters_.ledger, vendor_.faults);
  if (its) return its;
  if (request.path == "/counts" && request.method == "GET") return SinkControlAnswer{200, counts()};
  return std::nullopt;
}

std::string CalinSink::Impl::counts() const {
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

void CalinSink::Impl::run(bool until_signal) {
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
void CalinSink::Impl::pump() {
  for (const sim::VendorReply& reply : vendor_.due(clock_.now())) {
    const auto found = calls_.find(reply.ticket);
    if (found == calls_.end()) continue;
    if (reply.end == sim::CallEnd::kAnswered)
      found->second.answer({reply.status, reply.content_type, reply.body, reply.twice});
    if (reply.end == sim::CallEnd::kCut) found->second.cut();
    calls_.erase(found);
  }
  const std::optional<Timestamp> next = vendor_.next();
  if (!next) return;
  timer_.expires_after(std::max(*next - clock_.now(), Duration(0)));
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) pump();
  });
}

std::string CalinSink::Impl::summary() const {
  const sim::VendorCounts& counts = vendor_.counts();
  return std::to_string(counts.creates) + " commands: " + std::to_string(counts.taken) +
         " taken, " + std::to_string(meters_.ledger.runs().size()) + " run; " +
         std::to_string(counts.polls) + " polls, " + std::to_string(counts.logins) + " logins, " +
         std::to_string(counts.tokens) + " tokens made";
}

Result<std::unique_ptr<CalinSink>> CalinSink::open(CalinSinkOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (const Result<void> opened = impl->open(); !opened)
    return tl::unexpected<Error>(opened.error());
  return std::unique_ptr<CalinSink>(new CalinSink(std::move(impl)));
}

CalinSink::CalinSink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CalinSink::~CalinSink() = default;
std::string CalinSink::address() const { return impl_->address(); }
void CalinSink::run(bool until_signal) { impl_->run(until_signal); }
void CalinSink::stop() { impl_->stop(); }
std::string CalinSink::summary() const { return impl_->summary(); }

}  // namespace postrider
