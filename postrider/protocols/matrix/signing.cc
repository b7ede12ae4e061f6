#include "postrider/protocols/matrix/signing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "postrider/base/check.h"
#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/web/base64.h"

namespace postrider::matrix {
namespace {

constexpr std::string_view kAlgorithm = "ed25519";
constexpr std::size_t kSignatureBytes = 64;

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Digest = std::unique_ptr<EVP_MD_CTX, FreeDigest>;

const unsigned char* octets(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= kKeyIdBytesMax - kAlgorithm.size() - 1 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '_';
         });
}

// The next word of the line, which loses it.
std::string_view take_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
  line.remove_prefix(begin);
  const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
  line.remove_prefix(word.size());
  return word;
}

// 32 bytes as base64. Last bits that are set beyond them are let be, as other implementations do:
// the vectors of the specification have such a seed.
std::optional<std::array<std::uint8_t, 32>> decode_32(std::string_view base64) {
  if (base64.ends_with('=')) base64.remove_suffix(1);
  if (base64.size() != 43) return std::nullopt;
  const std::optional<std::string> most = base64_decode(base64.substr(0, 40));
  // The last three characters have 18 bits, of which 16 count.
  const std::optional<std::string> last = base64_decode(std::string(base64.substr(40)).append("A"));
  if (!most || !last) return std::nullopt;
  std::array<std::uint8_t, 32> bytes{};
  std::copy(most->begin(), most->end(), bytes.begin());
  std::copy_n(last->begin(), 2, bytes.begin() + 30);
  return bytes;
}

struct KeyLine {
  std::string id;
  Seed seed{};
};

Result<std::optional<KeyLine>> parse_key_line(std::string_view line, std::uint32_t number) {
  const auto bad = [number](std::string_view why) {
    return fail(ErrorCode::kInvalid,
                "line " + std::to_string(number) + " of the key file: " + std::string(why));
  };
  const std::string_view algorithm = take_word(line);
  if (algorithm.empty()) return std::optional<KeyLine>();
  const std::string_view version = take_word(line);
  const std::string_view base64 = take_word(line);
  if (base64.empty() || !take_word(line).empty()) return bad("it must be 'ed25519 VERSION BASE64'");
  if (algorithm != kAlgorithm) return bad("the algorithm must be ed25519");
  if (!is_version(version)) return bad("the version must be of letters, digits and '_'");
  const std::optional<Seed> seed = decode_32(base64);
  if (!seed) return bad("the key must be 32 bytes as base64");
  return std::optional<KeyLine>(
      KeyLine{.id = std::string(kAlgorithm).append(":").append(version), .seed = *seed});
}

// Reads the members of an object in canonical form, and those of its signatures by name.
Result<std::vector<CanonicalMember>> members_of(JsonValue object) {
  std::vector<CanonicalMember> members;
  Result<void> written;
  object.for_members([&](JsonValue name, JsonValue value) {
    members.push_back({name.text(), {}});
    written = append_canonical(members.back().value, value, Numbers::kIntegers);
    return written.has_value();
  });
  if (!written) return tl::unexpected(written.error());
  return members;
}

CanonicalMember* find_member(std::vector<CanonicalMember>& members, std::string_view name) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [name](const CanonicalMember& m) { return m.name == name; });
  return found == members.end() ? nullptr : &*found;
}

// `object`, absent or an object, with one member more or another one.
Result<std::string> with_member(std::optional<JsonValue> object, CanonicalMember added) {
  std::vector<CanonicalMember> members;
  if (object) {
    if (!is_object(*object)) return fail(ErrorCode::kInvalid, "signatures must be objects");
    POSTRIDER_TRY(given, members_of(*object));
    members = std::move(given);
  }
  if (CanonicalMember* const same = find_member(members, added.name)) {
    *same = std::move(added);
  } else {
    members.push_back(std::move(added));
  }
  std::string out;
  append_object(out, std::move(members));
  return out;
}

}  // namespace

std::string unpadded_base64(std::string_view bytes) {
  std::string text = base64_encode({octets(bytes), bytes.size()});
  while (text.ends_with('=')) text.pop_back();
  return text;
}

