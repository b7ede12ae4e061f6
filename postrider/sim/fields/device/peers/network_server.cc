#include "postrider/sim/fields/device/peers/network_server.h"

#include <array>
#include <cstdio>

#include "postrider/base/check.h"
#include "postrider/protocols/meter/frame.h"

namespace postrider::sim {
namespace {

using chirpstack::Event;
using chirpstack::EventKind;
using chirpstack::QueueItem;

constexpr std::uint32_t kPortMax = 255;
// Times of the radio, in milliseconds.
constexpr std::int64_t kHearTogether = 200;    // copies of one uplink by several gateways
constexpr std::int64_t kReceiveWindow = 1000;  // class A listens so long after an uplink
constexpr std::int64_t kAtOnce = 50;
constexpr std::int64_t kOnAirMax = 800;

constexpr auto kNetworkRows = std::to_array<FaultRow<NetworkFaults>>({
    {"refuse", "P", 100, &NetworkFaults::refuse, "refuse so many Enqueue calls"},
    {"refuse-status", "N", 16, &NetworkFaults::refuse_status, "with this status of gRPC (14)"},
    {"lose-calls", "P", 100, &NetworkFaults::lose_calls, "break off Enqueue, nothing is taken"},
    {"lose-replies", "P", 100, &NetworkFaults::lose_replies,
     "take the command, break off the call"},
    {"hang", "P", 100, &NetworkFaults::hang, "take the command and never answer"},
    {"fail-taken", "P", 100, &NetworkFaults::fail_taken, "take the command and answer INTERNAL"},
    {"empty-ids", "P", 100, &NetworkFaults::empty_ids, "take the command, answer without an id"},
    {"take-late", "P", 100, &NetworkFaults::take_late, "never answer, and take it only …"},
    {"take-late-ms", "MS", 600'000, &NetworkFaults::take_late_ms, "… within this time (22000)"},
    {"fail-looks", "P", 100, &NetworkFaults::fail_looks, "fail GetQueue"},
    {"look-status", "N", 16, &NetworkFaults::look_status, "with this status; 0 hangs (14)"},
    {"lose-downlinks", "P", 100, &NetworkFaults::lose_downlinks, "the meter does not hear it"},
    {"lose-uplinks", "P", 100, &NetworkFaults::lose_uplinks, "no gateway hears the meter"},
    {"gateway-refuses", "P", 100, &NetworkFaults::gateway_refuses,
     "DOWNLINK_GATEWAY, stays queued"},
    {"discard", "P", 100, &NetworkFaults::discard, "throw the item away, with F_CNT_DOWN"},
    {"nack-first", "P", 100, &NetworkFaults::nack_first, "negative ack before the tx-ack"},
    {"later-frame", "P", 100, &NetworkFaults::later_frame, "the answer comes in a later frame"},
    {"empty-uplinks", "P", 100, &NetworkFaults::empty_uplinks, "acknowledge and never answer"},
    {"meter-refuses", "P", 100, &NetworkFaults::meter_refuses, "the meter does not do it"},
    {"lose-events", "P", 100, &NetworkFaults::lose_events, "tell nobody"},
    {"duplicate-events", "P", 100, &NetworkFaults::duplicate_events, "tell it again"},
    {"delay-events", "P", 100, &NetworkFaults::delay_events, "tell it late …"},
    {"event-delay-ms", "MS", 600'000, &NetworkFaults::event_delay_ms,
     "… by at most so long (15000)"},
    {"joins", "P", 100, &NetworkFaults::joins, "the device joins while a command is there"},
    {"reports", "P", 100, &NetworkFaults::reports, "the meter reports unasked meanwhile"},
    {"mqtt-away", "P", 100, &NetworkFaults::mqtt_away,
     "leave the broker when a command comes, which it holds …"},
    {"mqtt-away-ms", "MS", 86'400'000, &NetworkFaults::mqtt_away_ms,
     "… for at most so long (1200000)"},
});

}  // namespace

std::span<const FaultRow<NetworkFaults>> network_fault_rows() { return kNetworkRows; }

NetworkServer::NetworkServer(NetworkServerOptions options, Meters& meters, Rng rng, Timestamp start)
    : options_(std::move(options)), meters_(meters), rng_(rng), agenda_(start) {}

std::optional<Timestamp> NetworkServer::next() const {
  if (agenda_.empty()) return std::nullopt;
  return agenda_.next_at();
}

std::vector<NetworkHappening> NetworkServer::due(Timestamp until) {
  while (!agenda_.empty() && agenda_.next_at() <= until) agenda_.run_next();
  return std::exchange(happened_, {});
}

std::string NetworkServer::make_id() {
  const std::uint64_t high = rng_.next();
  const std::uint64_t low = rng_.next();
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%08x-%04x-4%03x-a%03x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xFFFF),
                static_cast<unsigned>(high & 0xFFF), static_cast<unsigned>(low >> 48 & 0xFFF),
                static_cast<unsigned long long>(low & 0xFFFF'FFFF'FFFF));
  return text.data();
}

