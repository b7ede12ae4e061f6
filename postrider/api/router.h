// The router: a table of paths, and what each takes. Pure; knows no handler.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/api/access.h"
#include "postrider/api/problems.h"

namespace postrider::api {

enum class Takes : std::uint8_t { kNothing, kJson, kJsonOrNothing, kAnything };
enum class Errors : std::uint8_t {
  kProblem,  // RFC 9457
  kOwn       // in the words of the door that the route belongs to
};

struct RouteRow {
  std::string_view method;
  std::string_view pattern;  // at most two {…}, each of which stands for one segment
  Scopes scopes;             // any of them is enough
  Takes takes;
  bool changes;  // something: takes an Idempotency-Key
  std::string_view produces;
  std::string_view parameters;  // of the query, separated by spaces
  Errors errors = Errors::kProblem;
  // What a door takes that is larger, or deeper, than usual. 0: what the settings say.
  std::uint64_t body_bytes_max = 0;
  std::uint32_t json_depth_max = 0;
};

// For doors whose protocol has such requests.
inline constexpr std::uint64_t kLargeBodyBytesMax = 12'800 * 1024;  // 12.5 MiB
inline constexpr std::uint32_t kDeepJsonMax = 100;

// Every path of the API itself, without those of doors; http_api.cc holds the table with its
// handlers.
std::span<const RouteRow> route_rows();

struct Routed {
  std::size_t route = 0;  // index into the table
  std::string capture;    // what stands for {…}, decoded
  std::string second;     // … and for another one
};

// 404 with the nearest path, or 405 with what the path has.
Checked<Routed> find_route(std::span<const RouteRow> rows, std::string_view method,
                           std::string_view path);

class UrlQuery {
 public:
  // Every name must be one of `known`, and only once.
  static Checked<UrlQuery> read(std::string_view text, std::string_view known);
  const std::string* find(std::string_view name) const;
  // A whole number within bounds; `fallback` when it is not given.
  Checked<std::uint32_t> number(std::string_view name, std::uint32_t fallback, std::uint32_t low,
                                std::uint32_t high) const;
  Checked<bool> flag(std::string_view name) const;  // true or false; false when it is not given

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// The Idempotency-Key of a request that changes something; kNone when it has none.
Checked<OperationKey> read_key(const HttpRequest& request, std::string_view tenant, bool changes);
// Whether its body comes as it is: compressed ones are not read.
std::optional<Problem> check_coding(const HttpRequest& request);
// Whether the request's body has a form that we read, and the answer one that it accepts.
std::optional<Problem> check_forms(const HttpRequest& request, const RouteRow& row);

std::vector<std::string_view> split_words(std::string_view words);

}  // namespace postrider::api
