#include "postrider/protocols/reticulum/conversation.h"

#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

constexpr std::size_t kReceivedMax = 16;

}  // namespace

bool ResourceBudget::take(std::uint64_t bytes) {
  if (count_ >= count_max_ || bytes > bytes_max_ - bytes_) return false;
  ++count_;
  bytes_ += bytes;
  return true;
}

void ResourceBudget::give_back(std::uint64_t bytes) {
  --count_;
  bytes_ -= bytes;
}

std::unique_ptr<Conversation> Conversation::open(const Link::Target& target,
                                                 const ConversationSettings& settings,
                                                 ResourceBudget& budget, Timestamp now,
                                                 Random& random, LinkOutput& out) {
  Link link = Link::open(target, settings.link, now, random, out.packets);
  return std::unique_ptr<Conversation>(new Conversation(std::move(link), settings, budget));
}

Result<std::unique_ptr<Conversation>> Conversation::answer(const Arrival& request,
                                                           const Identity& owner,
                                                           const ConversationSettings& settings,
                                                           ResourceBudget& budget, Timestamp now,
                                                           Random& random, LinkOutput& out) {
  POSTRIDER_TRY(link, Link::answer(request, owner, settings.link, now, random, out.packets));
  return std::unique_ptr<Conversation>(new Conversation(std::move(link), settings, budget));
}

Conversation::~Conversation() {
  while (!incoming_.empty()) drop_receiving(incoming_.size() - 1);
}

OutgoingResource::Seal Conversation::seal(Random& random) const {
  return [this, &random](std::string_view plain) { return link_.seal(plain, random); };
}

IncomingResource::Open Conversation::open_bytes() const {
  return [this](std::string_view sealed) { return link_.open_sealed_bytes(sealed); };
}

// ---- what comes in

void Conversation::take(const Arrival& arrival, Timestamp now, Random& random, LinkOutput& out) {
  on_reading(link_.take(arrival, now, random, out.packets), &arrival, now, random, out);
}

void Conversation::on_reading(LinkReading reading, const Arrival* arrival, Timestamp now,
                              Random& random, LinkOutput& out) {
  using What = LinkReading::What;
  switch (reading.what) {
    case What::kNothing: return;
    case What::kActive: out.events.emplace_back(LinkUp{}); return;
    case What::kClosed: went_down(out); return;
    case What::kIdentified: out.events.emplace_back(PeerIdentified{reading.keys}); return;
    case What::kPlain:
      on_plain(reading.context, std::move(reading.plain), *arrival, now, random, out);
      return;
    case What::kClear: on_clear(reading.context, reading.plain, now, random, out); return;
    case What::kProof: on_proof(reading.plain, now, out); return;
  }
}

void Conversation::on_plain(Context context, std::string plain, const Arrival& arrival,
                            Timestamp now, Random& random, LinkOutput& out) {
  std::vector<ResourceSend> sends;
  if (context == Context::kNone) {
    const Digest packet = packet_hash(arrival.raw);
    note_arrival(truncated(packet), now);
    out.events.emplace_back(PacketArrived{std::move(plain), packet});
  } else if (context == Context::kResourceAdvertisement) {
    on_advertisement(plain, now, random, out);
  } else if (context == Context::kResourceRequest) {
    if (!outgoing_.empty()) outgoing_.front().resource.on_request(plain, now, sends);
  } else if (context == Context::kResourceHashmapUpdate) {
    on_hashmap(plain, now, random, out);
  } else if (context == Context::kResourceRefusedByReceiver) {
    if (!outgoing_.empty()) outgoing_.front().resource.on_refusal(plain);
  } else if (context == Context::kResourceCancelledBySender) {
    for (std::size_t at = incoming_.size(); at-- > 0;) {
      if (incoming_[at].resource.on_cancel(plain)) after_receiving(at, now, out);
    }
  } else if (context == Context::kRequest) {
    on_request(plain, truncated(packet_hash(arrival.raw)), now, out);
  } else if (context == Context::kResponse) {
    on_response(plain, out);
  } else {
    ++counters_.damaged_payloads;
  }
  send_all(sends, now, random, out);
  run_resources(now, random, out);
}

