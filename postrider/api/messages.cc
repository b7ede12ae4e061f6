// Messages: submit, look, list, cancel, retry; and what became of an operation.
#include <array>

#include "postrider/api/http_api_impl.h"
#include "postrider/api/listing.h"
#include "postrider/api/render.h"
#include "postrider/api/texts.h"
#include "postrider/base/durations.h"
#include "postrider/base/nearest.h"

namespace postrider {
namespace {

using api::Checked;
using api::JsonWriter;
using api::Problem;
using api::ProblemType;

constexpr std::string_view kIdRule = "a message's id has 32 hexadecimal digits";

// Of those that live; ends are found by id, dead letters by their own list.
Checked<std::optional<Phase>> read_phase(const api::UrlQuery& query) {
  constexpr auto kLive = std::to_array<Phase>(
      {Phase::kQueued, Phase::kInFlight, Phase::kAwaiting, Phase::kBackoff, Phase::kParked});
  const std::string* text = query.find("phase");
  if (text == nullptr) return std::nullopt;
  std::array<std::string_view, kLive.size()> names{};
  for (std::size_t i = 0; i < kLive.size(); ++i) {
    names[i] = name_of(kLive[i]);
    if (*text == names[i]) return kLive[i];
  }
  Problem problem = api::unknown_word(ProblemType::kInvalidParameter, "phase", *text, names);
  problem.field = "phase";
  problem.detail.append("; ended messages are at /v1/dead-letters and at their own ids");
  return tl::unexpected<Problem>(std::move(problem));
}

Checked<Duration> read_age(const api::UrlQuery& query) {
  const std::string* text = query.find("older_than");
  if (text == nullptr) return Duration(0);
  const Result<Duration> age = parse_duration(*text);
  if (!age) return api::refuse(ProblemType::kInvalidParameter, age.error().detail, "older_than");
  return *age;
}

Checked<Duration> read_wait(const api::UrlQuery& query) {
  const auto seconds = query.number("wait", 0, 0, api::kWaitSecondsMax);
  if (!seconds) return tl::unexpected<Problem>(seconds.error());
  return Duration(1000 * std::int64_t{*seconds});
}

}  // namespace

// A client that waits for the end of a message.
struct HttpApi::Impl::Patience {
  Waiting waiting;
  std::string tenant;
  MessageId id;
  Answer accepted = {};  // what a submit was told; its header says whether that was a repeat
  bool with_body = false;
  bool submitted = false;
  std::string destination = {};  // of a submit
};

// 200 with the end, or 202 with where the message is when the time is over. What was accepted is
// never refused afterwards: where too many wait, the answer comes at once.
void HttpApi::Impl::await_end(std::shared_ptr<Patience> patience, Duration at_most) {
  Await event;
  event.id = patience->id;
  event.at_most = at_most;
  const Waiting& waiting = patience->waiting;
  const std::string_view tenant = patience->tenant;
  awaits_.begin(waiting.exchange, tenant, std::move(event),
                [this, patience = std::move(patience)](const Answer& told) {
                  if (told.code == AnswerCode::kBusy && !patience->submitted)
                    return refuse(patience->waiting, api::complaint(ProblemType::kTooManyWaiters,
                                                                    "ask without wait, or later"));
                  show_end(patience);
                });
}

void HttpApi::Impl::show_end(const std::shared_ptr<Patience>& patience) {
  Query query;
  query.what = Query::What::kMessage;
  query.id = patience->id;
  const Door door = host_.post(
      patience->tenant, std::move(query), [weak = weak_from_this(), patience](const Answer& told) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (!self) return;
        if (const auto problem = api::problem_of(told))
          return self->fail_to_show(patience, *problem);
        const auto& view = std::get<MessageView>(told.view);
        HttpResponse response;
        response.status = is_end(view.explanation.phase) ? 200 : 202;
        JsonWriter json(response.body);
        api::write_message(json, {self->host_.ids(), self->words_}, view, patience->with_body);
        self->finish_replayed(patience->waiting, patience->accepted, std::move(response));
      });
  if (door != Door::kOpen) fail_to_show(patience, api::problem_of(door));
}

// What was accepted is durable, whatever keeps its end from being told.
void HttpApi::Impl::fail_to_show(const std::shared_ptr<Patience>& patience,
                                 const api::Problem& problem) {
  if (!patience->submitted) return refuse(patience->waiting, problem);
  HttpResponse response;
  response.status = 202;
  api::write_accepted(response.body, host_.ids(), patience->id, patience->destination);
  finish_replayed(patience->waiting, patience->accepted, std::move(response));
}

void HttpApi::Impl::submit_and_wait(Call& call, Submit submit, Duration at_most) {
  auto patience = std::make_shared<Patience>(Patience{.waiting = call.waiting,
                                                      .tenant = std::string(call.tenant),
                                                      .submitted = true,
                                                      .destination = submit.destination});
  const Door door =
      host_.post(call.tenant, std::move(submit),
                 [weak = weak_from_this(), patience, at_most](const Answer& answer) {
                   const std::shared_ptr<Impl> self = weak.lock();
                   if (!self) return;
                   if (const auto problem = api::problem_of(answer))
                     return self->refuse(patience->waiting, *problem);
                   self->counts_.took(self->clock_.read().boot - patience->waiting.began);
                   patience->id = answer.id;
                   patience->accepted = answer;
                   self->await_end(patience, at_most);
                 });
  if (door != Door::kOpen) refuse(call.waiting, api::problem_of(door));
}

