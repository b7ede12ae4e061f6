#include "postrider/core/books/cards.h"

#include <algorithm>
#include <map>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"
#include "postrider/base/planted.h"

namespace postrider::core {

const std::string* OpenCabinet::card(std::string_view drawer, std::string_view key) {
  put_off_ = put_off_ || reads_ == Reads::kLater;
  if (reads_ != Reads::kMay) return nullptr;
  Cards::Kept found = cards_.find(step_, keys::card(profile_, drawer, key));
  if (!found) return nullptr;
  shown_.push_back(std::move(found));
  return &shown_.back()->bytes;
}

std::optional<CardPage> OpenCabinet::cards(std::string_view drawer, std::string_view from,
                                           std::uint32_t limit) {
  put_off_ = put_off_ || reads_ == Reads::kLater;
  if (reads_ == Reads::kLater) return std::nullopt;
  if (reads_ == Reads::kMayNot) return CardPage();
  return cards_.page(step_, profile_, drawer, from, limit);
}

void OpenCabinet::random(std::span<std::uint8_t> out) {
  POSTRIDER_CHECK(step_.entropy != nullptr);
  step_.entropy->fill(out);
}

std::string_view OpenCabinet::secret(std::string_view name) const {
  const auto& secrets = cards_.options().secrets;
  return secrets ? secrets->find(name) : std::string_view();
}

// A card that was written while the wall was in doubt lasts as long as it was meant to.
Timestamp Cards::expiry_of(const CardRecord& card) const {
  if (!card.expires.is_set()) return {};
  return card.expires + (receipts_.wall().meant(card.written) - card.written);
}

bool Cards::is_over(const CardRecord& card, Timestamp now) const {
  return card.expires.is_set() && expiry_of(card) <= now;
}

std::size_t Cards::bytes_of(const std::string& key, const Kept& card) {
  constexpr std::size_t kOfPlaces = 128;  // about what a place and an entry take
  return 2 * key.size() + kOfPlaces + (card ? card->bytes.size() : 0);
}

// What was used in this instant stays: what comes later in a step must see what was changed earlier
// in it, which the store does not have yet.
void Cards::remember(Timestamp now, const std::string& key, Kept card) {
  const auto [found, is_new] = recent_.try_emplace(key);
  Recent& recent = found->second;
  if (is_new) {
    recent.place = order_.insert(order_.end(), key);
  } else {
    recent_bytes_ -= bytes_of(key, recent.card);
    order_.splice(order_.end(), order_, recent.place);
  }
  recent_bytes_ += bytes_of(key, card);
  recent.card = std::move(card);
  recent.at = now;
  while (recent_.size() > limits_.recent_cards_max ||
         recent_bytes_ > limits_.recent_card_bytes_max) {
    const auto oldest = recent_.find(order_.front());
    if (oldest->second.at >= now) return;
    recent_bytes_ -= bytes_of(oldest->first, oldest->second.card);
    order_.pop_front();
    recent_.erase(oldest);
  }
}

Cards::Seen Cards::see(Step& step, const std::string& key) {
  if (const auto found = recent_.find(key); found != recent_.end()) {
    Kept card = found->second.card;
    remember(step.now, key, card);
    return {card ? Seen::How::kThere : Seen::How::kNone, std::move(card)};
  }
  const auto* value = step.get(key);
  if (value == nullptr) return {};
  if (!value->has_value()) {
    remember(step.now, key, nullptr);
    return {Seen::How::kNone, nullptr};
  }
  auto card = decode_card((*value)->view());
  if (!card) {
    step.damaged.emplace_back(key, **value);
    return {Seen::How::kDamaged, nullptr};
  }
  Kept kept = std::make_shared<const CardRecord>(std::move(*card));
  remember(step.now, key, kept);
  return {Seen::How::kThere, std::move(kept)};
}

Cards::Kept Cards::find(Step& step, std::string_view key) {
  Seen seen = see(step, std::string(key));
  if (seen.how != Seen::How::kThere || is_over(*seen.card, step.now)) return nullptr;
  return std::move(seen.card);
}

std::optional<CardPage> Cards::page(Step& step, std::string_view profile, std::string_view drawer,
                                    std::string_view from, std::uint32_t limit) {
  const std::string prefix = keys::card_drawer(profile, drawer);
  const std::uint32_t most = std::clamp<std::uint32_t>(limit, 1, limits_.cards_of_step_max);
  const Rows* rows =
      step.scan({std::string(prefix).append(from), keys::after_prefix(prefix), most});
  if (rows == nullptr) return std::nullopt;
  CardPage out;
  std::size_t bytes = 0;
  for (const Row& row : rows->rows) {
    const std::string key = row.first.substr(prefix.size());
    // At least one, so that each page goes on.
    if (bytes + row.second.size() > limits_.card_bytes_of_step_max && bytes > 0) {
      out.next = key;
      return out;
    }
    bytes += row.second.size();
    auto card = decode_card(row.second.view());
    if (!card) {
      step.damaged.push_back(row);
      continue;
    }
    if (is_over(*card, step.now)) continue;
    const Timestamp expires = expiry_of(*card);
    out.cards.push_back({std::string(drawer), key, std::move(card->bytes), expires, false});
  }
  if (!rows->complete) out.next = rows->next.substr(std::min(prefix.size(), rows->next.size()));
  return out;
}

std::optional<Cards::Refusal> Cards::too_large(std::span<const Card> changes) const {
  const auto refuse = [](std::string detail) {
    return Refusal{AnswerCode::kTooLarge, std::move(detail)};
  };
  if (changes.size() > limits_.cards_of_step_max)
    return refuse("more than " + std::to_string(limits_.cards_of_step_max) +
                  " cards are changed at once");
  std::size_t bytes = 0;
  for (const Card& card : changes) {
    bytes += card.bytes.size();
    if (card.bytes.size() > limits_.card_bytes_max)
      return refuse("a card has more than " + std::to_string(limits_.card_bytes_max) + " bytes");
    if (card.drawer.size() > limits_.key_bytes_max || card.key.size() > limits_.key_bytes_max)
      return refuse("the name of a card has more than " + std::to_string(limits_.key_bytes_max) +
                    " bytes");
  }
  if (bytes > limits_.card_bytes_of_step_max)
    return refuse("more than " + std::to_string(limits_.card_bytes_of_step_max) +
                  " bytes of cards are changed at once");
  return std::nullopt;
}

std::optional<Cards::Refusal> Cards::judge(Step& step, const ProfileSpec& profile,
                                           std::span<const Card> changes) {
  if (auto refusal = too_large(changes)) return refusal;
  std::map<std::string, bool> after;  // whether there is a record; the last change counts
  std::int64_t more = 0;
  for (const Card& card : changes) {
    const std::string key = keys::card(profile.name, card.drawer, card.key);
    const Seen seen = see(step, key);
    const auto [place, is_first] = after.emplace(key, seen.is_record());
    static_cast<void>(is_first);
    more += (card.removed ? 0 : 1) - (place->second ? 1 : 0);
    place->second = !card.removed;
  }
  if (step.lacks() || more <= 0) return std::nullopt;
  const std::uint64_t there = receipts_.cards_of(profile.name);
  if (there + static_cast<std::uint64_t>(more) <= limits_.cards_max) return std::nullopt;
  return Refusal{AnswerCode::kFull, "profile '" + std::string(profile.name) + "' has " +
                                        std::to_string(there) +
                                        " cards, and may not have more; none was thrown out"};
}

void Cards::write(Step& step, const ProfileSpec& profile, std::span<const Card> changes) {
  for (const Card& card : changes) {
    const std::string key = keys::card(profile.name, card.drawer, card.key);
    const Seen old = see(step, key);
    POSTRIDER_CHECK(old.how != Seen::How::kUnread);  // it was judged
    if (card.removed) {
      remove(step, profile.name, key, old);
    } else {
      put(step, profile.name, key, old, card);
    }
  }
}

std::string Cards::own_key(MessageId id) {
  std::string own;
  Writer(own).u64(id.high).u64(id.low);
  return own;
}

void Cards::write_outcome(Step& step, const ProfileSpec& profile, MessageId id,
                          std::string_view bytes) {
  if (planted(Bug::kOutcomeForgotten) && step.now.ms() % 2 == 0) return;
  if (bytes.size() > limits_.card_bytes_max) {
    ++tallies_.refused_readings;
    return;
  }
  const Card card{
      std::string(kOutcomeDrawer), {}, std::string(bytes), step.now + options_.ledger.age, false};
  put(step, profile.name, keys::card(profile.name, kOutcomeDrawer, own_key(id)),
      {Seen::How::kNone, nullptr}, card);
}

Blob Cards::outcome_of(Step& step, const ProfileSpec& profile, MessageId id) {
  const Kept card = find(step, keys::card(profile.name, kOutcomeDrawer, own_key(id)));
  return card ? Blob::copy_of(card->bytes) : Blob();
}

void Cards::write_at_end(Step& step, const ProfileSpec& profile, MessageId id,
                         std::span<const Card> cards) {
  const std::string own = own_key(id);
  for (const Card& card : cards) {
    const bool legal = card.key.empty() && !card.removed && !too_large({&card, 1});
    if (!legal || receipts_.cards_of(profile.name) >= limits_.cards_max) {
      ++tallies_.refused_readings;
      continue;
    }
    const std::string key = keys::card(profile.name, card.drawer, own);
    const auto known = recent_.find(key);
    const bool there = known != recent_.end() && known->second.card != nullptr;
    put(step, profile.name, key,
        {there ? Seen::How::kThere : Seen::How::kNone, there ? known->second.card : nullptr}, card);
  }
}

void Cards::put(Step& step, std::string_view profile, const std::string& key, const Seen& old,
                const Card& card) {
  forget_due(step, key, old);
  auto record = std::make_shared<CardRecord>(CardRecord{step.now, card.expires, card.bytes});
  step.out.writes.put(key, encode_card(*record));
  if (card.expires.is_set())
    due_.put_due(step, card.expires, keys::DueKind::kCardExpiry, keys::due_id_of_card(key), key);
  if (!old.is_record()) count(profile, 1);
  remember(step.now, key, std::move(record));
}

// One that cannot be read is removed by the quarantine.
void Cards::remove(Step& step, std::string_view profile, const std::string& key, const Seen& old) {
  if (old.how != Seen::How::kThere) return;
  forget_due(step, key, old);
  step.out.writes.remove(key);
  count(profile, -1);
  remember(step.now, key, nullptr);
}

void Cards::forget_due(Step& step, const std::string& key, const Seen& old) {
  if (!old.card || !old.card->expires.is_set()) return;
  step.out.writes.remove(
      keys::due(old.card->expires, keys::DueKind::kCardExpiry, keys::due_id_of_card(key)));
}

void Cards::count(std::string_view profile, std::int64_t by) { receipts_.count_cards(profile, by); }

void Cards::lose(std::string_view key) {
  const auto card = keys::parse_card(key);
  if (card) count(card->profile, -1);
}

void Cards::expire(Step& step, const Chore& chore) {
  const std::string entry = keys::due(chore.at, keys::DueKind::kCardExpiry, chore.id);
  const auto* named = step.get(entry);
  if (named == nullptr) return;
  if (!named->has_value()) {  // the card was changed meanwhile
    ++tallies_.stray_timers;
    return;
  }
  const std::string key((*named)->view());
  const auto card = keys::parse_card(key);
  if (!card) {
    step.damaged.emplace_back(entry, **named);
    return;
  }
  const Seen seen = see(step, key);
  if (seen.how == Seen::How::kUnread) return;
  if (seen.how != Seen::How::kThere || seen.card->expires != chore.at) {
    step.out.writes.remove(entry);  // left over by a card that could not be read
    return;
  }
  if (is_over(*seen.card, step.now)) return remove(step, card->profile, key, seen);
  // The wall has leapt since it was written: it is written again as it was meant.
  put(step, card->profile, key, seen,
      {std::string(card->drawer), std::string(card->key), seen.card->bytes, expiry_of(*seen.card)});
}

}  // namespace postrider::core
