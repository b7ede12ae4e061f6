// HttpApi's inside, split over files by resource: http_api.cc (the table of routes, dispatch),
// http_api_messages.cc (dead letters too), http_api_destinations.cc, http_api_shape.cc,
// http_api_jobs.cc (groups, holds and audit too), http_api_status.cc, http_api_metrics.cc, and
// those of the device profile: http_api_enqueue.cc, http_api_device_lookup.cc, http_api_ingress.cc,
// http_api_mint.cc. Long
// answers are objects of their own: Listing, Export, Batches (NDJSON) and Tails (events).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/api/access.h"
#include "postrider/api/batch.h"
#include "postrider/api/device.h"
#include "postrider/api/device_plugins.h"
#include "postrider/api/device_queues.h"
#include "postrider/api/events.h"
#include "postrider/api/http_api.h"
#include "postrider/api/metrics.h"
#include "postrider/api/problems.h"
#include "postrider/api/router.h"
#include "postrider/api/submit.h"
#include "postrider/json/json_reader.h"

namespace postrider {

class HttpApi::Impl : public std::enable_shared_from_this<HttpApi::Impl> {
 public:
  Impl(HttpApiOptions options, Host& host, const Clock& clock);
  ~Impl();

  void handle(const HttpRequest& request, HttpExchangePtr exchange);
  HttpBodySink stream(const HttpRequest& request, const HttpExchangePtr& exchange);
  void set_tokens(const std::vector<AccessToken>& tokens);
  void set_plugins(std::vector<DevicePlugin> plugins);
  void tick();

  struct Call;  // a request while it is looked at
  struct Route {
    api::RouteRow row;
    void (Impl::*handle)(Call& call);
  };
  struct Table;  // of all routes, in http_api.cc

 private:
  // What an answer needs when it comes.
  struct Waiting {
    HttpExchangePtr exchange;
    std::size_t route;
    Timestamp began;
  };
  struct Listing;
  struct LongAnswer;

  // http_api.cc
  api::Checked<Call> look_at(const HttpRequest& request, Waiting& waiting);
  std::optional<api::Problem> judge_batch(const Call& call, bool& even_if_it_ran) const;
  bool refuse_head(Call& call);
  api::Scopes scopes_of(const api::RouteRow& row) const;
  void finish(const Waiting& waiting, HttpResponse response);
  void finish_replayed(const Waiting& waiting, const Answer& answer, HttpResponse response);
  void refuse(const Waiting& waiting, const api::Problem& problem, bool close = false);
  static void add_usual_headers(HttpResponse& response);
  template <class Good>
  void post(Call& call, Event event, Good good);
  api::Checked<api::JsonValue> root_of(const Call& call);

  // http_api_messages.cc
  void post_message(Call& call);
  void list_messages(Call& call);
  void get_message(Call& call);
  void get_timeline(Call& call);
  void explain_message(Call& call);
  void cancel_message(Call& call);
  void retry_message(Call& call);
  void get_operation(Call& call);

  // http_api_resend.cc
  struct Resend;
  void resend_message(Call& call);
  void resend_found(const std::shared_ptr<Resend>& job, const Answer& found);

  template <class Command>
  void command_message(Call& call);
  template <class Good>
  void ask_message(Call& call, Query::What what, Good good);

  // http_api_destinations.cc
  void put_destination(Call& call);
  void get_destination(Call& call);
  void list_destinations(Call& call);
  void delete_destination(Call& call);
  void pause_destination(Call& call);
  void resume_destination(Call& call);
  void wake_destination(Call& call);
  void patch_limits(Call& call);
  void test_destination(Call& call);

  void list_dead_letters(Call& call);
  void get_dead_letter(Call& call);
  void redrive_dead_letter(Call& call);
  void drop_dead_letter(Call& call);

  // http_api_jobs.cc
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

  // http_api_export.cc
  struct Export;
  void export_dead_letters(Call& call);
  void ask_letters(const std::shared_ptr<Export>& job);
  void take_letters(const std::shared_ptr<Export>& job, Answer& told);
  void tell_letters(const std::shared_ptr<Export>& job);
  void look_at_exports();

  // http_api_groups.cc
  void change_group(Call& call, ChangeGroup change);
  void put_group(Call& call);
  void add_members(Call& call);
  void remove_member(Call& call);
  void delete_group(Call& call);
  void get_group(Call& call);
  void list_groups(Call& call);
  void post_fanout(Call& call);

  // http_api_enqueue.cc
  struct Enqueue;
  void enqueue_device(Call& call);
  void enqueue_devices(Call& call);
  void add_item(Enqueue& job, std::string_view text);
  void submit_items(const std::shared_ptr<Enqueue>& job);
  void submit_item(const std::shared_ptr<Enqueue>& job, std::size_t index);
  void take_enqueued(const std::shared_ptr<Enqueue>& job, std::size_t index, const Answer& answer);
  void show_existing(const std::shared_ptr<Enqueue>& job, std::size_t index, MessageId id);
  void show_run(const std::shared_ptr<Enqueue>& job, std::size_t index, MessageId id);
  void settle_enqueue(const std::shared_ptr<Enqueue>& job);

