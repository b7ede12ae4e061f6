// What a device answered, as callers see it and as the message remembers it.
#pragma once

#include <string>
#include <string_view>

#include "postrider/model/profile.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/protocols/device/command.h"
#include "postrider/protocols/device/reply.h"

namespace postrider::device {

// What others said, without what we must not show.
std::string without(std::string text, std::string_view secret, std::string_view instead);

std::string hex_of(std::string_view bytes);

// {"status":"EXECUTION_SUCCESS","data":123.45,…}. `payload` is what nobody could read, as a text,
// if it was that.
std::string response_json(const Response& response, std::string_view payload);

// The answer is there.
Reading answered_with(Notes notes, const Request& request, const Response& response,
                      std::string_view payload);

}  // namespace postrider::device
