#include "postrider/model/packing.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace postrider {
namespace {

constexpr std::size_t kLiteralMax = 0x4F;
constexpr std::uint8_t kHex = 0x4F;  // and the number of bytes
constexpr std::size_t kHexBytesMax = 30;
constexpr std::size_t kHexDigitsMin = 8;  // fewer are not worth a piece
constexpr std::uint8_t kUuid = 0x6E;
constexpr std::uint8_t kWord = 0x70;
constexpr std::size_t kUuidBytes = 16;
constexpr std::size_t kUuidDigits = 36;

// Appended to, never changed: records hold the numbers.
constexpr auto kWords = std::to_array<std::string_view>({
    // Commands, as device_message.cc writes them.
    R"({"commandType":")",
    R"(","priority":)",
    R"(,"pluginId":")",
    R"(","networkId":)",
    R"(,"correlationId":")",
    R"(","correlationId":")",
    R"(","device":{"type":"ELECTRICITY_METER","externalReference":")",
    R"(,"device":{"type":"ELECTRICITY_METER","externalReference":")",
    R"("}})",
    R"(,"relayNode":{"id":")",
    R"(","externalReference":")",
    R"(,"snr":)",
    R"(,"rssi":)",
    R"(,"requestData":{"token":")",
    R"(,"requestData":{"payload":{)",
    R"(","payload":{)",
    R"("year":)",
    R"(,"month":)",
    R"(,"day":)",
    R"("hour":)",
    R"(,"minute":)",
    R"(,"second":)",
    R"(,"phase":")",
    R"(","phase":")",
    R"(,"expiresAt":")",
    R"(,"supersedeKey":")",
    "READ_CREDIT",
    "READ_VOLTAGE",
    "READ_CURRENT",
    "READ_POWER",
    "READ_POWER_LIMIT",
    "READ_VERSION",
    "READ_DATE",
    "READ_TIME",
    "READ_REPORT",
    "JOIN_NETWORK",
    "TURN_ON",
    "TURN_OFF",
    "SET_DATE",
    "SET_TIME",
    "TOP_UP_KWH",
    "CLEAR_CREDIT",
    "CLEAR_TAMPER",
    "SET_POWER_LIMIT",
    "DELIVER_PREEXISTING_TOKEN",
    // Responses, outcomes and events that we send.
    R"({"status":"EXECUTION_SUCCESS")",
    R"({"status":"EXECUTION_FAILURE")",
    R"(,"data":)",
    R"(,"level":)",
    R"(,"relayOn":true})",
    R"(,"relayOn":false})",
    R"(,"reason":")",
    R"(","reason":")",
    "executed",
    "refused",
    "failed",
    "expired",
    "cancelled",
    "unknown",
    "token_maybe_applied",
    R"({"eventId":")",
    R"(","occurredAt":")",
    R"(","pluginId":")",
    R"(","message":{"deliveryStatus":")",
    "SENT_TO_NS",
    "DELIVERED_TO_NS",
    "SENT_TO_DEVICE",
    "DELIVERY_SUCCESSFUL",
    "DELIVERY_FAILED",
    "TO_RETRY",
    "QUEUED",
    R"("},"id":")",
    R"(","commandType":")",
    R"(,"failureHistory":[{"timestamp":")",
    R"({"timestamp":")",
    R"(","status":")",
    R"(","isFinal":true})",
    R"(","isFinal":false})",
    R"(,"response":)",
    R"(,"outcome":")",
    R"(","outcome":")",
    R"(","mayHaveRun":true}})",
    R"(","mayHaveRun":false}})",
    R"(,"unsolicited":true}})",
    // What ChirpStack tells.
    R"({"deduplicationId":")",
    R"(","time":")",
    R"({"time":")",
    R"(","deviceInfo":{)",
    R"("deviceInfo":{)",
    R"("tenantId":")",
    R"(","tenantName":")",
    R"(","applicationId":")",
    R"("applicationId":")",
    R"(","applicationName":")",
    R"(","deviceProfileId":")",
    R"(","deviceProfileName":")",
    R"(","deviceName":")",
    R"(","devEui":")",
    R"("devEui":")",
    R"(","deviceClassEnabled":"CLASS_)",
    R"(","tags":{)",
    R"("devAddr":")",
    R"(","adr":)",
    R"(,"dr":)",
    R"(,"fCnt":)",
    R"("fPort":)",
    R"(,"confirmed":)",
    R"(,"data":")",
    R"(","rxInfo":[{"gatewayId":")",
    R"("gatewayId":")",
    R"(","uplinkId":)",
    R"(,"channel":)",
    R"(,"location":{)",
    R"(,"context":")",
    R"(,"crcStatus":"CRC_OK")",
    R"("txInfo":{"frequency":)",
    R"(,"modulation":{"lora":{"bandwidth":)",
    R"(,"spreadingFactor":)",
    R"(,"codeRate":"CR_4_5")",
    R"("queueItemId":")",
    R"(","acknowledged":true)",
    R"(","acknowledged":false)",
    R"(,"fCntDown":)",
    R"("downlinkId":)",
    R"(","level":")",
    R"(","code":")",
    R"(","description":")",
    // Where it came from.
    "device",
    " up json ",
    " ack json ",
    " txack json ",
    " log json ",
    " join json ",
});
static_assert(kWords.size() <= 0x100 - kWord);

