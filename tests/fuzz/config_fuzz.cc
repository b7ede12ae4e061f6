// Feeds arbitrary bytes to the reader of configurations. What it takes must be taken again when it
// is written down; what it refuses must be refused with words, and never with a secret.
#include "postrider/config/config.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/config/config_rows.h"
#include "postrider/doors/all.h"

namespace postrider {
namespace {

constexpr std::string_view kSecret = "planted-secret-0123456789";
constexpr std::size_t kLineBytes = 4000;

void check_settings(const Config& config) {
  std::string again;
  for (const ConfigSection& section : config_sections(doors::all_config_parts())) {
    again.append("[").append(section.name).append("]\n");
    for (const ConfigRow& row : config_rows(doors::all_config_parts())) {
      if (row.section != section.name) continue;
      const std::string value = written_value(row, config);
      if (value.size() > kLineBytes) return;  // a list of long texts does not fit a line
      again.append(row.key).append(" = ").append(value).append("\n");
    }
  }
  again +=
      "[[tokens]]\nname = \"x\"\nscopes = [\"read\"]\nsecret = \"" + std::string(kSecret) + "\"\n";
  const Result<Config> reread =
      parse_config(again, "again.toml", {}, {}, doors::all_config_parts());
  POSTRIDER_CHECK(reread.has_value());
  for (const ConfigRow& row : config_rows(doors::all_config_parts()))
    POSTRIDER_CHECK(written_value(row, *reread) == written_value(row, config));
}

}  // namespace
}  // namespace postrider

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Environment environment = {{"S", std::string(kSecret)}};
  const Result<Config> config =
      parse_config(bytes, "fuzz.toml", environment, {}, doors::all_config_parts());
  if (config) {
    check_settings(*config);
  } else {
    POSTRIDER_CHECK(!config.error().detail.empty());
    POSTRIDER_CHECK(config.error().detail.find(kSecret) == std::string::npos);
  }
  const std::size_t half = size / 2;
  for (const ConfigRow& row : config_rows(doors::all_config_parts())) {
    Config one;
    static_cast<void>(set_from_text(row, bytes.substr(0, half), one));
  }
  return 0;
}
