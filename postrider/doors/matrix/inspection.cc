#include "postrider/doors/matrix/inspection.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "postrider/api/ask_all.h"
#include "postrider/api/texts.h"
#include "postrider/doors/matrix/host_events.h"
#include "postrider/doors/matrix/host_fields.h"
#include "postrider/json/json_writer.h"
#include "postrider/profiles/matrix/lanes.h"
#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix_door {
namespace {

constexpr std::size_t kEventIdBytesMax = 255;
// What a cursor begins with.
constexpr char kPart = 'p';
constexpr char kLive = 'l';
constexpr char kLetters = 'd';

std::string_view state_of(const Explanation& told) {
  switch (told.phase) {
    case Phase::kQueued:
    case Phase::kInFlight:
    case Phase::kAwaiting:
    case Phase::kBackoff:
    case Phase::kParked: return "owed";
    // A server names single events that it did not take, and the transaction counts all the same.
    case Phase::kDelivered: return told.reason.empty() ? "delivered" : "refused";
    case Phase::kDead: return "refused";
    case Phase::kExpired: return "expired";
    case Phase::kCancelled: return "superseded";
    case Phase::kIndeterminate: return "unknown";
  }
  return "unknown";
}

bool is_event(MessageId id, std::string_view destination) {
  return id.lane() == matrix::kEventLane && matrix::server_of_destination(destination);
}

}  // namespace

struct Inspection::Job {
  api::Waiting waiting;
  std::string tenant;
  std::string event_id;     // or …
  std::string destination;  // … of the rooms
  Look look = nullptr;
  char stage = kLive;
  std::size_t part = 0;
  std::string cursor;
  std::uint32_t rows = 0;  // that were looked at
  bool complete = true;
  bool in_ledger = false;
  std::vector<Copy> copies;
  std::map<std::string, Room> rooms;
};

// Nothing was asked yet, or the request goes on where an answer of ours ended.
bool Inspection::begin(api::Call& call, Job& job) {
  job.waiting = call.waiting;
  job.tenant = call.tenant;
  const std::string* text = call.query.find("cursor");
  if (text == nullptr) return true;
  const auto cursor = api::decode_cursor(*text);
  const auto no = [&] {
    desk_.refuse(call.waiting, api::complaint(api::ProblemType::kInvalidParameter,
                                              "this is no cursor of ours; take `next` of the last "
                                              "answer, or begin without one",
                                              "cursor"));
    return false;
  };
  if (!cursor || cursor->empty()) return no();
  job.stage = cursor->front();
  job.cursor = cursor->substr(1);
  if (job.stage == kLive || (job.stage == kLetters && job.destination.empty())) return true;
  if (job.stage != kPart || job.event_id.empty()) return no();
  const char* const end = job.cursor.data() + job.cursor.size();
  const auto [at, error] = std::from_chars(job.cursor.data(), end, job.part);
  return (error == std::errc() && at == end && job.part <= kHostServersMax) || no();
}

void Inspection::find_event(api::Call& call) {
  auto job = std::make_shared<Job>();
  job->event_id = call.capture;
  if (call.capture.size() < 2 || call.capture.size() > kEventIdBytesMax ||
      call.capture.front() != '$' || !api::is_line(call.capture))
    return desk_.refuse(call.waiting, api::complaint(api::ProblemType::kInvalidParameter,
                                                     "an event id begins with $ and has at most " +
                                                         std::to_string(kEventIdBytesMax) +
                                                         " bytes",
                                                     "id"));
  const bool first = call.query.find("cursor") == nullptr;
  if (!begin(call, *job)) return;
  job->look = [](Job& found, const MessageView& view) {
    const auto ids = matrix::event_ids(view.body);
    if (std::find(ids.begin(), ids.end(), found.event_id) == ids.end()) return;
    const Explanation& told = view.explanation;
    found.copies.push_back({told.destination, state_of(told), told.reason});
  };
  if (first || job->stage == kPart) return ask_part(job);
  walk(job);
}

void Inspection::list_rooms(api::Call& call) {
  const auto server = matrix::parse_server_name(call.capture);
  if (!server)
    return desk_.refuse(call.waiting, api::complaint(api::ProblemType::kInvalidParameter,
                                                     server.error().detail, "server"));
  auto job = std::make_shared<Job>();
  job->destination = matrix::destination_name(server->text);
  if (!begin(call, *job)) return;
  job->look = [](Job& found, const MessageView& view) {
    const auto facts = matrix::read_event(view.body);
    Room& room = found.rooms[facts ? facts->room_id : std::string()];
    ++room.events;
    const Timestamp accepted = view.explanation.accepted;
    if (!room.oldest.is_set() || accepted < room.oldest) room.oldest = accepted;
  };
  walk(job);
}

void Inspection::ask(const JobPtr& job, Query query, std::function<void(const Answer&)> then) {
  const Door door = desk_.host().post(
      job->tenant, std::move(query),
      [weak = weak_from_this(), then = std::move(then)](const Answer& answer) {
        if (!weak.expired()) then(answer);
      });
  if (door != Door::kOpen) desk_.refuse(job->waiting, api::problem_of(door));
}

void Inspection::ask_part(const JobPtr& job) {
  Query query;
  query.what = Query::What::kOperation;
  query.key = host_event_key(job->event_id, job->part);
  ask(job, std::move(query), [this, job](const Answer& answer) {
    const auto* part = std::get_if<FanoutView>(&answer.view);
    if (part != nullptr) {
      job->in_ledger = true;
      return tell_part(job, *part, 0);
    }
    if (job->part > 0) return finish(job);
    job->stage = kLive;
    walk(job);
  });
}