// Every address has its device, until there are too many.
std::optional<std::uint32_t> NetworkServer::find_device(std::string_view dev_eui) {
  const std::optional<std::string> eui = chirpstack::dev_eui_of(dev_eui);
  if (!eui || unknown_.contains(*eui)) return std::nullopt;
  const auto found = by_eui_.find(*eui);
  if (found != by_eui_.end()) return found->second;
  if (devices_.size() >= options_.devices_max) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(devices_.size());
  Device& device = devices_.emplace_back();
  device.eui = *eui;
  device.reference = chirpstack::reference_of(*eui).value_or(*eui);
  device.is_class_a = options_.is_class_a;
  by_eui_.emplace(*eui, number);
  return number;
}

void NetworkServer::set_class_a(std::string_view reference, bool is_class_a) {
  if (const auto device = find_device(reference)) devices_[*device].is_class_a = is_class_a;
}

void NetworkServer::set_unknown(std::string_view reference, bool is_unknown) {
  const std::optional<std::string> eui = chirpstack::dev_eui_of(reference);
  if (!eui) return;
  if (is_unknown) {
    unknown_.insert(*eui);
  } else {
    unknown_.erase(*eui);
  }
}

// Calls.

void NetworkServer::call(Timestamp when, const NetworkCall& call) {
  // The views of the call do not live until it is served.
  struct Kept {
    std::string path, authorization, message;
  };
  agenda_.at(when, [this, ticket = call.ticket, tag = call.tag,
                    kept = Kept{std::string(call.path), std::string(call.authorization),
                                std::string(call.message)}] {
    const NetworkCall served{ticket, kept.path, kept.authorization, kept.message, tag};
    const bool known =
        options_.api_key.empty() || served.authorization == "Bearer " + options_.api_key;
    if (!known) return reply(served, grpc::Status::kUnauthenticated);
    if (served.path == chirpstack::kEnqueuePath) return enqueue(served);
    if (served.path == chirpstack::kGetQueuePath) return look(served);
    if (served.path == chirpstack::kGetDevicePath) return get_device(served);
    reply(served, grpc::Status::kUnimplemented);
  });
}

void NetworkServer::reply(const NetworkCall& call, grpc::Status status, std::string text,
                          std::string message) {
  NetworkReply reply{call.ticket, CallEnd::kAnswered, status, std::move(text), std::move(message)};
  agenda_.after(some(1, 20), [this, reply = std::move(reply)] {
    happened_.push_back({now(), reply});
  });
}

void NetworkServer::end_without_reply(const NetworkCall& call, CallEnd end) {
  agenda_.after(some(1, 20), [this, ticket = call.ticket, end] {
    happened_.push_back({now(), NetworkReply{ticket, end, grpc::Status::kUnknown, "", ""}});
  });
}

void NetworkServer::refuse_unknown(const NetworkCall& call) {
  if (options_.is_tenant_key) return reply(call, grpc::Status::kUnauthenticated);
  reply(call, grpc::Status::kInternal,
        options_.is_sqlite
            ? "FOREIGN KEY constraint failed"
            : "insert or update on table \"device_queue_item\" violates foreign key constraint "
              "\"device_queue_item_dev_eui_fkey\"");
}

