// The API's description in OpenAPI 3.1, as it is served at /openapi.json. It is written by hand, in
// openapi_paths.cc, openapi_groups.cc, openapi_jobs.cc and openapi_components.cc, and by each door
// for its own routes; the tests hold every answer against it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "postrider/api/door.h"

namespace postrider::api {

std::string openapi_document(std::string_view version, std::span<const OpenapiPart> doors = {});

// Its parts: members of "paths" without the braces around them, and of "components".
std::string_view openapi_paths();
std::string_view openapi_job_paths();
std::string_view openapi_group_paths();
OpenapiPart openapi_components();

}  // namespace postrider::api
