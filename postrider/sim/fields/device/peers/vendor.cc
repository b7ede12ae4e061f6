#include "postrider/sim/fields/device/peers/vendor.h"

#include <array>
#include <charconv>

#include "postrider/sim/fields/device/peers/vendor_texts.h"

namespace postrider::sim {
namespace {

using device::Command;
using device::Request;
using device::Response;

constexpr std::size_t kLoginsMax = 10'000;
constexpr std::size_t kTokenDigits = 20;
constexpr std::string_view kPage =
    "<html><head><title>Server Error</title></head><body>Runtime Error</body></html>";

constexpr auto kVendorRows = std::to_array<FaultRow<VendorFaults>>({
    {"hang", "P", 100, &VendorFaults::hang, "take the task and never answer"},
    {"lose-calls", "P", 100, &VendorFaults::lose_calls, "break off a create, nothing is taken"},
    {"lose-replies", "P", 100, &VendorFaults::lose_replies, "take the task, break off the call"},
    {"errors", "P", 100, &VendorFaults::errors, "take nothing and answer a create …"},
    {"error-status", "N", 599, &VendorFaults::error_status, "… with this status (503)"},
    {"fail-taken", "P", 100, &VendorFaults::fail_taken, "take the task and answer 502"},
    {"html", "P", 100, &VendorFaults::html, "take the task and answer with a page"},
    {"garbage", "P", 100, &VendorFaults::garbage, "take the task and answer with half an answer"},
    {"refuse", "P", 100, &VendorFaults::refuse, "refuse to create, with a code of the vendor"},
    {"code-99", "P", 100, &VendorFaults::code_99, "refuse tokens, with code 99"},
    {"no-task", "P", 100, &VendorFaults::no_task, "take the task and do not say its number"},
    {"twice", "P", 100, &VendorFaults::twice, "send the answer a second time"},
    {"fail-polls", "P", 100, &VendorFaults::fail_polls,
     "pages, errors, garbage and cuts for polls"},
    {"hang-polls", "P", 100, &VendorFaults::hang_polls, "never answer a poll"},
    {"lies", "P", 100, &VendorFaults::lies, "answer a poll with another data item"},
    {"fail-tasks", "P", 100, &VendorFaults::fail_tasks, "the task does not reach the meter"},
    {"task-ms", "MS", 86'400'000, &VendorFaults::task_ms, "tasks run within this time (8000)"},
    {"slow-tasks", "P", 100, &VendorFaults::slow_tasks, "so many tasks run only …"},
    {"slow-task-ms", "MS", 604'800'000, &VendorFaults::slow_task_ms, "… within this one (600000)"},
    {"meter-refuses", "P", 100, &VendorFaults::meter_refuses, "the meter does not do it"},
    {"fail-logins", "P", 100, &VendorFaults::fail_logins, "refuse logins (version 2)"},
    {"forget-logins", "P", 100, &VendorFaults::forget_logins,
     "401, though the login has not ended"},
});

}  // namespace

std::span<const FaultRow<VendorFaults>> vendor_fault_rows() { return kVendorRows; }

Vendor::Vendor(VendorOptions options, Meters& meters, Rng rng, Timestamp start)
    : options_(std::move(options)), meters_(meters), rng_(rng), agenda_(start) {}

std::optional<Timestamp> Vendor::next() const {
  if (agenda_.empty()) return std::nullopt;
  return agenda_.next_at();
}

std::vector<VendorReply> Vendor::due(Timestamp until) {
  while (!agenda_.empty() && agenda_.next_at() <= until) agenda_.run_next();
  return std::exchange(happened_, {});
}

void Vendor::call(Timestamp when, const VendorCall& call) {
  // The views of the call do not live until it is served.
  struct Kept {
    std::string path, authorization, body;
  };
  agenda_.at(when, [this, ticket = call.ticket, tag = call.tag,
                    kept = Kept{std::string(call.path), std::string(call.authorization),
                                std::string(call.body)}] {
    serve({ticket, kept.path, kept.authorization, kept.body, tag});
  });
}

void Vendor::serve(const VendorCall& call) {
  if (options_.version == 1) return serve_v1(call);
  serve_v2(call);
}

void Vendor::serve_v1(const VendorCall& call) {
  const VendorPath path = read_path_v1(call.path);
  if (path.kind == VendorCallKind::kOther) return reply(call, 404, std::string(kPage), "text/html");
  if (path.kind == VendorCallKind::kMint) return mint(call);
  const Result<VendorCredentials> who = read_credentials_v1(call.body);
  if (!who) return reply(call, 400, R"({"Message":"The request is invalid."})");
  if (!is_known(*who)) return reply(call, 200, error_answer_v1("02", "wrong user or password"));
  if (path.kind == VendorCallKind::kCreate)
    return create(call, read_create_body_v1(path.command, call.body));
  poll(call, read_poll_body_v1(call.body).value_or(""), path.command);
}

void Vendor::serve_v2(const VendorCall& call) {
  const VendorPath path = read_path_v2(call.path);
  if (path.kind == VendorCallKind::kOther) return reply(call, 404, std::string(kPage), "text/html");
  if (path.kind == VendorCallKind::kLogin) return log_in(call);
  if (!is_logged_in(call.authorization)) {
    ++counts_.unauthorized;
    return reply(call, 401, error_answer_v2(401, "unauthorized"));
  }
  if (path.kind == VendorCallKind::kMint) return mint(call);
  if (path.kind == VendorCallKind::kCreate)
    return create(call, read_create_body_v2(path.command, call.body));
  poll(call, read_poll_body_v2(call.body).value_or(""), path.command);
}

bool Vendor::is_known(const VendorCredentials& who) const {
  return (options_.company.empty() || who.company == options_.company) &&
         (options_.user.empty() || who.user == options_.user) &&
         (options_.password.empty() || who.password == options_.password);
}

// Fails as creating does: before the token is made, or when it is.
void Vendor::mint(const VendorCall& call) {
  const bool v1 = options_.version == 1;
  if (chance(faults.lose_calls)) return end_without_reply(call, CallEnd::kCut);
  if (chance(faults.errors))
    return reply(call, static_cast<int>(faults.error_status), std::string(kPage), "text/html");
  const auto refuse = [&](std::int64_t code, std::string_view reason) {
    reply(call, 200, v1 ? mint_refusal_v1(code, reason) : error_answer_v2(code, reason));
  };
  const Result<VendorMint> wanted =
      v1 ? read_mint_body_v1(call.body) : read_mint_body_v2(call.body);
  if (!wanted) return refuse(3, wanted.error().detail);
  if (v1 && !is_known(wanted->who)) return refuse(2, "wrong user or password");
  if (chance(faults.refuse)) return refuse(1, "the meter has no account");
  const std::string number = std::to_string(++counts_.tokens);
  const std::string token = "7" + std::string(kTokenDigits - 1 - number.size(), '0') + number;
  if (chance(faults.lose_replies)) return end_without_reply(call, CallEnd::kCut);
  if (chance(faults.hang)) return end_without_reply(call, CallEnd::kSilent);
  if (chance(faults.fail_taken)) return reply(call, 502, std::string(kPage), "text/html");
  if (chance(faults.html)) return reply(call, 200, std::string(kPage), "text/html");
  std::string answer = v1 ? mint_answer_v1(token) : mint_answer_v2(token);
  if (chance(faults.garbage)) answer.resize(answer.size() / 2);
  reply(call, 200, std::move(answer));
}

void Vendor::log_in(const VendorCall& call) {
  ++counts_.logins;
  const Result<VendorCredentials> who = read_login_body_v2(call.body);
  if (!who || !is_known(*who) || chance(faults.fail_logins))
    return reply(call, 200, error_answer_v2(1, "wrong user or password"));
  std::string jwt;
  const Timestamp ends = now() + options_.login_life;
  std::string answer = login_answer_v2(ends, rng_.next(), jwt);
  if (logins_.size() >= kLoginsMax) logins_.clear();  // who logs in so often logs in again
  logins_.emplace("Bearer " + jwt, ends);
  reply(call, 200, std::move(answer));
}

bool Vendor::is_logged_in(std::string_view authorization) {
  const auto found = logins_.find(std::string(authorization));
  if (found == logins_.end()) return false;
  // The token says its end in whole seconds.
  const bool ended = now().ms() / 1000 >= found->second.ms() / 1000;
  if (!ended && !chance(faults.forget_logins)) return true;
  logins_.erase(found);
  return false;
}

void Vendor::create(const VendorCall& call, const Result<Request>& request) {
  ++counts_.creates;
  const bool v1 = options_.version == 1;
  if (chance(faults.lose_calls)) return end_without_reply(call, CallEnd::kCut);
  if (chance(faults.errors))
    return reply(call, static_cast<int>(faults.error_status), std::string(kPage), "text/html");
  const auto refuse = [&](int code, std::string_view reason) {
    const std::string text = (code < 10 ? "0" : "") + std::to_string(code);
    reply(call, 200, v1 ? error_answer_v1(text, reason) : error_answer_v2(code, reason));
  };
  if (!request) return refuse(3, request.error().detail);
  if (chance(faults.refuse)) return refuse(1, "the meter is not online");
  if (device::is_token(request->command) && chance(faults.code_99))
    return refuse(99, "other error");
  if (tasks_.size() >= options_.tasks_max) return refuse(4, "too many tasks");
  const std::string task = take(*request, call.tag);
  if (chance(faults.lose_replies)) return end_without_reply(call, CallEnd::kCut);
  if (chance(faults.hang)) return end_without_reply(call, CallEnd::kSilent);
  if (chance(faults.fail_taken)) return reply(call, 502, std::string(kPage), "text/html");
  if (chance(faults.html)) return reply(call, 200, std::string(kPage), "text/html");
  const std::string_view told =
      chance(faults.no_task) ? std::string_view() : std::string_view(task);
  std::string answer = v1 ? create_answer_v1(told) : create_answer_v2(told);
  if (chance(faults.garbage)) answer.resize(answer.size() / 2);
  reply(call, 200, std::move(answer));
}

std::string Vendor::take(const Request& request, std::uint64_t tag) {
  ++counts_.taken;
  const std::uint64_t number = ++last_task_;
  Copy copy;
  copy.name = std::to_string(number);
  copy.meter = request.meter;
  copy.what = describe_act(request);
  copy.is_act = device::is_act(request.command);
  copy.tag = tag;
  Task task;
  task.request = request;
  task.copy = meters_.ledger.take(now(), std::move(copy));
  tasks_.emplace(number, std::move(task));
  const bool reaches = !chance(faults.fail_tasks);
  const std::uint32_t within = chance(faults.slow_tasks) ? faults.slow_task_ms : faults.task_ms;
  agenda_.after(Duration(rng_.between(within / 2, within)),
                [this, number, reaches] { run(number, reaches); });
  return std::to_string(number);
}

void Vendor::run(std::uint64_t number, bool reaches) {
  Task& task = tasks_.at(number);
  if (!reaches) {
    task.response = device::not_executed(task.request.command, "the meter did not answer");
    meters_.ledger.close(task.copy, now(), CopyEnd::kFailed);
    return;
  }
  meters_.ledger.radiate(task.copy, now());
  Meter& meter = meters_.at(task.request.meter);
  meter.refuse_all(chance(faults.meter_refuses));
  task.response = meters_.run(task.copy, now(), task.request);
  meter.refuse_all(false);
  meters_.ledger.close(task.copy, now(), CopyEnd::kFinished);
}

// True: the poll is answered, badly.
bool Vendor::fails_poll(const VendorCall& call) {
  if (chance(faults.hang_polls)) {
    end_without_reply(call, CallEnd::kSilent);
    return true;
  }
  if (!chance(faults.fail_polls)) return false;
  switch (rng_.below(4)) {
    case 0: reply(call, 200, std::string(kPage), "text/html"); break;
    case 1: reply(call, 503, R"({"Message":"An error has occurred."})"); break;
    case 2: reply(call, 200, R"({"Result":{"TaskNo)"); break;
    default: end_without_reply(call, CallEnd::kCut); break;
  }
  return true;
}

void Vendor::poll(const VendorCall& call, std::string_view name, Command kind) {
  ++counts_.polls;
  if (fails_poll(call)) return;
  const bool v1 = options_.version == 1;
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = error == std::errc() && rest == name.data() + name.size();
  const auto found = whole ? tasks_.find(number) : tasks_.end();
  const auto is_same_kind = [&](Command command) {
    return device::is_read(command) == device::is_read(kind) &&
           device::is_token(command) == device::is_token(kind);
  };
  if (found == tasks_.end() || !is_same_kind(found->second.request.command)) {
    return reply(call, 200,
                 v1 ? error_answer_v1("01", "there is no such task")
                    : R"({"code":0,"reason":"success","result":{"data":[]}})");
  }
  const Task& task = found->second;
  const Response* const response = task.response ? &*task.response : nullptr;
  if (response != nullptr && chance(faults.lies)) {
    const Request other = another_request(task.request);
    Meter& meter = meters_.at(task.request.meter);
    const Response lie = meter.run(now(), other);  // a read: nobody's copy, and nothing changes
    return reply(call, 200,
                 v1 ? poll_answer_v1(name, other, &lie, 0) : poll_answer_v2(other, &lie));
  }
  reply(call, 200,
        v1 ? poll_answer_v1(name, task.request, response, rng_.next())
           : poll_answer_v2(task.request, response));
}

void Vendor::reply(const VendorCall& call, int status, std::string body,
                   std::string_view content_type) {
  VendorReply reply;
  reply.ticket = call.ticket;
  reply.status = status;
  reply.content_type = content_type;
  reply.body = std::move(body);
  reply.twice = chance(faults.twice);
  agenda_.after(Duration(rng_.between(1, std::max(options_.think_ms_max, 1U))),
                [this, reply = std::move(reply)]() mutable {
                  reply.at = now();
                  happened_.push_back(std::move(reply));
                });
}

void Vendor::end_without_reply(const VendorCall& call, CallEnd end) {
  agenda_.after(Duration(1), [this, ticket = call.ticket, end] {
    VendorReply reply;
    reply.at = now();
    reply.ticket = ticket;
    reply.end = end;
    happened_.push_back(std::move(reply));
  });
}

}  // namespace postrider::sim