void NetworkServer::enqueue(const NetworkCall& call) {
  ++counts_.enqueues;
  if (chance(faults.lose_calls)) return end_without_reply(call, CallEnd::kCut);
  if (chance(faults.refuse))
    return reply(call, static_cast<grpc::Status>(faults.refuse_status), "refused by a fault");
  Result<chirpstack::EnqueueRequest> request = chirpstack::decode_enqueue(call.message);
  if (!request) return reply(call, grpc::Status::kInvalidArgument, request.error().detail);
  QueueItem& item = request->item;
  if (!chirpstack::is_dev_eui(item.dev_eui))
    return reply(call, grpc::Status::kInvalidArgument, "dev_eui: is no EUI64");
  if (item.f_port == 0 || item.f_port > kPortMax)
    return reply(call, grpc::Status::kInvalidArgument, "f_port: must be 1 to 255");
  const std::optional<std::uint32_t> device = find_device(item.dev_eui);
  if (!device) return refuse_unknown(call);
  if (is_full(devices_[*device]))
    return reply(call, grpc::Status::kResourceExhausted, "the queue is full");
  if (request->flush_queue) flush(devices_[*device], true);
  item.id = make_id();
  if (chance(faults.take_late)) {
    end_without_reply(call, CallEnd::kSilent);
    const Duration late = some(faults.take_late_ms / 2, faults.take_late_ms);
    agenda_.after(late,
                  [this, device = *device, item, tag = call.tag] { take(device, item, tag); });
    return;
  }
  const std::string id = item.id;
  take(*device, std::move(item), call.tag);
  if (chance(faults.lose_replies)) return end_without_reply(call, CallEnd::kCut);
  if (chance(faults.hang)) return end_without_reply(call, CallEnd::kSilent);
  if (chance(faults.fail_taken))
    return reply(call, grpc::Status::kInternal, "canceling statement due to user request");
  const bool nameless = chance(faults.empty_ids);
  reply(call, grpc::Status::kOk, "", chirpstack::encode_enqueue_response(nameless ? "" : id));
}

void NetworkServer::look(const NetworkCall& call) {
  ++counts_.looks;
  if (chance(faults.fail_looks)) {
    const auto status = static_cast<grpc::Status>(faults.look_status);
    if (status == grpc::Status::kOk) return end_without_reply(call, CallEnd::kSilent);
    return reply(call, status, "the look failed by a fault");
  }
  const Result<std::string> eui = chirpstack::decode_get_queue(call.message);
  if (!eui || !chirpstack::is_dev_eui(*eui))
    return reply(call, grpc::Status::kInvalidArgument, "dev_eui: is no EUI64");
  const std::optional<std::uint32_t> device = find_device(*eui);
  if (!device && options_.is_tenant_key) return reply(call, grpc::Status::kUnauthenticated);
  chirpstack::Queue queue;
  if (device) {
    for (const Item& item : devices_[*device].queue) queue.items.push_back(item.item);
  }
  queue.total_count = static_cast<std::uint32_t>(queue.items.size());
  reply(call, grpc::Status::kOk, "", chirpstack::encode_get_queue_response(queue));
}

void NetworkServer::get_device(const NetworkCall& call) {
  if (chance(faults.lose_calls)) return end_without_reply(call, CallEnd::kCut);
  if (chance(faults.refuse))
    return reply(call, static_cast<grpc::Status>(faults.refuse_status), "refused by a fault");
  const Result<std::string> eui = chirpstack::decode_get_device(call.message);
  if (!eui || !chirpstack::is_dev_eui(*eui))
    return reply(call, grpc::Status::kInvalidArgument, "dev_eui: is no EUI64");
  if (find_device(*eui))
    return reply(call, grpc::Status::kOk, "",
                 chirpstack::encode_get_device_response({*eui, options_.application}));
  if (options_.is_tenant_key) return reply(call, grpc::Status::kUnauthenticated);
  reply(call, grpc::Status::kNotFound, "Object does not exist (id: " + *eui + ")");
}

void NetworkServer::command(Timestamp when, std::string_view topic, std::string_view body,
                            std::uint64_t tag) {
  agenda_.at(when, [this, topic = std::string(topic), body = std::string(body), tag] {
    ++counts_.enqueues;
    const auto where = chirpstack::parse_command_topic(topic);
    Result<QueueItem> item = chirpstack::decode_downlink_command(body);
    // Nobody is told why a command was not taken: there is no answer.
    if (!where || !item || where->application != options_.application) return;
    if (chirpstack::dev_eui_of(item->dev_eui) != where->dev_eui) return;
    if (item->f_port == 0 || item->f_port > kPortMax) return;
    const std::optional<std::uint32_t> device = find_device(where->dev_eui);
    if (!device || chance(faults.lose_calls)) return;
    if (meters_.ledger.copies().size() >= options_.copies_max) return;
    if (item->id.empty()) item->id = make_id();
    if (chance(faults.mqtt_away))
      leave_broker(now(), some(faults.mqtt_away_ms / 2, faults.mqtt_away_ms));
    // From here on it can run, wherever it lies.
    Item made = make_item(*device, std::move(*item), tag);
    if (!away_until_.is_set()) return from_broker(*device, std::move(made));
    ++counts_.held;
    held_.emplace_back(*device, std::move(made));
  });
}

