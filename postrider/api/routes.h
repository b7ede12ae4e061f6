// What a file of routes that read JSON begins with: the API's inside, and the words of its bodies.
#pragma once

#include "postrider/api/http_api_impl.h"
#include "postrider/api/json_fields.h"
#include "postrider/api/listing.h"
#include "postrider/api/render.h"
#include "postrider/api/texts.h"

namespace postrider {

using api::Checked;
using api::JsonKind;
using api::JsonValue;
using api::JsonWriter;
using api::MaybeValue;
using api::Problem;
using api::ProblemType;

}  // namespace postrider
