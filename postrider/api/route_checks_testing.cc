// What holds for every route, of the API and of the doors that a rig opens.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/api/router.h"

namespace postrider::api {
namespace {

std::string path_of(std::string_view pattern) {
  std::string path(pattern);
  for (std::size_t open = path.find('{'); open != std::string::npos; open = path.find('{'))
    path.replace(open, path.find('}') - open + 1, "0123456789abcdef0123456789abcdef");
  return path;
}

std::string lower(std::string_view word) {
  std::string out(word);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return static_cast<char>(c + ('a' - 'A')); });
  return out;
}

std::set<std::string> query_names(const boost::json::value& document,
                                  const boost::json::object& operation) {
  std::set<std::string> names;
  const auto* given = operation.if_contains("parameters");
  if (given == nullptr) return names;
  for (const auto& one : given->as_array()) {
    const auto& it = one.as_object().contains("$ref")
                         ? document.at_pointer(std::string(one.at("$ref").as_string()).substr(1))
                         : one;
    if (it.at("in").as_string() == "query") names.emplace(it.at("name").as_string());
  }
  return names;
}

}  // namespace

std::vector<AccessToken> rig_tokens() {
  return {{.name = "s", .tenant = "t", .secret = "token-submit", .may_submit = true},
          {.name = "r", .tenant = "t", .secret = "token-read", .may_read = true},
          {.name = "o", .tenant = "t", .secret = "token-operate", .may_operate = true},
          {.name = "n", .tenant = "t", .secret = "token-nothing"}};
}

void ApiRig::expect_described() {
  const auto& document = checker->document();
  std::set<std::string> described;
  std::set<std::string> operations;
  for (const auto& path : document.at("paths").as_object()) {
    for (const auto& one : path.value().as_object()) {
      if (one.key() == "parameters") continue;
      described.insert(std::string(one.key()) + " " + std::string(path.key()));
      EXPECT_TRUE(operations.insert(std::string(one.value().at("operationId").as_string())).second);
    }
  }
  const std::string text = boost::json::serialize(document);
  constexpr std::string_view kRef = "\"$ref\":\"#";
  for (std::size_t at = text.find(kRef); at != std::string::npos; at = text.find(kRef, at + 1)) {
    const std::size_t from = at + kRef.size();
    const std::string pointer = text.substr(from, text.find('"', from) - from);
    boost::system::error_code missing;
    EXPECT_NE(document.find_pointer(pointer, missing), nullptr) << pointer;
  }
  std::set<std::string> routed;
  for (const RouteRow& row : api->routes()) {
    const std::string method = lower(row.method);
    EXPECT_TRUE(routed.insert(method + " " + std::string(row.pattern)).second) << row.pattern;
    const auto words = split_words(row.parameters);
    EXPECT_EQ(query_names(document, document.at("paths").at(row.pattern).at(method).as_object()),
              std::set<std::string>(words.begin(), words.end()))
        << row.pattern;
  }
  EXPECT_EQ(routed, described);
}

void ApiRig::expect_documented() {
  std::ifstream file(std::string(POSTRIDER_SOURCE_DIR) + "/docs/http-api.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const RouteRow& row : api->routes()) {
    EXPECT_NE(text.str().find("`" + std::string(row.method) + " " + std::string(row.pattern)),
              std::string::npos)
        << row.method << row.pattern;
  }
}

void ApiRig::expect_scopes(const std::function<std::string(const RouteRow&)>& wanted_of,
                           const std::function<int(const RouteRow&)>& open_status) {
  for (const RouteRow& row : api->routes()) {
    const std::string wanted = wanted_of(row);
    if (wanted.empty()) continue;  // judged elsewhere
    const std::string path = path_of(row.pattern);
    const std::string body = row.takes == Takes::kJson ? "{}" : "";
    const auto status = [&](const std::string& token, bool local = false) {
      RigHeaders headers;
      if (!token.empty()) headers.emplace_back("authorization", "Bearer " + token);
      const auto exchange = send({std::string(row.method), path, body, headers, local});
      settle();
      return exchange->response ? exchange->response->status : 0;
    };
    for (const std::string& scope :
         std::initializer_list<std::string>{"submit", "read", "operate", "nothing"}) {
      const bool allowed = wanted == "open" || (wanted == "any" && scope != "nothing") ||
                           wanted.find(scope) != std::string::npos;
      const int got = status("token-" + scope);
      if (allowed) {
        EXPECT_TRUE(got != 401 && got != 403) << row.method << path << " " << scope << " " << got;
      } else {
        EXPECT_EQ(got, 403) << row.method << path << " " << scope;
      }
    }
    const int without = wanted == "open" ? open_status(row) : 401;
    EXPECT_EQ(status({}), without) << row.method << path;
    EXPECT_EQ(status("token-unknown"), without) << row.method << path;
    const int local = status({}, true);
    EXPECT_TRUE(local != 401 && local != 403) << row.method << path;
  }
}

}  // namespace postrider::api
