#include "postrider/shard/view.h"

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider {

void View::commit(std::shared_ptr<const WriteBatch> batch) {
  layers_.push_back({std::move(batch), std::move(open_), 0});
  open_ = Index();
}

void View::durable() {
  for (Layer& layer : layers_) {
    if (layer.durable_at != 0) continue;
    // Zero means "in commit", so a batch that was never read counts as read number one.
    layer.durable_at = last_read_ + 1;
    return;
  }
  POSTRIDER_CHECK(false);
}

void View::forget_before(std::uint64_t oldest_read) {
  while (!layers_.empty()) {
    const std::uint64_t durable_at = layers_.front().durable_at;
    if (durable_at == 0 || (oldest_read != 0 && oldest_read < durable_at)) return;
    layers_.pop_front();
  }
}

void View::extend(Index& index, const WriteBatch& batch) {
  for (; index.seen < batch.writes().size(); ++index.seen) {
    const Write& write = batch.writes()[index.seen];
    switch (write.kind) {
      case Write::Kind::kPutOnce:
      case Write::Kind::kPut: index.last.insert_or_assign(write.key, write.value); break;
      case Write::Kind::kRemoveOnce:
      case Write::Kind::kRemove: index.last.insert_or_assign(write.key, std::nullopt); break;
      case Write::Kind::kRemoveRange: {
        // What the batch put there before is gone; what it puts there later is in `last` again.
        for (auto it = index.last.lower_bound(write.key);
             it != index.last.end() && it->first < write.last;)
          it = index.last.erase(it);
        index.ranges.emplace_back(write.key, write.last);
        break;
      }
    }
  }
}

std::optional<std::optional<Blob>> View::find(const Index& index, std::string_view key) {
  if (const auto it = index.last.find(key); it != index.last.end()) return it->second;
  for (const auto& [first, last] : index.ranges) {
    if (first <= key && key < last) return std::optional<Blob>();
  }
  return std::nullopt;
}

std::optional<std::optional<Blob>> View::peek(std::string_view key, const WriteBatch& open) {
  extend(open_, open);
  if (auto value = find(open_, key)) return value;
  if (planted(Bug::kReadPastView)) return std::nullopt;
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    extend(layer->index, *layer->batch);
    if (auto value = find(layer->index, key)) return value;
  }
  return std::nullopt;
}

void View::overlay(const Index& index, const Known& known, RowMap& rows) {
  for (const auto& [first, last] : index.ranges) {
    for (auto it = rows.lower_bound(first); it != rows.end() && it->first < last;)
      it = rows.erase(it);
  }
  for (auto it = index.last.lower_bound(known.first);
       it != index.last.end() && it->first < known.last; ++it) {
    if (it->second) {
      rows.insert_or_assign(it->first, *it->second);
    } else {
      rows.erase(it->first);
    }
  }
}

Rows View::merge(const Scan& scan, const Rows& from_store) {
  RowMap rows(from_store.rows.begin(), from_store.rows.end());
  // Where the store was cut short, nothing is known behind its last row.
  Known known{scan.first, scan.last};
  if (!from_store.complete && !from_store.rows.empty()) {
    const std::string& cut = from_store.rows.back().first;
    (scan.backward ? known.first : known.last) = scan.backward ? cut : cut + '\0';
  }
  if (!planted(Bug::kReadPastView)) {
    for (Layer& layer : layers_) {
      extend(layer.index, *layer.batch);
      overlay(layer.index, known, rows);
    }
  }
  overlay(open_, known, rows);
  Rows out;
  out.complete = from_store.complete;
  if (!out.complete) out.next = scan.backward ? known.first : known.last;
  const auto fill = [&](auto begin, auto end) {
    for (auto it = begin; it != end; ++it) {
      if (out.rows.size() == scan.limit) {
        const std::string& last = out.rows.back().first;
        out.complete = false;
        out.next = scan.backward ? last : last + '\0';
        return;
      }
      out.rows.emplace_back(it->first, it->second);
    }
  };
  if (scan.backward) {
    fill(rows.rbegin(), rows.rend());
  } else {
    fill(rows.begin(), rows.end());
  }
  return out;
}

Found View::look(const Found& from_store, const Reads& reads, const WriteBatch& open) {
  extend(open_, open);
  Found out;
  for (const std::string& key : reads.keys) {
    auto value = peek(key, open);
    if (!value) {
      const auto* stored = from_store.get(key);
      POSTRIDER_CHECK(stored != nullptr);
      value = *stored;
    }
    out.set(key, std::move(*value));
  }
  for (const Scan& scan : reads.scans) {
    const Rows* stored = from_store.scan(scan);
    POSTRIDER_CHECK(stored != nullptr);
    out.set(scan, merge(scan, *stored));
  }
  return out;
}

}  // namespace postrider
