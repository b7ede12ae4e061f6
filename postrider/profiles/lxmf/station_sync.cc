// Sessions with a node: what it keeps for an identity of ours is fetched, stored, and then deleted
// there. The session itself is protocols/lxmf/sync.h; here are its link, requests and store.
#include <algorithm>

#include "postrider/profiles/lxmf/station.h"
#include "postrider/profiles/lxmf/table.h"

namespace postrider::lxmf {
namespace {

constexpr Duration kPathPatience{7'000};
constexpr std::uint32_t kFetchedOfPage = 1'000;

}  // namespace

// Those that wait for a path or a link.
std::vector<AttemptId> LxmfStation::syncs_with(const Address& node) const {
  std::vector<AttemptId> out;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt.method == kSync && attempt.recipient == node && !syncs_.contains(id))
      out.emplace_back(id);
  }
  return out;
}

void LxmfStation::look_sync(Attempt& attempt, Call& call) {
  const AttemptId id = attempt.id;
  due_.erase({std::exchange(attempt.due, {}), id.value()});
  const Address node = attempt.recipient;
  if (Talk* talk = active_link(node)) return begin_sync(id, *talk, call);
  if (links_to_.contains(node)) return;
  const auto word = open_link(node, call);
  if (!word) return;
  if (*word != Word::kNoPath) return end(id, *word, call);
  attempt.at_due = Word::kNoPath;
  attempt.due = call.boot + kPathPatience;
  due_.insert({attempt.due, id.value()});
}

// A link is one identity's: the node gives what is for whom it was told of first.
void LxmfStation::begin_sync(AttemptId id, Talk& talk, Call& call) {
  const Attempt& attempt = attempts_.at(id.value());
  const auto own = std::find_if(own_.begin(), own_.end(), [&](const Own& one) {
    return !one.is_node && one.setup.name == attempt.from;
  });
  if (own == own_.end()) return end(id, Word::kNoAccess, call);
  const Address link = talk.conversation->link().id();
  const bool busy = std::any_of(syncs_.begin(), syncs_.end(),
                                [&](const auto& one) { return one.second.link == link; });
  if (busy || (talk.identified && talk.as != own->delivery)) {
    end(id, Word::kLinkClosed, call);
    if (busy) return;
    reticulum::LinkOutput out;
    talk.conversation->close(reticulum::LinkEnd::kByUs, call.random, out);
    return leave(link, out, call);
  }
  identify(talk, link, own->delivery, call);
  ++counts_.syncs;
  Sync& sync = syncs_
                   .try_emplace(id.value(), Sync{.session = SyncSession({}),
                                                 .own = static_cast<std::size_t>(
                                                     own - own_.begin()),
                                                 .link = link})
                   .first->second;
  go_on(id, sync.session.start(), call);
}

// Until it waits for something.
void LxmfStation::go_on(AttemptId id, SyncWant want, Call& call) {
  for (;;) {
    const auto sync = syncs_.find(id.value());
    if (sync == syncs_.end()) return;
    switch (want.what) {
      case SyncWant::What::kLook:
        sync->second.durable.clear();
        return read_fetched(id, {}, call);
      case SyncWant::What::kRequest:
        if (request_sync(id, sync->second, want, call)) return;
        want = sync->second.session.failed();
        break;
      case SyncWant::What::kStore: return store_fetched(id, want, call);
      case SyncWant::What::kDone: {
        const SyncCounts& counts = sync->second.session.counts();
        counts_.synced += counts.fresh;
        counts_.left_at_node += counts.undecryptable;
        switch (want.end) {
          case SyncEnd::kComplete: return end(id, Word::kProven, call);
          case SyncEnd::kNoIdentity:
          case SyncEnd::kNoAccess: return end(id, Word::kNoAccess, call);
          case SyncEnd::kTransferFailed: return end(id, Word::kLinkClosed, call);
        }
      }
    }
  }
}

