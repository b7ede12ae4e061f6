// What a key of the store stands for, in the words of a report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/model/id_codec.h"

namespace postrider::rocks {

std::string hex_of(std::uint64_t number);  // sixteen digits

// For people: what the key stands for, with everything unprintable escaped. Messages are named as
// outside; without `ids`, because the meta record cannot be read, by their addresses in the store.
std::string describe_key(std::string_view key, const IdCodec* ids = nullptr);

}  // namespace postrider::rocks