std::string unpadded_base64_url(std::string_view bytes) {
  std::string text = unpadded_base64(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::array<std::uint8_t, 32> sha256(std::string_view bytes) {
  std::array<std::uint8_t, 32> digest{};
  unsigned int size = 0;
  POSTRIDER_CHECK(
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  return digest;
}

bool is_key_id(std::string_view text) {
  return text.starts_with(kAlgorithm) && text.substr(kAlgorithm.size()).starts_with(':') &&
         is_version(text.substr(kAlgorithm.size() + 1));
}

void SigningKey::Free::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;

SigningKey SigningKey::make(std::string id, const Seed& seed) {
  POSTRIDER_CHECK(is_key_id(id));
  SigningKey key;
  key.id_ = std::move(id);
  key.key_.reset(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
  POSTRIDER_CHECK(key.key_ != nullptr);
  std::size_t size = key.public_key_.size();
  POSTRIDER_CHECK(EVP_PKEY_get_raw_public_key(key.key_.get(), key.public_key_.data(), &size) == 1);
  return key;
}

std::string SigningKey::sign(std::string_view bytes) const {
  const Digest context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> signature{};
  std::size_t size = signature.size();
  POSTRIDER_CHECK(context != nullptr);
  POSTRIDER_CHECK(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1);
  POSTRIDER_CHECK(
      EVP_DigestSign(context.get(), signature.data(), &size, octets(bytes), bytes.size()) == 1);
  return unpadded_base64({reinterpret_cast<const char*>(signature.data()), size});
}

Result<KeyFile> parse_key_file(std::string_view text) {
  if (text.size() > kKeyFileBytesMax) return fail(ErrorCode::kLimit, "the key file is too large");
  std::optional<KeyFile> found;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    POSTRIDER_TRY(key, parse_key_line(line, number));
    if (!key) continue;
    if (found) {
      ++found->keys;
    } else {
      found = KeyFile{.key = SigningKey::make(key->id, key->seed)};
    }
    OPENSSL_cleanse(key->seed.data(), key->seed.size());
  }
  if (!found) return fail(ErrorCode::kInvalid, "the key file has no key");
  return std::move(*found);
}

Result<PublicKey> parse_public_key(std::string_view base64) {
  const std::optional<PublicKey> key = decode_32(base64);
  if (!key) return fail(ErrorCode::kInvalid, "a public key must be 32 bytes as base64");
  return *key;
}

bool verify(const PublicKey& key, std::string_view bytes, std::string_view signature) {
  const std::optional<std::string> decoded = base64_decode(signature);
  if (!decoded || decoded->size() != kSignatureBytes) return false;
  EVP_PKEY* const made =
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size());
  if (made == nullptr) return false;
  const Digest context(EVP_MD_CTX_new());
  const bool good = context != nullptr &&
                    EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, made) == 1 &&
                    EVP_DigestVerify(context.get(), octets(*decoded), decoded->size(),
                                     octets(bytes), bytes.size()) == 1;
  EVP_PKEY_free(made);
  return good;
}

Result<std::string> signed_form(JsonValue object) {
  if (!is_object(object)) return fail(ErrorCode::kInvalid, "only objects are signed");
  POSTRIDER_TRY(members, members_of(object));
  std::erase_if(members, [](const CanonicalMember& member) {
    return member.name == "signatures" || member.name == "unsigned";
  });
  std::string out;
  append_object(out, std::move(members));
  return out;
}

Result<std::string> sign_object(std::string_view object, std::string_view name,
                                const SigningKey& key) {
  JsonDocument document;
  if (const Result<void> read = document.parse(object, kItemLimits); !read)
    return tl::unexpected(read.error());
  const JsonValue root = document.root();
  POSTRIDER_TRY(form, signed_form(root));
  CanonicalMember mine{key.id(), {}};
  append_quoted(mine.value, key.sign(form));
  const std::optional<JsonValue> signatures = member_of(root, "signatures");
  const std::optional<JsonValue> ours =
      signatures ? member_of(*signatures, name) : std::optional<JsonValue>();
  POSTRIDER_TRY(by_name, with_member(ours, std::move(mine)));
  POSTRIDER_TRY(all, with_member(signatures, {std::string(name), std::move(by_name)}));
  return with_member(root, {"signatures", std::move(all)});
}

bool verify_object(JsonValue object, std::string_view name, std::string_view key_id,
                   const PublicKey& key) {
  const std::optional<JsonValue> signatures = object_of(object, "signatures");
  if (!signatures) return false;
  const std::optional<JsonValue> theirs = object_of(*signatures, name);
  if (!theirs) return false;
  const std::optional<std::string> signature = text_of(*theirs, key_id);
  if (!signature) return false;
  const Result<std::string> form = signed_form(object);
  return form && verify(key, *form, *signature);
}

}  // namespace postrider::matrix