constexpr std::size_t kPlaces = 1024;
constexpr std::size_t place_of(std::string_view three) {
  std::size_t hash = 0;
  for (std::size_t i = 0; i < 3; ++i) hash = hash * 131 + static_cast<unsigned char>(three[i]);
  return hash % kPlaces;
}

// Words by their first three bytes, the longest first. 0 ends a chain, so numbers begin with 1.
struct Index {
  std::array<std::uint8_t, kPlaces> first{};
  std::array<std::uint8_t, kWords.size() + 1> next{};
};
constexpr Index make_index() {
  Index index;
  for (std::size_t size = 3; size < 80; ++size) {
    for (std::size_t i = 0; i < kWords.size(); ++i) {
      if (kWords[i].size() != size) continue;
      std::uint8_t& first = index.first[place_of(kWords[i])];
      index.next[i + 1] = first;
      first = static_cast<std::uint8_t>(i + 1);
    }
  }
  return index;
}
constexpr Index kIndex = make_index();
static_assert(std::all_of(kWords.begin(), kWords.end(), [](std::string_view word) {
  return word.size() >= 3 && word.size() < 80;
}));

// The number of the longest word at the beginning of the text, from 1 on; 0: none.
std::size_t word_at(std::string_view text) {
  if (text.size() < 3) return 0;
  for (std::size_t at = kIndex.first[place_of(text)]; at != 0; at = kIndex.next[at]) {
    if (text.starts_with(kWords[at - 1])) return at;
  }
  return 0;
}

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::uint8_t kNoDigit = 0xFF;
constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  return values;
}
constexpr std::array<std::uint8_t, 256> kValues = make_values();
constexpr unsigned value_of(char c) { return kValues[static_cast<unsigned char>(c)]; }
constexpr bool is_digit(char c) { return value_of(c) != kNoDigit; }
constexpr bool has_dash_before(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void append_digits(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 15U]);
  }
}

void append_bytes(std::string& out, std::string_view digits) {
  std::array<char, kHexBytesMax> bytes{};
  const std::size_t count = std::min(digits.size() / 2, bytes.size());
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<char>(value_of(digits[2 * i]) << 4U | value_of(digits[2 * i + 1]));
  out.append(bytes.data(), count);
}

// False: it is none.
bool read_uuid(std::string_view text, std::array<char, kUuidBytes>& bytes) {
  if (text.size() != kUuidDigits || text[8] != '-' || text[13] != '-' || text[18] != '-' ||
      text[23] != '-')
    return false;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kUuidBytes; ++i, at += 2) {
    if (has_dash_before(i)) ++at;
    const unsigned high = value_of(text[at]);
    const unsigned low = value_of(text[at + 1]);
    if ((high | low) == kNoDigit) return false;
    bytes[i] = static_cast<char>(high << 4U | low);
  }
  return true;
}

