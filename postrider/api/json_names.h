// The words of the JSON module that every file of this one uses.
#pragma once

#include "postrider/json/json_reader.h"
#include "postrider/json/json_writer.h"

namespace postrider::api {

using json::is_utf8;
using json::JsonDocument;
using json::JsonKind;
using json::JsonLimits;
using json::JsonValue;
using json::JsonWriter;

}  // namespace postrider::api
