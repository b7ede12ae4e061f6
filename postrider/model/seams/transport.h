// Transport: the seam to the wire for exchanges of one request and one answer. A transport decides
// nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "postrider/base/bytes.h"
#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/attributes.h"
#include "postrider/model/ids.h"

namespace postrider {

struct DestinationConfig;

// Header lines as they go onto the wire, "name: value\r\n" each, in one piece of memory. A line is
// checked before it is added.
class HeaderLines {
 public:
  HeaderLines() = default;
  HeaderLines(std::initializer_list<std::pair<std::string_view, std::string_view>> lines) {
    for (const auto& [name, value] : lines) add(name, value);
  }
  void reserve(std::size_t bytes) { text_.reserve(bytes); }
  void add(std::string_view name, std::string_view value) {
    text_.append(name).append(": ").append(value).append("\r\n");
  }
  void add(std::string_view prefix, std::string_view name, std::string_view value) {
    text_.append(prefix);
    add(name, value);
  }
  void add_lines(std::string_view lines) { text_.append(lines); }  // made by add()
  std::string_view text() const { return text_; }
  bool empty() const { return text_.empty(); }
  // The first of this name, written just so; a null view when there is none.
  std::string_view find(std::string_view name) const;
  NamedTexts list() const;

 private:
  std::string text_;
};

// What a login gave. A secret.
struct LoginToken {
  std::string authorization;            // the value of that header, for every request after it
  std::optional<Timestamp> expires_at;  // wall time; nothing: it does not say
};

// How the way out gets a token for requests that need one. `body` and what `read` gives are
// secrets; the error of `read` must not repeat them.
struct LoginCall {
  std::string key;     // requests of one key share a token
  std::string target;  // URL that `body` is POSTed to
  std::string body;
  Result<LoginToken> (*read)(int status, std::string_view content_type,
                             std::string_view body) = nullptr;
  std::string content_type = "application/json";
};

// As much of an answer's body as a request may order, when that is more than its transport reads by
// itself.
inline constexpr std::uint32_t kReplyBytesOrderMax = 512 * 1024;

struct WireRequest {
  std::string verb;    // "POST"
  std::string target;  // URL or another address of the transport
  HeaderLines headers;
  Blob owner;  // keeps `body` alive
  std::string_view body;
  Duration time_out{0};  // the whole exchange
  std::string trust;  // certificates in PEM that are trusted instead of the system's; empty: those
  // Shared, because all requests of a destination have the same. Null: no login is needed.
  std::shared_ptr<const LoginCall> login;
  std::uint32_t reply_bytes = 0;  // of the answer's body that are wanted, up to
                                  // kReplyBytesOrderMax; 0: the transport's measure
  // What must not happen twice: no transport repeats it by itself, nor sends it over a connection
  // that may be dead already.
  bool once = false;
  // Why nothing may be sent now, when something of ours is missing: then it is held back, and no
  // transport sees it. Empty: it may be sent.
  std::string held_back;
  // A question that must be answered with status 0 before this request leaves. Null: none.
  std::shared_ptr<const WireRequest> first;
  // "host:port" to connect to instead of the target's, of which the host line and the certificate
  // still are. Empty: the target's own.
  std::string via;
};

enum class WireEnd : std::uint8_t {
  kAnswered,
  kRefused,    // the port is closed: nothing was sent
  kNoName,     // the name does not resolve
  kNoTls,      // no trust: nothing was sent
  kForbidden,  // our own guard does not let us go there
  kTimedOut,   // sent, or partly sent; no answer
  kReset,      // cut off before the answer was whole
  kNoLogin,    // the peer did not log us in: it has done nothing of the request
  kHeldBack,   // it waited for a place of ours, in vain: nothing was sent, the peer was not asked
};

struct WireReply {
  WireEnd end = WireEnd::kAnswered;
  int status = 0;
  NamedTexts headers;  // names in lower case
  std::string body;    // an excerpt
  // It is the end of `WireRequest::first`: nothing of the request itself has left.
  bool of_first = false;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Exactly one AttemptEnded follows each start, unless it was aborted; even then one may be on its
  // way already.
  virtual void start(AttemptId attempt, WireRequest request) = 0;
  virtual void abort(AttemptId attempt) = 0;
  virtual std::size_t connections() const { return 0; }  // open ones, for the figures
};

}  // namespace postrider
