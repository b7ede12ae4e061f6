// The configuration for people: a commented file to begin with, and the reference.
#include "postrider/config/config_part.h"
#include "postrider/config/config_rows.h"

namespace postrider {
namespace {

constexpr std::string_view kHead =
    "# Configuration of Postrider. Every setting is shown with its default; remove the # to change "
    "it.\n"
    "# Each is an environment variable too, which wins: POSTRIDER_SERVER_LISTEN=127.0.0.1:9000\n"
    "# 'postrider config check FILE' says what is wrong with a file before it is used.\n";

constexpr std::string_view kTokens =
    "\n# Who may do what. Without a token everybody who reaches us may do everything, and we "
    "listen on\n"
    "# loopback only. Scopes: submit (send messages), read, operate (change destinations, retry, "
    "cancel).\n"
    "# The secret is given as one of secret, secret_file and secret_env; it has 16 bytes or more.\n"
    "# [[tokens]]\n"
    "# name = \"shop\"\n"
    "# tenant = \"default\"  # a share of the door and a space of operation keys, and no wall: "
    "every\n"
    "#                      # token reads the messages of all tenants\n"
    "# scopes = [\"submit\", \"read\"]\n"
    "# secret_file = \"/etc/postrider/shop.token\"\n";

constexpr std::string_view kDestinations =
    "\n# Destinations that are there from the start; others come and go by 'postrider dest put'.\n"
    "# 'postrider profile show webhook' lists the settings.\n"
    "# [destinations.billing]\n"
    "# profile = \"webhook\"\n"
    "# [destinations.billing.settings]\n"
    "# url = \"https://example.com/hook\"\n"
    "# secret_file = \"/etc/postrider/billing.secret\"  # or secret, or secret_env\n";

constexpr std::string_view kBrokers =
    "\n# Brokers of MQTT: commands go out by them, and events of a plugin come in. The password is "
    "given\n"
    "# as one of password, password_file and password_env.\n"
    "# [brokers.field]\n"
    "# host = \"broker.example\"\n"
    "# port = 8883\n"
    "# tls = true\n"
    "# user = \"postrider\"\n"
    "# password_file = \"/etc/postrider/field.password\"\n"
    "# plugin = \"lorawan\"\n";

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

void put_table(std::string& out, const ConfigSection& section, std::span<const ConfigRow> rows,
               const Config& defaults) {
  out.append("### [").append(section.name).append("]: ").append(section.meaning);
  out.append("\n\n| key | default | may be | meaning |\n|---|---|---|---|\n");
  for (const ConfigRow& row : rows) {
    if (row.section != section.name) continue;
    out.append("| ").append(row.key).append(" | `").append(cell(written_value(row, defaults)));
    out.append("` | ").append(cell(may_be(row))).append(" | ").append(cell(row.meaning));
    out.append(" |\n");
  }
}

}  // namespace

std::string config_template(ConfigParts parts) {
  const Config defaults;
  std::string out(kHead);
  for (const ConfigSection& section : config_sections(parts)) {
    out.append("\n# ").append(section.meaning).append("\n[").append(section.name).append("]\n");
    for (const ConfigRow& row : config_rows(parts)) {
      if (row.section != section.name) continue;
      out.append("# ").append(row.meaning).append(" (").append(may_be(row)).append(")\n# ");
      out.append(row.key).append(" = ").append(written_value(row, defaults)).append("\n");
    }
  }
  out.append(kTokens).append(kDestinations).append(kBrokers);
  for (const ConfigPart* part : parts) out.append(part->sample);
  return out;
}

std::string config_reference(ConfigParts parts) {
  const Config defaults;
  std::string out;
  for (const ConfigSection& section : config_sections(parts)) {
    if (!out.empty()) out += '\n';
    put_table(out, section, config_rows(parts), defaults);
  }
  out += '\n';
  put_table(out, {"brokers.NAME", "a broker of MQTT"}, broker_rows(), one_broker());
  return out;
}

}  // namespace postrider