  // http_api_mint.cc
  struct Minting {  // a token that is being made for somebody
    Waiting waiting;
    std::string tenant;
    MessageId id;
    Timestamp since;
  };
  void generate_token(Call& call);
  void look_at_mints();
  void take_mint(const Minting& mint, const Answer& answer);

  // http_api_device_lookup.cc
  using DeviceFound = std::function<void(const std::vector<MessageId>& ids,
                                         const std::optional<api::DeviceRefusal>& refusal)>;
  struct Cancels;
  void get_device(Call& call);
  void get_device_history(Call& call);
  void cancel_device(Call& call);
  void cancel_devices(Call& call);
  void find_device(std::string_view tenant, const std::string& name, const std::string* phase,
                   DeviceFound then);
  void check_device(std::string_view tenant, MessageId id, const DeviceFound& then);
  void follow_runs(std::string_view tenant, const std::vector<MessageId>& ids,
                   const DeviceFound& then);
  void show_device(Call& call, bool history);
  void show_first(const Waiting& waiting, std::string_view tenant,
                  const std::vector<MessageId>& ids, bool history);
  void go_on_cancelling(const std::shared_ptr<Cancels>& job);
  void cancel_each(const std::shared_ptr<Cancels>& job, const std::string& id,
                   const std::vector<MessageId>& messages);
  void take_cancelled(const std::shared_ptr<Cancels>& job, const std::string& id,
                      std::string_view result, const std::optional<api::DeviceRefusal>& refusal);
  void finish_cancelling(const Cancels& job);

  // http_api_ingress.cc
  struct Replay;
  bool refuse_ingress(const Call& call);
  void take_ingress(Call& call);
  void replay_ingress(Call& call);
  void next_replay(const std::shared_ptr<Replay>& job);
  void feed_again(const std::shared_ptr<Replay>& job, ArrivalPage page);

  // http_api_listing.cc
  void begin_listing(Call& call, std::shared_ptr<Listing> listing);
  void go_on(const std::shared_ptr<Listing>& listing);
  void take_page(const std::shared_ptr<Listing>& listing, Answer& told);

  // http_api_long.cc
  void tell(const std::shared_ptr<LongAnswer>& answer, std::function<void()> then);
  void tell_piece(const std::shared_ptr<LongAnswer>& answer, std::function<void()> then);
  void end_telling(const std::shared_ptr<LongAnswer>& answer);
  void fail_telling(const std::shared_ptr<LongAnswer>& answer, const api::Problem& problem);
  bool reserve(const Waiting& waiting, std::size_t bytes);

  // http_api_shape.cc
  struct Shape;
  void get_shape(Call& call);
  void go_on_shaping(const std::shared_ptr<Shape>& shape);
  void take_shape(const std::shared_ptr<Shape>& shape, Answer& answer);

  // http_api_status.cc
  static constexpr std::string_view kProbeTenant =
      "probes";  // health checks have a share of their own
  void get_events(Call& call);
  void get_stats(Call& call);
  void get_livez(Call& call);
  void get_healthz(Call& call);
  void get_readyz(Call& call);
  void get_openapi(Call& call);
  void get_whoami(Call& call);
  void list_profiles(Call& call);
  void get_profile(Call& call);
  ProcessFigures figures() const;

  // http_api_metrics.cc
  struct QueueWalk;
  void get_metrics(Call& call);
  HttpResponse metrics_response(const Stats* stats, const api::QueueGauges* queues) const;
  void go_on_walking(std::shared_ptr<QueueWalk> walk);
  void take_queues(const std::shared_ptr<QueueWalk>& walk, Answer& answer);
  void answer_metrics(const std::string& tenant, const std::vector<Waiting>& waiting);

  HttpApiOptions options_;
  Host& host_;
  const Clock& clock_;
  const api::SubmitLimits limits_;
  api::Access access_;
  api::SubmitReader submit_reader_;
  api::JsonDocument document_;
  api::RequestCounts counts_;
  api::Tails tails_;
  api::Batches batches_;
  api::DevicePlugins plugins_;
  std::shared_ptr<api::DeviceQueues> queues_;  // shared with answers that come after the end
  std::vector<Minting> mints_;
  std::vector<std::shared_ptr<Export>> exports_;  // that wait for memory
  std::shared_ptr<QueueWalk> queue_walk_;         // under way
  std::optional<api::QueueGauges> queue_gauges_;  // what the last one found, …
  Timestamp gauges_until_;                        // … and how long that is told
  std::uint64_t unknown_events_ = 0;              // at ingress, of names that nobody knows
};

struct HttpApi::Impl::Call {
  const HttpRequest& request;
  Waiting waiting;
  std::string_view tenant;
  std::string_view actor;
  std::string capture;  // what the path has for {…}
  api::UrlQuery query;
  OperationKey key;

  Caller caller() {
    return {.ticket = {}, .key = std::move(key), .said = {}, .actor = std::string(actor)};
  }
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
