#include "apps/postrider/profile_live.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "apps/postrider/output.h"
#include "apps/postrider/session.h"
#include "apps/postrider/shapes.h"

namespace postrider {
namespace {

constexpr std::size_t kBarMax = 24;

struct Counts {
  std::map<std::string, std::uint64_t> by_state;
  std::uint64_t all = 0;

  std::uint64_t of(std::string_view state) const {
    const auto found = by_state.find(std::string(state));
    return found == by_state.end() ? 0 : found->second;
  }
};

void add_states(Counts& counts, const Json* states) {
  if (states == nullptr) return;
  for (std::size_t i = 0; i < states->names.size(); ++i) {
    const std::uint64_t messages = std::strtoull(states->items[i].text.c_str(), nullptr, 10);
    counts.by_state[states->names[i]] += messages;
    counts.all += messages;
  }
}

// As the daemon counts them; while it cannot tell, by a look at all messages.
std::optional<Counts> count(const Session& session, const ProfileSpec& profile) {
  Counts counts;
  ClientRequest request;
  request.path = "/v1/stats";
  const std::optional<Json> stats = session.ask(request, false);
  if (!stats) return std::nullopt;
  if (const Json* states = stats->find("states")) {
    add_states(counts, states->find(profile.name));
    return counts;
  }
  const bool looked = walk_shape(session, "", [&](const Json& one) {
    if (one.at("profile") == profile.name) add_states(counts, one.find("states"));
  });
  if (!looked) return std::nullopt;
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

std::string draw(const ProfileSpec& profile, std::string_view method, const Counts& counts) {
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
  return table.text() + std::to_string(counts.all) +
         (counts.all == 1 ? " message lives\n" : " messages live\n");
}

std::string as_json(const ProfileSpec& profile, const Counts& counts) {
  std::string states;
  for (const StateRow& state : profile.states) {
    if (is_end(state.phase)) continue;
    states.append(states.empty() ? "" : ",").append(json_text(state.name)).append(":");
    states.append(std::to_string(counts.of(state.name)));
  }
  return "{\"profile\":" + json_text(profile.name) + ",\"live\":" + std::to_string(counts.all) +
         ",\"states\":{" + states + "}}\n";
}

std::string as_mermaid(const ProfileSpec& profile, std::string_view method, const Counts& counts) {
  std::string text =
      render_profile({.profile = profile, .health = {}, .method = method}, RenderFormat::kMermaid);
  for (const StateRow& state : profile.states) {
    const std::uint64_t number = counts.of(state.name);
    if (number != 0)
      text.append("  ").append(state.name).append(" : ").append(std::to_string(number) + "\n");
  }
  return text;
}

}  // namespace

int show_live(const Parsed& parsed, const ProfileSpec& profile, std::string_view method,
              RenderFormat format) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const auto look = [&](const Session& asked, std::string& text) {
    const std::optional<Counts> counts = count(asked, profile);
    if (!counts) return kExitFailure;
    if (format == RenderFormat::kJson) {
      text = as_json(profile, *counts);
    } else if (format == RenderFormat::kMermaid) {
      text = as_mermaid(profile, method, *counts);
    } else {
      text = draw(profile, method, *counts);
    }
    return kExitOk;
  };
  if (parsed.has("--watch")) return watch(parsed, *session, look);
  std::string text;
  code = look(*session, text);
  print(text);
  return code;
}

}  // namespace postrider