void Conversation::on_clear(Context context, std::string_view data, Timestamp now, Random& random,
                            LinkOutput& out) {
  if (context == Context::kResource) {
    on_part(data, now, random, out);
  } else if (context == Context::kResourceProof) {
    on_resource_proof(data, now, random, out);
  } else {  // a request for a proof that the peer did not hear
    for (const Received& received : received_) {
      if (!received.is_proven) continue;
      std::string raw = link_.prove_resource(received.resource, received.proof);
      if (view(packet_hash(raw)) == data) out.packets.push_back(std::move(raw));
    }
  }
}

void Conversation::on_proof(std::string_view data, Timestamp now, LinkOutput& out) {
  const auto packet = exactly<32>(data.substr(0, sizeof(Digest)));
  const auto found = packet ? receipts_.find(*packet) : receipts_.end();
  if (found == receipts_.end()) {
    ++counters_.unknown_proofs;
    return;
  }
  if (!is_signed_by(link_.peer_signing_key(), view(*packet), data.substr(sizeof(Digest)))) {
    ++counters_.forged_proofs;
    return;
  }
  link_.peer_lives(now);
  out.events.emplace_back(SendEnded{found->second.id, SendEnd::kProven});
  receipts_.erase(found);
}

void Conversation::on_resource_proof(std::string_view data, Timestamp now, Random& random,
                                     LinkOutput& out) {
  std::vector<ResourceSend> sends;
  if (outgoing_.empty() ||
      !outgoing_.front().resource.on_proof(data, now, seal(random), random, sends)) {
    ++counters_.unknown_proofs;
    return;
  }
  link_.peer_lives(now);
  send_all(sends, now, random, out);
  run_resources(now, random, out);
}

void Conversation::on_part(std::string_view part, Timestamp now, Random& random, LinkOutput& out) {
  std::vector<ResourceSend> sends;
  for (std::size_t at = 0; at < incoming_.size(); ++at) {
    if (!incoming_[at].resource.on_part(part, now, open_bytes(), sends)) continue;
    link_.peer_lives(now);
    send_all(sends, now, random, out);
    after_receiving(at, now, out);
    return;
  }
  ++counters_.unasked_parts;
}

void Conversation::on_hashmap(std::string_view plain, Timestamp now, Random& random,
                              LinkOutput& out) {
  std::vector<ResourceSend> sends;
  for (std::size_t at = 0; at < incoming_.size(); ++at) {
    if (!incoming_[at].resource.on_hashmap(plain, now, sends)) continue;
    send_all(sends, now, random, out);
    after_receiving(at, now, out);
    return;
  }
  ++counters_.damaged_payloads;
}

bool Conversation::is_wanted(const Advertisement& advertisement) const {
  if (!advertisement.encrypted || advertisement.has_metadata || advertisement.segment != 1)
    return false;
  if (!is_consistent(advertisement, part_bytes(link_.mtu()))) return false;
  if (!advertisement.is_response)
    return body_bytes_max(advertisement) <= settings_.resource_bytes_max;
  const auto is_answer = [&](const Asked& asked) {
    return advertisement.request &&
           std::find(asked.ids.begin(), asked.ids.end(), *advertisement.request) != asked.ids.end();
  };
  return std::any_of(asked_.begin(), asked_.end(), is_answer) &&
         body_bytes_max(advertisement) <= settings_.response_bytes_max;
}

