// The dashboard's files: they are in the executable, and anybody who reaches the daemon gets them
// without a token, because they hold no data. Pure functions; web_assets() is generated from web/
// by scripts/build-web.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "postrider/servers/http/http_server.h"

namespace postrider::api {

struct Asset {
  std::string_view path;  // "/" or "/assets/NAME"
  std::string_view content_type;
  std::string_view etag;  // without quotes; of the contents
  bool lasting;           // the name changes with the contents, so it may be kept for ever
  std::string_view plain;
  std::string_view gzip;
};

// Nothing when the executable was built without npm; then missing_why() says why.
std::span<const Asset> web_assets();
std::string_view missing_why();

// The answer, when the request is for the dashboard: GET or HEAD of "/" or of one of its files.
std::optional<HttpResponse> asset_response(const HttpRequest& request,
                                           std::span<const Asset> assets, std::string_view why);

}  // namespace postrider::api
