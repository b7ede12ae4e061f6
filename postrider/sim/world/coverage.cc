#include "postrider/sim/world/coverage.h"

#include <utility>

namespace postrider::sim {
namespace {

std::string describe_row(const ProfileSpec& profile, const Transition& row) {
  std::string text = "(";
  bool first = true;
  for (StateIndex state = 0; state < profile.states.size(); ++state) {
    if ((row.from & in(state)) == 0) continue;
    if (!first) text += "|";
    text += profile.states[state].name;
    first = false;
  }
  text += ", ";
  text += name_of(row.on);
  text += ") ";
  text += name_of(row.verb);
  if (row.verb != Do::kIgnore) {
    text += " to ";
    text += profile.states[row.to].name;
  }
  return text;
}

// Rows that no world of any field can reach, with the reason; empty for all others.
std::string_view unreachable_anywhere(std::string_view row) {
  // The engine raises `due` only for messages that wait; the rows say what every other state would
  // do with it.
  if (row.find(", due) ignore") != std::string_view::npos)
    return "due is raised for waiting messages only";
  if (row.find(", timed-out) ignore") != std::string_view::npos)
    return "only the timer of an attempt or of a stage times out";
  if (row.find(", peer-seen) ignore") != std::string_view::npos)
    return "a sign of life is raised for messages in back-off only";
  return {};
}

}  // namespace

void Coverage::add(const std::vector<Engine::RowUse>& uses) {
  for (const Engine::RowUse& use : uses)
    times_[{std::string(use.profile), use.method, use.row}] += use.times;
}

std::vector<RowUse> Coverage::rows(const Field& field) const {
  const ProfileSpec& profile = field.profile();
  const std::string name(profile.name);
  std::vector<RowUse> out;
  for (std::size_t method = 0; method < profile.methods.size(); ++method) {
    const auto rows = profile.methods[method].rows;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto at = times_.find({name, method, row});
      RowUse use{name, std::string(profile.methods[method].name), describe_row(profile, rows[row]),
                 at == times_.end() ? 0 : at->second};
      use.unreachable = field.unreachable(use);
      if (use.unreachable.empty()) use.unreachable = unreachable_anywhere(use.row);
      out.push_back(std::move(use));
    }
  }
  return out;
}

}  // namespace postrider::sim