// So many at once that the event queue has room for others.
void Inspection::tell_part(const JobPtr& job, const FanoutView& part, std::size_t from) {
  const std::size_t end = std::min<std::size_t>(from + kRowsAtOnce, part.members.size());
  if (from == end) {
    if (part.members.size() >= HostEventsOptions{}.part_max) {
      job->complete = false;
      job->cursor = std::string(1, kPart) + std::to_string(job->part + 1);
    }
    return finish(job);
  }
  std::vector<Event> questions;
  for (std::size_t i = from; i < end; ++i) {
    Query query;
    query.what = Query::What::kExplain;
    query.id = part.members[i].message;
    questions.emplace_back(std::move(query));
  }
  api::ask_all(desk_.host(), job->tenant, std::move(questions),
               [weak = weak_from_this(), job, part, from, end](const auto& all) {
                 const auto self = weak.lock();
                 if (!self) return;
                 for (std::size_t i = from; i < end; ++i) {
                   const api::Told& told = all[i - from];
                   if (told.door != Door::kOpen)
                     return self->desk_.refuse(job->waiting, api::problem_of(told.door));
                   const auto* view = std::get_if<Explanation>(&told.answer.view);
                   const std::string& name = part.members[i].destination;
                   if (view == nullptr) job->copies.push_back({name, "unknown", "forgotten"});
                   if (view != nullptr)
                     job->copies.push_back({name, state_of(*view), view->reason});
                 }
                 self->tell_part(job, part, end);
               });
}

void Inspection::walk(const JobPtr& job) {
  Query query;
  query.what = job->stage == kLive ? Query::What::kMessages : Query::What::kDeadLetters;
  query.destination = job->destination;
  query.cursor = job->cursor;
  query.limit = kRowsAtOnce;
  ask(job, std::move(query), [this, job](const Answer& answer) { take_page(job, answer); });
}

void Inspection::take_page(const JobPtr& job, const Answer& answer) {
  std::vector<MessageId> ids;
  if (const auto* page = std::get_if<MessagePage>(&answer.view)) {
    for (const Explanation& told : page->messages) {
      if (is_event(told.id, told.destination)) ids.push_back(told.id);
    }
    job->rows += static_cast<std::uint32_t>(page->messages.size());
    return look_at(job, ids, page->next);
  }
  if (const auto* letters = std::get_if<DeadLetters>(&answer.view)) {
    // Parked ones live, and were met before.
    for (const DeadLetter& letter : letters->letters) {
      if (letter.id.lane() == matrix::kEventLane && letter.phase != Phase::kParked)
        ids.push_back(letter.id);
    }
    job->rows += static_cast<std::uint32_t>(letters->letters.size());
    return look_at(job, ids, letters->next);
  }
  const auto problem = api::problem_of(answer);
  desk_.refuse(job->waiting, problem.value_or(api::complaint(api::ProblemType::kNotFound,
                                                             "there is nothing to look at")));
}

void Inspection::look_at(const JobPtr& job, const std::vector<MessageId>& ids, std::string next) {
  std::vector<Event> questions;
  for (const MessageId id : ids) {
    Query query;
    query.what = Query::What::kMessage;
    query.id = id;
    questions.emplace_back(std::move(query));
  }
  api::ask_all(desk_.host(), job->tenant, std::move(questions),
               [weak = weak_from_this(), job, next = std::move(next)](const auto& all) {
                 const auto self = weak.lock();
                 if (!self) return;
                 for (const api::Told& told : all) {
                   if (told.door != Door::kOpen)
                     return self->desk_.refuse(job->waiting, api::problem_of(told.door));
                   const auto* view = std::get_if<MessageView>(&told.answer.view);
                   if (view == nullptr || !view->has_body) continue;  // it has ended meanwhile
                   // Another profile may have such a lane, too.
                   if (is_event(view->explanation.id, view->explanation.destination))
                     job->look(*job, *view);
                 }
                 self->go_on(job, next);
               });
}

void Inspection::go_on(const JobPtr& job, const std::string& next) {
  job->cursor = next;
  const bool letters_follow = job->stage == kLive && job->destination.empty();
  if (next.empty()) {
    if (!letters_follow) return finish(job);
    job->stage = kLetters;
  }
  if (job->rows < kRowsMax) return walk(job);
  job->complete = false;
  job->cursor.insert(job->cursor.begin(), job->stage);
  finish(job);
}

void Inspection::finish(const JobPtr& job) {
  HttpResponse response;
  json::JsonWriter json(response.body);
  json.open_object();
  if (!job->event_id.empty()) {
    json.field("event_id", job->event_id).field("found", job->in_ledger ? "ledger" : "walk");
    json.name("servers").open_array();
    for (const Copy& copy : job->copies) {
      json.open_object()
          .field("server",
                 matrix::server_of_destination(copy.destination).value_or(copy.destination))
          .field("state", copy.state);
      if (!copy.reason.empty()) json.field("reason", copy.reason);
      json.close_object();
    }
    json.close_array();
  } else {
    json.field("server", matrix::server_of_destination(job->destination).value_or(""));
    json.name("rooms").open_array();
    for (const auto& [name, room] : job->rooms) {
      json.open_object()
          .field("room_id", name)
          .count("events", room.events)
          .field("oldest_at", api::to_text(room.oldest))
          .close_object();
    }
    json.close_array();
  }
  json.flag("complete", job->complete);
  if (!job->complete) json.field("next", api::encode_cursor(job->cursor));
  json.close_object();
  desk_.finish(job->waiting, std::move(response));
}

}  // namespace postrider::matrix_door
