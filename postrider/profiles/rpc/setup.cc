#include "postrider/profiles/rpc/setup.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "postrider/model/setting_table.h"
#include "postrider/profiles/rpc/station.h"

namespace postrider::rpc {
namespace {

constexpr std::array<std::string_view, 3> kWays = {"tcp://", "tls://", "unix:"};

Result<void> read_listen(StationSetup& setup, std::string_view value) {
  while (!value.empty()) {
    const std::size_t cut = std::min(value.find(' '), value.size());
    const std::string address(value.substr(0, cut));
    value.remove_prefix(std::min(cut + 1, value.size()));
    if (address.empty()) continue;
    const bool good = std::any_of(kWays.begin(), kWays.end(), [&](std::string_view way) {
      return address.starts_with(way) && address.size() > way.size();
    });
    if (!good)
      return fail(ErrorCode::kInvalid,
                  "'listen' must be tcp://ADDRESS:PORT, tls://ADDRESS:PORT or unix:PATH, or "
                  "several of them with spaces between");
    setup.listen.push_back(address);
  }
  return {};
}

Result<void> read_one(StationSetup& setup, const std::string& name, const std::string& value) {
  const auto number = [&](std::uint32_t& out, std::uint32_t low,
                          std::uint32_t high) -> Result<void> {
    const auto read = settings::number_of(value, low, high);
    if (!read)
      return fail(ErrorCode::kInvalid,
                  "'" + name + "' must be " + std::to_string(low) + " to " + std::to_string(high));
    out = *read;
    return {};
  };
  if (name == "listen") return read_listen(setup, value);
  if (name == "attachments_max") return number(setup.attachments_max, 1, 4096);
  if (name == "calls_max") return number(setup.calls_max, 1, 65'536);
  if (name == "arguments_bytes_max") return number(setup.arguments_bytes_max, 1, 8U << 20);
  if (name == "tls") {
    if (!is_secrets_name(value))
      return fail(ErrorCode::kInvalid, "'tls' must be the name of a secret");
    setup.tls = value;
    return {};
  }
  if (name == "ping") {
    const auto ping = settings::duration_of(value, {.low = 1s, .high = 1h, .or_zero = true});
    if (!ping) return fail(ErrorCode::kInvalid, "'ping' must be 1s to 1h, or 0 for never");
    setup.ping = *ping;
    return {};
  }
  return fail(ErrorCode::kInvalid, "there is no setting '" + name + "'");
}

}  // namespace

Result<StationSetup> read_station_setup(const NamedTexts& settings) {
  StationSetup setup;
  for (const auto& [name, value] : settings) {
    if (auto read = read_one(setup, name, value); !read)
      return tl::unexpected<Error>(std::move(read.error()));
  }
  if (setup.listen.empty() || setup.listen.size() > kListenersMax)
    return fail(ErrorCode::kInvalid, "'listen' must have 1 to 16 addresses");
  const bool by_tls = std::any_of(setup.listen.begin(), setup.listen.end(),
                                  [](const std::string& one) { return one.starts_with("tls://"); });
  if (by_tls != !setup.tls.empty())
    return fail(ErrorCode::kInvalid,
                "'tls' must name the secret with key and certificate of a tls:// address, and only "
                "of such");
  return setup;
}

Result<std::unique_ptr<Station>> make_rpc_station(const NamedTexts& settings,
                                                  const Secrets& secrets) {
  POSTRIDER_TRY(setup, read_station_setup(settings));
  if (!setup.tls.empty() && secrets.find(setup.tls).empty())
    return fail(ErrorCode::kInvalid, "'tls' names no secret of the configuration");
  return std::unique_ptr<Station>(std::make_unique<RpcStation>(std::move(setup)));
}

}  // namespace postrider::rpc