void Conversation::on_advertisement(std::string_view plain, Timestamp now, Random& random,
                                    LinkOutput& out) {
  const auto advertisement = decode_advertisement(plain);
  if (!advertisement) {
    ++counters_.damaged_payloads;
    return;
  }
  for (const Received& received : received_) {
    if (received.resource != advertisement->resource) continue;
    if (received.is_proven)
      out.packets.push_back(link_.prove_resource(received.resource, received.proof));
    return;
  }
  std::vector<ResourceSend> sends;
  for (std::size_t at = 0; at < incoming_.size(); ++at) {
    if (incoming_[at].resource.original() != advertisement->original) continue;
    if (is_consistent(*advertisement, part_bytes(link_.mtu())))
      incoming_[at].resource.on_advertisement(*advertisement, now, sends);
    send_all(sends, now, random, out);
    after_receiving(at, now, out);
    return;
  }
  const std::uint64_t bytes = body_bytes_max(*advertisement);
  if (!is_wanted(*advertisement) || !budget_.take(bytes)) {
    refuse(advertisement->resource, now, random, out);
    return;
  }
  const bool is_fast = link_.rtt() < settings_.fast_rtt;
  const Timestamp at = is_fast ? now + settings_.answer_floor : now;
  auto resource =
      IncomingResource::accept(*advertisement, part_bytes(link_.mtu()), link_.rtt(), now, at);
  if (!resource) {
    budget_.give_back(bytes);
    refuse(advertisement->resource, now, random, out);
    return;
  }
  if (advertisement->request) {
    if (Asked* const asked = find_asked(*advertisement->request)) asked->is_answering = true;
  }
  incoming_.push_back({std::move(*resource), bytes});
  incoming_.back().resource.on_time(now, sends);
  send_all(sends, now, random, out);
}

void Conversation::refuse(const Digest& resource, Timestamp now, Random& random, LinkOutput& out) {
  ++counters_.refused_resources;
  out.packets.push_back(
      link_.send(Context::kResourceRefusedByReceiver, view(resource), now, random));
}

void Conversation::on_request(std::string_view plain, const Address& request, Timestamp now,
                              LinkOutput& out) {
  const auto read = decode_request(plain);
  if (!read) {
    ++counters_.damaged_payloads;
    return;
  }
  note_arrival(request, now);
  out.events.emplace_back(RequestArrived{request, read->path, read->time, std::string(read->data)});
}

void Conversation::on_response(std::string_view plain, LinkOutput& out) {
  const auto response = decode_response(plain);
  Asked* const asked = response ? find_asked(response->request) : nullptr;
  if (asked == nullptr) {
    ++counters_.damaged_payloads;
    return;
  }
  out.events.emplace_back(ResponseArrived{asked->id, std::string(response->value)});
  asked_.erase(asked_.begin() + (asked - asked_.data()));
}

Conversation::Asked* Conversation::find_asked(const Address& request) {
  for (Asked& asked : asked_) {
    if (std::find(asked.ids.begin(), asked.ids.end(), request) != asked.ids.end()) return &asked;
  }
  return nullptr;
}

// ---- resources

void Conversation::after_receiving(std::size_t at, Timestamp now, LinkOutput& out) {
  IncomingResource& resource = incoming_[at].resource;
  switch (resource.state()) {
    case IncomingResource::State::kReceiving: return;
    case IncomingResource::State::kBetween:
      if (!received_.empty() && received_.back().resource == resource.resource()) return;
      keep_received(resource, now);
      prove_resource(resource.resource(), now, out);
      return;
    case IncomingResource::State::kComplete: deliver(resource, now, out); break;
    case IncomingResource::State::kFailed: fail_response(resource.advertised(), now); break;
  }
  drop_receiving(at);
}

void Conversation::keep_received(const IncomingResource& resource, Timestamp now) {
  if (received_.size() == kReceivedMax) received_.pop_front();
  received_.push_back({.resource = resource.resource(), .proof = resource.proof()});
  note_arrival(truncated(resource.resource()), now);
}

void Conversation::deliver(IncomingResource& resource, Timestamp now, LinkOutput& out) {
  const Advertisement& advertised = resource.advertised();
  keep_received(resource, now);
  std::string body = resource.take_body();
  if (advertised.is_response) {
    on_response(body, out);
  } else if (advertised.is_request) {
    on_request(body, advertised.request.value_or(short_hash({body})), now, out);
  } else {
    out.events.emplace_back(ResourceArrived{std::move(body), resource.resource()});
    return;
  }
  // What is asked and answered is not kept: nothing has to be durable first.
  prove_resource(resource.resource(), now, out);
}

// The response did not come through; the request is asked again or fails in its own time.
void Conversation::fail_response(const Advertisement& advertisement, Timestamp now) {
  Asked* const asked = advertisement.request ? find_asked(*advertisement.request) : nullptr;
  if (asked == nullptr) return;
  asked->is_answering = false;
  asked->deadline = now;
}

void Conversation::drop_receiving(std::size_t at) {
  budget_.give_back(incoming_[at].budgeted);
  if (at + 1 != incoming_.size()) std::swap(incoming_[at], incoming_.back());
  incoming_.pop_back();
}

