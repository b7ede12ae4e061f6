#include "apps/postrider/profile_live.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apps/postrider/output.h"
#include "apps/postrider/session.h"

namespace postrider {
namespace {

constexpr std::size_t kPagesMax = 2000;  // of messages; what is beyond is not counted
constexpr std::size_t kBarMax = 24;

struct Counts {
  std::map<std::string, std::uint64_t> by_state;
  std::uint64_t all = 0;
  bool cut = false;

  std::uint64_t of(std::string_view state) const {
    const auto found = by_state.find(std::string(state));
    return found == by_state.end() ? 0 : found->second;
  }
};

// Calls `each` with every item of a list; false: a complaint is printed.
template <class Each>
bool walk(const Session& session, const std::string& path, std::string_view name, bool& cut,
          Each each) {
  std::string next;
  for (std::size_t pages = 0; pages < kPagesMax; ++pages) {
    ClientRequest request;
    request.path = path + "?limit=1000";
    if (!next.empty()) request.path += "&cursor=" + percent_encode(next);
    const std::optional<Json> page = session.ask(request, false);
    if (!page) return false;
    for (const Json& item : page->list(name)) each(item);
    next = page->at("next");
    if (next.empty()) return true;
  }
  cut = true;
  return true;
}

std::optional<Counts> count(const Session& session, const ProfileSpec& profile) {
  Counts counts;
  std::set<std::string> names;
  const bool listed =
      walk(session, "/v1/destinations", "destinations", counts.cut, [&](const Json& one) {
        if (one.at("profile") == profile.name) names.insert(one.at("name"));
      });
  if (!listed) return std::nullopt;
  const bool counted = walk(session, "/v1/messages", "messages", counts.cut, [&](const Json& one) {
    if (!names.contains(one.at("destination"))) return;
    ++counts.by_state[one.at("state")];
    ++counts.all;
  });
  if (!counted) return std::nullopt;
  return counts;
}

// "due → Sending": where a state leads, by all methods together.
std::string ways_out(const ProfileSpec& profile, std::string_view method, StateIndex from) {
  std::vector<std::pair<StateIndex, std::vector<std::string_view>>> ways;
  for (const Method& one : profile.methods) {
    if (!method.empty() && one.name != method) continue;
    for (const Transition& row : one.rows) {
      if ((row.from & in(from)) == 0 || row.verb == Do::kIgnore || row.to == from) continue;
      auto way = std::find_if(ways.begin(), ways.end(),
                              [&](const auto& known) { return known.first == row.to; });
      if (way == ways.end()) way = ways.insert(ways.end(), {row.to, {}});
      auto& signals = way->second;
      const std::string_view signal = name_of(row.on);
      if (std::find(signals.begin(), signals.end(), signal) == signals.end())
        signals.push_back(signal);
    }
  }
  std::string out;
  for (const auto& [to, signals] : ways) {
    out.append(out.empty() ? "" : " · ");
    for (std::size_t i = 0; i < signals.size(); ++i)
      out.append(i == 0 ? "" : ", ").append(signals[i]);
    out.append(" → ").append(profile.states[to].name);
  }
  return out;
}

bool is_used(const ProfileSpec& profile, std::string_view method, StateIndex state) {
  return std::any_of(profile.methods.begin(), profile.methods.end(), [&](const Method& one) {
    if (!method.empty() && one.name != method) return false;
    return std::any_of(one.rows.begin(), one.rows.end(), [&](const Transition& row) {
      return (row.from & in(state)) != 0 && row.verb != Do::kIgnore;
    });
  });
}

void draw(const ProfileSpec& profile, std::string_view method, const Counts& counts) {
  std::uint64_t most = 1;
  for (const auto& [state, number] : counts.by_state) most = std::max(most, number);
  Table table({"STATE", "PHASE", "MESSAGES", "", "LEADS TO"});
  for (std::size_t i = 0; i < profile.states.size(); ++i) {
    const StateRow& state = profile.states[i];
    const auto index = static_cast<StateIndex>(i);
    if (is_end(state.phase) || !is_used(profile, method, index)) continue;
    const std::uint64_t number = counts.of(state.name);
    const std::size_t length = number == 0 ? 0 : std::max<std::size_t>(1, number * kBarMax / most);
    std::string bar;
    for (std::size_t k = 0; k < length; ++k) bar += "█";
    table.add({{std::string(state.name), number == 0 ? Colour::kPlain : Colour::kStrong},
               {std::string(name_of(state.phase)), colour_of_phase(name_of(state.phase))},
               {std::to_string(number)},
               {bar},
               {ways_out(profile, method, index), Colour::kFaint}});
  }
  print(table.text());
  print(std::to_string(counts.all) + (counts.cut ? " or more" : "") +
        (counts.all == 1 ? " message lives\n" : " messages live\n"));
}

std::string as_json(const ProfileSpec& profile, const Counts& counts) {
  std::string states;
  for (const StateRow& state : profile.states) {
    if (is_end(state.phase)) continue;
    states.append(states.empty() ? "" : ",").append(json_text(state.name)).append(":");
    states.append(std::to_string(counts.of(state.name)));
  }
  return "{\"profile\":" + json_text(profile.name) + ",\"live\":" + std::to_string(counts.all) +
         (counts.cut ? ",\"at_least\":true" : "") + ",\"states\":{" + states + "}}\n";
}

}  // namespace

int show_live(const Parsed& parsed, const ProfileSpec& profile, std::string_view method,
              RenderFormat format) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const std::optional<Counts> counts = count(*session, profile);
  if (!counts) return kExitFailure;
  if (format == RenderFormat::kJson) {
    print(as_json(profile, *counts));
  } else if (format == RenderFormat::kMermaid) {
    std::string text = render_profile({.profile = profile, .health = {}, .method = method}, format);
    for (const StateRow& state : profile.states) {
      if (counts->of(state.name) != 0)
        text.append("  ")
            .append(state.name)
            .append(" : ")
            .append(std::to_string(counts->of(state.name)) + "\n");
    }
    print(text);
  } else {
    draw(profile, method, *counts);
  }
  return kExitOk;
}

}  // namespace postrider
