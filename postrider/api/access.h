// Access: who asks, and what he may do. Tokens are compared as hashes and in constant time, so that
// neither their contents nor their number of equal characters can be measured.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/api/problems.h"

namespace postrider {

// Of a secret. Below it can be guessed; a longer one is not compared, because nobody shall make us
// hash a megabyte, and head_bytes_max always has room for it.
inline constexpr std::size_t kTokenSecretBytesMin = 16;
inline constexpr std::size_t kTokenSecretBytesMax = 1024;

struct AccessToken {
  std::string name;    // for the log
  std::string tenant;  // whose share and whose operation keys it uses
  std::string secret;
  bool may_submit = false;
  bool may_read = false;
  bool may_operate = false;
  bool may_receive = false;
  std::vector<std::string> mailboxes =
      {};  // the only ones that it may read and confirm; empty: all
};

}  // namespace postrider

namespace postrider::api {

using Scopes = std::uint8_t;  // a set
inline constexpr Scopes kSubmit = 1;
inline constexpr Scopes kRead = 2;
inline constexpr Scopes kOperate = 4;
inline constexpr Scopes kReceive = 8;
inline constexpr Scopes kAnyScope = kSubmit | kRead | kOperate | kReceive;
inline constexpr Scopes kNoToken = 0;  // of a route: open to everybody

// Whose share of the event queue and whose keys it is when nobody has a token, and of the Unix
// socket.
inline constexpr std::string_view kDefaultTenant = "default";

class Access {
 public:
  void set_tokens(const std::vector<AccessToken>& tokens);
  void set_names(const std::vector<std::string>& names);

  // Without tokens the name by which somebody asks is all that tells a page of another site, whose
  // name was made to point here (DNS rebinding), from a client of this machine. Nothing when it is
  // one of this machine's.
  std::optional<Problem> misdirected(const HttpRequest& request) const;

  // The tenant, when one of `needed` is granted, and who it is, for the audit; the views are good
  // until the tokens are changed.
  struct Admitted {
    std::string_view tenant;
    std::string_view actor;
    std::span<const std::string> mailboxes = {};  // those that it is bound to; empty: to none
  };
  Checked<Admitted> admit(const HttpRequest& request, Scopes needed) const;
  // The same of a token that was shown on a line, not by HTTP. Nothing: it is not known, or has not
  // the scope.
  std::optional<Admitted> admit_token(std::string_view secret, Scopes needed) const;
  bool has_tokens() const { return !entries_.empty(); }
  Scopes scopes_of(const HttpRequest& request) const;  // everything that it may do

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct Entry {
    Digest digest;
    std::string tenant;
    std::string name;
    Scopes scopes;
    std::vector<std::string> mailboxes;
  };
  static Digest digest_of(std::string_view secret);
  const Entry* find(std::string_view secret) const;

  std::vector<Entry> entries_;
  std::vector<std::string> names_;  // in lower case
};

// Whether a browser sends this for a page that is not ours.
bool is_foreign_page(const HttpRequest& request);

}  // namespace postrider::api