void Conversation::send_all(std::vector<ResourceSend>& sends, Timestamp now, Random& random,
                            LinkOutput& out) {
  if (!link_.is_usable()) return;
  for (const ResourceSend& send : sends) {
    const bool is_clear =
        send.context == Context::kResource || send.context == Context::kCacheRequest;
    out.packets.push_back(is_clear ? link_.send_clear(send.context, send.data, now)
                                   : link_.send(send.context, send.data, now, random));
  }
  sends.clear();
}

// Ends what has ended and starts what is next, in the same call.
void Conversation::run_resources(Timestamp now, Random& random, LinkOutput& out) {
  std::vector<ResourceSend> sends;
  while (!outgoing_.empty() && link_.is_usable()) {
    Sending& first = outgoing_.front();
    if (!first.has_started) {
      first.has_started = true;
      first.resource.start(now, seal(random), random, sends);
      send_all(sends, now, random, out);
    }
    if (!first.resource.has_ended()) return;
    end_sending(first, now, out);
    outgoing_.pop_front();
  }
}

void Conversation::end_sending(const Sending& sending, Timestamp now, LinkOutput& out) {
  const auto state = sending.resource.state();
  const bool is_done = state == OutgoingResource::State::kDone;
  const SendEnd end = is_done                                      ? SendEnd::kProven
                      : state == OutgoingResource::State::kRefused ? SendEnd::kRefused
                                                                   : SendEnd::kFailed;
  if (sending.is_request) {
    const auto asked = std::find_if(asked_.begin(), asked_.end(),
                                    [&](const Asked& one) { return one.id == sending.id; });
    if (asked == asked_.end()) return;
    asked->deadline = now + request_patience();
    if (is_done) return;
    asked_.erase(asked);
  }
  if (sending.id.is_set()) out.events.emplace_back(SendEnded{sending.id, end});
}

// ---- what goes out

bool Conversation::send_packet(SendId id, std::string_view plain, Timestamp now, Random& random,
                               LinkOutput& out) {
  if (!link_.is_usable() || plain.size() > link_.payload_max() ||
      receipts_.size() >= settings_.packets_in_flight_max)
    return false;
  std::string raw = link_.send(Context::kNone, plain, now, random);
  const Duration patience = std::max<Duration>(6 * link_.rtt(), 2s);
  receipts_.emplace(packet_hash(raw), Receipt{id, now + patience});
  out.packets.push_back(std::move(raw));
  return true;
}

bool Conversation::send_word(std::string_view plain, Timestamp now, Random& random,
                             LinkOutput& out) {
  if (!link_.is_usable() || plain.size() > link_.payload_max()) return false;
  out.packets.push_back(link_.send(Context::kNone, plain, now, random));
  return true;
}

bool Conversation::enqueue(Sending sending, Timestamp now, Random& random, LinkOutput& out) {
  if (!link_.is_usable() || outgoing_.size() >= settings_.resources_queued_max) return false;
  outgoing_.push_back(std::move(sending));
  run_resources(now, random, out);
  return true;
}

bool Conversation::send_resource(SendId id, ResourceBody body, Timestamp now, Random& random,
                                 LinkOutput& out) {
  if (body.bytes.empty()) return false;
  return enqueue(
      {.id = id,
       .resource = OutgoingResource(std::move(body), part_bytes(link_.mtu()), link_.rtt())},
      now, random, out);
}

bool Conversation::send_request(SendId id, const Request& request, Timestamp now, Random& random,
                                LinkOutput& out) {
  if (!link_.is_usable() || asked_.size() >= settings_.requests_in_flight_max) return false;
  asked_.push_back({.id = id, .packed = encode_request(request)});
  if (ask(asked_.back(), now, random, out)) return true;
  asked_.pop_back();
  return false;
}

