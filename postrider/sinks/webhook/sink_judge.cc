#include "postrider/sinks/webhook/sink_judge.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "postrider/base/check.h"
#include "postrider/protocols/web/standard_webhooks.h"

namespace postrider {
namespace {

constexpr std::size_t kColumnBytesMax = 200;      // of an id or a path in the log
constexpr Duration kClockSkewMax{5 * 60 * 1000};  // of a signature, as the standard recommends

// What somebody else wrote must not make a second line or column.
void append_column(std::string_view text, std::string& out) {
  if (text.empty()) out += '-';
  for (const char c : text.substr(0, kColumnBytesMax)) out += c > ' ' && c < 127 ? c : '?';
}

bool constant_time_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string status_text(int status) {
  if (status == SinkVerdict::kCut) return "cut";
  return status == SinkVerdict::kNone ? "none" : std::to_string(status);
}

}  // namespace

// SHA-256 of bodies; the algorithm is looked up once, which is most of the price of a small hash.
class SinkJudge::Hasher {
 public:
  Hasher() : kind_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
    POSTRIDER_CHECK(kind_ != nullptr && context_ != nullptr);
  }
  ~Hasher() {
    EVP_MD_CTX_free(context_);
    EVP_MD_free(kind_);
  }
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void append_hex(std::string_view bytes, std::string& out) {
    std::array<unsigned char, 32> digest{};
    POSTRIDER_CHECK(EVP_DigestInit_ex2(context_, kind_, nullptr) == 1);
    POSTRIDER_CHECK(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1);
    POSTRIDER_CHECK(EVP_DigestFinal_ex(context_, digest.data(), nullptr) == 1);
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const unsigned char byte : digest) {
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }

 private:
  EVP_MD* kind_;
  EVP_MD_CTX* context_;
};

SinkJudge::SinkJudge(const SinkOptions& options)
    : options_(options), rng_(options.seed), hasher_(std::make_unique<Hasher>()) {}
SinkJudge::~SinkJudge() = default;

Result<void> SinkJudge::set_secrets(std::string_view secrets) {
  if (secrets.empty()) return {};
  POSTRIDER_TRY(keys, parse_webhook_secrets(secrets));
  keys_ = std::move(keys);
  return {};
}

void SinkJudge::begin_turn(Timestamp now) {
  if (now == wall_) return;
  wall_ = now;
  const std::int64_t wall = now.ms();
  const std::time_t seconds = wall / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  const std::size_t size =
      std::strftime(time_text_.data(), time_text_.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(time_text_.data() + size, time_text_.size() - size, ".%03dZ",
                static_cast<int>(wall % 1000));
}

bool SinkJudge::is_signed(const SinkRequest& request) const {
  std::int64_t seconds = 0;
  const std::string_view stamp = request.timestamp;
  const auto [rest, error] = std::from_chars(stamp.data(), stamp.data() + stamp.size(), seconds);
  if (error != std::errc() || rest != stamp.data() + stamp.size()) return false;
  constexpr std::int64_t kSecondsMax = 1LL << 40;  // far away, and safe to subtract
  if (seconds < 0 || seconds > kSecondsMax) return false;
  const std::int64_t skew = wall_.ms() / 1000 - seconds;
  if (std::abs(skew) > kClockSkewMax.count() / 1000) return false;
  for (const WebhookSecret& key : keys_) {
    if (!key.signs_at(wall_)) continue;
    const std::string want = webhook_signatures(
        {&key, 1}, {.id = request.id, .timestamp = stamp, .body = request.body}, wall_);
    std::string_view given = request.signature;
    while (!given.empty()) {
      const std::size_t end = std::min(given.find(' '), given.size());
      if (constant_time_equal(given.substr(0, end), want)) return true;
      given.remove_prefix(std::min(end + 1, given.size()));
    }
  }
  return false;
}

bool SinkJudge::is_too_many(std::string_view body) {
  if (options_.members_max == 0 || !document_.parse(body, {.names_twice = true})) return false;
  const json::JsonValue root = document_.root();
  return root.kind() == json::JsonKind::kArray && root.size() > options_.members_max;
}

int SinkJudge::choose_status(bool forged, std::string_view body) {
  if (options_.hang) return SinkVerdict::kNone;
  if (options_.duplicate_percent > 0 && rng_.chance(options_.duplicate_percent, 100))
    return SinkVerdict::kCut;
  if (forged) return 401;
  if (!options_.refuse.empty() && body.find(options_.refuse) != std::string_view::npos) return 422;
  if (is_too_many(body)) return 413;
  if (options_.fail_percent > 0 && rng_.chance(options_.fail_percent, 100))
    return options_.fail_status;
  return options_.status;
}

SinkVerdict SinkJudge::judge(const SinkRequest& request) {
  SinkVerdict verdict;
  if (!keys_.empty())
    verdict.signature = is_signed(request) ? SinkSignature::kGood : SinkSignature::kBad;
  verdict.status = choose_status(verdict.signature == SinkSignature::kBad, request.body);
  return verdict;
}

void SinkJudge::append_line(const SinkRequest& request, SinkVerdict verdict, std::string& out) {
  out.append(time_text_.data()).append(" ");
  append_column(request.id, out);
  out += ' ';
  hasher_->append_hex(request.body, out);
  out.append(" ").append(status_text(verdict.status));
  switch (verdict.signature) {
    case SinkSignature::kNotAsked: out += " - "; break;
    case SinkSignature::kGood: out += " good "; break;
    case SinkSignature::kBad: out += " bad "; break;
  }
  append_column(request.path, out);
  out += '\n';
}

}  // namespace postrider