void HttpApi::Impl::post_message(Call& call) {
  const auto wait = read_wait(call.query);
  if (!wait) return refuse(call.waiting, wait.error());
  const NamedTexts head = api::head_texts(words_, call.request);
  api::SubmitDefaults defaults;
  defaults.tenant = call.tenant;
  defaults.head = &head;
  defaults.key = std::move(call.key);
  const Instant now = clock_.read();
  defaults.wall = now.wall;
  auto read = submit_reader_.read_any(call.request.body, std::move(defaults));
  if (!read) return refuse(call.waiting, read.error());
  if (auto* list = std::get_if<FanOut>(&*read)) return send_list(call, std::move(*list));
  auto* const submit = std::get_if<Submit>(&*read);
  if (submit != nullptr && *wait > Duration(0))
    return submit_and_wait(call, std::move(*submit), *wait);
  std::string destination = submit->destination;
  post(call, std::move(*submit),
       [this, began = call.waiting.began, destination = std::move(destination)](Answer& answer) {
         counts_.took(clock_.read().boot - began);
         HttpResponse response;
         response.status = 202;
         api::write_accepted(response.body, host_.ids(), answer.id, destination);
         return response;
       });
}

void HttpApi::Impl::list_messages(Call& call) {
  const auto phase = read_phase(call.query);
  if (!phase) return refuse(call.waiting, phase.error());
  const auto age = read_age(call.query);
  if (!age) return refuse(call.waiting, age.error());
  auto listing = std::make_shared<Listing>();
  listing->name = "messages";
  listing->query.what = Query::What::kMessages;
  if (const std::string* destination = call.query.find("destination"))
    listing->query.destination = *destination;
  const Timestamp before = clock_.read().wall - *age;
  listing->take = [this, phase = *phase, before](JsonWriter& json, const Answer& answer,
                                                 std::string& next) {
    const auto& page = std::get<MessagePage>(answer.view);
    std::uint32_t taken = 0;
    for (const Explanation& message : page.messages) {
      if ((phase && message.phase != *phase) || message.accepted > before) continue;
      api::write_explanation(json, host_.ids(), message);
      ++taken;
    }
    next = page.next;
    return taken;
  };
  begin_listing(call, std::move(listing));
}

template <class Good>
void HttpApi::Impl::ask_message(Call& call, Query::What what, Good good) {
  const auto id = host_.ids().parse(call.capture);
  if (!id)
    return refuse(call.waiting, api::complaint(ProblemType::kNotFound, std::string(kIdRule), "id"));
  if (!reserve(call.waiting, options_.body_bytes_max)) return;
  Query query;
  query.what = what;
  query.id = *id;
  post(call, std::move(query), std::move(good));
}

void HttpApi::Impl::get_message(Call& call) {
  const auto with_body = call.query.flag("body");
  if (!with_body) return refuse(call.waiting, with_body.error());
  const auto wait = read_wait(call.query);
  if (!wait) return refuse(call.waiting, wait.error());
  if (*wait > Duration(0)) {
    const auto id = host_.ids().parse(call.capture);
    if (!id)
      return refuse(call.waiting,
                    api::complaint(ProblemType::kNotFound, std::string(kIdRule), "id"));
    return await_end(std::make_shared<Patience>(Patience{.waiting = call.waiting,
                                                         .tenant = std::string(call.tenant),
                                                         .id = *id,
                                                         .with_body = *with_body}),
                     *wait);
  }
  ask_message(call, Query::What::kMessage, [this, with_body = *with_body](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    api::write_message(json, {host_.ids(), words_}, std::get<MessageView>(answer.view), with_body);
    return response;
  });
}

void HttpApi::Impl::get_timeline(Call& call) {
  ask_message(call, Query::What::kMessage, [this](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    api::write_timeline(json, host_.ids(), std::get<MessageView>(answer.view));
    return response;
  });
}

void HttpApi::Impl::explain_message(Call& call) {
  ask_message(call, Query::What::kMessage, [this](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    api::write_explanation(json, {host_.ids(), words_}, std::get<MessageView>(answer.view));
    return response;
  });
}

void HttpApi::Impl::get_operation(Call& call) {
  auto key = api::parse_operation_key(call.capture, call.tenant);
  if (!key)
    return refuse(call.waiting,
                  api::complaint(ProblemType::kInvalidKey, key.error().detail, "key"));
  Query query;
  query.what = Query::What::kOperation;
  query.key = std::move(*key);
  post(call, std::move(query), [this, key = call.capture](Answer& answer) {
    answer.replayed = false;  // asked, not repeated
    HttpResponse response;
    JsonWriter json(response.body);
    api::write_operation(json, host_.ids(), answer, key);
    return response;
  });
}

