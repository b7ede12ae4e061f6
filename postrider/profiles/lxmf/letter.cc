#include "postrider/profiles/lxmf/letter.h"

#include <utility>

#include "postrider/model/setting_table.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/protocols/lxmf/app_data.h"
#include "postrider/protocols/lxmf/text_form.h"
#include "postrider/protocols/lxmf/ticket.h"
#include "postrider/protocols/reticulum/identity.h"

namespace postrider::lxmf {
namespace {

using reticulum::Identity;

// It lies in one card when it is sealed.
constexpr std::size_t kUploadBytesMax = 480 * 1024;

Result<Carriage> method_of(std::string_view word) {
  if (word == "opportunistic" || word == "OPPORTUNISTIC") return Carriage::kOpportunistic;
  if (word == "direct" || word == "DIRECT") return Carriage::kDirect;
  if (word == "propagated" || word == "PROPAGATED") return Carriage::kPropagated;
  return fail(ErrorCode::kInvalid,
              "attribute 'method' must be opportunistic, direct, propagated or sync");
}

Address delivery_of(const Identity& identity) {
  return reticulum::single_destination(reticulum::name_hash(kDeliveryName), identity.hash());
}

Result<Identity> identity_of(const Typed::OfferView& offer, const std::string& name) {
  const std::string_view bytes = offer.cabinet->secret(name);
  if (bytes.empty())
    return fail(ErrorCode::kInvalid, "there is no secret '" + name + "' for the sender");
  auto identity = Identity::from_file(bytes);
  if (!identity)
    return fail(ErrorCode::kInvalid, "secret '" + name + "' is no identity: it must have 64 bytes");
  return identity;
}

std::uint8_t method_by(Carriage carriage) {
  switch (carriage) {
    case Carriage::kDirect: return kDirect;
    case Carriage::kPropagated: return kPropagated;
    case Carriage::kOpportunistic:
    case Carriage::kPaper: break;
  }
  return kOpportunistic;
}

Result<Admission> admit_sync(const Typed::OfferView& offer, const std::string& from) {
  if (!offer.body.empty() || !offer.parsed->content.empty() || !offer.parsed->title.empty())
    return fail(ErrorCode::kInvalid, "a sync has no content");
  Admission out;
  out.method = kSync;
  out.attributes = encode_texts({{"from", from}, {"method", "SYNC"}});
  return out;
}

// Nothing is accepted that no node could take.
Result<void> propagate(const Typed::OfferView& offer, std::size_t bytes, Admission& out) {
  const std::string& node = offer.prepared->node;
  if (node.empty())
    return fail(ErrorCode::kInvalid,
                "no_propagation_node: the destination has no setting 'propagation_node'");
  if (bytes > kUploadBytesMax)
    return fail(ErrorCode::kInvalid, "size_refused: a node takes no message of " +
                                         std::to_string(bytes) + " bytes");
  const GateName gate = gate_of(node);
  out.gates[0] = {.name = gate, .limits = gate_limits(gate, offer.policy)};
  return {};
}

// A message that was signed before, by a rerun: its bytes stay as they are.
Result<void> check_packed(const Typed::OfferView& offer, const Letter& letter,
                          const Address& recipient, const Identity& identity) {
  auto received = unpack(offer.body);
  if (!received) return fail(ErrorCode::kInvalid, "the body is no message of LXMF");
  const Key signer = reticulum::signing_part(identity.public_keys());
  if (received->message.destination != recipient)
    return fail(ErrorCode::kInvalid, "the message was made for another recipient");
  if (received->message.source != delivery_of(identity) ||
      judge_signature(*received, &signer) != SignatureVerdict::kVerified)
    return fail(ErrorCode::kInvalid, "the message was not signed by its sender");
  if (hex_of(reticulum::view(received->id)) != letter.id)
    return fail(ErrorCode::kInvalid, "attribute 'id' is not the id of the message");
  return {};
}

}  // namespace

Result<std::optional<Letter>> read_letter(std::string_view body, std::string_view attributes) {
  POSTRIDER_TRY(texts, decode_texts(attributes));
  Letter letter;
  letter.content = body;
  letter.fields = "\x80";
  bool has_content = false;
  for (auto& [name, value] : texts) {
    if (name == "id") {
      letter.packed = true;
      letter.id = value;
    } else if (name == "from") {
      letter.from = value;
    } else if (name == "method" && (value == "sync" || value == "SYNC")) {
      letter.syncs = true;
    } else if (name == "method") {
      POSTRIDER_TRY(method, method_of(value));
      letter.method = method;
    } else if (name == "title") {
      letter.title = value;
    } else if (name == "content") {
      has_content = true;
      letter.content = value;
    } else if (name == "fields") {
      POSTRIDER_TRY(fields, fields_of_json(value));
      letter.fields = std::move(fields);
    } else if (name == "stamp_cost") {
      const auto cost = settings::number_of(value, 0, kStampCostMax);
      if (!cost) return fail(ErrorCode::kInvalid, "attribute 'stamp_cost' must be 0 to 254");
      letter.stamp_cost = static_cast<std::uint8_t>(*cost);
    } else if (name == "ticket") {
      const auto encloses = settings::second_of(value, "no", "yes");
      if (!encloses) return fail(ErrorCode::kInvalid, "attribute 'ticket' must be yes or no");
      letter.encloses_ticket = *encloses;
    } else {
      return fail(ErrorCode::kInvalid, "there is no attribute '" + name +
                                           "'; there are title, content, fields, from, method, "
                                           "stamp_cost and ticket");
    }
  }
  if (has_content && !body.empty())
    return fail(ErrorCode::kInvalid, "the content is given twice: as body and as attribute");
  if (letter.packed) letter.content.clear();
  return std::optional<Letter>(std::move(letter));
}

Result<Admission> admit_letter(const Typed::OfferView& offer) {
  const Letter& letter = *offer.parsed;
  const auto recipient = recipient_of(offer.destination.name);
  if (!recipient)
    return fail(ErrorCode::kInvalid,
                "the destination's name must end in the recipient's address: lxmf: and 32 "
                "hexadecimal digits");
  const std::string& from = letter.from.empty() ? offer.prepared->identity : letter.from;
  POSTRIDER_TRY(identity, identity_of(offer, from));
  if (letter.syncs) return admit_sync(offer, from);
  Admission out;
  Carriage method = letter.method.value_or(offer.prepared->method);
  std::string id = letter.id;
  if (letter.packed) {
    const Result<void> good = check_packed(offer, letter, *recipient, identity);
    if (!good) return tl::unexpected<Error>(good.error());
    method = carriage_for(method, offer.body);
  } else {
    LxmfMessage message;
    message.destination = *recipient;
    message.source = delivery_of(identity);
    message.time = to_seconds(offer.wall);
    message.title = letter.title;
    message.content = letter.content;
    message.fields = letter.fields;
    if (letter.encloses_ticket) {
      const GivenTicket ticket = ticket_for(identity, *recipient, offer.wall);
      auto fields = with_field(message.fields, kFieldTicket, encode_ticket(ticket));
      if (!fields) return fail(ErrorCode::kInvalid, fields.error().detail);
      message.fields = std::move(*fields);
    }
    auto packed = pack(message, identity.signing());
    if (!packed) return fail(ErrorCode::kInvalid, packed.error().detail);
    method = carriage_for(method, packed->bytes);
    id = hex_of(reticulum::view(packed->id));
    out.body = std::move(packed->bytes);
  }
  out.method = method_by(method);
  if (method == Carriage::kPropagated) {
    const std::size_t bytes = out.body ? out.body->size() : offer.body.size();
    if (const Result<void> good = propagate(offer, bytes, out); !good)
      return tl::unexpected<Error>(good.error());
  }
  NamedTexts texts = {{"id", id}, {"from", from}, {"method", std::string(name_of(method))}};
  if (letter.stamp_cost) texts.emplace_back("stamp_cost", std::to_string(*letter.stamp_cost));
  out.attributes = encode_texts(texts);
  return out;
}

}  // namespace postrider::lxmf
