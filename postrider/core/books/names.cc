#include "postrider/core/books/names.h"

#include <algorithm>

#include "postrider/base/codec.h"
#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

// Names of different profiles never meet.
std::string scope_of(const ProfileSpec& profile, const ExternalName& name) {
  return std::string(profile.name) + '/' + name.scope;
}

// Scope and name as they stand in keys, behind the bucket.
std::string tail_at(std::string_view scope, std::string_view name) {
  std::string tail;
  Writer(tail).text(scope).raw(keys::short_name(name));
  return tail;
}

std::string key_at(char space, keys::Bucket bucket, std::string_view tail) {
  return keys::bucket(space, bucket).append(tail);
}

}  // namespace

std::string Names::tail_of(const ProfileSpec& profile, const ExternalName& name) {
  return tail_at(scope_of(profile, name), name.name);
}

std::string Names::tail_in(std::string_view key) {
  return std::string(key.substr(5));  // behind space and bucket
}

std::string Names::supersede_scope(DestinationId destination) {
  std::string scope = "supersede";
  Writer(scope).u64(destination.value());
  return scope;
}

// The newest holder of a name, or an entry without any. With a window, only names given within it
// matter, and those are mostly in memory.
NameEntry Names::find_name(Step& step, std::string_view tail, Duration window) {
  if (const NameEntry* recent = recent_.find(tail)) return *recent;
  NameEntry found;
  const Timestamp complete = receipts_.wall().meant(recent_.complete_since());
  if (window > Duration(0) && step.now - window >= complete) return found;
  const auto look = [&](const std::string& key) {
    const auto* value = step.get(key);
    if (value == nullptr || !value->has_value() || !found.holders.empty()) return;
    auto entry = decode_name((*value)->view());
    if (entry) found = std::move(*entry);
    if (!entry) step.damaged.emplace_back(key, **value);
  };
  for (const keys::Bucket bucket : receipts_.buckets(Kept::kNames)) {
    look(key_at(keys::kName, bucket, tail));
  }
  return found;
}

NameEntry Names::find_named(Step& step, std::string_view scope, std::string_view name) {
  return find_name(step, tail_at(scope, name));
}

void Names::put_name(Step& step, std::string_view scope, std::string_view name,
                     const NameEntry& entry) {
  const std::string tail = tail_at(scope, name);
  receipts_.put_kept(Kept::kNames, key_at(keys::kName, receipts_.running(Kept::kNames), tail),
                     encode_name(entry), step.out.writes);
  if (planted(Bug::kNameGoesStale) && recent_.find(tail) != nullptr) return;
  recent_.put(tail, entry);
}

Names::Waiting Names::find_pending_news(Step& step, std::string_view tail) {
  Waiting found;
  if (!receipts_.may_have_pending_news()) return found;
  const auto look = [&](keys::Bucket bucket, const std::string& key) {
    const auto* value = step.get(key);
    if (value == nullptr || !value->has_value()) return;
    auto entry = decode_pending_news((*value)->view());
    if (!entry) step.damaged.emplace_back(key, **value);
    if (entry && found.key.empty()) found = {bucket, key, std::move(*entry)};
  };
  for (const keys::Bucket bucket : receipts_.buckets(Kept::kPendingNews)) {
    look(bucket, key_at(keys::kPendingNews, bucket, tail));
  }
  return found;
}

void Names::keep_pending_news(Step& step, const std::string& tail, const Subject& subject) {
  Waiting waiting = find_pending_news(step, tail);
  if (planted(Bug::kHalfForgotten)) return;
  std::vector<PendingNews::News>& news = waiting.entry.news;
  news.push_back({step.now, subject.window, subject.detail});
  if (news.size() > limits_.news_per_name_max) news.erase(news.begin());
  // In the running bucket, so that the newest is kept for its full time.
  if (!waiting.key.empty())
    receipts_.take_pending_news(waiting.bucket, waiting.key, step.out.writes);
  receipts_.put_kept(Kept::kPendingNews,
                     key_at(keys::kPendingNews, receipts_.running(Kept::kPendingNews), tail),
                     encode_pending_news(waiting.entry), step.out.writes);
}

// News whose name may have been given just before the stop.
void Names::restore_pending_news(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kPendingNews)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    if (row.first.size() <= 5) continue;
    step.out.chores.push_back(
        {.kind = Chore::Kind::kClaim, .cursor = tail_in(row.first), .all = true});
    ++old_claims_;
  }
  if (!rows->complete)
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
  all_old_claims_known_ = rows->complete;
  if (all_old_claims_known_ && old_claims_ == 0) receipts_.hold_news(false);
}

// Gives names to an attempt of a message; news that waits for one is looked at afterwards, by a
// chore or, should that get lost, by the next restore.
void Names::give_names(Step& step, const ProfileSpec& profile, NameEntry::Holder holder,
                       const std::vector<ExternalName>& names, Timestamp at) {
  std::size_t given = 0;
  for (const ExternalName& name : names) {
    const std::string scope = scope_of(profile, name);
    if (++given > kNamesMax || scope.size() + name.name.size() > limits_.key_bytes_max) {
      ++tallies_.refused_readings;
      continue;
    }
    put_name(step, scope, name.name, {at, {holder}});
    if (!receipts_.may_have_pending_news()) continue;
    step.out.chores.push_back({.kind = Chore::Kind::kClaim,
                               .destination = holder.id.destination(),
                               .cursor = tail_at(scope, name.name)});
  }
}

}  // namespace postrider::core
