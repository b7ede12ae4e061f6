#include "postrider/stores/journaled/check_any.h"

#include <utility>

#include "postrider/stores/journaled/open_parts.h"
#include "postrider/stores/layered/layered_store.h"
#include "postrider/stores/rocks/check_records.h"
#include "postrider/stores/rocks/check_tables.h"

namespace postrider {
namespace {

constexpr std::uint32_t kRowsAtOnce = 1'000;

void add_journal_notes(const segments::SegmentJournal& journal, GroupNumber loaded,
                       CheckReport& report) {
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  const Ownership found = journal.found();
  report.notes.push_back("the journal holds the groups " + text(found.first.value()) + " to " +
                         text(found.last.value()) + ", the map those up to " +
                         text(loaded.value()));
  for (const segments::Use& use : journal.control().order)
    report.notes.push_back("journal/" + segments::segment_name(use.file) + ": generation " +
                           text(use.generation) + ", from group " + text(use.first.value()));
}

rocks::RecordSource source_of(layered::LayeredStore& store, std::uint64_t epochs_given,
                              CheckReport& report) {
  rocks::RecordSource source;
  source.epochs_given = epochs_given;
  source.get = [&store](std::string_view key) -> std::optional<std::string> {
    const std::string asked(key);
    const auto found = store.read({.keys = {asked}, .scans = {}});
    const std::optional<Blob>* value = found ? found->get(asked) : nullptr;
    if (value == nullptr || !value->has_value()) return std::nullopt;
    return std::string((*value)->view());
  };
  source.for_each = [&store, &report](std::string_view first, std::string_view last,
                                      const auto& visit) {
    Scan page{std::string(first), std::string(last), kRowsAtOnce, true};
    while (true) {
      const auto found = store.read({.keys = {}, .scans = {page}});
      const Rows* rows = found ? found->scan(page) : nullptr;
      if (rows == nullptr) {
        report.add_damage("records cannot be read: " + (found ? "" : found.error().detail));
        return false;
      }
      for (const Row& row : rows->rows) visit(row.first, row.second.view());
      if (rows->complete || rows->rows.empty()) return true;
      page.first = rows->rows.back().first + '\0';
    }
  };
  return source;
}

Result<CheckReport> check_journaled(std::unique_ptr<rocks::Directory> directory) {
  CheckReport report;
  auto parts = journaled::look_at_parts(std::move(directory));
  if (!parts) {
    report.add_damage(parts.error().detail);
    return report;
  }
  rocks::check_tables(parts->map->database(), report);
  const auto loaded = parts->map->loaded();
  if (!loaded) {
    report.add_damage(loaded.error().detail);
    return report;
  }
  add_journal_notes(*parts->journal, *loaded, report);
  layered::LayeredStore store(*parts->journal, *parts->map);
  const Ownership found = parts->journal->found();
  if (const auto begun = store.begin(found); !begun) {
    report.add_damage(begun.error().detail);
    return report;
  }
  rocks::check_records(source_of(store, found.epoch.value(), report), report);
  return report;
}

}  // namespace

Result<CheckReport> check_any_store(const std::string& path) {
  {
    POSTRIDER_TRY(directory, rocks::Directory::open(path, rocks::Directory::Use::kCheck));
    POSTRIDER_TRY(stage, directory->stage());
    if (stage == rocks::Directory::Stage::kJournal) return check_journaled(std::move(directory));
  }
  return check_store(path);
}

}  // namespace postrider
