#include "apps/postrider/profile_live.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "apps/postrider/shapes.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"

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

// Of one method, by a look at all messages: nobody keeps count of those.
std::optional<Counts> count_method(const Session& session, const ProfileSpec& profile,
                                   std::string_view method) {
  Counts counts;
  const bool looked = walk_shape(session, "", [&](const Json& one) {
    if (one.at("profile") != profile.name) return;
    const Json* methods = one.find("methods");
    add_states(counts, methods == nullptr ? nullptr : methods->find(method));
  });
  if (!looked) return std::nullopt;
  return counts;
}

// As the daemon counts them; while it cannot tell, by a look at all messages.
std::optional<Counts> count(const Session& session, const ProfileSpec& profile,
                            std::string_view method) {
  if (!method.empty() && profile.methods.size() > 1) return count_method(session, profile, method);
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

// What leads from a state to another, and in which methods.
struct Way {
  StateIndex to = 0;
  std::vector<std::string_view> methods;
  std::vector<std::string_view> signals;
};

void add_way(std::vector<Way>& ways, StateIndex to, std::string_view signal,
             const std::vector<std::string_view>& methods) {
  const auto same = [&](const Way& way) { return way.to == to && way.methods == methods; };
  auto way = std::find_if(ways.begin(), ways.end(), same);
  if (way == ways.end()) way = ways.insert(ways.end(), {to, methods, {}});
  way->signals.push_back(signal);
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string out;
  for (const std::string_view word : words) out.append(out.empty() ? "" : ", ").append(word);
  return out;
}

// "due → Sending". What does not hold for every method that has the state says for which it does.
std::string ways_out(const ProfileSpec& profile, std::string_view method, StateIndex from) {
  std::map<std::pair<StateIndex, On>, std::vector<std::string_view>> found;
  std::size_t users = 0;
  for (const Method& one : profile.methods) {
    if (!method.empty() && one.name != method) continue;
    bool uses = false;
    for (const Transition& row : one.rows) {
      if ((row.from & in(from)) == 0 || row.verb == Do::kIgnore) continue;
      uses = true;
      if (row.to != from) found[{row.to, row.on}].push_back(one.name);
    }
    users += uses ? 1 : 0;
  }
  std::vector<Way> ways;
  for (const auto& [way, methods] : found) add_way(ways, way.first, name_of(way.second), methods);
  std::string out;
  for (const Way& way : ways) {
    out.append(out.empty() ? "" : " · ").append(joined(way.signals));
    out.append(" → ").append(profile.states[way.to].name);
    if (way.methods.size() < users) out.append(" (").append(joined(way.methods)).append(")");
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

std::string as_markdown(const ProfileSpec& profile, std::string_view method, const Counts& counts) {
  std::string out = "| state | phase | messages | leads to |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < profile.states.size(); ++i) {
    const StateRow& state = profile.states[i];
    const auto index = static_cast<StateIndex>(i);
    if (is_end(state.phase) || !is_used(profile, method, index)) continue;
    out.append("| ").append(state.name).append(" | ").append(name_of(state.phase));
    out.append(" | ").append(std::to_string(counts.of(state.name)));
    out.append(" | ").append(ways_out(profile, method, index)).append(" |\n");
  }
  return out;
}

std::string as_json(const ProfileSpec& profile, std::string_view method, const Counts& counts) {
  std::string states;
  for (const StateRow& state : profile.states) {
    if (is_end(state.phase)) continue;
    states.append(states.empty() ? "" : ",").append(json_text(state.name)).append(":");
    states.append(std::to_string(counts.of(state.name)));
  }
  const std::string of_method = method.empty() ? "" : ",\"method\":" + json_text(method);
  return "{\"profile\":" + json_text(profile.name) + of_method +
         ",\"live\":" + std::to_string(counts.all) + ",\"states\":{" + states + "}}\n";
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
    const std::optional<Counts> counts = count(asked, profile, method);
    if (!counts) return kExitFailure;
    if (format == RenderFormat::kJson) {
      text = as_json(profile, method, *counts);
    } else if (format == RenderFormat::kMarkdown) {
      text = as_markdown(profile, method, *counts);
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
