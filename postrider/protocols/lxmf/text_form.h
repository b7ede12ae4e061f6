// Messages and addresses as people and programs see them: hexadecimal digits and JSON. Pure
// functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/lxmf/message.h"
#include "postrider/protocols/lxmf/stamp.h"

namespace postrider::lxmf {

std::string hex_of(std::string_view bytes);  // in lower case
std::string bytes_of(std::string_view digits);  // empty: these are none
// 32 digits. Nothing: this is no address.
std::optional<Address> address_of(std::string_view digits);

// A received message, for the application: id, source, destination, time, title, content, fields,
// method, what is known of its signature and, where one is asked for, of its stamp. What is no UTF-8 stands as base64, under NAME_base64.
std::string message_as_json(const ReceivedMessage& received, Carriage carriage,
                            SignatureVerdict verdict, const StampReading& stamp = {});
// {"NUMBER": "base64 of msgpack"}, as the fields of a message; an empty text is no field. kInvalid:
// it says what is wrong.
Result<std::string> fields_of_json(std::string_view json);

std::string_view name_of(Carriage carriage);
std::string_view name_of(SignatureVerdict verdict);
std::string_view name_of(StampVerdict verdict);

}  // namespace postrider::lxmf
