#include "postrider/protocols/rpc/session.h"

#include <algorithm>

#include <openssl/crypto.h>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"
#include "postrider/base/hash.h"

namespace postrider::rpc {
namespace {

constexpr std::uint8_t kCardVersion = 1;

bool is_same(const KeyHash& kept, const KeyHash& shown) {
  return CRYPTO_memcmp(kept.data(), shown.data(), shown.size()) == 0;
}

std::string_view view_of(const KeyHash& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

void read_hash(Reader& in, KeyHash& out) {
  const std::string_view bytes = in.raw(out.size());
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

}  // namespace

KeyHash hash_of(const ResumeKey& key) {
  return hmac_sha256("postrider rpc resume key",
                     {reinterpret_cast<const char*>(key.data()), key.size()});
}

SessionCard begin_session(std::string_view principal, const KeyHash& key, Timestamp now) {
  POSTRIDER_CHECK(principal.size() <= kPrincipalBytesMax);
  return {.principal = std::string(principal), .key = key, .begun = now, .used = now};
}

ClaimVerdict judge_claim(const SessionCard* card, std::string_view principal,
                         const ShownKey& shown) {
  // A session of another principal is none, so that nothing is told of it. Nor is one whose
  // generations are used up.
  if (card == nullptr || card->principal != principal || card->generation == UINT32_MAX)
    return ClaimVerdict::kNew;
  const bool current = shown.generation == card->generation && is_same(card->key, shown.hash);
  const bool former = card->former_generation != 0 && shown.generation == card->former_generation &&
                      is_same(card->former, shown.hash);
  return current || former ? ClaimVerdict::kResumed : ClaimVerdict::kRefused;
}

SessionCard resume_session(const SessionCard& card, const ShownKey& shown,
                           const KeyHash& next_key) {
  POSTRIDER_CHECK(card.generation < UINT32_MAX);
  SessionCard next = card;
  next.generation = card.generation + 1;
  next.key = next_key;
  next.former_generation = shown.generation;
  next.former = shown.hash;
  return next;
}

SessionCard confirm_session(SessionCard card) {
  card.former_generation = 0;
  card.former = {};
  return card;
}

std::string encode_card(const SessionCard& card) {
  std::string out;
  Writer(out)
      .u8(kCardVersion)
      .text(card.principal)
      .u32(card.generation)
      .raw(view_of(card.key))
      .u32(card.former_generation)
      .raw(view_of(card.former))
      .i64(card.begun.ms())
      .i64(card.used.ms())
      .u64(card.highest);
  return out;
}

Result<SessionCard> decode_card(std::string_view bytes) {
  Reader in(bytes);
  const std::uint8_t version = in.u8();
  SessionCard card;
  card.principal = std::string(in.text());
  card.generation = in.u32();
  read_hash(in, card.key);
  card.former_generation = in.u32();
  read_hash(in, card.former);
  card.begun = Timestamp(in.i64());
  card.used = Timestamp(in.i64());
  card.highest = in.u64();
  const bool sound = card.generation >= 1 && card.former_generation < card.generation &&
                     card.principal.size() <= kPrincipalBytesMax &&
                     (card.former_generation != 0 || card.former == KeyHash{});
  if (!in.at_end() || version != kCardVersion || !sound)
    return fail(ErrorCode::kCorrupt, "the card of a session is damaged");
  return card;
}

}  // namespace postrider::rpc