// The message of a key is cancelled: first the key is looked up, then the message is told.
void HttpApi::Impl::cancel_operation(Call& call) {
  auto key = api::parse_operation_key(call.capture, call.tenant);
  if (!key)
    return refuse(call.waiting,
                  api::complaint(ProblemType::kInvalidKey, key.error().detail, "key"));
  Query query;
  query.what = Query::What::kOperation;
  query.key = std::move(*key);
  const Door door = host_.post(
      call.tenant, std::move(query),
      [weak = weak_from_this(), waiting = call.waiting, tenant = std::string(call.tenant),
       actor = std::string(call.actor)](const Answer& found) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (!self) return;
        if (const auto problem = api::problem_of(found)) return self->refuse(waiting, *problem);
        if (!found.id.is_set() || found.code != AnswerCode::kAccepted)
          return self->refuse(
              waiting, api::complaint(ProblemType::kNotFound, "the key is not of one message"));
        self->cancel_by_key({waiting, tenant, actor, found.id});
      });
  if (door != Door::kOpen) refuse(call.waiting, api::problem_of(door));
}

void HttpApi::Impl::cancel_by_key(const KeyedCancel& wanted) {
  Cancel cancel;
  cancel.caller.actor = wanted.actor;
  cancel.id = wanted.id;
  const Door door = host_.post(
      wanted.tenant, std::move(cancel),
      [weak = weak_from_this(), waiting = wanted.waiting, id = wanted.id](const Answer& answer) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (!self) return;
        if (const auto problem = api::problem_of(answer)) return self->refuse(waiting, *problem);
        HttpResponse response;
        api::write_done(response.body, answer, "id", self->host_.ids().text(id));
        self->finish(waiting, std::move(response));
      });
  if (door != Door::kOpen) refuse(wanted.waiting, api::problem_of(door));
}

template <class Command>
void HttpApi::Impl::command_message(Call& call) {
  const auto id = host_.ids().parse(call.capture);
  if (!id)
    return refuse(call.waiting, api::complaint(ProblemType::kNotFound, std::string(kIdRule), "id"));
  Command command;
  if constexpr (std::is_same_v<Command, Redrive>) {
    const auto regardless = call.query.flag("even_if_it_ran");
    if (!regardless) return refuse(call.waiting, regardless.error());
    command.even_if_it_ran = *regardless;
  }
  command.caller = call.caller();
  command.id = *id;
  post(call, std::move(command), [this, id = *id](Answer& answer) {
    HttpResponse response;
    const IdCodec& ids = host_.ids();
    if (answer.code == AnswerCode::kAccepted) {
      // A redrive: what was accepted is a new message.
      response.status = 202;
      JsonWriter json(response.body);
      json.open_object().field("id", ids.text(answer.id)).field("redrives", ids.text(id));
      json.field("durability", "synced").close_object();
      return response;
    }
    api::write_done(response.body, answer, "id", ids.text(id));
    return response;
  });
}

void HttpApi::Impl::cancel_message(Call& call) { command_message<Cancel>(call); }
void HttpApi::Impl::retry_message(Call& call) { command_message<RetryNow>(call); }
void HttpApi::Impl::redrive_dead_letter(Call& call) { command_message<Redrive>(call); }
void HttpApi::Impl::drop_dead_letter(Call& call) { command_message<Drop>(call); }

// Dead letters: messages that ended badly or are parked, with their bodies.
void HttpApi::Impl::list_dead_letters(Call& call) {
  auto listing = std::make_shared<Listing>();
  listing->name = "dead_letters";
  listing->query.what = Query::What::kDeadLetters;
  const std::string* only = call.query.find("destination_id");
  listing->take = [this, only = only == nullptr ? std::string() : *only](
                      JsonWriter& json, const Answer& answer, std::string& next) {
    const auto& page = std::get<DeadLetters>(answer.view);
    std::uint32_t taken = 0;
    for (const DeadLetter& letter : page.letters) {
      if (!only.empty() && to_string(letter.id.destination()) != only) continue;
      api::write_dead_letter(json, host_.ids(), letter);
      ++taken;
    }
    next = page.next;
    return taken;
  };
  begin_listing(call, std::move(listing));
}

void HttpApi::Impl::get_dead_letter(Call& call) {
  const auto with_body = call.query.flag("body");
  if (!with_body) return refuse(call.waiting, with_body.error());
  ask_message(call, Query::What::kMessage, [this, with_body = *with_body](Answer& answer) {
    const auto& view = std::get<MessageView>(answer.view);
    const Phase phase = view.explanation.phase;
    const bool letter = phase == Phase::kParked ||
                        ((phase == Phase::kDead || phase == Phase::kExpired) && view.has_body);
    if (!letter) {
      return api::problem_response(api::complaint(
          ProblemType::kNotFound,
          "there is no dead letter of this message: it is " + std::string(name_of(phase))));
    }
    HttpResponse response;
    JsonWriter json(response.body);
    api::write_message(json, {host_.ids(), words_}, view, with_body);
    return response;
  });
}

}  // namespace postrider
