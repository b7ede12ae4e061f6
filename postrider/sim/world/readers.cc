// Readers: clients that read mailboxes page by page, confirm what they have, and wait for more.
#include <algorithm>
#include <utility>

#include "postrider/sim/world/clients.h"

namespace postrider::sim {

void Clients::plan_readers() {
  if (!around_.field.customs().reads) return;
  for (const DestinationConfig& config : around_.destinations) plan_reader(config.name);
}

void Clients::plan_reader(const std::string& destination) {
  const std::size_t reader = readers_.size();
  readers_.push_back({.destination = destination});
  around_.agenda.after(Duration(read_rng_.between(1'000, 600'000)),
                       [this, reader] { read_mailbox(reader); });
}

void Clients::read_mailbox(std::size_t reader) {
  Reader& it = readers_[reader];
  Query query;
  query.what = Query::What::kReadMailbox;
  query.destination = it.destination;
  query.id = it.after;
  query.limit = 1 + static_cast<std::uint32_t>(read_rng_.below(read_rng_.chance(1, 2) ? 4 : 100));
  it.wish = wish(query, true);
}

void Clients::wait_at_mailbox(std::size_t reader) {
  Reader& it = readers_[reader];
  Await event;
  event.destination = it.destination;
  event.after = it.after;
  event.at_most = Duration(read_rng_.between(1'000, 900'000));
  it.wish = wish(std::move(event), true);
}

void Clients::await_end(MessageId id) {
  Await event;
  event.id = id;
  event.at_most = Duration(read_rng_.between(1'000, 900'000));
  wish(std::move(event), false);
}

bool Clients::reader_told(std::uint64_t number, const Wish& wanted, const Answer& answer) {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (readers_[i].wish != number) continue;
    if (const auto* page = std::get_if<MailboxPage>(&answer.view)) {
      page_told(i, *page);
    } else {
      const bool waited = std::holds_alternative<Await>(wanted.event);
      const Duration wait =
          waited ? Duration(0) : Duration(read_rng_.between(1'000, calm_ ? 60'000 : 3'600'000));
      around_.agenda.after(wait, [this, i] { read_mailbox(i); });
    }
    return true;
  }
  return false;
}

// What was read is confirmed, sometimes only some of it, and sometimes by a reader that does not
// mind whether that was heard.
void Clients::page_told(std::size_t reader, const MailboxPage& page) {
  Reader& it = readers_[reader];
  Confirm confirm;
  confirm.destination = it.destination;
  const bool most = read_rng_.chance(3, 4);
  for (const MailboxPage::Item& item : page.items) {
    if (calm_ || (most && !read_rng_.chance(1, 8))) confirm.ids.push_back(item.id);
  }
  if (!page.items.empty()) it.after = page.items.back().id;
  if (page.items.empty() || calm_ || read_rng_.chance(1, 4)) it.after = {};
  if (!confirm.ids.empty()) wish(std::move(confirm), calm_ || read_rng_.chance(3, 4));
  if (page.items.empty() && read_rng_.chance(1, 2)) return wait_at_mailbox(reader);
  const Duration wait(read_rng_.between(0, calm_ ? 60'000 : 1'800'000));
  around_.agenda.after(page.more ? Duration(0) : wait, [this, reader] { read_mailbox(reader); });
}

}  // namespace postrider::sim
