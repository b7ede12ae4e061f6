// HttpApi's inside, split over files by resource: http_api.cc (the table of routes, dispatch),
// messages.cc (dead letters too), destinations.cc, shape.cc, jobs.cc (groups, holds and audit too),
// status.cc, metrics_route.cc. Long answers are objects of their own: Listing, Export, Batches
// (NDJSON) and Tails (events). The routes of profiles are in their doors (door.h), for which this
// is the desk.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/api/access.h"
#include "postrider/api/awaits.h"
#include "postrider/api/batch.h"
#include "postrider/api/door.h"
#include "postrider/api/events.h"
#include "postrider/api/http_api.h"
#include "postrider/api/json_names.h"
#include "postrider/api/metrics.h"
#include "postrider/api/problems.h"
#include "postrider/api/router.h"
#include "postrider/api/submit.h"

namespace postrider {

class HttpApi::Impl final : public api::Desk, public std::enable_shared_from_this<HttpApi::Impl> {
 public:
  Impl(HttpApiOptions options, Host& host, const Clock& clock);
  ~Impl() override;

  void handle(const HttpRequest& request, HttpExchangePtr exchange);
  HttpBodySink stream(const HttpRequest& request, const HttpExchangePtr& exchange);
  std::uint64_t body_bytes_max(const HttpRequest& request) const;
  void set_tokens(const std::vector<AccessToken>& tokens);
  std::span<const api::RouteRow> routes() const { return rows_; }
  void open_doors();
  void tick();

  Host& host() override { return host_; }
  const Clock& clock() const override { return clock_; }
  void finish(const api::Waiting& waiting, HttpResponse response) override;
  void refuse(const api::Waiting& waiting, const api::Problem& problem, bool close) override;
  bool reserve(const api::Waiting& waiting, std::size_t bytes) override;
  api::Checked<api::JsonValue> root_of(const api::Call& call) override;
  void await(const api::Waiting& waiting, std::string_view tenant, Await event,
             std::function<void(const Answer&)> done) override {
    awaits_.begin(waiting.exchange, tenant, std::move(event), std::move(done));
  }
  void took(Duration duration) override { counts_.took(duration); }

  using Call = api::Call;
  struct Route {
    api::RouteRow row;
    void (Impl::*handle)(Call& call);
  };
  struct Table;  // of all routes, in http_api.cc

 private:
  using Waiting = api::Waiting;
  struct Listing;
  struct LongAnswer;

  // http_api.cc
  api::Checked<Call> look_at(const HttpRequest& request, Waiting& waiting);
  std::optional<api::Problem> judge_batch(const Call& call, bool& even_if_it_ran) const;
  bool refuse_head(Call& call);
  api::Scopes scopes_of(const api::RouteRow& row) const;
  void refuse(const Waiting& waiting, const api::Problem& problem) {
    refuse(waiting, problem, false);
  }
  const api::RouteRow* row_of(const Waiting& waiting) const;  // null: the path is unknown
  api::HttpDoor* owner_of(std::size_t route) const;           // null: the route is one of ours
  void finish_replayed(const Waiting& waiting, const Answer& answer, HttpResponse response);
  static void add_usual_headers(HttpResponse& response);
  template <class Good>
  void post(Call& call, Event event, Good good);

  // messages.cc
  struct Patience;
  void post_message(Call& call);
  void submit_and_wait(Call& call, Submit submit, Duration at_most);
  void await_end(std::shared_ptr<Patience> patience, Duration at_most);
  void show_end(const std::shared_ptr<Patience>& patience);
  void fail_to_show(const std::shared_ptr<Patience>& patience, const api::Problem& problem);
  void list_messages(Call& call);
  void get_message(Call& call);
  void get_timeline(Call& call);
  void explain_message(Call& call);
  void cancel_message(Call& call);
  void retry_message(Call& call);
  void get_operation(Call& call);
  void cancel_operation(Call& call);
  struct KeyedCancel {
    Waiting waiting;
    std::string tenant;
    std::string actor;
    MessageId id;
  };
  void cancel_by_key(const KeyedCancel& wanted);

  // resend.cc
  struct Resend;
  void resend_message(Call& call);
  void resend_found(const std::shared_ptr<Resend>& job, const Answer& found);

  template <class Command>
  void command_message(Call& call);
  template <class Good>
  void ask_message(Call& call, Query::What what, Good good);

  // destinations.cc
  void put_destination(Call& call);
  void get_destination(Call& call);
  void list_destinations(Call& call);
  void delete_destination(Call& call);
  void pause_destination(Call& call);
  void resume_destination(Call& call);
  void wake_destination(Call& call);
  void see_destination(Call& call);
  void patch_limits(Call& call);
  void test_destination(Call& call);

  // rotate.cc
  struct Rotate;
  void rotate_destination(Call& call);
  void rotate_found(const std::shared_ptr<Rotate>& job, const Answer& found);

  void list_dead_letters(Call& call);
  void get_dead_letter(Call& call);
  void redrive_dead_letter(Call& call);
  void drop_dead_letter(Call& call);

