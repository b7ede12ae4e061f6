#include "postrider/transports/net/target.h"

#include <string>

#include <gtest/gtest.h>

namespace postrider {
namespace {

std::string show(std::string_view url) {
  const std::string_view origin = origin_of(url);
  if (origin.empty()) return "no origin";
  const auto path = path_of(url, origin);
  if (!path) return "bad path";
  const auto parsed = parse_origin(origin);
  if (!parsed) return "bad origin";
  return std::string(parsed->tls ? "tls " : "tcp ") + std::string(parsed->host) + " " +
         std::to_string(parsed->port) + " " + std::string(parsed->authority) + " " +
         (path->needs_slash ? "/" : "") + std::string(path->path);
}

TEST(Target, IsTakenApart) {
  const std::pair<const char*, const char*> cases[] = {
      {"http://a.example", "tcp a.example 80 a.example /"},
      {"http://a.example/", "tcp a.example 80 a.example /"},
      {"https://a.example/x/y?z=1", "tls a.example 443 a.example /x/y?z=1"},
      {"https://a.example:8443?z=/1", "tls a.example 8443 a.example:8443 /?z=/1"},
      {"http://[::1]:81/x#part", "tcp [::1] 81 [::1]:81 /x"},
      {"http://[::1]/x", "tcp [::1] 80 [::1] /x"},
      {"http://a#b", "tcp a 80 a /"},
      {"http://a:65535/", "tcp a 65535 a:65535 /"},
      {"http://a:65536/", "bad origin"},
      {"http://a:0/", "bad origin"},
      {"http://a:/", "bad origin"},
      {"http://a:8x/", "bad origin"},
      {"http://a:+8/", "bad origin"},
      {"http:///x", "bad origin"},
      {"http://:80/", "bad origin"},
      {"http://user@a/", "bad origin"},
      {"http://a b/", "bad origin"},
      {"http://a/x y", "bad path"},
      {"http://a/x\r\nevil: 1", "bad path"},
      {"http://a/\x80", "bad path"},
      {"ftp://a/", "no origin"},
      {"HTTP://a/", "no origin"},
      {"", "no origin"},
  };
  for (const auto& [url, want] : cases) EXPECT_EQ(show(url), want) << url;
}

}  // namespace
}  // namespace postrider
