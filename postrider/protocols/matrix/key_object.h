// The object in which a server publishes its keys, /_matrix/key/v2/server. It is believed when it
// is for the name that was asked for, is signed with one of the keys that it lists, no signature of
// such a key is wrong, and its time has not passed. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/matrix/signing.h"

namespace postrider::matrix {

inline constexpr std::size_t kKeyObjectBytesMax = 64 * 1024;
inline constexpr std::size_t kKeysMax = 64;  // of one object, old ones included
// An object that says it is good for longer is asked for again after this time.
inline constexpr Duration kKeyLifeMax{7 * 24 * 3'600'000};

struct VerifyKey {
  std::string id;  // "ed25519:a_abcd"
  PublicKey key{};
  bool operator==(const VerifyKey&) const = default;
};

struct ServerKeys {
  std::string server;
  Timestamp valid_until;  // of wall time, at most kKeyLifeMax ahead
  std::vector<VerifyKey> keys;
  bool operator==(const ServerKeys&) const = default;
};

// kInvalid, kLimit or kConflict say why it is not believed. Keys of other algorithms are passed
// over. Old keys sign no requests, so they are not kept.
Result<ServerKeys> read_key_object(std::string_view body, std::string_view server, Timestamp wall);

// The object that a server with this key publishes.
std::string write_key_object(std::string_view server, Timestamp valid_until, const SigningKey& key);

}  // namespace postrider::matrix
