// NetworkServer: a model of a ChirpStack v4 network server with its gateways and devices. It takes
// the bytes of gRPC calls and MQTT commands, and says what comes out of it and when: replies to
// calls, and events to be told. No I/O and no clock: `now` is given and never decreases, chance
// comes from the seed. The simulator drives it under virtual time, `postrider sink chirpstack` on a
// real loop. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/base/time.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/protocols/grpc/grpc.h"
#include "postrider/sim/fields/device/peers/far_side.h"
#include "postrider/sim/fields/device/peers/meter.h"
#include "postrider/sim/world/agenda.h"

namespace postrider::sim {

// Percentages, unless the name says otherwise; network_fault_rows() says what each does.
struct NetworkFaults {
  std::uint32_t refuse = 0;
  std::uint32_t refuse_status = 14;
  std::uint32_t lose_calls = 0;
  std::uint32_t lose_replies = 0;
  std::uint32_t hang = 0;
  std::uint32_t fail_taken = 0;
  std::uint32_t empty_ids = 0;
  std::uint32_t take_late = 0;
  std::uint32_t take_late_ms = 22'000;
  std::uint32_t fail_looks = 0;
  std::uint32_t look_status = 14;
  std::uint32_t lose_downlinks = 0;
  std::uint32_t lose_uplinks = 0;
  std::uint32_t gateway_refuses = 0;
  std::uint32_t discard = 0;
  std::uint32_t nack_first = 0;
  std::uint32_t later_frame = 0;
  std::uint32_t empty_uplinks = 0;
  std::uint32_t meter_refuses = 0;
  std::uint32_t lose_events = 0;
  std::uint32_t duplicate_events = 0;
  std::uint32_t delay_events = 0;
  std::uint32_t event_delay_ms = 15'000;
  std::uint32_t joins = 0;
  std::uint32_t reports = 0;
  std::uint32_t mqtt_away = 0;
  std::uint32_t mqtt_away_ms = 1'200'000;
};
std::span<const FaultRow<NetworkFaults>> network_fault_rows();

struct NetworkServerOptions {
  std::string application = "6d1f6a5e-0000-4000-8000-000000000001";
  std::string api_key;         // empty: nobody is asked for one
  bool is_tenant_key = false;  // such a key may not know which devices exist
  bool is_sqlite = false;      // names no constraint in its errors
  bool tells_protobuf = false;
  bool is_class_a = false;             // of devices that nobody set apart
  Duration scheduler_period{1000};     // class C
  Duration answer_max{5000};           // class C: then a pending item is not acknowledged
  Duration uplink_period{600'000};     // class A: unasked, while something is queued
  std::uint32_t radio_percent = 100;   // of the time that the radio takes, for hasty tests
  std::uint32_t event_jitter_ms = 30;  // how far events of one moment come apart
  std::uint32_t payload_bytes_max = 222;
  std::uint32_t queue_items_max = 1000;  // of one device
  std::uint32_t devices_max = 100'000;
  std::uint32_t copies_max = 10'000'000;  // in the ledger, which forgets nothing
};

struct NetworkCall {
  std::uint64_t ticket = 0;  // names the call in its reply
  std::string_view path;
  std::string_view authorization;
  std::string_view message;  // without the frame of gRPC
  std::uint64_t tag = 0;     // for the ledger
};

struct NetworkReply {
  std::uint64_t ticket = 0;
  CallEnd end = CallEnd::kAnswered;
  grpc::Status status = grpc::Status::kOk;
  std::string text;  // of a status
  std::string message;
};
struct NetworkPost {
  chirpstack::EventKind kind = chirpstack::EventKind::kOther;
  std::string dev_eui;
  std::string_view content_type;
  std::string body;
};
struct NetworkHappening {
  Timestamp at;
  std::variant<NetworkReply, NetworkPost> what;
};

struct NetworkCounts {
  std::uint64_t enqueues = 0;  // asked for, over gRPC and MQTT
  std::uint64_t taken = 0;
  std::uint64_t repeats_refused = 0;  // over MQTT
  std::uint64_t looks = 0;
  std::uint64_t radiated = 0;
  std::uint64_t events = 0;  // as they happened
  std::uint64_t events_lost = 0;
  std::uint64_t events_repeated = 0;
  std::uint64_t joins = 0;
  std::uint64_t held = 0;  // by the broker
};

class NetworkServer {
 public:
  // `meters` outlives it.
  NetworkServer(NetworkServerOptions options, Meters& meters, Rng rng, Timestamp start);
  NetworkServer(const NetworkServer&) = delete;
  NetworkServer& operator=(const NetworkServer&) = delete;

  NetworkFaults faults;  // may be changed at any time

