#include "postrider/base/packing.h"

#include <algorithm>
#include <array>
#include <utility>

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
  Packer(std::string_view text, const Dictionary& dictionary)
      : text_(text), dictionary_(dictionary) {
    out_.reserve(text.size() / 2 + 16);
  }

  std::string run() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (const std::size_t word = dictionary_.word_at(rest); word != 0) {
        piece(static_cast<std::uint8_t>(kWord + word - 1), dictionary_.words()[word - 1].size());
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
  const Dictionary& dictionary_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t from_ = 0;  // of what stands as it is
};

}  // namespace

const Dictionary* find_dictionary(Dictionaries dictionaries, std::uint8_t number) {
  for (const Dictionary* dictionary : dictionaries) {
    if (dictionary->number() == number) return dictionary;
  }
  return nullptr;
}

std::string pack(std::string_view text, const Dictionary& dictionary) {
  return text.empty() ? std::string() : Packer(text, dictionary).run();
}

std::optional<std::string> unpack(std::string_view bytes, const Dictionary& dictionary,
                                  std::size_t size_max) {
  std::string out;
  if (bytes.empty()) return out;
  out.reserve(std::min(2 * bytes.size() + 64, size_max));
  while (!bytes.empty()) {
    const auto begins = static_cast<std::uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    std::size_t taken = 0;
    if (begins >= kWord) {
      const std::size_t word = begins - std::size_t{kWord};
      if (word >= dictionary.words().size()) return std::nullopt;
      out += dictionary.words()[word];
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
