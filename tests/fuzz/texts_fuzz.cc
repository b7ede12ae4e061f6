// Feeds arbitrary bytes to the readers of small texts: dates, durations, addresses, secrets,
// settings of the sinks and their requests, and the files beside the database. The first byte picks
// the reader.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/base/crc.h"
#include "postrider/base/durations.h"
#include "postrider/protocols/device/mint.h"
#include "postrider/protocols/web/base64.h"
#include "postrider/protocols/web/http_text.h"
#include "postrider/protocols/web/standard_webhooks.h"
#include "postrider/sinks/common/sink_http.h"
#include "postrider/sinks/device/meter_control.h"
#include "postrider/stores/rocks/check_records.h"
#include "postrider/stores/rocks/directory.h"
#include "postrider/stores/rocks/synced_mark.h"
#include "postrider/transports/net/address_guard.h"
#include "postrider/transports/net/target.h"

namespace postrider {
namespace {

constexpr Timestamp kWall(1'800'000'000'000);

void read_times(std::string_view text) {
  if (const auto time = parse_http_date(text)) POSTRIDER_CHECK(to_http_date(*time) == text);
  if (const auto time = parse_rfc3339(text))
    POSTRIDER_CHECK(parse_rfc3339(to_rfc3339(*time)) == time);
  if (const auto wait = parse_retry_after(text, kWall)) POSTRIDER_CHECK(*wait >= Duration(0));
  if (const auto duration = parse_duration(text)) {
    POSTRIDER_CHECK(*duration >= Duration(0) && *duration <= kDurationMax);
    POSTRIDER_CHECK(*parse_duration(to_string(*duration)) == *duration);
  }
  if (const auto durations = parse_durations(text, 5))
    POSTRIDER_CHECK(!durations->empty() && durations->size() <= 5);
}

void read_addresses(std::string_view text) {
  const bool good = check_http_url(text).has_value();
  const std::string_view origin = origin_of(text);
  POSTRIDER_CHECK(text.starts_with(origin));
  if (good) POSTRIDER_CHECK(!origin.empty());
  if (const auto path = path_of(text, origin))
    POSTRIDER_CHECK(path->path.find_first_of(std::string_view("\r\n\0 ", 4)) == std::string::npos);
  if (const auto parts = parse_origin(origin)) {
    POSTRIDER_CHECK(!parts->host.empty() && parts->authority.starts_with(parts->host));
    static_cast<void>(read_host(parts->host));
  }
  const HostReading host = read_host(text);
  if (host.kind == HostKind::kAddress) {
    const HostReading again = read_host(host.address.is_v4() ? to_string(host.address)
                                                             : "[" + to_string(host.address) + "]");
    POSTRIDER_CHECK(again.kind == HostKind::kAddress && again.address == host.address);
  }
  if (const auto range = parse_ip_range(text)) POSTRIDER_CHECK(range->holds(range->first));
}

void read_words(std::string_view text) {
  for (const std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{7}, text.size()}) {
    const std::string excerpt = clean_excerpt(text, most);
    POSTRIDER_CHECK(excerpt.size() <= most && clean_excerpt(excerpt, most) == excerpt);
    static_cast<void>(marked_excerpt(text, most));
  }
  if (const auto secrets = parse_webhook_secrets(text)) {
    POSTRIDER_CHECK(!secrets->empty());
    const std::string signatures =
        webhook_signatures(*secrets, {.id = "1", .timestamp = "2", .body = text}, Timestamp(2000));
    POSTRIDER_CHECK(signatures.starts_with("v1,"));
  }
  if (const auto bytes = base64_decode(text)) {
    const std::span<const std::uint8_t> view(reinterpret_cast<const std::uint8_t*>(bytes->data()),
                                             bytes->size());
    POSTRIDER_CHECK(base64_decode(base64_encode(view)) == bytes);
  }
  for (const char c : rocks::describe_key(text)) POSTRIDER_CHECK(c >= ' ' && c != 0x7F);
  const std::string sealed = std::string(text) + "crc " + std::to_string(crc32c(text)) + "\n";
  if (const auto mark = rocks::decode_clean(sealed))
    POSTRIDER_CHECK(rocks::decode_clean(rocks::encode_clean(*mark)) == mark);
  static_cast<void>(rocks::decode_clean(text));
  if (const auto mark = rocks::decode_synced(sealed)) {
    // What does not fit is left out; what was written is read again.
    const auto again = rocks::decode_synced(rocks::encode_synced(*mark));
    POSTRIDER_CHECK(again && rocks::decode_synced(rocks::encode_synced(*again)) == again);
  }
  static_cast<void>(rocks::newest_synced(text));
}

void read_mint(std::string_view text) {
  if (const auto mint = device::parse_mint(text)) {
    const auto again = device::parse_mint(device::encode_mint(*mint));
    POSTRIDER_CHECK(again.has_value() && *again == *mint);
    static_cast<void>(device::mint_call_v1({}, *mint).body);
    static_cast<void>(device::mint_call_v2({}, *mint).body);
    static_cast<void>(device::mint_call_sts(*mint, 3).has_value());
  }
  const calin::HttpAnswer answer{.status = 200, .content_type = "application/json", .body = text};
  for (const device::SendReply& reply :
       {device::read_mint_v1(answer), device::read_mint_v2(answer), device::read_mint_sts(answer)})
    POSTRIDER_CHECK((reply.verdict == device::SendVerdict::kAccepted) == !reply.item.empty());
}

void read_sinks(std::string_view text) {
  sim::NetworkFaults network;
  if (read_faults(text, network)) POSTRIDER_CHECK(!render_faults(network).empty());
  sim::VendorFaults vendor;
  if (read_faults(text, vendor)) POSTRIDER_CHECK(!render_faults(vendor).empty());
  const SinkTarget target = split_target(text);
  static_cast<void>(query_word(target.query, "meter"));
  constexpr SinkParseLimits kLimits{.head_bytes_max = 256, .body_bytes_max = 256};
  SinkRequest request;
  if (parse_sink_request(text, kLimits, request) == SinkParse::kWhole) {
    POSTRIDER_CHECK(request.size <= text.size() && request.body.size() <= kLimits.body_bytes_max);
    // What is behind it changes nothing, and a part of it is not it.
    SinkRequest same;
    POSTRIDER_CHECK(parse_sink_request(text.substr(0, request.size), kLimits, same) ==
                    SinkParse::kWhole);
    POSTRIDER_CHECK(same.body == request.body && same.path == request.path);
  }
}

}  // namespace
}  // namespace postrider

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: postrider::read_times(text); break;
    case 1: postrider::read_addresses(text); break;
    case 2: postrider::read_words(text); break;
    case 3: postrider::read_mint(text); break;
    default: postrider::read_sinks(text); break;
  }
  return 0;
}
