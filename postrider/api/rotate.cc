// Rotate: a new secret for a destination while the old ones still sign for a while. The daemon is
// told the new one and never tells it: what is shown of a destination has no secrets.
#include <array>

#include "postrider/api/routes.h"
#include "postrider/protocols/web/standard_webhooks.h"

namespace postrider {
namespace {

constexpr std::string_view kSecret = "secret";
constexpr std::string_view kNoSecret = " ";
constexpr Duration kOverlapDefault{24h};
constexpr Duration kOverlapMax{365 * 24h};

}  // namespace

struct HttpApi::Impl::Rotate {
  Waiting waiting;
  std::string tenant;
  std::string destination;
  Caller caller;
  std::string fresh;
  Duration overlap = kOverlapDefault;
};

void HttpApi::Impl::rotate_destination(Call& call) {
  constexpr auto kNames = std::to_array<std::string_view>({kSecret, "overlap"});
  std::array<MaybeValue, kNames.size()> found;
  const auto root = root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  if (const auto problem = api::read_members(*root, kNames, found))
    return refuse(call.waiting, *problem);
  if (!found[0]) {
    return refuse(call.waiting, api::complaint(ProblemType::kMissingField,
                                               "secret is missing: the new one", "secret"));
  }
  auto job = std::make_shared<Rotate>();
  auto fresh = api::read_text(*found[0], kNames[0]);
  if (!fresh) return refuse(call.waiting, fresh.error());
  job->fresh = std::move(*fresh);
  if (found[1]) {
    const auto overlap = api::read_duration(*found[1], kNames[1], Duration(0));
    if (!overlap) return refuse(call.waiting, overlap.error());
    if (*overlap > kOverlapMax) {
      return refuse(call.waiting, api::complaint(ProblemType::kInvalidField,
                                                 "an overlap has 365d at most", "overlap"));
    }
    job->overlap = *overlap;
  }
  job->waiting = call.waiting;
  job->tenant = call.tenant;
  job->destination = call.capture;
  job->caller = call.caller();
  // What was asked for; what comes of it depends on the time and on the secrets that there are.
  job->caller.said =
      "rotate " + call.capture + " " + std::to_string(job->overlap.count()) + " " + job->fresh;
  Query query;
  query.what = Query::What::kDestination;
  query.destination = call.capture;
  const Door door = host_.post(job->tenant, std::move(query),
                               [weak = weak_from_this(), job](const Answer& answer) {
                                 if (const auto self = weak.lock()) self->rotate_found(job, answer);
                               });
  if (door != Door::kOpen) refuse(call.waiting, api::problem_of(door));
}

void HttpApi::Impl::rotate_found(const std::shared_ptr<Rotate>& job, const Answer& found) {
  if (const auto problem = api::problem_of(found)) return refuse(job->waiting, *problem);
  const NamedTexts& settings = std::get<DestinationView>(found.view).config.settings;
  const std::string* style = find_text(settings, "signature");
  if (style != nullptr && *style != "standard") {
    return refuse(job->waiting,
                  api::complaint(ProblemType::kInvalidContent,
                                 "with signature = " + *style +
                                     " one secret at a time signs, or none: put the destination "
                                     "again with the new one"));
  }
  const std::string* old = find_text(settings, kSecret);
  const auto rotated = rotate_webhook_secrets(
      old == nullptr ? std::string() : *old,
      {.fresh = job->fresh, .wall = clock_.read().wall, .overlap = job->overlap});
  const api::Problem bad =
      rotated ? api::Problem()
              : api::complaint(ProblemType::kInvalidField, rotated.error().detail, "secret");
  // A repeat of a rotation that happened finds its secret in use and is answered as it was then,
  // because a key is looked up before anything is done. Of other keys the profile refuses this one.
  const bool keyed = job->caller.key.kind != OperationKey::Kind::kNone;
  if (!rotated && !keyed) return refuse(job->waiting, bad);
  Configure configure;
  configure.caller = job->caller;
  configure.config.name = job->destination;
  configure.config.settings = {{std::string(kSecret), rotated ? *rotated : std::string(kNoSecret)}};
  configure.merge = true;
  // Of two rotations at once the second would drop the secret that the first has told its caller.
  configure.made_from = {{std::string(kSecret), old == nullptr ? std::string() : *old}};
  const Door door = host_.post(
      job->tenant, std::move(configure),
      [weak = weak_from_this(), job, bad, good = rotated.has_value()](const Answer& answer) {
        const auto self = weak.lock();
        if (!self) return;
        if (!good && answer.code == AnswerCode::kInvalid) return self->refuse(job->waiting, bad);
        if (const auto problem = api::problem_of(answer))
          return self->refuse(job->waiting, *problem);
        HttpResponse response;
        api::write_done(response.body, answer, "destination", job->destination);
        self->finish_replayed(job->waiting, answer, std::move(response));
      });
  if (door != Door::kOpen) refuse(job->waiting, api::problem_of(door));
}

}  // namespace postrider
