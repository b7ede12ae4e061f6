#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/inquiry/inquiry.h"

namespace postrider::core {

// What a mailbox holds behind the last message that was read. Reading changes nothing: whatever is
// not confirmed is there again.
std::optional<Answer> Inquiry::read_mailbox(Step& step, const Query& query) {
  const Destinations::Destined box = destinations_.find_destination(step, query.destination);
  if (!box.known) return std::nullopt;
  Answer answer;
  if (box.slot == kNoSlot || !residents_[box.slot].bound->policy.pulled) {
    answer.code = AnswerCode::kNotFound;
    answer.detail = "there is no mailbox '" + query.destination + "'";
    return answer;
  }
  const DestinationId id = residents_[box.slot].id;
  const std::string lane = keys::cold_lane(id, 0);
  const bool whole = !query.id.is_set() || query.id.destination() != id;
  const std::string first =
      whole ? lane : keys::after_prefix(keys::cold(query.id, keys::Part::kState));
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.mailbox_rows_max);
  const Rows* rows = step.scan({first, keys::after_prefix(lane), 2 * limit + 1});
  if (rows == nullptr) return std::nullopt;
  MailboxPage page;
  std::size_t bytes = 0;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_cold(row.first);
    if (!key || key->part != keys::Part::kMessage) continue;
    page.more = page.items.size() == limit ||
                (!page.items.empty() && bytes + row.second.size() > limits_.mailbox_bytes_max);
    if (page.more) break;
    auto item = read_item(step, box.slot, row);
    if (!item) continue;
    bytes += item->body.size() + item->attributes.size();
    page.items.push_back(std::move(*item));
  }
  if (step.lacks()) return std::nullopt;
  page.more = page.more || !rows->complete;
  if (planted(Bug::kMailboxSkipsBoundary) && page.more && page.items.size() > 1)
    page.items.erase(page.items.end() - 2);
  answer.view = std::move(page);
  return answer;
}

std::optional<Answer> Inquiry::show_cards(Step& step, const Query& query) {
  Answer answer;
  if (query.what == Query::What::kCards) {
    auto page = cards_.page(step, query.profile, query.drawer, query.card, query.limit);
    if (!page) return std::nullopt;
    answer.view = std::move(*page);
    return answer;
  }
  const Cards::Kept card = cards_.find(step, keys::card(query.profile, query.drawer, query.card));
  if (step.lacks()) return std::nullopt;
  CardPage page;
  if (card) page.cards.push_back({query.drawer, query.card, card->bytes, cards_.expiry_of(*card)});
  answer.view = std::move(page);
  return answer;
}

// Nothing: it cannot be read and goes to quarantine, or its body must be read first.
std::optional<MailboxPage::Item> Inquiry::read_item(Step& step, Slot box, const Row& row) {
  std::optional<StoredState> stored;
  auto message = lookup_.decode_row(step, box, row, nullptr, stored);
  if (!message) return std::nullopt;
  if (message->shared.id != 0) {
    if (!bodies_.load_body(step, message->shared.id, true)) return std::nullopt;
    if (!bodies_.give_body(*message)) {
      step.damaged.push_back(row);
      return std::nullopt;
    }
  }
  return MailboxPage::Item{message->id,
                           message->accepted,
                           message->expires,
                           message->origin,
                           std::string(message->attributes),
                           std::string(message->body)};
}

}  // namespace postrider::core