// How many bytes the digits at the beginning are; 0: too few to be worth it.
std::size_t hex_at(std::string_view text) {
  if (text.size() < kHexDigitsMin || !is_digit(text[0]) || !is_digit(text[1])) return 0;
  std::size_t digits = 2;
  while (digits < text.size() && digits < 2 * kHexBytesMax && is_digit(text[digits])) ++digits;
  return digits < kHexDigitsMin ? 0 : digits / 2;
}

class Packer {
 public:
  explicit Packer(std::string_view text) : text_(text) { out_.reserve(text.size() / 2 + 16); }

  std::string run() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (const std::size_t word = word_at(rest); word != 0) {
        piece(static_cast<std::uint8_t>(kWord + word - 1), kWords[word - 1].size());
      } else if (is_digit(rest[0]) && pack_digits(rest)) {
        continue;
      } else {
        ++at_;
      }
    }
    end_literal();
    return std::move(out_);
  }

 private:
  bool pack_digits(std::string_view rest) {
    std::array<char, kUuidBytes> uuid;
    if (rest.size() >= kUuidDigits && read_uuid(rest.substr(0, kUuidDigits), uuid)) {
      piece(kUuid, kUuidDigits);
      out_.append(uuid.data(), uuid.size());
      return true;
    }
    const std::size_t bytes = hex_at(rest);
    if (bytes == 0) return false;
    piece(static_cast<std::uint8_t>(kHex + bytes), 2 * bytes);
    append_bytes(out_, rest.substr(0, 2 * bytes));
    return true;
  }
  void piece(std::uint8_t begins, std::size_t size) {
    end_literal();
    out_.push_back(static_cast<char>(begins));
    at_ += size;
    from_ = at_;
  }
  void end_literal() {
    while (from_ < at_) {
      const std::size_t size = std::min(at_ - from_, kLiteralMax);
      out_.push_back(static_cast<char>(size));
      out_.append(text_.substr(from_, size));
      from_ += size;
    }
  }

  std::string_view text_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t from_ = 0;  // of what stands as it is
};

}  // namespace

std::string pack(std::string_view text) {
  return text.empty() ? std::string() : Packer(text).run();
}

std::optional<std::string> unpack(std::string_view bytes, std::size_t size_max) {
  std::string out;
  if (bytes.empty()) return out;
  out.reserve(std::min(2 * bytes.size() + 64, size_max));
  while (!bytes.empty()) {
    const auto begins = static_cast<std::uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    std::size_t taken = 0;
    if (begins >= kWord) {
      if (begins - kWord >= static_cast<int>(kWords.size())) return std::nullopt;
      out += kWords[begins - kWord];
    } else {
      const bool hex = begins > kHex && begins < kUuid;
      taken = begins == kUuid ? kUuidBytes : hex ? begins - std::size_t{kHex} : begins;
      if (begins == 0 || begins > kUuid || bytes.size() < taken) return std::nullopt;
      const std::string_view content = bytes.substr(0, taken);
      if (begins == kUuid) out += text_of_uuid(content);
      if (hex) append_digits(out, content);
      if (begins <= kLiteralMax) out += content;
    }
    bytes.remove_prefix(taken);
    if (out.size() > size_max) return std::nullopt;
  }
  return out;
}

std::string text_of_uuid(std::string_view bytes) {
  if (bytes.size() != kUuidBytes) return {};
  std::array<char, kUuidDigits> text;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kUuidBytes; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (has_dash_before(i)) text[at++] = '-';
    text[at++] = kDigits[byte >> 4U];
    text[at++] = kDigits[byte & 15U];
  }
  return {text.data(), text.size()};
}

std::string bytes_of_uuid(std::string_view text) {
  std::array<char, kUuidBytes> bytes;
  return read_uuid(text, bytes) ? std::string(bytes.data(), bytes.size()) : std::string();
}

}  // namespace postrider