bool LxmfStation::request_sync(AttemptId id, const Sync& sync, const SyncWant& want, Call& call) {
  const auto talk = talks_.find(sync.link);
  if (talk == talks_.end()) return false;
  const Address link = sync.link;
  const SendId number(++last_send_);
  reticulum::LinkOutput out;
  const reticulum::Request request{.time = to_seconds(call.wall),
                                   .path = reticulum::request_path(kGetPath),
                                   .data = want.request};
  if (!talk->second.conversation->send_request(number, request, call.boot, call.random, out))
    return false;
  LinkSend send;
  send.use = LinkSend::Use::kRequest;
  send.attempt = id;
  send.link = link;
  link_sends_[number] = send;
  leave(link, out, call);
  return true;
}

void LxmfStation::sync_answered(const LinkSend& send, std::string_view value, Call& call) {
  const auto sync = syncs_.find(send.attempt.value());
  if (sync != syncs_.end()) go_on(send.attempt, sync->second.session.answered(value), call);
}

void LxmfStation::sync_broke(AttemptId id, Call& call) {
  const auto sync = syncs_.find(id.value());
  if (sync != syncs_.end()) go_on(id, sync->second.session.failed(), call);
}

// What is durable here is found in the store itself, page by page.
void LxmfStation::read_fetched(AttemptId id, const std::string& from, Call& call) {
  Query query;
  query.what = Query::What::kCards;
  query.profile = kProfileName;
  query.drawer = kFetched;
  query.card = from;
  query.limit = kFetchedOfPage;
  const Token token = next_token();
  fetched_reads_[token.value()] = id;
  call.wanted.emplace_back(station::Post{token, std::move(query)});
}

void LxmfStation::fetched_read(AttemptId id, const Answer& answer, Call& call) {
  const auto sync = syncs_.find(id.value());
  if (sync == syncs_.end()) return;
  const auto* page = std::get_if<CardPage>(&answer.view);
  if (page == nullptr) return sync_broke(id, call);
  for (const Card& card : page->cards) {
    if (const auto transient = reticulum::exactly<32>(card.key))
      sync->second.durable.insert(*transient);
  }
  if (!page->next.empty()) return read_fetched(id, page->next, call);
  go_on(id, sync->second.session.looked(sync->second.durable), call);
}

// Each is opened and goes the way of all messages; what cannot be opened stays at the node.
void LxmfStation::store_fetched(AttemptId id, const SyncWant& want, Call& call) {
  {
    Sync& sync = syncs_.at(id.value());
    sync.fates.assign(want.messages.size(), SyncFate::kUndecryptable);
    sync.open = want.messages.size() + 1;
    sync.is_refused = false;
  }
  for (std::size_t i = 0; i < want.messages.size(); ++i) {
    const std::string& sealed = want.messages[i];
    const auto address = reticulum::exactly<16>(std::string_view(sealed).substr(0, 16));
    const auto own = address ? own_of(*address) : std::nullopt;
    const Own* const to = own && !own_[*own].is_node ? &own_[*own] : nullptr;
    const auto packed = to == nullptr
                            ? Result<std::string>(fail(ErrorCode::kCorrupt, "for nobody here"))
                            : open_from_node(sealed, to->setup.identity, to->delivery,
                                             to->card.ratchets.secrets());
    if (!packed) {
      ++counts_.undecryptable;
      fetched_stored(id, i, SyncFate::kUndecryptable, call);
      continue;
    }
    Arrival arrival;
    arrival.by = Arrival::By::kSync;
    arrival.at = call.boot;
    arrival.sync = id;
    arrival.place = i;
    arrival.form.transient = want.ids[i];
    take_message(*packed, Carriage::kPropagated, std::move(arrival), call);
  }
  fetched_stored(id, want.messages.size(), SyncFate::kFresh, call);
}

// No fate: the store did not take it.
void LxmfStation::fetched_stored(AttemptId id, std::size_t place, std::optional<SyncFate> fate,
                                 Call& call) {
  const auto found = syncs_.find(id.value());
  if (found == syncs_.end() || found->second.open == 0) return;
  Sync& sync = found->second;
  if (!fate) sync.is_refused = true;
  if (fate && place < sync.fates.size()) sync.fates[place] = *fate;
  if (--sync.open > 0) return;
  go_on(id, sync.is_refused ? sync.session.failed() : sync.session.stored(sync.fates), call);
}

}  // namespace postrider::lxmf