bool Conversation::ask(Asked& asked, Timestamp now, Random& random, LinkOutput& out) {
  asked.deadline = now + request_patience();
  if (asked.packed.size() <= link_.payload_max()) {
    std::string raw = link_.send(Context::kRequest, asked.packed, now, random);
    asked.ids.push_back(truncated(packet_hash(raw)));
    out.packets.push_back(std::move(raw));
    return true;
  }
  asked.deadline = Timestamp::never();  // begins when the request has arrived
  asked.ids.push_back(short_hash({asked.packed}));
  ResourceBody body{.bytes = asked.packed, .request = asked.ids.back(), .is_request = true};
  return enqueue(
      {.id = asked.id,
       .resource = OutgoingResource(std::move(body), part_bytes(link_.mtu()), link_.rtt()),
       .is_request = true},
      now, random, out);
}

bool Conversation::respond(const Response& response, Timestamp now, Random& random,
                           LinkOutput& out) {
  if (!link_.is_usable()) return false;
  std::string packed = encode_response(response);
  if (packed.size() <= link_.payload_max()) {
    answer_later(link_.send(Context::kResponse, packed, now, random),
                 arrival_of(response.request, now), now, out);
    return true;
  }
  ResourceBody body{.bytes = std::move(packed), .request = response.request, .is_response = true};
  return send_resource(SendId(), std::move(body), now, random, out);
}

bool Conversation::identify(const Identity& identity, Timestamp now, Random& random,
                            LinkOutput& out) {
  if (!link_.is_usable() || !link_.is_opener()) return false;
  out.packets.push_back(link_.identify(identity, now, random));
  return true;
}

void Conversation::cancel(SendId id, Timestamp now, Random& random, LinkOutput& out) {
  for (auto at = receipts_.begin(); at != receipts_.end(); ++at) {
    if (at->second.id != id) continue;
    receipts_.erase(at);
    out.events.emplace_back(SendEnded{id, SendEnd::kFailed});
    return;
  }
  const auto found = std::find_if(outgoing_.begin(), outgoing_.end(),
                                  [&](const Sending& sending) { return sending.id == id; });
  if (found == outgoing_.end()) return;
  std::vector<ResourceSend> sends;
  if (found->has_started) found->resource.cancel(sends);
  send_all(sends, now, random, out);
  end_sending(*found, now, out);
  outgoing_.erase(found);
  run_resources(now, random, out);
}

void Conversation::prove_packet(const Digest& packet, Timestamp now, LinkOutput& out) {
  if (!link_.is_usable()) return;
  answer_later(link_.prove(packet), arrival_of(truncated(packet), now), now, out);
}

void Conversation::prove_resource(const Digest& resource, Timestamp now, LinkOutput& out) {
  if (!link_.is_usable()) return;
  for (Received& received : received_) {
    if (received.resource != resource) continue;
    received.is_proven = true;
    answer_later(link_.prove_resource(resource, received.proof),
                 arrival_of(truncated(resource), now), now, out);
  }
}

void Conversation::refuse_resource(const Digest& resource, Timestamp now, Random& random,
                                   LinkOutput& out) {
  if (link_.is_usable()) refuse(resource, now, random, out);
}

void Conversation::close(LinkEnd end, Random& random, LinkOutput& out) {
  link_.close(end, random, out.packets);
  went_down(out);
}

void Conversation::went_down(LinkOutput& out) {
  if (is_down_told_) return;
  is_down_told_ = true;
  fail_all(out);
  out.events.emplace_back(LinkDown{link_.end(), link_.was_active()});
}

void Conversation::fail_all(LinkOutput& out) {
  for (const auto& [packet, receipt] : receipts_)
    out.events.emplace_back(SendEnded{receipt.id, SendEnd::kFailed});
  receipts_.clear();
  for (const Sending& sending : outgoing_) {
    if (!sending.is_request && sending.id.is_set())
      out.events.emplace_back(SendEnded{sending.id, SendEnd::kFailed});
  }
  outgoing_.clear();
  for (const Asked& asked : asked_) out.events.emplace_back(SendEnded{asked.id, SendEnd::kFailed});
  asked_.clear();
  while (!incoming_.empty()) drop_receiving(incoming_.size() - 1);
  later_.clear();
}

std::optional<std::uint32_t> Conversation::progress_permille(SendId id) const {
  for (const Sending& sending : outgoing_) {
    if (sending.id == id) return sending.has_started ? sending.resource.progress_permille() : 0;
  }
  return std::nullopt;
}

}  // namespace postrider::reticulum
