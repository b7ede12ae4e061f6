#include "postrider/node/reload.h"

#include <algorithm>
#include <iterator>

#include "postrider/config/config_rows.h"

namespace postrider {
namespace {

constexpr std::string_view kOrigin = "what the daemon is bound to";

bool reloads(std::span<const ConfigSection> all, const ConfigRow& row) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const ConfigSection& section) {
    return section.name == row.section;
  });
  return found != all.end() && found->reloads;
}

bool same(const BrokerOptions& a, const BrokerOptions& b) {
  const Config left = one_broker(a);
  const Config right = one_broker(b);
  const std::span<const ConfigRow> rows = broker_rows();
  return a.mqtt.password == b.mqtt.password &&
         std::all_of(rows.begin(), rows.end(), [&](const ConfigRow& row) {
           return written_value(row, left) == written_value(row, right);
         });
}

const BrokerOptions* find(const std::vector<BrokerOptions>& brokers, const std::string& name) {
  const auto found = std::find_if(brokers.begin(), brokers.end(),
                                  [&](const BrokerOptions& it) { return it.name == name; });
  return found == brokers.end() ? nullptr : &*found;
}

// Those of `a` that are missing in `b` or different there.
void put_changed_brokers(const std::vector<BrokerOptions>& a, const std::vector<BrokerOptions>& b,
                         std::vector<std::string>& names) {
  for (const BrokerOptions& broker : a) {
    const BrokerOptions* other = find(b, broker.name);
    if (other == nullptr || !same(broker, *other)) names.push_back("brokers." + broker.name);
  }
}

std::vector<std::string> needs_restart(const Config& running, const Config& wanted,
                                       ConfigParts parts) {
  const std::vector<ConfigSection> sections = config_sections(parts);
  std::vector<std::string> names;
  for (const ConfigRow& row : config_rows(parts)) {
    if (!reloads(sections, row) && written_value(row, running) != written_value(row, wanted))
      names.push_back(setting_name(row));
  }
  put_changed_brokers(running.brokers, wanted.brokers, names);
  put_changed_brokers(wanted.brokers, running.brokers, names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string with_commas(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out.append(out.empty() ? "" : ",").append(text);
  return out;
}

}  // namespace

Result<Reload> reload_config(const Config& running, const ConfigSource& read, ConfigParts parts) {
  POSTRIDER_TRY(wanted, read({}));
  const std::string origin(kOrigin);
  POSTRIDER_TRY(judged, read({{"server.listen", with_commas(running.server.listen), origin},
                              {"server.unix_socket", running.server.unix_socket, origin}}));
  return Reload{.config = std::move(judged), .kept = needs_restart(running, wanted, parts)};
}

}  // namespace postrider
