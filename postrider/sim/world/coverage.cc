#include "postrider/sim/world/coverage.h"

#include "postrider/base/check.h"
#include "postrider/sim/world/plan.h"

namespace postrider::sim {
namespace {

std::string describe(const ProfileSpec& profile, const Transition& row) {
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

}  // namespace

void Coverage::add(const std::vector<Engine::RowUse>& uses) {
  for (const Engine::RowUse& use : uses)
    times_[{std::string(use.profile), use.method, use.row}] += use.times;
}

std::vector<RowUse> Coverage::rows(const std::string& name) const {
  const ProfileSpec* profile = find_sim_profile(name);
  POSTRIDER_CHECK(profile != nullptr);
  std::vector<RowUse> out;
  for (std::size_t method = 0; method < profile->methods.size(); ++method) {
    const auto rows = profile->methods[method].rows;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto at = times_.find({name, method, row});
      out.push_back({name, std::string(profile->methods[method].name),
                     describe(*profile, rows[row]), at == times_.end() ? 0 : at->second});
    }
  }
  return out;
}

namespace {

// Devices: only news comes unasked, and only over the air.
std::string_view device_reason(const RowUse& row) {
  const auto has = [&row](std::string_view text) {
    return row.row.find(text) != std::string::npos;
  };
  if (has("(Sending, still-held)")) return "no call is asked whether it is open: it ends by itself";
  if (row.method == "mint") return "no simulated client has tokens made";
  if (row.method.starts_with("pull-")) {
    const bool said = has(", accepted) ignore") || has(", answered) ignore") ||
                      has(", still-held) ignore") || has(", failed) ignore");
    return said ? "a vendor speaks only when it is called" : std::string_view();
  }
  if (has(", accepted) ignore")) return "a reply that an event has overtaken is not heard any more";
  if (has(", still-held) ignore")) return "only a question is answered so, and none is open";
  if (has("(CheckAir, accepted)")) return "what was sent has a name, and a look goes by that";
  return {};
}

}  // namespace

std::string_view unreachable_reason(const RowUse& row) {
  if (row.profile == "device") {
    if (const std::string_view reason = device_reason(row); !reason.empty()) return reason;
  }
  // The engine raises `due` only for messages that wait; the rows say what everybody else would do
  // with it.
  if (row.row.find(", due) ignore") != std::string::npos)
    return "due is raised for waiting messages only";
  if (row.row.find(", timed-out) ignore") != std::string::npos)
    return "only the timer of an attempt or of a stage times out";
  // A receipt that denies what is on its way would be believed, and the operation would run twice;
  // so no peer sends one.
  const bool denial = row.row.find(", no-link) ignore") != std::string::npos ||
                      row.row.find(", failed) ignore") != std::string::npos ||
                      row.row.find(", rejected) ignore") != std::string::npos;
  if (row.method == "once" && denial) return "no peer denies by receipt what must not be repeated";
  return {};
}

}  // namespace postrider::sim
