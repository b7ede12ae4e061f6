#include "postrider/stores/segments/recover.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace postrider::segments {
namespace {

constexpr std::size_t kControlBytesMax = 256U << 10;

tl::unexpected<Error> refuse(const std::string& name, const std::string& why) {
  return fail(ErrorCode::kCorrupt, "journal " + name + ": " + why);
}

std::string show(GroupNumber number) { return std::to_string(number.value()); }

// The bytes of a whole file; none: it does not exist.
Result<std::optional<std::string>> load(Folder& folder, const std::string& name,
                                        std::size_t bytes_max) {
  auto file = folder.open(name);
  if (!file && file.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  if (!file) return tl::unexpected<Error>(file.error());
  POSTRIDER_TRY(bytes, (*file)->read(0, bytes_max));
  return std::optional<std::string>(std::move(bytes));
}

struct Copies {
  std::array<std::optional<Control>, 2> controls;
  bool any_file = false;
};
Result<Copies> read_controls(Folder& folder) {
  Copies copies;
  for (std::size_t i = 0; i < 2; ++i) {
    POSTRIDER_TRY(bytes, load(folder, kControlNames[i], kControlBytesMax));
    if (!bytes) continue;
    copies.any_file = true;
    copies.controls[i] = decode_control(*bytes);
  }
  return copies;
}

// Whether a segment holds a group of the use that its head names.
struct Glimpse {
  std::optional<FoundUse> found;
  bool has_group = false;
};
Result<Glimpse> glimpse(Folder& folder, const std::string& name) {
  POSTRIDER_TRY(bytes, load(folder, name, 2 * kBlock));
  Glimpse out;
  if (!bytes) return out;
  out.found = decode_use(*bytes);
  if (!out.found || bytes->size() < 2 * kBlock) return out;
  const std::optional<std::uint32_t> length =
      claimed_length(std::string_view(*bytes).substr(kBlock));
  if (!length) return out;
  POSTRIDER_TRY(whole, load(folder, name, kBlock + padded(*length)));
  if (!whole || whole->size() < kBlock) return out;
  const auto group = decode_group(out.found->id, std::string_view(*whole).substr(kBlock));
  out.has_group = group && group->head.generation == out.found->use.generation;
  return out;
}

class Recovery {
 public:
  explicit Recovery(Folder& folder) : folder_(folder) {}

  Result<std::optional<Recovered>> run() {
    POSTRIDER_TRY(copies, read_controls(folder_));
    if (!copies.controls[0] && !copies.controls[1]) return nothing_yet(copies.any_file);
    POSTRIDER_TRY(chosen, choose(copies));
    out_.control_copy = chosen;
    out_.control = *copies.controls[chosen];
    out_.newest_epoch = out_.control.epoch;
    out_.generation = out_.control.generation;
    if (auto read = read_mark(); !read) return tl::unexpected<Error>(read.error());
    for (std::size_t i = 0; i < out_.control.order.size(); ++i) {
      if (auto walked = walk(i); !walked) return tl::unexpected<Error>(walked.error());
    }
    if (auto looked = look_beside(); !looked) return tl::unexpected<Error>(looked.error());
    if (out_.mark.durable > out_.last()) {
      return refuse(kMarkName, "group " + show(out_.mark.durable) +
                                   " was durable, and the segments end with " + show(out_.last()));
    }
    return std::optional<Recovered>(std::move(out_));
  }

 private:
  // Without a control record there may be what an interrupted making left, and no group.
  Result<std::optional<Recovered>> nothing_yet(bool unreadable) {
    const std::string lack = unreadable ? "neither of the two copies is readable" : "missing";
    POSTRIDER_TRY(names, folder_.list());
    for (const std::string& name : names) {
      if (!parse_segment_name(name)) continue;
      POSTRIDER_TRY(seen, glimpse(folder_, name));
      if (seen.has_group) return refuse(kControlNames[0], lack + ", and " + name + " holds groups");
    }
    POSTRIDER_TRY(mark, load(folder_, kMarkName, 2 * kBlock));
    if (mark) {
      const auto [newest, slot] = newest_mark(*mark);
      if (newest && newest->durable.is_set())
        return refuse(kControlNames[0], lack + ", and the mark says that groups were durable");
    }
    return std::optional<Recovered>();
  }

  static Result<std::size_t> choose(const Copies& copies) {
    const auto& [first, second] = copies.controls;
    if (first && second && first->id != second->id)
      return refuse(kControlNames[1], "the copies are of two journals");
    if (!second) return std::size_t{0};
    if (!first) return std::size_t{1};
    return first->turn >= second->turn ? std::size_t{0} : std::size_t{1};
  }

  static std::pair<std::optional<Mark>, std::size_t> newest_mark(std::string_view bytes) {
    std::optional<Mark> newest;
    std::size_t slot = 0;
    for (std::size_t i = 0; i < 2 && bytes.size() > i * kBlock; ++i) {
      const std::optional<Mark> mark = decode_mark(bytes.substr(i * kBlock));
      if (!mark || (newest && newest->turn > mark->turn)) continue;
      newest = mark;
      slot = i;
    }
    return {newest, slot};
  }

  Result<void> read_mark() {
    POSTRIDER_TRY(bytes, load(folder_, kMarkName, 2 * kBlock));
    if (!bytes) return refuse(kMarkName, "missing");
    const auto [newest, slot] = newest_mark(*bytes);
    if (!newest) return refuse(kMarkName, "unreadable");
    if (newest->id != out_.control.id) return refuse(kMarkName, "of another journal");
    out_.mark = *newest;
    out_.mark_slot = slot;
    return {};
  }

  // Reads the groups of the i-th segment in use.
  Result<void> walk(std::size_t i) {
    const Use& use = out_.control.order[i];
    const std::string name = segment_name(use.file);
    POSTRIDER_TRY(loaded, load(folder_, name, out_.control.segment_bytes + 1));
    if (!loaded) return refuse(name, "missing");
    const std::string& bytes = *loaded;
    if (bytes.size() != out_.control.segment_bytes) {
      return refuse(name, "has another size than the " +
                              std::to_string(out_.control.segment_bytes) + " bytes of a segment");
    }
    const std::optional<FoundUse> found = decode_use(bytes);
    if (!found || found->id != out_.control.id || found->use != use)
      return refuse(name, "its head is not the one that the control record names");
    const GroupNumber expected = i == 0 ? use.first : next(out_.last());
    if (use.first != expected) {
      return refuse(
          name, "begins with group " + show(use.first) + ", and " + show(expected) + " is missing");
    }
    const std::uint64_t end = read_groups(use, bytes);
    if (i + 1 < out_.control.order.size()) return check_sealed(i, name, end);
    out_.end = end;
    return check_end(use, name, bytes, end);
  }

  // Takes the groups that follow one another; returns where they end.
  std::uint64_t read_groups(const Use& use, std::string_view bytes) {
    std::uint64_t offset = kBlock;
    GroupNumber number = use.first;
    while (offset < bytes.size()) {
      const auto group = decode_group(out_.control.id, bytes.substr(offset));
      if (!group || group->head.generation != use.generation || group->head.number != number) break;
      out_.groups.push_back({use.file, group->head.length, offset});
      out_.newest_epoch = std::max(out_.newest_epoch, group->head.epoch);
      offset += padded(group->head.length);
      number = next(number);
    }
    return offset;
  }

  Result<void> check_sealed(std::size_t i, const std::string& name, std::uint64_t end) {
    const GroupNumber following = out_.control.order[i + 1].first;
    if (next(out_.last()) == following) return {};
    return refuse(name, "group " + show(next(out_.last())) + " at offset " + std::to_string(end) +
                            " cannot be read, and the next segment begins with " + show(following));
  }

  // A later group of the same use can only be there if the unreadable one was durable before it.
  Result<void> check_end(const Use& use, const std::string& name, std::string_view bytes,
                         std::uint64_t end) {
    for (std::uint64_t offset = end; offset < bytes.size(); offset += kBlock) {
      const auto group = decode_group(out_.control.id, bytes.substr(offset));
      if (!group || group->head.generation != use.generation) continue;
      return refuse(name, "group " + show(next(out_.last())) + " at offset " + std::to_string(end) +
                              " cannot be read, and group " + show(group->head.number) +
                              " stands behind it");
    }
    return {};
  }

  // Spare segments, and files that the control record does not name: a group of a newer use means
  // that a newer control record was lost.
  Result<void> look_beside() {
    POSTRIDER_TRY(names, folder_.list());
    for (const std::uint32_t file : out_.control.spare) {
      const std::string name = segment_name(file);
      if (!std::binary_search(names.begin(), names.end(), name)) return refuse(name, "missing");
      POSTRIDER_TRY(opened, folder_.open(name));
      POSTRIDER_TRY(size, opened->size());
      if (size != out_.control.segment_bytes)
        return refuse(name, "has another size than a segment");
    }
    for (const std::string& name : names) {
      const std::optional<std::uint32_t> file = parse_segment_name(name);
      if (!file || in_order(*file)) continue;
      POSTRIDER_TRY(seen, glimpse(folder_, name));
      if (!seen.found || seen.found->id != out_.control.id) continue;
      if (seen.has_group && seen.found->use.generation > out_.control.generation) {
        return refuse(kControlNames[out_.control_copy],
                      "older than " + name + ": the newest control record was lost");
      }
      out_.generation = std::max(out_.generation, seen.found->use.generation);
    }
    return {};
  }
  bool in_order(std::uint32_t file) const {
    return std::any_of(out_.control.order.begin(), out_.control.order.end(),
                       [file](const Use& use) { return use.file == file; });
  }

  Folder& folder_;
  Recovered out_;
};

}  // namespace

Result<std::optional<Recovered>> recover(Folder& folder) { return Recovery(folder).run(); }

}  // namespace postrider::segments
