// The API's description in OpenAPI 3.1, as it is served at /openapi.json. It is written by hand, in
// openapi_paths.cc, openapi_device.cc, openapi_jobs.cc and openapi_components.cc; the tests hold
// every answer against it.
#pragma once

#include <string>
#include <string_view>

namespace postrider::api {

std::string openapi_document(std::string_view version);

// Its parts, each one JSON object; the first three are one in the document.
std::string_view openapi_paths();
std::string_view openapi_device_paths();
std::string_view openapi_job_paths();
std::string_view openapi_group_paths();
std::string_view openapi_components();

}  // namespace postrider::api
