// Questions: those who list everything page by page, and those who ask about one thing.
#include <array>

#include "postrider/sim/world/clients.h"

namespace postrider::sim {
namespace {

constexpr std::uint32_t kPagesMax = 300;  // of one listing; then it begins anew
constexpr std::size_t kKeysMax = 512;

}  // namespace

void Clients::begin_listings() {
  around_.agenda.after(Duration(5min), [this] { list_messages(); });
  around_.agenda.after(Duration(7min), [this] { list_destinations(); });
}

void Clients::list_messages() {
  messages_ = {};
  messages_.query.what = Query::What::kMessages;
  messages_.query.limit = 1 + static_cast<std::uint32_t>(rng_.below(rng_.chance(1, 3) ? 4 : 100));
  if (rng_.chance(1, 2)) messages_.query.destination = any_destination().name;
  messages_.wish = wish(messages_.query, true);
}

void Clients::list_destinations() {
  destinations_ = {};
  destinations_.query.what = Query::What::kDestinations;
  destinations_.query.limit = 1 + static_cast<std::uint32_t>(rng_.below(20));
  destinations_.wish = wish(destinations_.query, true);
}

bool Clients::listing_told(std::uint64_t number, const Answer& answer) {
  if (number == messages_.wish) {
    const auto* page = std::get_if<MessagePage>(&answer.view);
    turn_page(messages_, page == nullptr ? std::string() : page->next, &Clients::list_messages);
    return true;
  }
  if (number != destinations_.wish) return false;
  const auto* page = std::get_if<DestinationPage>(&answer.view);
  turn_page(destinations_, page == nullptr ? std::string() : page->next,
            &Clients::list_destinations);
  return true;
}

// The next page at once or a while later, so that things change meanwhile or do not.
void Clients::turn_page(Listing& listing, std::string next, void (Clients::*anew)()) {
  if (next.empty() || ++listing.pages == kPagesMax) {
    const Duration wait(rng_.between(600'000, calm_ ? 3'600'000 : 36'000'000));
    around_.agenda.after(wait, [this, anew] { (this->*anew)(); });
    return;
  }
  listing.query.cursor = std::move(next);
  const Duration wait = rng_.chance(1, 10) ? up_to(10min) : Duration(0);
  around_.agenda.after(wait, [this, &listing] { listing.wish = wish(listing.query, true); });
}

void Clients::note_key(const OperationKey& key) {
  if (key.kind == OperationKey::Kind::kNone) return;
  if (used_keys_.size() < kKeysMax) {
    used_keys_.push_back(key);
  } else {
    used_keys_[used_keys_next_++ % kKeysMax] = key;
  }
}

OperationKey Clients::any_key() {
  if (used_keys_.empty() || rng_.chance(1, 20)) return draws_.draw_key();  // that nobody will use
  return used_keys_[rng_.below(used_keys_.size())];
}

void Clients::ask_question() {
  Query query;
  switch (rng_.below(10)) {
    case 0:
    case 1:
    case 2:
      query.what = Query::What::kExplain;
      query.id = any_message();
      break;
    case 3: query.what = Query::What::kStats; break;
    case 4:
    case 5:
      query.what = Query::What::kMessage;
      query.id = any_message();
      break;
    case 6:
    case 7:
      query.what = Query::What::kOperation;
      query.key = any_key();
      break;
    default:
      query.what = Query::What::kDestination;
      query.destination = any_destination().name;
      break;
  }
  wish(query, false);
}

}  // namespace postrider::sim