  void call(Timestamp now, const NetworkCall& call);
  // A command of MQTT, as the broker took it. While the server's own session is away the broker
  // holds it, and hands all of them over in order when that is back. Its id is the primary key of
  // the queue: one that is queued is refused; the id of an item that has left the queue is as good
  // as new, as with the real server.
  void command(Timestamp now, std::string_view topic, std::string_view body, std::uint64_t tag = 0);

  // Everything that has happened up to `now`, in order.
  std::vector<NetworkHappening> due(Timestamp now);
  std::optional<Timestamp> next() const;  // when due() has something to do; nothing: never

  // Of single devices, by the reference of the meter.
  void set_class_a(std::string_view reference, bool is_class_a);
  void set_unknown(std::string_view reference, bool is_unknown);
  // The server's session at the broker is away for so long; gRPC goes on.
  void leave_broker(Timestamp now, Duration away);
  void join(Timestamp now, std::string_view reference);    // flushes its queue
  void report(Timestamp now, std::string_view reference);  // an uplink that nobody asked for

  const NetworkCounts& counts() const { return counts_; }
  std::size_t queued() const { return queued_; }

 private:
  struct Item {
    chirpstack::QueueItem item;
    std::optional<device::Request> request;  // nothing: no meter understands it
    MeterLedger::Number copy = 0;
    Timestamp run_by;        // the meter has it by then, or never
    Timestamp answer_until;  // class C
  };
  struct Device {
    std::string eui;
    std::string reference;
    bool is_class_a = false;
    bool is_awake = false;      // the scheduler will look at it
    std::uint32_t session = 0;  // a join begins a new one
    std::uint32_t frames_up = 0;
    std::uint32_t frames_down = 0;
    std::deque<Item> queue;
  };
  struct Radiated {
    std::uint32_t device = 0;
    std::uint32_t session = 0;
    MeterLedger::Number copy = 0;
    std::string id;
    std::optional<device::Request> request;
  };
  struct Uplink {
    std::uint32_t device = 0;
    std::string acks;  // the item whose downlink it acknowledges
    std::string data;
  };

  bool chance(std::uint32_t percent) { return percent != 0 && rng_.chance(percent, 100); }
  Duration some(std::int64_t low_ms, std::int64_t high_ms) {
    return Duration(rng_.between(low_ms, high_ms));
  }
  // Of the radio.
  Duration on_air(std::int64_t low_ms, std::int64_t high_ms) {
    return some(low_ms, high_ms) * options_.radio_percent / 100;
  }
  Timestamp now() const { return agenda_.now(); }
  std::string make_id();
  std::optional<std::uint32_t> find_device(std::string_view dev_eui);

  void reply(const NetworkCall& call, grpc::Status status, std::string text = "",
             std::string message = "");
  void end_without_reply(const NetworkCall& call, CallEnd end);
  void enqueue(const NetworkCall& call);
  void look(const NetworkCall& call);
  void refuse_unknown(const NetworkCall& call);
  void get_device(const NetworkCall& call);
  Item make_item(std::uint32_t device, chirpstack::QueueItem item, std::uint64_t tag);
  void take(std::uint32_t device, chirpstack::QueueItem item, std::uint64_t tag);
  void put(std::uint32_t device, Item item);
  void from_broker(std::uint32_t device, Item item);
  void hand_over();
  void flush(Device& device, bool spares_pending);
  bool is_full(const Device& device) const;

  void wake(std::uint32_t device);
  void tick(std::uint32_t device);
  void send_next(std::uint32_t device);
  bool is_sendable(std::uint32_t device);
  void radiate(std::uint32_t device);
  void reach(const Radiated& radiated);
  void send_up(Uplink uplink, Duration after);
  void hear(const Uplink& uplink);
  void drop_pending(std::uint32_t device, Duration tell_after);
  void do_join(std::uint32_t device);

  chirpstack::Event event_of(const Device& device, chirpstack::EventKind kind) const;
  void tell(const chirpstack::Event& event, Duration after);
  void tell_log(const Device& device, std::string_view code, std::string_view item);
  void post(const chirpstack::Event& event, Duration after);

  NetworkServerOptions options_;
  Meters& meters_;
  Rng rng_;
  Agenda agenda_;
  std::deque<Device> devices_;
  std::unordered_map<std::string, std::uint32_t> by_eui_;
  std::unordered_set<std::string> unknown_;
  Timestamp away_until_;  // its session at the broker; unset: it is there
  std::vector<std::pair<std::uint32_t, Item>> held_;  // by the broker, in order, with the device
  std::vector<NetworkHappening> happened_;
  NetworkCounts counts_;
  std::size_t queued_ = 0;
};

}  // namespace postrider::sim
