// A MessageId in its inner form: the address of the message in its store, as 32 hexadecimal digits.
// For keys of the store, for traces of the simulator and for tests. It repeats from store to store,
// so it is never shown outside: tools/check_layers keeps this header from whatever speaks to
// others, which take IdCodec instead.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postrider/model/ids.h"

namespace postrider {

std::string to_string(MessageId id);
std::optional<MessageId> parse_message_id(std::string_view text);

}  // namespace postrider
