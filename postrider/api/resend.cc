// Resend: a new message with the content of one that lives, is a dead letter or is kept as history.
// The old one stays as it is.
#include "postrider/api/http_api_impl.h"
#include "postrider/api/json_names.h"

namespace postrider {

using api::ProblemType;

struct HttpApi::Impl::Resend {
  Waiting waiting;
  std::string tenant;
  MessageId id;
  Caller caller;
  bool even_if_it_ran = false;
};

void HttpApi::Impl::resend_message(Call& call) {
  const auto id = host_.ids().parse(call.capture);
  if (!id) {
    return refuse(call.waiting, api::complaint(ProblemType::kNotFound,
                                               "a message's id has 32 hexadecimal digits", "id"));
  }
  const auto regardless = call.query.flag("even_if_it_ran");
  if (!regardless) return refuse(call.waiting, regardless.error());
  if (!reserve(call.waiting, options_.body_bytes_max)) return;
  auto job = std::make_shared<Resend>();
  job->even_if_it_ran = *regardless;
  job->waiting = call.waiting;
  job->tenant = call.tenant;
  job->id = *id;
  job->caller = call.caller();
  // What was asked for, whatever became of the original since.
  job->caller.said = "resend " + call.capture;
  Query query;
  query.what = Query::What::kMessage;
  query.id = *id;
  const Door door = host_.post(job->tenant, std::move(query),
                               [weak = weak_from_this(), job](const Answer& answer) {
                                 if (const auto self = weak.lock()) self->resend_found(job, answer);
                               });
  if (door != Door::kOpen) refuse(call.waiting, api::problem_of(door));
}

void HttpApi::Impl::resend_found(const std::shared_ptr<Resend>& job, const Answer& found) {
  const auto* view = std::get_if<MessageView>(&found.view);
  const bool keyed = job->caller.key.kind != OperationKey::Kind::kNone;
  const bool has_body = view != nullptr && view->has_body;
  const api::Problem none =
      view == nullptr && api::problem_of(found)
          ? *api::problem_of(found)
          : api::complaint(ProblemType::kAlreadyEnded,
                           "its content is not kept: messages that live, dead letters and, with "
                           "the setting history = on, what has ended can be sent again");
  if (!has_body && !keyed) return refuse(job->waiting, none);
  Submit submit;
  submit.caller = job->caller;
  // Without the content there is nowhere to send to; but a key that was used is answered first.
  if (has_body) {
    const Explanation& it = view->explanation;
    submit.destination = it.destination;
    submit.lane = view->lane;
    submit.priority = view->priority;
    submit.attributes = view->attributes;
    submit.body = view->body;
    submit.origin = job->id;
    submit.even_if_it_ran = job->even_if_it_ran;
    // As long a life as the original had.
    if (it.expires.is_set()) submit.expires = clock_.read().wall + (it.expires - it.accepted);
  }
  const Door door = host_.post(
      job->tenant, std::move(submit),
      [weak = weak_from_this(), job, has_body, none](const Answer& answer) {
        const auto self = weak.lock();
        if (!self) return;
        if (!has_body && answer.code == AnswerCode::kNotFound)
          return self->refuse(job->waiting, none);
        if (const auto problem = api::problem_of(answer))
          return self->refuse(job->waiting, *problem);
        HttpResponse response;
        response.status = 202;
        api::JsonWriter json(response.body);
        const IdCodec& ids = self->host_.ids();
        json.open_object().field("id", ids.text(answer.id)).field("resends", ids.text(job->id));
        json.field("durability", "synced").close_object();
        self->finish_replayed(job->waiting, answer, std::move(response));
      });
  if (door != Door::kOpen) refuse(job->waiting, api::problem_of(door));
}

}  // namespace postrider
