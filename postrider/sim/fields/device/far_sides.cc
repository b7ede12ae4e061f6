#include "postrider/sim/fields/device/far_sides.h"

#include <array>
#include <utility>

#include "postrider/sim/fields/device/checkers/all.h"

namespace postrider::sim {
namespace {

using device::Way;
using device::Wire;

// What the two looks of a server's queue that prove an absence must be able to see: whoever takes a
// command late takes it within this time.
constexpr std::uint32_t kTakenLateMs = 2'000;
constexpr std::size_t kHalvesMax = 10'000;

std::string_view path_of(std::string_view target) {
  const std::size_t scheme = target.find("://");
  const std::size_t from = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t slash = target.find('/', from);
  return slash == std::string_view::npos ? std::string_view() : target.substr(slash);
}

WireReply ended(WireEnd end) {
  WireReply reply;
  reply.end = end;
  return reply;
}

}  // namespace

DeviceFarSides::DeviceFarSides(Surroundings around, const SimOptions& options, Rng rng)
    : around_(std::move(around)), rng_(rng), faults_(options.faults) {
  const Timestamp now = around_.agenda.now();
  for (std::uint32_t i = 0; i < device_plugins(options); ++i) {
    auto side = std::make_unique<Side>();
    side->plugin = device_plugin(options, i);
    Rng own = rng_.fork(i);
    if (device::way_of(side->plugin.wire) == Way::kPush) {
      NetworkServerOptions server;
      server.application = kDeviceApplication;
      server.tells_protobuf = own.chance(1, 3);
      server.is_tenant_key = own.chance(1, 3);
      side->server = std::make_unique<NetworkServer>(server, meters_, own.fork(1), now);
      side->server_faults = draw_server_faults(own);
      std::uint32_t sleepers = static_cast<std::uint32_t>(own.below(4));  // of class A
      if (is_alike(options)) {
        sleepers = 1;
        side->server_faults = {};
        if (has(Fault::kRequestLost)) side->server_faults.lose_calls = 25;
        if (has(Fault::kReplyLost)) side->server_faults.lose_replies = 60;
      }
      if (side->plugin.wire == Wire::kChirpstackMqtt) draw_broker_faults(own, side->server_faults);
      for (std::uint32_t meter = 0; meter < meters_of(options); ++meter)
        side->server->set_class_a(meter_number(i, meter), meter % 4 < sleepers);
    } else {
      VendorOptions vendor;
      vendor.version = side->plugin.wire == Wire::kCalinV1 ? 1 : 2;
      side->vendor = std::make_unique<Vendor>(vendor, meters_, own.fork(1), now);
      side->vendor_faults = draw_vendor_faults(own);
    }
    apply_mood(*side);
    sides_.push_back(std::move(side));
  }
}

// Each side is bad in its own way, and most are bad in few.
NetworkFaults DeviceFarSides::draw_server_faults(Rng& rng) const {
  constexpr std::array<std::uint32_t, 6> kPercents = {0, 0, 0, 2, 10, 30};
  const auto some = [&](Fault fault) {
    const std::uint32_t percent = kPercents[rng.below(kPercents.size())];
    return has(fault) ? percent : 0;
  };
  NetworkFaults out;
  out.lose_calls = some(Fault::kRequestLost);
  out.lose_replies = some(Fault::kReplyLost);
  out.hang = some(Fault::kReplyLost);
  out.fail_taken = some(Fault::kReplyLost);
  out.empty_ids = some(Fault::kReplyLost);
  out.take_late = some(Fault::kDelay);
  out.take_late_ms = kTakenLateMs;
  out.refuse = some(Fault::kPeerThrottles) / 2;
  out.refuse_status = rng.chance(1, 2) ? 14 : 8;
  out.fail_looks = some(Fault::kPeerFlaky);
  out.look_status = rng.chance(1, 4) ? 0 : 14;
  out.lose_downlinks = some(Fault::kPeerFlaky);
  out.lose_uplinks = some(Fault::kPeerFlaky);
  out.gateway_refuses = some(Fault::kPeerFlaky);
  out.discard = some(Fault::kPeerFlaky) / 2;
  out.nack_first = some(Fault::kPeerFlaky);
  out.later_frame = some(Fault::kPeerFlaky);
  out.empty_uplinks = some(Fault::kPeerFlaky);
  out.meter_refuses = some(Fault::kPeerRejects) / 2;
  out.lose_events = some(Fault::kReplyLost);
  out.duplicate_events = some(Fault::kDuplicateAnswer);
  out.delay_events = some(Fault::kLateReceipt);
  out.event_delay_ms = rng.chance(1, 3) ? 300'000 : 15'000;
  out.joins = some(Fault::kPeerFlaky) / 2;
  out.reports = some(Fault::kPeerFlaky);
  return out;
}

// A server that leaves its broker for minutes or hours, and finds all commands there when it is
// back.
void DeviceFarSides::draw_broker_faults(Rng& rng, NetworkFaults& out) const {
  constexpr std::array<std::uint32_t, 4> kPercents = {0, 2, 10, 30};
  constexpr std::array<std::uint32_t, 3> kAwayMs = {60'000, 1'200'000, 18'000'000};
  const std::uint32_t percent = kPercents[rng.below(kPercents.size())];
  out.mqtt_away_ms = kAwayMs[rng.below(kAwayMs.size())];
  if (has(Fault::kPeerFlaky)) out.mqtt_away = percent;
}

VendorFaults DeviceFarSides::draw_vendor_faults(Rng& rng) const {
  constexpr std::array<std::uint32_t, 6> kPercents = {0, 0, 0, 2, 10, 30};
  const auto some = [&](Fault fault) {
    const std::uint32_t percent = kPercents[rng.below(kPercents.size())];
    return has(fault) ? percent : 0;
  };
  VendorFaults out;
  out.hang = some(Fault::kReplyLost) / 2;
  out.lose_calls = some(Fault::kRequestLost);
  out.lose_replies = some(Fault::kReplyLost) / 2;
  out.errors = some(Fault::kPeerFlaky);
  out.error_status = rng.chance(1, 2) ? 503 : 404;
  out.fail_taken = some(Fault::kReplyLost) / 2;
  out.html = some(Fault::kReplyLost) / 2;
  out.garbage = some(Fault::kReplyLost) / 2;
  out.refuse = some(Fault::kPeerThrottles);
  out.code_99 = some(Fault::kPeerRejects);
  out.no_task = some(Fault::kReplyLost) / 2;
  out.twice = some(Fault::kDuplicateAnswer);
  out.fail_polls = some(Fault::kPeerFlaky) * 2;
  out.hang_polls = some(Fault::kPeerFlaky);
  out.lies = some(Fault::kWrongReceipt);
  out.fail_tasks = some(Fault::kPeerFlaky);
  out.slow_tasks = some(Fault::kDelay);
  out.slow_task_ms = rng.chance(1, 4) ? 200'000'000 : 600'000;
  out.meter_refuses = some(Fault::kPeerRejects) / 2;
  out.fail_logins = some(Fault::kPeerThrottles);
  out.forget_logins = some(Fault::kPeerThrottles);
  return out;
}

void DeviceFarSides::add_checkers(const CheckerContext& context, Notebook& notebook,
                                  CheckerList& list) const {
  list.push_back(make_meter_checker(context, notebook, meters_.ledger));
  for (CheckerMaker* maker :
       {make_event_checker, make_proof_checker, make_places_checker, make_radio_checker})
    list.push_back(maker(context, notebook));
}

DeviceFarSides::Side* DeviceFarSides::side_at(std::uint32_t peer) {
  for (const auto& side : sides_) {
    if (side->plugin.peer == peer) return side.get();
  }
  return nullptr;
}

void DeviceFarSides::set_mood(std::uint32_t peer, Mood mood) {
  Side* side = side_at(peer);
  if (side == nullptr || side->mood == mood) return;
  side->mood = mood;
  apply_mood(*side);
}

// A mood that lets requests through makes what is wrong with a side worse, for as long as it lasts.
void DeviceFarSides::apply_mood(Side& side) {
  NetworkFaults server = healed_ ? NetworkFaults() : side.server_faults;
  VendorFaults vendor = healed_ ? VendorFaults() : side.vendor_faults;
  switch (side.mood) {
    case Mood::kHealthy:
    case Mood::kRefuses:
    case Mood::kNoName:
    case Mood::kNoTls:
    case Mood::kSwallows: break;
    case Mood::kSlow:
      server.hang = server.delay_events = 40;
      vendor.hang_polls = 60;
      vendor.slow_tasks = 100;
      break;
    case Mood::kFlaky:
      server.lose_replies = server.lose_calls = server.lose_uplinks = server.lose_events = 20;
      server.fail_looks = 60;
      vendor.lose_replies = vendor.lose_calls = vendor.errors = 20;
      vendor.fail_polls = 60;
      break;
    case Mood::kThrottles:
    case Mood::kLimited:
      server.refuse = vendor.refuse = 75;
      server.refuse_status = 8;
      server.fail_looks = 75;
      vendor.fail_logins = 50;
      break;
    case Mood::kGone:
      server.refuse = 50;
      server.refuse_status = 5;  // no such device
      vendor.errors = 50;
      vendor.error_status = 404;
      break;
  }
  if (side.server != nullptr) side.server->faults = server;
  if (side.vendor != nullptr) side.vendor->faults = vendor;
}

void DeviceFarSides::heal() {
  healed_ = true;
  for (const auto& side : sides_) {
    side->mood = Mood::kHealthy;
    apply_mood(*side);
  }
}

void DeviceFarSides::request(std::uint64_t ticket, std::uint64_t tag, std::uint32_t peer,
                             const WireRequest& request) {
  for (std::uint32_t i = 0; i < sides_.size(); ++i) {
    Side& side = *sides_[i];
    if (side.plugin.peer != peer) continue;
    if (side.server != nullptr) {
      call_server(side, ticket, tag, request);
    } else {
      call_vendor(i, {ticket, tag, i, request});
    }
    return pump(i);
  }
}

void DeviceFarSides::call_server(Side& side, std::uint64_t ticket, std::uint64_t tag,
                                 const WireRequest& request) {
  const Timestamp now = around_.agenda.now();
  const bool published = request.verb == "PUBLISH";
  if (published && request.first == nullptr) return publish(side, ticket, {tag, request});
  if (published) asking_.insert_or_assign(ticket, Asking{tag, request});
  const WireRequest& call = published ? *request.first : request;
  side.server->call(now, {.ticket = ticket,
                          .path = path_of(call.target),
                          .authorization = {},
                          .message = call.body,
                          .tag = tag});
}

void DeviceFarSides::publish(Side& side, std::uint64_t ticket, const Asking& asking) {
  const std::string_view target = asking.request.target;
  side.server->command(around_.agenda.now(), target.substr(target.find(' ') + 1),
                       asking.request.body, asking.tag);
  WireReply taken;  // by the broker, which says nothing about the server
  around_.answer(ticket, taken);
}

// Version 2 wants a token, which one login gives for all until it is refused.
void DeviceFarSides::call_vendor(std::uint32_t number, Login login) {
  const std::uint64_t serial = ++last_serial_;
  Side& side = *sides_[number];
  const bool asks = login.request.login != nullptr && side.authorization.empty();
  login.asks = asks;
  const WireRequest& request = login.request;
  side.vendor->call(around_.agenda.now(),
                    {.ticket = serial,
                     .path = path_of(asks ? request.login->target : request.target),
                     .authorization = asks ? std::string_view() : side.authorization,
                     .body = asks ? std::string_view(request.login->body) : request.body,
                     .tag = login.tag});
  logins_.emplace(serial, std::move(login));
}

void DeviceFarSides::logged_in(Login login, const VendorReply& reply) {
  const auto token = login.request.login->read(reply.status, reply.content_type, reply.body);
  if (reply.end != CallEnd::kAnswered || !token)
    return around_.answer(login.ticket, ended(WireEnd::kNoLogin));
  sides_[login.side]->authorization = token->authorization;
  const std::uint32_t side = login.side;
  call_vendor(side, std::move(login));
}

void DeviceFarSides::vendor_replied(const VendorReply& reply) {
  const auto found = logins_.find(reply.ticket);
  if (found == logins_.end()) return;
  Login login = std::move(found->second);
  logins_.erase(found);
  if (login.asks) return logged_in(std::move(login), reply);
  if (reply.end == CallEnd::kSilent) return;
  if (reply.end == CallEnd::kCut) return around_.answer(login.ticket, ended(WireEnd::kReset));
  if (reply.status == 401 && login.request.login != nullptr && !login.again) {
    login.again = true;
    sides_[login.side]->authorization.clear();
    const std::uint32_t side = login.side;
    return call_vendor(side, std::move(login));
  }
  WireReply answer;
  answer.status = reply.status;
  answer.headers.emplace_back("content-type", std::string(reply.content_type));
  answer.body = reply.body;
  around_.answer(login.ticket, answer);
  if (reply.twice) around_.answer(login.ticket, std::move(answer));
}

void DeviceFarSides::server_replied(Side& side, const NetworkReply& reply) {
  const auto asking = asking_.extract(reply.ticket);
  if (reply.end == CallEnd::kSilent) return;
  const bool answered = reply.end == CallEnd::kAnswered;
  if (!asking.empty() && answered && reply.status == grpc::Status::kOk)
    return publish(side, reply.ticket, asking.mapped());
  WireReply answer = ended(answered ? WireEnd::kAnswered : WireEnd::kReset);
  answer.of_first = !asking.empty();
  if (!answered) return around_.answer(reply.ticket, std::move(answer));
  answer.status = static_cast<int>(reply.status);
  if (!reply.text.empty()) answer.headers.emplace_back("grpc-message", reply.text);
  answer.body = reply.message;
  around_.answer(reply.ticket, std::move(answer));
}

// Two halves of one answer are sometimes told just at the edge of the window in which they are one.
Duration DeviceFarSides::hold_back(const chirpstack::Event& event) {
  const bool half = event.kind == chirpstack::EventKind::kUp ||
                    (event.kind == chirpstack::EventKind::kAck && event.acknowledged);
  if (!half || event.deduplication_id.empty() || !has(Fault::kLateReceipt)) return Duration(0);
  const Timestamp now = around_.agenda.now();
  const std::string name = event.dev_eui + event.deduplication_id;
  const auto other = halves_.find(name);
  if (other != halves_.end()) {
    const Timestamp at = other->second.told + other->second.apart;
    halves_.erase(other);
    return at > now ? at - now : Duration(0);
  }
  constexpr std::array<std::int64_t, 6> kApart = {9'999, 10'000, 10'001, 9'000, 3'000, 12'000};
  if (rng_.chance(5, 6) || halves_.size() >= kHalvesMax) return Duration(0);
  halves_.emplace(name, Half{now, Duration(kApart[rng_.below(kApart.size())])});
  return Duration(0);
}

void DeviceFarSides::tell(const Side& side, const NetworkPost& post) {
  const bool protobuf = post.content_type == "application/octet-stream";
  const auto event = protobuf ? chirpstack::decode_event_protobuf(post.kind, post.body)
                              : chirpstack::decode_event_json(post.kind, post.body);
  if (!event) return;
  Arrived arrived;
  arrived.profile = kDeviceProfile;
  arrived.source = {.origin = side.plugin.name,
                    .kind = std::string(chirpstack::name_of(post.kind)),
                    .format = protobuf ? "protobuf" : "json"};
  if (!side.plugin.events.empty()) arrived.settings = {{"events", side.plugin.events}};
  arrived.bytes = post.body;
  OperationKey& key = arrived.caller.key;
  key.kind = OperationKey::Kind::kOpaque;
  key.scope = "ingress";
  key.key = side.plugin.name + '/' + std::string(chirpstack::name_of(post.kind)) + '/' +
            event->dev_eui + '/' + event->queue_item_id + '/' + event->deduplication_id + '/' +
            std::to_string(event->downlink_id) + '/' + event->code;
  // What names no item comes again and again, and would be one event for ever.
  if (event->kind == chirpstack::EventKind::kLog && event->queue_item_id.empty())
    key.key += '/' + std::to_string(event->time.ms());
  arrived.caller.said = key.key;
  // A broker brings an event until somebody has taken it.
  const bool repeats = side.plugin.wire == Wire::kChirpstackMqtt;
  const Duration wait = hold_back(*event);
  if (wait == Duration(0)) return around_.arrive(std::move(arrived), repeats);
  around_.agenda.after(
      wait, [this, arrived = std::move(arrived), repeats] { around_.arrive(arrived, repeats); });
}

void DeviceFarSides::pump(std::uint32_t number) {
  Side& side = *sides_[number];
  const Timestamp now = around_.agenda.now();
  if (side.server != nullptr) {
    for (const NetworkHappening& happening : side.server->due(now)) {
      if (const auto* reply = std::get_if<NetworkReply>(&happening.what))
        server_replied(side, *reply);
      if (const auto* post = std::get_if<NetworkPost>(&happening.what)) tell(side, *post);
    }
  } else {
    for (const VendorReply& reply : side.vendor->due(now)) vendor_replied(reply);
  }
  wake(number);
}

void DeviceFarSides::wake(std::uint32_t number) {
  Side& side = *sides_[number];
  const auto next = side.server != nullptr ? side.server->next() : side.vendor->next();
  if (!next || *next >= side.wake_at) return;
  side.wake_at = std::max(*next, around_.agenda.now());
  around_.agenda.at(side.wake_at, [this, number, at = side.wake_at] {
    if (sides_[number]->wake_at != at) return;
    sides_[number]->wake_at = Timestamp::never();
    pump(number);
  });
}

}  // namespace postrider::sim
