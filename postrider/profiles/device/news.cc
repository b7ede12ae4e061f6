#include "postrider/profiles/device/news.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "postrider/base/codec.h"
#include "postrider/base/durations.h"
#include "postrider/base/planted.h"
#include "postrider/profiles/device/events.h"
#include "postrider/profiles/device/response.h"
#include "postrider/profiles/device/rules.h"
#include "postrider/profiles/device/settings.h"
#include "postrider/profiles/device/table.h"
#include "postrider/profiles/device/wire.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/protocols/meter/frame.h"

namespace postrider::device {
namespace {

using chirpstack::Event;
using chirpstack::EventKind;

// An event as it is handed on to `notice`: what decides, and no more.
enum class News : std::uint8_t { kTransmitted, kAcked, kNacked, kDiscarded, kJoined, kUplink };
struct Detail {
  News news = News::kTransmitted;
  std::string device;  // its address
  std::string item;
  std::string deduplication;
  std::string data;
};

std::string encode_detail(const Detail& detail) {
  std::string out;
  Writer(out)
      .u8(static_cast<std::uint8_t>(detail.news))
      .text(detail.device)
      .text(detail.item)
      .text(detail.deduplication)
      .text(detail.data);
  return out;
}

std::optional<Detail> decode_detail(std::string_view bytes) {
  Reader reader(bytes);
  Detail detail;
  const std::uint8_t news = reader.u8();
  if (news > static_cast<std::uint8_t>(News::kUplink)) return std::nullopt;
  detail.news = static_cast<News>(news);
  detail.device = reader.text();
  detail.item = reader.text();
  detail.deduplication = reader.text();
  detail.data = reader.text();
  if (!reader.at_end()) return std::nullopt;
  return detail;
}

ExternalName pair_name(std::string_view device, std::string_view deduplication) {
  return {"pair", std::string(device).append("/").append(deduplication)};
}

Subject about_item(News news, const Event& event, GateName gate) {
  Subject subject;
  subject.names.push_back({"item", event.queue_item_id});
  subject.witness = nameless_item(event.dev_eui);
  subject.gate = gate;
  subject.alive = news == News::kAcked;
  subject.detail = encode_detail({.news = news,
                                  .device = event.dev_eui,
                                  .item = event.queue_item_id,
                                  .deduplication = event.deduplication_id,
                                  .data = {}});
  return subject;
}

Subject about_device(News news, const Event& event, GateName gate) {
  Subject subject;
  subject.gate = gate;
  subject.alive = true;
  subject.waits = false;
  subject.detail = encode_detail({.news = news,
                                  .device = event.dev_eui,
                                  .item = {},
                                  .deduplication = event.deduplication_id,
                                  .data = event.data});
  return subject;
}

Subject about_uplink(const Event& event, GateName gate, Duration window) {
  Subject subject = about_device(News::kUplink, event, gate);
  if (event.deduplication_id.empty()) return subject;
  subject.names.push_back(pair_name(event.dev_eui, event.deduplication_id));
  subject.window = window;
  subject.waits = true;
  const std::string kind = answer_kind(event.data);
  if (kind.empty()) return subject;
  subject.witness = owed_answer(event.dev_eui, kind);
  subject.idle = subject.witness;  // the last one that owed such an answer may still wait
  return subject;
}

void receive_uplink(const Event& event, const Unsolicited& from, GateName gate, Received& out) {
  const bool too_long = event.data.size() > kFrameBytesMax;
  const auto read = read_uplink(event.data, from.meter, nullptr);
  if (read && read->kind == UplinkKind::kReport) {
    Subject subject = about_device(News::kUplink, event, gate);
    subject.detail.clear();
    out.subjects.push_back(std::move(subject));
    if (!from.events.empty()) out.submits.push_back(report_event(from, event, read->report));
    return;
  }
  Event kept = event;
  if (too_long) kept.data.clear();  // no frame of a meter: an uplink without a response
  out.subjects.push_back(about_uplink(kept, gate, from.pair_window));
}

Reading silent() {
  Reading out;
  out.silent = true;
  return out;
}

Reading declined() {
  Reading out;
  out.declines = true;
  return out;
}

bool is_current(const Facts& facts, const Notice& notice) {
  return notice.attempt == 0 || notice.attempt == facts.state.attempts;
}

// Whether something from before, of which the notice has the time, may still be there when the
// server keeps it for so long.
bool may_be_there(const Facts& facts, const Notice& notice, Duration kept) {
  const bool expires = setting(facts.destination, "server_expiry", "true") == "true";
  const Timestamp before = notice.witnessed();
  return before.is_set() && (!expires || notice.at - before < kept + kExpiryMargin);
}

// An event that names an item which nobody knows, of a device that has an attempt of unknown name:
// it is that one, if there can be no other. That one may have come by another queue, or before the
// setting was changed, so only the longest life that can be set is long enough. What has expired
// leaves the server's queue, and is told, only when the device is heard again, however late.
bool may_adopt(const Facts& facts, const Notice& notice, News news) {
  const bool unnamed = facts.state.state == kSending || facts.state.state == kCheckSend;
  const bool other = news == News::kDiscarded ? notice.witnessed().is_set()
                                              : may_be_there(facts, notice, kExpiresAfterMax);
  return unnamed && wire_of(facts.destination) == Wire::kChirpstack && !other;
}

Reading raise(On signal) {
  Reading out;
  out.signal = signal;
  out.outcome.certainty = Certainty::kAnswered;
  return out;
}

Happening happening_of(News news) {
  switch (news) {
    case News::kTransmitted: return Happening::kTransmitted;
    case News::kAcked: return Happening::kAcked;
    case News::kNacked: return Happening::kNacked;
    case News::kDiscarded: return Happening::kDiscarded;
    case News::kJoined: return Happening::kJoined;
    case News::kUplink: break;
  }
  return Happening::kUplink;
}

Reading failed_at(const Facts& facts, const Notice& notice, const Detail& detail, Notes notes) {
  const bool nack = detail.news == News::kNacked;
  const Proof proof = nack ? Proof::kNack : Proof::kDiscarded;
  if (!is_current(facts, notice)) {
    // About an attempt before this one: it closes that, and says nothing about ours.
    Reading out = silent();
    notes.close(notice.attempt, proof);
    out.notes = encode_notes(notes);
    return out;
  }
  notes.alone =
      nack && !notice.by_gate && !may_be_there(facts, notice, expires_after(facts.destination));
  return closed(facts, std::move(notes), proof,
                nack ? "the device did not acknowledge it" : "the server discarded it");
}

// The server gave the attempt up before the device answered, and nothing was sent since. With one
// attempt made there is no question whose answer it is, unless another message was owed one alike.
bool may_answer_late(const Facts& facts, const Notes& notes) {
  const bool waits = facts.state.state == kToRetry || facts.state.state == kQueued;
  return waits && facts.state.attempts == 1 && notes.proof(1) == Proof::kNack && notes.alone;
}

Reading item_news(const Facts& facts, const Notice& notice, const Detail& detail) {
  Notes notes = decode_notes(facts.notes);
  const bool adopts = notice.by_gate;
  if (adopts && !may_adopt(facts, notice, detail.news)) {
    // The item of another message, as far as is known; so absence of ours proves less from now on.
    // The event waits for its name: it may be ours while ours has none, and another message of the
    // device may have a call open.
    if (facts.state.attempts == 0) return declined();
    notes.turn_to(facts.state.attempts);
    Reading out = declined();
    if (notes.item.empty() || notes.stranger || notes.item == detail.item) return out;
    notes.stranger = true;
    out.notes = encode_notes(notes);
    return out;
  }
  if (adopts || is_current(facts, notice)) {
    notes.turn_to(facts.state.attempts);
    if (!notes.seen) notes.absent_since = Timestamp();  // it came to the server since
    notes.seen = true;
  }
  notes.add(happening_of(detail.news), facts.wall);
  Reading out;
  switch (detail.news) {
    case News::kTransmitted:
      out = raise(On::kProgressed);
      out.notes = encode_notes(notes);
      break;
    case News::kAcked:
      out = raise(On::kAcked);
      out.notes = encode_notes(notes);
      if (!detail.deduplication.empty())
        out.names.push_back(pair_name(detail.device, detail.deduplication));
      break;
    case News::kNacked:
    case News::kDiscarded:
      if (planted(Bug::kNackLostBeforeTxAck) && facts.state.state == kAtServer) return silent();
      if (adopts) notes.item = detail.item;
      out = failed_at(facts, notice, detail, notes);
      break;
    case News::kJoined:
    case News::kUplink: return declined();
  }
  if (adopts) {
    out.then = out.signal;
    out.signal = On::kAccepted;
    out.adopted = true;
    if (out.notes) notes = decode_notes(*out.notes);
    adopt_item(out, notes, detail.item);
  }
  return out;
}

Reading uplink_news(const Facts& facts, const Notice& notice, const Detail& detail) {
  const Request& request = command_of(facts).request;
  const auto read = read_uplink(detail.data, request.meter, &request);
  const bool answers = read && read->kind == UplinkKind::kAnswer;
  Notes notes = decode_notes(facts.notes);
  if (notice.by_gate) {
    const bool waiting = facts.state.state == kOnAir || facts.state.state == kCheckAir ||
                         facts.state.state == kHalfAck;
    const Duration kept = expires_after(facts.destination);
    const bool owed = may_be_there(facts, notice, kept);
    const bool again = notes.earlier_ran_perhaps(facts.state.attempts) &&
                       notice.at - facts.state.first_attempt < kept + kExpiryMargin;
    if (!waiting || !answers || owed || again) return declined();
  }
  if (notice.idle && (!answers || !may_answer_late(facts, notes))) return declined();
  if (!read) return silent();  // no frame of this meter, or an acknowledgement without data
  if (!answers) {
    Reading out = silent();
    out.mismatched = true;
    notes.add(Happening::kMismatched, facts.wall);
    out.notes = encode_notes(notes);
    return out;
  }
  notes.add(Happening::kUplink, facts.wall);
  return answered_with(std::move(notes), request, read->response, hex_of(detail.data));
}

// Who was not sent yet is not concerned.
Reading join_news(const Facts& facts) {
  Reading out = raise(On::kPeerSeen);
  if (facts.state.attempts == 0) return out;
  Notes notes = decode_notes(facts.notes);
  notes.add(Happening::kJoined, facts.wall);
  out.notes = encode_notes(notes);
  return out;
}

}  // namespace

ExternalName owed_answer(std::string_view dev_eui, std::string_view kind) {
  return {"owed", std::string(dev_eui).append("/").append(kind)};
}

ExternalName nameless_item(std::string_view dev_eui) { return {"nameless", std::string(dev_eui)}; }

Received receive(const Inbound& inbound) {
  const EventKind kind = chirpstack::parse_event_kind(inbound.source.kind);
  const bool protobuf = inbound.source.format == kProtobuf;
  const auto event = protobuf ? chirpstack::decode_event_protobuf(kind, inbound.bytes)
                              : chirpstack::decode_event_json(kind, inbound.bytes);
  if (!event) return {};
  const auto meter = chirpstack::reference_of(event->dev_eui);
  if (!meter) return {};
  const std::string* const events = find_text(inbound.settings, "events");
  const std::string* const window = find_text(inbound.settings, "pair_window");
  const Unsolicited from{.plugin = inbound.source.origin,
                         .events = events == nullptr ? std::string() : *events,
                         .meter = *meter,
                         .wall = inbound.wall,
                         .pair_window = window == nullptr
                                            ? kPairWindow
                                            : parse_duration(*window).value_or(kPairWindow)};
  const GateName gate = device_gate(*meter);
  Received out;
  switch (kind) {
    case EventKind::kUp: receive_uplink(*event, from, gate, out); break;
    case EventKind::kAck:
      out.subjects.push_back(
          about_item(event->acknowledged ? News::kAcked : News::kNacked, *event, gate));
      break;
    case EventKind::kTxAck:
      if (planted(Bug::kTxAckAsTextOnly) && event->downlink_id != 0) break;
      out.subjects.push_back(about_item(News::kTransmitted, *event, gate));
      break;
    case EventKind::kLog:
      if (chirpstack::says_discarded(*event))
        out.subjects.push_back(about_item(News::kDiscarded, *event, gate));
      break;
    case EventKind::kJoin:
      out.subjects.push_back(about_device(News::kJoined, *event, gate));
      if (!from.events.empty()) out.submits.push_back(join_event(from, *event));
      break;
    case EventKind::kStatus:
    case EventKind::kOther: break;
  }
  // An event about an item must name it.
  std::erase_if(out.subjects, [](const Subject& subject) {
    return !subject.names.empty() && subject.names.front().name.empty();
  });
  return out;
}

Reading notice(const Facts& facts, const Notice& notice) {
  if (!is_push(facts) || is_mint(facts)) return declined();
  const auto detail = decode_detail(notice.detail);
  if (!detail) return declined();
  switch (detail->news) {
    case News::kJoined: return join_news(facts);
    case News::kUplink: return uplink_news(facts, notice, *detail);
    case News::kTransmitted:
    case News::kAcked:
    case News::kNacked:
    case News::kDiscarded: return item_news(facts, notice, *detail);
  }
  return declined();
}

}  // namespace postrider::device
