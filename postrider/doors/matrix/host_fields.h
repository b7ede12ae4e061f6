// Members of what a host hands over. kInvalid says what is wrong with one, by name. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/json/json_reader.h"

namespace postrider::matrix_door {

inline constexpr std::size_t kHostServersMax = 50'000;  // of one event or unit

tl::unexpected<Error> bad(std::string what);
Result<std::string> text_in(std::string_view name, json::JsonValue value);
Result<bool> flag_in(std::string_view name, json::JsonValue value);
// Names of servers, in the form in which they are compared.
Result<std::vector<std::string>> servers_in(std::string_view name, json::JsonValue value);

}  // namespace postrider::matrix_door
