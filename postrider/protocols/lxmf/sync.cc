#include "postrider/protocols/lxmf/sync.h"

#include <algorithm>
#include <utility>

namespace postrider::lxmf {

SyncWant SyncSession::done(SyncEnd end) {
  state_ = State::kIdle;
  return {.what = SyncWant::What::kDone, .end = end};
}

SyncWant SyncSession::failed() { return done(SyncEnd::kTransferFailed); }

SyncWant SyncSession::start() {
  left_there_.clear();
  counted_.clear();
  counts_ = {};
  pages_ = 0;
  return list();
}

SyncWant SyncSession::list() {
  if (++pages_ > settings_.pages_max) return done(SyncEnd::kComplete);
  state_ = State::kListing;
  return {.what = SyncWant::What::kRequest, .request = encode_get({})};
}

SyncWant SyncSession::answered(std::string_view value) {
  const auto answer = decode_answer(value);
  if (!answer) return failed();
  if (answer->error == kAnswerNoIdentity) return done(SyncEnd::kNoIdentity);
  if (answer->error == kAnswerNoAccess) return done(SyncEnd::kNoAccess);
  if (answer->error != 0) return failed();
  switch (state_) {
    case State::kListing: return take_list(*answer);
    case State::kFetching: return take_messages(*answer);
    case State::kAcking: return go_on();
    case State::kIdle:
    case State::kLooking:
    case State::kStoring: break;
  }
  return failed();
}

SyncWant SyncSession::take_list(const GetAnswer& answer) {
  auto ids = ids_in(answer);
  if (!ids) return failed();
  const auto stays = [&](const Digest& id) { return left_there_.contains(id); };
  ids->erase(std::remove_if(ids->begin(), ids->end(), stays), ids->end());
  if (ids->empty()) return done(SyncEnd::kComplete);
  wanted_ = std::move(*ids);
  state_ = State::kLooking;
  return {.what = SyncWant::What::kLook, .ids = wanted_};
}

SyncWant SyncSession::looked(const std::set<Digest>& durable) {
  if (state_ != State::kLooking) return failed();
  removable_.clear();
  std::vector<Digest> wanted;
  for (const Digest& id : std::exchange(wanted_, {})) {
    if (!durable.contains(id)) {
      wanted.push_back(id);
      continue;
    }
    removable_.push_back(id);
    // A page later the same message may be listed again; only what we did not fetch was known.
    if (counted_.insert(id).second) ++counts_.known;
  }
  wanted_ = std::move(wanted);
  return fetch();
}

SyncWant SyncSession::fetch() {
  progressed_ = false;
  if (wanted_.empty() && (settings_.retain || removable_.empty())) return done(SyncEnd::kComplete);
  GetRequest request;
  if (!settings_.retain) request.removed = removable_;
  if (wanted_.empty()) {
    state_ = State::kAcking;
    return {.what = SyncWant::What::kRequest, .request = encode_get(request)};
  }
  request.wanted = wanted_;
  if (!request.removed) request.removed.emplace();
  request.limit_kb = settings_.limit_kb;
  state_ = State::kFetching;
  return {.what = SyncWant::What::kRequest, .request = encode_get(request)};
}

SyncWant SyncSession::take_messages(const GetAnswer& answer) {
  SyncWant out{.what = SyncWant::What::kStore};
  for (const std::string_view sealed : answer.items) {
    const Digest id = transient_id(sealed);
    const auto found = std::find(wanted_.begin(), wanted_.end(), id);
    if (found == wanted_.end()) {
      ++counts_.unasked;
      continue;
    }
    wanted_.erase(found);
    out.ids.push_back(id);
    out.messages.emplace_back(sealed);
  }
  // A node that gives nothing of what it listed would be asked for ever.
  if (out.messages.empty()) return done(SyncEnd::kComplete);
  fetched_ = out.ids;
  state_ = State::kStoring;
  return out;
}

SyncWant SyncSession::stored(const std::vector<SyncFate>& fates) {
  if (state_ != State::kStoring || fates.size() != fetched_.size()) return failed();
  removable_.clear();
  for (std::size_t i = 0; i < fates.size(); ++i) {
    if (fates[i] == SyncFate::kUndecryptable) {
      ++counts_.undecryptable;
      left_there_.insert(fetched_[i]);
      continue;
    }
    ++(fates[i] == SyncFate::kFresh ? counts_.fresh : counts_.known);
    counted_.insert(fetched_[i]);
    removable_.push_back(fetched_[i]);
  }
  progressed_ = true;
  if (settings_.retain || removable_.empty()) return go_on();
  state_ = State::kAcking;
  return {.what = SyncWant::What::kRequest, .request = encode_get({.removed = removable_})};
}

SyncWant SyncSession::go_on() {
  removable_.clear();
  if (wanted_.empty()) return done(SyncEnd::kComplete);
  if (!progressed_ || ++pages_ > settings_.pages_max) return done(SyncEnd::kComplete);
  return fetch();
}

}  // namespace postrider::lxmf
