#include "postrider/stores/rocks/describe_key.h"

#include <array>

#include "postrider/base/codec.h"
#include "postrider/model/id_address.h"
#include "postrider/model/records/keys.h"

namespace postrider::rocks {
namespace {

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out.push_back(kDigits[value >> 4]);
    out.push_back(kDigits[value & 15]);
  }
  return out;
}

struct SpaceName {
  char space;
  std::string_view name;
};
constexpr std::array<SpaceName, 29> kSpaceNames = {{{keys::kMeta, "meta"},
                                                    {keys::kBuckets, "buckets"},
                                                    {keys::kConfig, "configuration"},
                                                    {keys::kRoute, "route"},
                                                    {keys::kOwed, "owed lanes"},
                                                    {keys::kCensus, "census"},
                                                    {keys::kCensusPage, "page of the census"},
                                                    {keys::kHot, "hot"},
                                                    {keys::kCold, "cold"},
                                                    {keys::kParked, "parked"},
                                                    {keys::kHolding, "holding"},
                                                    {keys::kDue, "due entry"},
                                                    {keys::kLedger, "ledger entry"},
                                                    {keys::kSession, "session"},
                                                    {keys::kLog, "log page"},
                                                    {keys::kEnd, "end"},
                                                    {keys::kDead, "dead letter"},
                                                    {keys::kHistory, "history"},
                                                    {keys::kGroup, "group of dead letters"},
                                                    {keys::kJob, "job"},
                                                    {keys::kHold, "hold"},
                                                    {keys::kAudit, "audit"},
                                                    {keys::kBody, "shared body"},
                                                    {keys::kBodyLetter, "letter of a shared body"},
                                                    {keys::kFanout, "group"},
                                                    {keys::kTemplate, "template"},
                                                    {keys::kLike, "like a template"},
                                                    {keys::kCard, "card"},
                                                    {keys::kQuarantine, "quarantine"}}};

std::string_view name_of_space(char space) {
  for (const SpaceName& row : kSpaceNames) {
    if (row.space == space) return row.name;
  }
  return "unknown space";
}

std::string message_text(MessageId id, const IdCodec* ids) {
  return ids != nullptr ? ids->text(id) : "at address " + to_string(id);
}

std::string describe_rest(std::string_view key, const IdCodec* ids) {
  switch (key[0]) {
    case keys::kHot:
      if (const auto hot = keys::parse_hot(key))
        return (hot->part == keys::Part::kState ? " state of sequence " : " message of sequence ") +
               hex_of(hot->sequence.value());
      break;
    case keys::kCold:
      if (const auto cold = keys::parse_cold(key))
        return (cold->part == keys::Part::kState ? " state of message " : " message ") +
               message_text(cold->id, ids);
      break;
    case keys::kParked:
    case keys::kHolding: {
      const auto id = key[0] == keys::kParked ? keys::parse_parked(key) : keys::parse_holding(key);
      if (id) return " message " + message_text(*id, ids);
      break;
    }
    case keys::kDue:
      if (const auto due = keys::parse_due(key)) {
        if (due->kind == keys::DueKind::kCardExpiry)
          return " at " + std::to_string(due->at.ms()) + ", expiry of a card";
        const bool route = due->kind == keys::DueKind::kOpening;
        const std::string text =
            route ? to_string(due->id.destination()) : message_text(due->id, ids);
        const char* what = due->kind == keys::DueKind::kAttempt  ? " attempt of message "
                           : due->kind == keys::DueKind::kExpiry ? " expiry of message "
                                                                 : " opening of ";
        return " at " + std::to_string(due->at.ms()) + "," + what + text;
      }
      break;
    case keys::kCard:
      if (const auto card = keys::parse_card(key))
        return " of profile '" + std::string(card->profile) + "', drawer 0x" + hex(card->drawer) +
               ", key 0x" + hex(card->key);
      break;
    case keys::kBody:
      if (const auto body = keys::parse_body(key))
        return (body->part == keys::BodyPart::kCount ? " count of " : " of ") + hex_of(body->id);
      break;
    case keys::kConfig:
    case keys::kRoute:
    case keys::kOwed:
    case keys::kCensus:
      if (const auto id = keys::parse_destination(key))
        return " of destination " + hex_of(id->value());
      break;
    case keys::kDead:
    case keys::kHistory:
      if (const auto kept = keys::parse_bucketed(key))
        return " of bucket " + std::to_string(kept->bucket) + ", message " +
               message_text({kept->high, kept->low}, ids);
      break;
    case keys::kLog:
    case keys::kEnd:
      if (const auto kept = keys::parse_bucketed(key))
        return " of bucket " + std::to_string(kept->bucket) + ", " + hex(key.substr(5));
      break;
    default: break;
  }
  return key.size() > 1 ? " 0x" + hex(key.substr(1)) : "";
}

}  // namespace

std::string hex_of(std::uint64_t number) {
  std::string bytes;
  Writer(bytes).u64(number);
  return hex(bytes);
}

std::string describe_key(std::string_view key, const IdCodec* ids) {
  if (key.empty()) return "empty key";
  std::string out(name_of_space(key[0]));
  const bool printable = key[0] > ' ' && key[0] < '\x7F';
  out += printable ? std::string(" (") + key[0] + ")" : " (0x" + hex(key.substr(0, 1)) + ")";
  return out + describe_rest(key, ids);
}

}  // namespace postrider::rocks
