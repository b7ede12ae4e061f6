// OperationRig: a shard with a service of four methods, one of each policy, and the words of
// callers, handler and hook.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "postrider/profiles/rpc/outcome.h"
#include "postrider/profiles/rpc/types.h"
#include "tests/support/shard_rig.h"

namespace postrider {

class OperationRig : public ShardRig {
 protected:
  static constexpr const char* kPersist = "pay";
  static constexpr const char* kPersistIdem = "put";
  static constexpr const char* kVolatile = "peek";
  static constexpr const char* kVolatileIdem = "get";
  static std::vector<std::string> all_methods() {
    return {kVolatile, kVolatileIdem, kPersist, kPersistIdem};
  }
  static bool is_persist(const std::string& method) { return method[0] == 'p' && method != "peek"; }
  static bool is_idem(const std::string& method) { return method == "put" || method == "get"; }

  std::uint64_t next() { return ++ticket_; }

  Configure service(NamedTexts more = {}) {
    Configure event;
    event.caller.ticket = Ticket(next());
    event.config.name = "bank";
    event.config.profile = "rpc";
    event.config.settings = {{"handler", "http://bank.example/rpc"},
                             {"method.pay", "persist"},
                             {"method.put", "persist, idem"},
                             {"method.peek", "volatile"},
                             {"method.get", "volatile, idem"}};
    for (NamedText& setting : more) event.config.settings.push_back(std::move(setting));
    return event;
  }
  void open_bank(NamedTexts more = {}) {
    open();
    post(service(std::move(more)));
    // The store keeps it from one opening to the next.
    const AnswerCode code = code_of(ticket_);
    ASSERT_TRUE(code == AnswerCode::kDone || code == AnswerCode::kNothing) << told(ticket_).detail;
  }

  struct Caller {
    std::string key = "k";
    std::string body = "{}";
    std::string principal = "shop";
  };
  Submit call_of(const std::string& method, const Caller& caller) {
    Submit event;
    event.caller.ticket = Ticket(next());
    event.caller.key = opaque(caller.key);
    event.caller.key.scope = caller.principal;
    event.destination = "bank";
    event.attributes = encode_texts({{std::string(rpc::kMethodAttribute), method},
                                     {std::string(rpc::kOperationAttribute), caller.key},
                                     {std::string(rpc::kPrincipalAttribute), caller.principal}});
    event.body = caller.body;
    return event;
  }
  // The answer to a call of this method.
  Answer call(const std::string& method, const Caller& caller) {
    post(call_of(method, caller));
    return told(ticket_);
  }
  Answer call(const std::string& method) { return call(method, Caller{}); }

  std::uint64_t await(MessageId id, Duration at_most = 1min) {
    Await event;
    event.ticket = Ticket(next());
    event.id = id;
    event.at_most = at_most;
    post(event);
    return ticket_;
  }
  EndView end_of(MessageId id) { return view_of<EndView>(await(id)); }
  rpc::SealedOutcome outcome_of(const EndView& end) {
    EXPECT_EQ(end.phase, Phase::kDelivered);
    const auto outcome = rpc::decode_outcome(end.outcome.view());
    EXPECT_TRUE(outcome.has_value());
    return outcome.value_or(rpc::SealedOutcome{});
  }

  // What handler or hook answers to what was asked last.
  void answers(int status, std::string body = {}, WireEnd end = WireEnd::kAnswered) {
    AttemptEnded event;
    event.attempt = last_attempt();
    event.reply.end = end;
    event.reply.status = status;
    event.reply.headers = {{"content-type", "text/plain"}};
    event.reply.body = std::move(body);
    post(std::move(event));
  }
  void breaks_off() { answers(0, {}, WireEnd::kReset); }
  // What a transport says of a request that may not be sent.
  void is_held_back() { answers(0, {}, WireEnd::kHeldBack); }

  // Requests that reached the handler, and questions that reached the hook.
  std::vector<WireRequest> runs() const { return requests("POST"); }
  std::vector<WireRequest> questions() const { return requests("GET"); }
  std::string header(const WireRequest& request, std::string_view name) const {
    return std::string(request.headers.find(name));
  }
  Explanation explain(MessageId id) {
    Query query = ask(next(), Query::What::kExplain);
    query.id = id;
    post(query);
    return view_of<Explanation>(ticket_);
  }
  // Until something is started, or for long.
  void wait_for_start(std::size_t number) {
    for (int i = 0; i < 200 && starts().size() < number; ++i) advance(1s);
    ASSERT_GE(starts().size(), number);
  }
  Answer cancel(MessageId id) {
    Cancel event;
    event.caller.ticket = Ticket(next());
    event.id = id;
    post(event);
    return told(ticket_);
  }

  std::uint64_t ticket_ = 0;

 private:
  std::vector<WireRequest> requests(std::string_view verb) const {
    std::vector<WireRequest> out;
    for (const StartAttempt& start : starts()) {
      if (start.request.verb == verb && start.request.held_back.empty())
        out.push_back(start.request);
    }
    return out;
  }
};

}  // namespace postrider
