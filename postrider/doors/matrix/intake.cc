#include "postrider/doors/matrix/intake.h"

#include <algorithm>
#include <utility>

#include "postrider/doors/matrix/replies.h"
#include "postrider/model/attributes.h"
#include "postrider/profiles/matrix/types.h"
#include "postrider/protocols/matrix/server_name.h"
#include "postrider/protocols/matrix/signing.h"

namespace postrider::matrix_door {
namespace {

constexpr std::string_view kScope = "matrix";

std::string digest_text(std::string_view bytes) {
  const auto digest = matrix::sha256(bytes);
  return matrix::unpadded_base64_url({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string_view why_of(Door door) {
  switch (door) {
    case Door::kOpen: return "";
    case Door::kBusy:
    case Door::kTenantBusy: return "too much waits to be written";
    case Door::kNoSpace: return "the disk is nearly full";
    case Door::kRestarting: return "the store is being taken again";
    case Door::kStopping: return "the daemon is stopping";
  }
  return "";
}

}  // namespace

struct Intake::Job {
  HttpExchangePtr exchange;
  std::string destination;
  std::string key;   // of all its messages; each adds its number
  std::string said;  // what it holds, as a digest
  std::vector<Item> items;
  std::size_t open = 0;
  bool closed = false;  // the server backs off
  int status = 200;     // of the first failure
  std::string why;
};

Intake::Intake(IntakeOptions options, Host& host, const Clock& clock)
    : options_(std::move(options)), host_(host), clock_(clock) {}

void Intake::take(const HandedOver& transaction) {
  const std::string& server = transaction.target.server.text;
  auto items = items_of(transaction.body, {.origin = options_.server_name, .destination = server});
  if (!items) {
    ++counts_.refused;
    const bool foreign = items.error().code == ErrorCode::kNotFound;
    return transaction.exchange->respond(matrix_error(
        foreign ? 403 : 400, foreign ? "M_FORBIDDEN" : "M_BAD_JSON", items.error().detail));
  }
  if (open_ >= options_.open_max || host_.restoring()) {
    ++counts_.not_now;
    return transaction.exchange->respond(not_now(
        host_.restoring() ? "what an earlier run left is being read" : "too many transactions"));
  }
  auto job = std::make_shared<Job>();
  job->exchange = transaction.exchange;
  job->destination = matrix::destination_name(server);
  job->key = digest_text(server + "\n" + transaction.target.transaction_id);
  job->said = digest_text(transaction.body);
  job->items = std::move(*items);
  job->exchange->keep(transaction.body.size());
  ++open_;
  if (job->items.empty()) return settle(job);
  // Asked before anything is posted, so that the answer is there when the items are durable.
  if (options_.closed_delay > Duration(0) && options_.ask_closed)
    options_.ask_closed(server, [job](bool closed) { job->closed = closed; });
  post(job, 0);
}

void Intake::post(const std::shared_ptr<Job>& job, std::size_t index) {
  const Item& item = job->items[index];
  Submit submit;
  submit.caller.key = {.kind = OperationKey::Kind::kOpaque,
                       .scope = std::string(kScope),
                       .key = job->key + "." + std::to_string(index),
                       .made = {},
                       .sequence = 0};
  submit.caller.said = job->said;
  submit.caller.actor = "egress";
  submit.destination = job->destination;
  submit.lane = item.lane;
  submit.more = index + 1 < job->items.size();
  if (item.life > Duration(0)) submit.expires = clock_.read().wall + item.life;
  NamedTexts texts;
  if (!item.fault.empty()) texts.emplace_back(matrix::kFaultAttribute, item.fault);
  if (!item.key.empty()) texts.emplace_back(matrix::kKeyAttribute, item.key);
  submit.attributes = encode_texts(texts);
  submit.body = item.body;
  ++job->open;
  const Door door = host_.post(options_.tenant, std::move(submit),
                               [weak = weak_from_this(), job, index](const Answer& answer) {
                                 if (const auto self = weak.lock())
                                   self->take_answer(job, index, answer);
                               });
  if (door == Door::kOpen) return;
  --job->open;
  fail_job(*job, 503, std::string(why_of(door)));
  if (job->open == 0) settle(job);
}

void Intake::fail_job(Job& job, int status, std::string why) {
  if (job.status != 200) return;
  job.status = status;
  job.why = std::move(why);
}

void Intake::take_answer(const std::shared_ptr<Job>& job, std::size_t index, const Answer& answer) {
  --job->open;
  switch (answer.code) {
    case AnswerCode::kAccepted:
    case AnswerCode::kDone:
    case AnswerCode::kNothing:
    case AnswerCode::kPending: break;
    case AnswerCode::kConflict:
      fail_job(*job, 400, "this transaction was handed over with other content");
      break;
    case AnswerCode::kInvalid:
    case AnswerCode::kTooLarge: fail_job(*job, 400, answer.detail); break;
    case AnswerCode::kKeyExpired:
    case AnswerCode::kNotFound:
    case AnswerCode::kDisabled:
    case AnswerCode::kEnded:
    case AnswerCode::kNotEmpty:
    case AnswerCode::kUnavailable:
    case AnswerCode::kFull:
    case AnswerCode::kBusy:
    case AnswerCode::kMayHaveRun:
    case AnswerCode::kChanged:
    case AnswerCode::kNoRoom:
      fail_job(*job, 503, answer.detail.empty() ? "it could not be written" : answer.detail);
      break;
  }
  if (index == 0 && job->status == 200) {
    for (std::size_t i = 1; i < job->items.size() && job->status == 200; ++i) post(job, i);
  }
  // A post that finds the door shut may have settled it already.
  if (job->open == 0 && job->exchange != nullptr) settle(job);
}

void Intake::settle(const std::shared_ptr<Job>& job) {
  --open_;
  const HttpExchangePtr exchange = std::exchange(job->exchange, nullptr);
  if (job->status != 200) {
    ++(job->status == 503 ? counts_.not_now : counts_.refused);
    return exchange->respond(job->status == 503 ? not_now(job->why)
                                                : matrix_error(job->status, job->why));
  }
  ++counts_.taken;
  counts_.items += job->items.size();
  counts_.faulty_items += static_cast<std::uint64_t>(std::count_if(
      job->items.begin(), job->items.end(), [](const Item& item) { return !item.fault.empty(); }));
  HttpResponse response{.status = 200, .body = transaction_answer(job->items)};
  if (!delay(*job, exchange, response)) exchange->respond(std::move(response));
}

bool Intake::delay(Job& job, HttpExchangePtr exchange, HttpResponse response) {
  if (!job.closed || delayed_.size() >= options_.delayed_max) return false;
  ++counts_.delayed;
  delayed_.push_back(
      {clock_.read().boot + options_.closed_delay, std::move(exchange), std::move(response)});
  return true;
}

void Intake::look() {
  const Timestamp now = clock_.read().boot;
  while (!delayed_.empty() && delayed_.front().until <= now) {
    Delayed one = std::move(delayed_.front());
    delayed_.pop_front();
    one.exchange->respond(std::move(one.response));
  }
}

void Intake::answer_all() {
  for (Delayed& one : std::exchange(delayed_, {})) one.exchange->respond(std::move(one.response));
}

}  // namespace postrider::matrix_door
