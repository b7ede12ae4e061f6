// postrider status: one look at a daemon. What became of everything that was accepted, how the
// destinations are, what has waited longest, and how much room the disk has.
#include <algorithm>
#include <array>
#include <map>

#include "apps/postrider/commands.h"
#include "apps/postrider/shapes.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"

namespace postrider {
namespace {

constexpr auto kOptions = std::to_array<OptionRow>({kWatchRow});

struct Status {
  Json whoami;
  Json stats;
  std::map<std::string, std::uint64_t> healths;  // of destinations
  std::string oldest_at;                         // when the oldest message that lives was accepted
  std::string oldest_of;
};

std::optional<Status> look(const Session& session) {
  Status status;
  ClientRequest request;
  request.path = "/v1/whoami";
  std::optional<Json> answer = session.ask(request, false);
  if (!answer) return std::nullopt;
  status.whoami = std::move(*answer);
  request.path = "/v1/stats";
  answer = session.ask(request, false);
  if (!answer) return std::nullopt;
  status.stats = std::move(*answer);
  const bool good = session.walk("/v1/destinations", "destinations", [&](const Json& item) {
    ++status.healths[item.at("health")];
  }) && session.walk("/v1/queues", "queues", [&](const Json& item) {
    const std::string at = item.at("oldest_at");
    if (at.empty() || (!status.oldest_at.empty() && status.oldest_at <= at)) return;
    status.oldest_at = at;
    status.oldest_of = item.at("destination");
  });
  if (!good) return std::nullopt;
  return status;
}

// "1234 accepted = 1200 delivered + 30 dead + 4 live"; parts that are 0 are left out.
std::string conservation_text(const Json& law) {
  std::string sum;
  for (const std::string_view part :
       {"delivered", "dead", "expired", "cancelled", "indeterminate", "live"}) {
    const std::string count = law.at(part);
    if (count == "0" && part != "live") continue;
    sum.append(sum.empty() ? "" : " + ").append(count).append(" ").append(part);
  }
  return law.at("accepted") + " accepted = " + sum;
}

std::string health_text(const std::map<std::string, std::uint64_t>& healths) {
  std::uint64_t all = 0;
  std::string parts;
  for (const auto& [health, count] : healths) {
    all += count;
    parts.append(parts.empty() ? "" : ", ").append(std::to_string(count)).append(" ");
    parts += coloured(shown(health), colour_of_health(health));
  }
  return all == 0 ? "none yet: postrider dest put NAME URL" : std::to_string(all) + ": " + parts;
}

std::string size_text(std::uint64_t bytes) {
  constexpr auto kUnits = std::to_array<std::string_view>({"B", "KiB", "MiB", "GiB", "TiB"});
  std::size_t unit = 0;
  std::uint64_t tenths = bytes * 10;
  while (tenths >= 10'240 && unit + 1 < kUnits.size()) {
    tenths /= 1024;
    ++unit;
  }
  const std::string point = unit == 0 ? "" : "." + std::to_string(tenths % 10);
  return std::to_string(tenths / 10) + point + " " + std::string(kUnits[unit]);
}

std::string describe(const Session& session, const Status& status, Timestamp now) {
  static const Json kNone;
  const auto part = [&](std::string_view name) -> const Json& {
    const Json* found = status.stats.find(name);
    return found == nullptr ? kNone : *found;
  };
  FactList facts;
  facts.add("daemon", "postrider " + shown(status.whoami.at("version")) + " at " +
                          shown(session.client().url));
  facts.add("messages", conservation_text(part("conservation")));
  facts.add("oldest", status.oldest_at.empty()
                          ? "nothing waits"
                          : moment_long(status.oldest_at, now) + " for " +
                                (status.oldest_of.empty() ? "a destination that is gone"
                                                          : shown(status.oldest_of)));
  facts.add("destinations", health_text(status.healths));
  const std::string there = part("dead_letters").at("there");
  const std::string parked = part("dead_letters").at("parked");
  facts.add("dead letters", there + (parked == "0" ? "" : ", and " + parked + " parked"),
            there == "0" && parked == "0" ? Colour::kPlain : Colour::kWarn);
  facts.add("on the wire", status.stats.at("open_attempts") + " attempts");
  if (const std::string jobs = status.stats.at("jobs_running"); jobs != "0")
    facts.add("jobs", jobs + " running");
  if (const std::string records = status.stats.at("quarantined"); records != "0")
    facts.add("quarantine", records + " unreadable records", Colour::kBad);
  facts.add("disk", size_text(number_of(part("process"), "free_bytes")) + " free");
  facts.add("memory", size_text(number_of(part("process"), "resident_bytes")));
  if (status.stats.at("restoring") == "true")
    facts.add("state", "reads what an earlier life left; counts are not complete", Colour::kWarn);
  return facts.text();
}

std::string to_json(const Status& status) {
  std::string out = "{\"version\":" + json_text(status.whoami.at("version"));
  const auto counts = [&](std::string_view name, const Json* object) {
    out.append(",").append(json_text(name)).append(":{");
    for (std::size_t i = 0; object != nullptr && i < object->names.size(); ++i) {
      out.append(i == 0 ? "" : ",").append(json_text(object->names[i]));
      out.append(":").append(object->items[i].text);
    }
    out += '}';
  };
  counts("conservation", status.stats.find("conservation"));
  counts("dead_letters", status.stats.find("dead_letters"));
  out += ",\"destinations\":{";
  std::string_view between;
  for (const auto& [health, count] : status.healths) {
    out.append(between).append(json_text(health)).append(":").append(std::to_string(count));
    between = ",";
  }
  out += '}';
  if (!status.oldest_at.empty()) {
    out.append(",\"oldest_at\":").append(json_text(status.oldest_at));
    if (!status.oldest_of.empty())
      out.append(",\"oldest_of\":").append(json_text(status.oldest_of));
  }
  counts("process", status.stats.find("process"));
  return out.append(",\"restoring\":").append(status.stats.at("restoring")).append("}\n");
}

int show_status(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  return show(parsed, *session, [](const Session& asked, std::string& text) {
    const std::optional<Status> status = look(asked);
    if (!status) return kExitFailure;
    text = asked.json() ? to_json(*status) : describe(asked, *status, wall_now());
    return kExitOk;
  });
}

constexpr Command kCommand = {
    "status",
    {},
    "Shows how a daemon is: what became of all messages, destinations by health, the oldest "
    "message, disk and version.",
    kOptions,
    true,
    show_status};

}  // namespace

int run_status(Arguments arguments) { return run_command("", kCommand, arguments); }

}  // namespace postrider