void NetworkServer::leave_broker(Timestamp when, Duration away) {
  if (away_until_.is_set()) return;
  away_until_ = when + std::max(away, Duration(1));
  agenda_.at(away_until_, [this] { hand_over(); });
}

// The session is back: the broker brings everything that it held, in order.
void NetworkServer::hand_over() {
  away_until_ = Timestamp();
  for (auto& [device, item] : std::exchange(held_, {})) from_broker(device, std::move(item));
}

void NetworkServer::from_broker(std::uint32_t number, Item item) {
  Device& device = devices_[number];
  const auto same = [&](const Item& known) { return known.item.id == item.item.id; };
  const bool repeated = std::any_of(device.queue.begin(), device.queue.end(), same);
  counts_.repeats_refused += repeated ? 1 : 0;
  if (!repeated && !is_full(device)) return put(number, std::move(item));
  meters_.ledger.close(item.copy, now(), CopyEnd::kDiscarded);
}

// The queue of a device.

bool NetworkServer::is_full(const Device& device) const {
  return device.queue.size() >= options_.queue_items_max ||
         meters_.ledger.copies().size() >= options_.copies_max;
}

void NetworkServer::take(std::uint32_t number, QueueItem item, std::uint64_t tag) {
  put(number, make_item(number, std::move(item), tag));
}

NetworkServer::Item NetworkServer::make_item(std::uint32_t number, QueueItem item,
                                             std::uint64_t tag) {
  const Device& device = devices_[number];
  Item taken;
  item.dev_eui = device.eui;
  item.is_pending = false;
  item.f_cnt_down = 0;
  Result<device::Request> request = device::decode_request(item.data);
  // A frame with the address of another meter is not for this one.
  const bool fits = request && (request->meter.empty() ||
                                without_zeros(request->meter) == without_zeros(device.reference));
  Copy copy;
  copy.name = item.id;
  copy.meter = device.reference;
  copy.tag = tag;
  if (fits) {
    request->meter = device.reference;
    copy.what = describe_act(*request);
    copy.is_act = device::is_act(request->command);
    taken.request = std::move(*request);
  }
  taken.copy = meters_.ledger.take(now(), std::move(copy));
  taken.item = std::move(item);
  return taken;
}

void NetworkServer::put(std::uint32_t number, Item item) {
  ++counts_.taken;
  devices_[number].queue.push_back(std::move(item));
  ++queued_;
  if (chance(faults.joins)) agenda_.after(some(1, 8000), [this, number] { do_join(number); });
  if (chance(faults.reports)) {
    agenda_.after(some(1, 8000), [this, number] {
      const Meter& meter = meters_.at(devices_[number].reference);
      send_up({number, "", meter.report(now())}, Duration(0));
    });
  }
  wake(number);
}

void NetworkServer::flush(Device& device, bool spares_pending) {
  std::deque<Item> kept;
  for (Item& item : device.queue) {
    if (spares_pending && item.item.is_pending) {
      kept.push_back(std::move(item));
      continue;
    }
    meters_.ledger.close(item.copy, now(), CopyEnd::kFlushed);
    --queued_;
  }
  device.queue = std::move(kept);
}

void NetworkServer::join(Timestamp when, std::string_view reference) {
  if (const auto device = find_device(reference))
    agenda_.at(when, [this, number = *device] { do_join(number); });
}

void NetworkServer::report(Timestamp when, std::string_view reference) {
  const auto device = find_device(reference);
  if (!device) return;
  agenda_.at(when, [this, number = *device] {
    send_up({number, "", meters_.at(devices_[number].reference).report(now())}, Duration(0));
  });
}

void NetworkServer::do_join(std::uint32_t number) {
  Device& device = devices_[number];
  ++counts_.joins;
  ++device.session;
  device.frames_up = 0;
  device.frames_down = 0;
  flush(device, false);
  Event event = event_of(device, EventKind::kJoin);
  event.deduplication_id = make_id();
  event.dev_addr = "01020304";
  tell(event, Duration(kHearTogether));
}

// Downlinks.

