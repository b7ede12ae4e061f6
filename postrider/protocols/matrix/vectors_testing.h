// The key of the specification's vectors, for tests.
#pragma once

#include <string>
#include <utility>

#include "postrider/protocols/matrix/signing.h"

namespace postrider::matrix {

inline constexpr std::string_view kVectorKeyFile =
    "ed25519 1 YJDBA9Xnr2sVqXD9Vj7XVUnmFZcZrlw8Md7kMW+3XA1\n";
inline constexpr std::string_view kVectorPublicKey = "XGX0JRS2Af3be3knz2fBiRbApjm2Dh61gXDJA8kcJNI";
inline constexpr std::string_view kVectorName = "domain";

inline SigningKey vector_key() { return std::move(parse_key_file(kVectorKeyFile)->key); }

}  // namespace postrider::matrix
