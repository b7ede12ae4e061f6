// What both versions of the vendor's API share in reading answers. Used by their codecs only.
#pragma once

#include <string>
#include <string_view>

#include "postrider/protocols/calin/calin.h"
#include "postrider/protocols/json_value.h"

namespace postrider::calin {

std::string_view trimmed(std::string_view text);

device::SendReply send_reply(device::SendVerdict verdict, std::string_view reason);
device::PollReply poll_reply(device::PollVerdict verdict, std::string_view reason);
device::PollReply answered(device::Response response);

// The JSON object of an answer with a 2xx status; kInvalid says what it was instead.
Result<json::Tree> read_object(const HttpAnswer& answer);
// What the status alone says about a task that was to be created, or nothing for 2xx.
std::optional<device::SendReply> judge_status(const HttpAnswer& answer);
// For people: the vendor's own reason when there is one.
std::string reason_of(const json::Tree& object, std::string_view name, std::string_view fallback);

// "230.12 V": the number before the first space.
device::Response read_number(device::Command command, std::string_view data);
device::Response read_version(std::string_view data);
device::Response undecodable(device::Command command);

}  // namespace postrider::calin
