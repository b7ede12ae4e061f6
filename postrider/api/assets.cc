#include "postrider/api/assets.h"

#include <algorithm>
#include <string>

#include "postrider/protocols/web/http_text.h"

namespace postrider::api {
namespace {

constexpr std::string_view kAssetFolder = "/assets/";
constexpr std::string_view kGzipMark = "-gzip";

// Nothing but our own files and our own API; no frames, no forms, no inline code or style.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

constexpr std::string_view kMissingPage = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Postrider</title>
<h1>Postrider runs; its screen was not built in</h1>
<p>Why: @WHY@.</p>
<p>To have it, install Node.js 20.19 or newer with npm where Postrider is built, and build again with <code>make</code>.</p>
<p>Everything that the screen shows is there without it: <code>postrider dest ls</code>, <code>postrider msg explain ID</code>,
<code>postrider dlq ls</code>, <code>postrider tail</code>, and the API that <a href="/openapi.json">/openapi.json</a> describes.</p>
</html>
)html";

std::string_view trimmed_item(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view take_item(std::string_view& list) {
  const std::size_t comma = std::min(list.find(','), list.size());
  const std::string_view item = trimmed_item(list.substr(0, comma));
  list.remove_prefix(std::min(comma + 1, list.size()));
  return item;
}

// "gzip;q=0" refuses it, "*" takes everything that is not named.
bool takes_gzip(std::string_view accept_encoding) {
  bool any = false;
  while (!accept_encoding.empty()) {
    const std::string item = to_lower(take_item(accept_encoding));
    const std::size_t mark = std::min(item.find(';'), item.size());
    const std::string_view name = trimmed_item(std::string_view(item).substr(0, mark));
    const std::size_t quality = item.find("q=", mark);
    const bool refused = quality != std::string::npos &&
                         item.find_first_of("123456789", quality + 2) == std::string::npos;
    if (name == "gzip" || name == "x-gzip") return !refused;
    if (name == "*") any = !refused;
  }
  return any;
}

bool is_known(std::string_view if_none_match, std::string_view quoted_etag) {
  while (!if_none_match.empty()) {
    std::string_view item = take_item(if_none_match);
    if (item.starts_with("W/")) item.remove_prefix(2);
    if (item == quoted_etag || item == "*") return true;
  }
  return false;
}

void add_guards(HttpResponse& response) {
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

HttpResponse missing_page(std::string_view why) {
  constexpr std::string_view kMark = "@WHY@";
  HttpResponse response;
  response.content_type = "text/html; charset=utf-8";
  response.body = kMissingPage;
  response.body.replace(response.body.find(kMark), kMark.size(), why);
  response.headers.emplace_back("Cache-Control", "no-store");
  add_guards(response);
  return response;
}

}  // namespace

std::optional<HttpResponse> asset_response(const HttpRequest& request,
                                           std::span<const Asset> assets, std::string_view why) {
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  if (path != "/" && !path.starts_with(kAssetFolder)) return std::nullopt;
  const auto asset = std::find_if(assets.begin(), assets.end(),
                                  [&](const Asset& one) { return one.path == path; });
  // What is not there is left to the router, which knows how to say so.
  if (asset == assets.end()) {
    if (path != "/") return std::nullopt;
    return missing_page(why);
  }
  const bool gzip = takes_gzip(request.header("accept-encoding"));
  // Other bytes, other tag.
  const std::string etag =
      "\"" + std::string(asset->etag) + (gzip ? std::string(kGzipMark) : "") + "\"";
  HttpResponse response;
  response.content_type = asset->content_type;
  response.headers.emplace_back("ETag", etag);
  response.headers.emplace_back(
      "Cache-Control", asset->lasting ? "public, max-age=31536000, immutable" : "no-cache");
  response.headers.emplace_back("Vary", "Accept-Encoding");
  add_guards(response);
  if (is_known(request.header("if-none-match"), etag)) {
    response.status = 304;
    return response;
  }
  if (gzip) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = gzip ? asset->gzip : asset->plain;
  return response;
}

}  // namespace postrider::api