void NetworkServer::wake(std::uint32_t number) {
  Device& device = devices_[number];
  if (device.is_awake || device.queue.empty()) return;
  device.is_awake = true;
  if (!device.is_class_a) {
    // The loop runs all the time; where it stands when something comes is chance.
    agenda_.after(some(1, options_.scheduler_period.count()), [this, number] { tick(number); });
    return;
  }
  agenda_.after(some(1, options_.uplink_period.count()), [this, number] {
    devices_[number].is_awake = false;
    if (devices_[number].queue.empty()) return;
    send_up({number, "", meters_.at(devices_[number].reference).report(now())}, Duration(0));
    wake(number);
  });
}

void NetworkServer::tick(std::uint32_t number) {
  Device& device = devices_[number];
  device.is_awake = false;
  const bool pending = !device.queue.empty() && device.queue.front().item.is_pending;
  if (pending && now() >= device.queue.front().answer_until) drop_pending(number, Duration(0));
  send_next(number);
  if (device.queue.empty()) return;
  device.is_awake = true;
  agenda_.after(options_.scheduler_period, [this, number] { tick(number); });
}

// The item that was radiated is given up, and that is told.
void NetworkServer::drop_pending(std::uint32_t number, Duration tell_after) {
  Device& device = devices_[number];
  const Item item = std::move(device.queue.front());
  device.queue.pop_front();
  --queued_;
  meters_.ledger.close(item.copy, now(), CopyEnd::kNacked);
  Event event = event_of(device, EventKind::kAck);
  event.queue_item_id = item.item.id;
  event.f_cnt_down = item.item.f_cnt_down;
  tell(event, tell_after);
}

// Throws away what must not be sent. False: nothing can be sent now.
bool NetworkServer::is_sendable(std::uint32_t number) {
  Device& device = devices_[number];
  while (!device.queue.empty()) {
    const Item& item = device.queue.front();
    if (item.item.is_pending) return false;
    std::string_view code;
    CopyEnd end = CopyEnd::kDiscarded;
    if (item.item.expires_at && *item.item.expires_at <= now()) {
      code = "EXPIRED";
      end = CopyEnd::kExpired;
    } else if (item.item.data.size() > options_.payload_bytes_max) {
      code = "DOWNLINK_PAYLOAD_SIZE";
    } else if (chance(faults.discard)) {
      code = "F_CNT_DOWN";
    } else if (chance(faults.gateway_refuses)) {
      tell_log(device, "DOWNLINK_GATEWAY", "");
      return false;
    } else {
      return true;
    }
    tell_log(device, code, item.item.id);
    meters_.ledger.close(item.copy, now(), end);
    device.queue.pop_front();
    --queued_;
  }
  return false;
}

void NetworkServer::send_next(std::uint32_t number) {
  if (is_sendable(number)) radiate(number);
}

void NetworkServer::radiate(std::uint32_t number) {
  Device& device = devices_[number];
  Item& item = device.queue.front();
  ++counts_.radiated;
  item.item.f_cnt_down = ++device.frames_down;
  item.item.is_pending = item.item.confirmed;
  const std::int64_t window = device.is_class_a ? kReceiveWindow : kAtOnce;
  item.run_by = now() + Duration(window + kOnAirMax);
  item.answer_until = std::max(now() + options_.answer_max, item.run_by + 1ms);
  meters_.ledger.radiate(item.copy, now());
  Event event = event_of(device, EventKind::kTxAck);
  event.queue_item_id = item.item.id;
  event.f_cnt_down = item.item.f_cnt_down;
  event.downlink_id = static_cast<std::uint32_t>(rng_.next());
  event.gateway_id = "0016c001f1500812";
  const bool nack_first = item.item.confirmed && chance(faults.nack_first);
  Radiated radiated{number, device.session, item.copy, item.item.id, item.request};
  const bool lost = nack_first || chance(faults.lose_downlinks);
  if (!item.item.confirmed) {
    device.queue.pop_front();
    --queued_;
    if (lost) meters_.ledger.close(radiated.copy, now(), CopyEnd::kDiscarded);
  }
  tell(event, nack_first ? on_air(2000, 4000) : on_air(20, 150));
  if (nack_first) drop_pending(number, on_air(1, 50));
  if (lost) return;
  agenda_.after(on_air(window, window + kOnAirMax),
                [this, radiated = std::move(radiated)] { reach(radiated); });
}