  // jobs.cc
  void list_dead_groups(Call& call);
  void import_dead_letters(Call& call);
  void post_job(Call& call);
  void list_jobs(Call& call);
  void get_job(Call& call);
  void cancel_job(Call& call);
  void list_audit(Call& call);
  void put_hold(Call& call);
  void delete_hold(Call& call);
  void list_holds(Call& call);

  // export.cc
  struct Export;
  void export_dead_letters(Call& call);
  void ask_letters(const std::shared_ptr<Export>& job);
  void take_letters(const std::shared_ptr<Export>& job, Answer& told);
  void tell_letters(const std::shared_ptr<Export>& job);
  void look_at_exports();

  // groups.cc
  void change_group(Call& call, ChangeGroup change);
  void put_group(Call& call);
  void add_members(Call& call);
  void remove_member(Call& call);
  void delete_group(Call& call);
  void get_group(Call& call);
  void list_groups(Call& call);
  void post_fanout(Call& call);

  // lists.cc
  struct SendList;
  void send_list(Call& call, FanOut order);
  void send_part(const std::shared_ptr<SendList>& job);
  void part_told(const std::shared_ptr<SendList>& job, const Answer& answer);
  void refuse_part(const std::shared_ptr<SendList>& job, api::Problem problem);

  // listing.cc
  void begin_listing(Call& call, std::shared_ptr<Listing> listing);
  void go_on(const std::shared_ptr<Listing>& listing);
  void take_page(const std::shared_ptr<Listing>& listing, Answer& told);

  // long.cc
  void tell(const std::shared_ptr<LongAnswer>& answer, std::function<void()> then);
  void tell_piece(const std::shared_ptr<LongAnswer>& answer, std::function<void()> then);
  void end_telling(const std::shared_ptr<LongAnswer>& answer);
  void fail_telling(const std::shared_ptr<LongAnswer>& answer, const api::Problem& problem);

  // shape.cc
  struct Shape;
  void get_shape(Call& call);
  void go_on_shaping(const std::shared_ptr<Shape>& shape);
  void take_shape(const std::shared_ptr<Shape>& shape, Answer& answer);

  // status.cc
  static constexpr std::string_view kProbeTenant =
      "probes";  // health checks have a share of their own
  void get_events(Call& call);
  void begin_events(const Waiting& waiting, std::optional<LogPosition> position,
                    api::TailWish wish);
  void list_queues(Call& call);
  void get_stats(Call& call);
  void get_livez(Call& call);
  void get_readyz(Call& call);
  void get_openapi(Call& call);
  std::vector<api::OpenapiPart> openapi_parts() const;
  void get_whoami(Call& call);
  void list_profiles(Call& call);
  void get_profile(Call& call);
  ProcessFigures figures() const;

  // metrics.cc
  struct QueueWalk;
  void get_metrics(Call& call);
  HttpResponse metrics_response(const Stats* stats, const api::QueueGauges* queues) const;
  void go_on_walking(std::shared_ptr<QueueWalk> walk);
  void take_queues(const std::shared_ptr<QueueWalk>& walk, Answer& answer);
  void answer_metrics(const std::string& tenant, const std::vector<Waiting>& waiting);

  // A row of a door, behind ours.
  struct DoorRoute {
    api::HttpDoor* door;
    std::size_t route;  // of the door's own rows
  };

  static std::vector<api::RouteRow> all_rows(std::span<const std::shared_ptr<api::HttpDoor>> doors);
  static api::AllWords all_words(std::span<const std::shared_ptr<api::HttpDoor>> doors);

  HttpApiOptions options_;
  std::vector<api::RouteRow> rows_;  // ours, then those of the doors; each door's in one piece
  std::vector<DoorRoute> door_routes_;
  const api::AllWords words_;  // of the doors
  Host& host_;
  const Clock& clock_;
  const api::SubmitLimits limits_;
  api::Access access_;
  api::SubmitReader submit_reader_;
  api::JsonDocument document_;
  api::RequestCounts counts_;
  api::Tails tails_;
  api::Batches batches_;
  api::Awaits awaits_;
  std::vector<std::shared_ptr<Export>> exports_;  // that wait for memory
  std::shared_ptr<QueueWalk> queue_walk_;         // under way
  std::optional<api::QueueGauges> queue_gauges_;  // what the last one found, …
  Timestamp gauges_until_;                        // … and how long that is told
};

// Posts, and answers when the answer comes: a problem, or what `good(Answer&)` makes of it.
template <class Good>  // NOLINTNEXTLINE(performance-unnecessary-value-param): the event is moved
void HttpApi::Impl::post(Call& call, Event event, Good good) {
  const Door door = host_.post(call.tenant, std::move(event),
                               [weak = weak_from_this(), waiting = call.waiting,
                                good = std::move(good)](Answer answer) mutable {
                                 const std::shared_ptr<Impl> self = weak.lock();
                                 if (!self) return;
                                 if (const auto problem = api::problem_of(answer))
                                   return self->refuse(waiting, *problem);
                                 HttpResponse response = good(answer);
                                 self->finish_replayed(waiting, answer, std::move(response));
                               });
  if (door != Door::kOpen) refuse(call.waiting, api::problem_of(door));
}

}  // namespace postrider
