// Stamps and tickets: what a recipient wants of us, and what we want of senders.
#include "postrider/profiles/lxmf/station.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/profiles/lxmf/work.h"
#include "postrider/protocols/lxmf/app_data.h"

namespace postrider::lxmf {
namespace {

constexpr Duration kCostKept = 45 * 24h;  // an older announce says nothing of it any more

}  // namespace

std::uint32_t LxmfStation::cost_for(const Attempt& attempt, const Call& call) const {
  if (attempt.wants) return *attempt.wants;
  const auto peer =
      peers_.find(attempt.method == kPropagated ? attempt.to : attempt.recipient);
  if (peer == peers_.end() || !peer->second.heard.is_set() ||
      call.wall - peer->second.heard > kCostKept)
    return 0;
  return decode_delivery_data(peer->second.app_data).stamp_cost.value_or(0);
}

// Puts the stamp into the message, by a ticket of the recipient or by work that was done. A cost:
// that much work is missing.
std::optional<std::uint32_t> LxmfStation::add_stamp(Attempt& attempt, const Call& call) const {
  const std::uint32_t cost = cost_for(attempt, call);
  if (cost == 0) return std::nullopt;
  const auto received = unpack(attempt.packed);
  if (!received) return std::nullopt;
  std::string stamp;
  const auto ticket =
      tickets_.find(ticket_key(received->message.source, received->message.destination));
  if (ticket != tickets_.end() && is_usable(ticket->second, call.wall)) {
    stamp = reticulum::view(stamp_by_ticket(ticket->second.ticket, received->id));
  } else if (!attempt.stamp.empty() && attempt.stamped >= cost) {
    stamp = attempt.stamp;
  } else {
    return cost;
  }
  if (auto stamped = with_stamp(attempt.packed, stamp)) attempt.packed = std::move(*stamped);
  return std::nullopt;
}

// Nothing: it is worked at, and has to be measured.
std::optional<StampReading> LxmfStation::judge_stamp(const ReceivedMessage& received, const Own& to,
                                                     const Call& call) const {
  StampReading out;
  if (to.setup.stamp_cost == 0) return out;
  if (!received.stamp) {
    out.verdict = StampVerdict::kMissing;
    return out;
  }
  if (is_stamp_by_own_ticket(*received.stamp, to.setup.identity, received.message.source,
                             received.id, call.wall)) {
    out.verdict = StampVerdict::kByTicket;
    return out;
  }
  if (received.stamp->size() == sizeof(Stamp)) return std::nullopt;
  out.verdict = StampVerdict::kTooWeak;
  return out;
}

// Some milliseconds of work, which the loop has no time for.
void LxmfStation::measure(Arrival arrival, const ReceivedMessage& received,
                          std::string_view packed, Call& call) {
  const Token token = next_token();
  const Blob input = Blob::copy_of(
      encode_measure(reticulum::view(received.id), kMessageRounds, *received.stamp));
  WireRequest request;
  request.verb = kWorkVerb;
  request.target = kMeasureWork;
  request.owner = input;
  request.body = input.view();
  measured_[token.value()] = {std::move(arrival), std::string(packed)};
  call.wanted.emplace_back(station::Exchange{token, std::move(request)});
}

void LxmfStation::exchanged(const station::Exchanged& exchanged, Call& call) {
  auto found = measured_.extract(exchanged.token.value());
  if (found.empty()) return;
  Measured& measured = found.mapped();
  const auto value = exchanged.reply.end == WireEnd::kAnswered
                         ? measured_value(exchanged.reply.body)
                         : std::nullopt;
  if (!value) {  // too much is being measured: its sender comes again
    ++counts_.refused;
    return drop(measured.arrival, true, call);
  }
  if (measured.arrival.is_upload) return upload_measured(measured, *value, call);
  StampReading& stamp = measured.arrival.form.stamp;
  stamp.value = static_cast<std::uint8_t>(*value);
  stamp.verdict = *value >= own_[measured.arrival.own].setup.stamp_cost ? StampVerdict::kByWork
                                                                         : StampVerdict::kTooWeak;
  take_stamped(std::move(measured.arrival), measured.packed, call);
}

// What lacks its stamp where one is enforced is not proven: its sender must not believe that it
// was delivered.
void LxmfStation::take_stamped(Arrival arrival, std::string_view packed, Call& call) {
  const IdentitySetup& to = own_[arrival.own].setup;
  if (!is_enough(arrival.form.stamp.verdict)) {
    ++counts_.unstamped;
    if (to.enforces_stamps) return leave_unproven(arrival, call);
  }
  Arrived event = this->arrival(kArrivedMessage, encode_inbound(arrival.form, packed));
  event.settings.emplace_back(kInboxSetting, to.inbox);
  const Token token = next_token();
  arrivals_[token.value()] = std::move(arrival);
  call.wanted.emplace_back(station::Post{token, std::move(event)});
}

void LxmfStation::leave_unproven(const Arrival& arrival, Call& call) {
  ++counts_.refused;
  if (arrival.by == Arrival::By::kSync) return drop(arrival, false, call);
  const auto talk = talks_.find(arrival.link);
  if (arrival.by != Arrival::By::kResource || talk == talks_.end()) return;
  reticulum::LinkOutput out;
  talk->second.conversation->refuse_resource(arrival.digest, call.boot, call.random, out);
  leave(arrival.link, out, call);
}

}  // namespace postrider::lxmf