void NetworkServer::reach(const Radiated& radiated) {
  const Device& device = devices_[radiated.device];
  // After a join the meter has other keys and cannot read what was sent before.
  if (device.session != radiated.session) return;
  const bool acks = !device.queue.empty() && device.queue.front().item.id == radiated.id;
  std::string data;
  if (radiated.request) {
    Meter& meter = meters_.at(device.reference);
    meter.refuse_all(chance(faults.meter_refuses));
    const device::Response response = meters_.run(radiated.copy, now(), *radiated.request);
    meter.refuse_all(false);
    data = meter.answer(*radiated.request, response);
  }
  const std::uint32_t number = radiated.device;
  std::string acked = acks ? radiated.id : "";
  if (!acks) meters_.ledger.close(radiated.copy, now(), CopyEnd::kAcked);
  if (chance(faults.empty_uplinks))
    return send_up({number, std::move(acked), ""}, on_air(100, 1500));
  if (!chance(faults.later_frame))
    return send_up({number, std::move(acked), std::move(data)}, on_air(100, 1500));
  send_up({number, std::move(acked), ""}, on_air(100, 1500));
  send_up({number, "", std::move(data)}, on_air(2500, 9000));
}

// Uplinks.

void NetworkServer::send_up(Uplink uplink, Duration after) {
  if (chance(faults.lose_uplinks)) return;
  agenda_.after(after + on_air(kHearTogether, kHearTogether),
                [this, uplink = std::move(uplink)] { hear(uplink); });
}

void NetworkServer::hear(const Uplink& uplink) {
  Device& device = devices_[uplink.device];
  Event up = event_of(device, EventKind::kUp);
  up.deduplication_id = make_id();
  up.data = uplink.data;
  up.f_cnt = device.frames_up++;
  up.f_port = chirpstack::kCommandPort;
  up.dev_addr = "01020304";
  up.heard = chirpstack::Heard{"0016c001f1500812", -60, 9500};
  const bool pending = !device.queue.empty() && device.queue.front().item.is_pending;
  if (pending && device.queue.front().item.id == uplink.acks) {
    const Item item = std::move(device.queue.front());
    device.queue.pop_front();
    --queued_;
    meters_.ledger.close(item.copy, now(), CopyEnd::kAcked);
    Event ack = event_of(device, EventKind::kAck);
    ack.deduplication_id = up.deduplication_id;
    ack.queue_item_id = item.item.id;
    ack.f_cnt_down = item.item.f_cnt_down;
    ack.acknowledged = true;
    tell(ack, Duration(0));
  } else if (pending && device.is_class_a && now() > device.queue.front().run_by) {
    // The meter had the time to hear it, and its next uplink does not acknowledge it.
    drop_pending(uplink.device, Duration(0));
  }
  tell(up, Duration(0));
  if (device.is_class_a) send_next(uplink.device);
}

// Events.

Event NetworkServer::event_of(const Device& device, EventKind kind) const {
  Event event;
  event.kind = kind;
  event.dev_eui = device.eui;
  event.application_id = options_.application;
  event.device_name = device.reference;
  event.time = now();
  return event;
}

void NetworkServer::tell_log(const Device& device, std::string_view code, std::string_view item) {
  Event event = event_of(device, EventKind::kLog);
  event.level = "ERROR";
  event.code = code;
  event.description = code == "DOWNLINK_GATEWAY" ? "TOO_LATE" : "Device queue-item discarded";
  event.queue_item_id = item;
  tell(event, Duration(0));
}

// Events of one moment are told independently of each other, and so in any order.
void NetworkServer::tell(const Event& event, Duration after) {
  ++counts_.events;
  if (chance(faults.lose_events)) {
    ++counts_.events_lost;
    return;
  }
  after += some(0, options_.event_jitter_ms);
  if (chance(faults.delay_events)) after += some(0, faults.event_delay_ms);
  post(event, after);
  if (!chance(faults.duplicate_events)) return;
  ++counts_.events_repeated;
  post(event, after + some(0, faults.event_delay_ms));
}

void NetworkServer::post(const Event& event, Duration after) {
  NetworkPost post;
  post.kind = event.kind;
  post.dev_eui = event.dev_eui;
  post.content_type = options_.tells_protobuf ? "application/octet-stream" : "application/json";
  post.body = options_.tells_protobuf ? chirpstack::encode_event_protobuf(event)
                                      : chirpstack::encode_event_json(event);
  agenda_.after(after, [this, post = std::move(post)] { happened_.push_back({now(), post}); });
}

}  // namespace postrider::sim
