// Transport: the seam to the wire for exchanges of one request and one answer. A transport decides
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "postrider/base/bytes.h"
#include "postrider/base/time.h"
#include "postrider/model/attributes.h"
#include "postrider/model/ids.h"

namespace postrider {

struct DestinationConfig;

struct WireRequest {
  std::string verb;    // "POST"
  std::string target;  // URL or another address of the transport
  NamedTexts headers;
  Blob owner;  // keeps `body` alive
  std::string_view body;
  Duration time_out{0};  // the whole exchange
};

enum class WireEnd : std::uint8_t {
  kAnswered,
  kRefused,    // nobody listens: nothing was sent
  kNoName,     // the name does not resolve
  kNoTls,      // no trust: nothing was sent
  kForbidden,  // our own guard does not let us go there
  kTimedOut,   // sent, or partly sent; no answer
  kReset,      // cut off before the answer was whole
};

struct WireReply {
  WireEnd end = WireEnd::kAnswered;
  int status = 0;
  NamedTexts headers;  // names in lower case
  std::string body;    // an excerpt
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Exactly one AttemptEnded follows each start, unless it was aborted; even then one may be on its
  // way already.
  virtual void start(AttemptId attempt, WireRequest request) = 0;
  virtual void abort(AttemptId attempt) = 0;
};

}  // namespace postrider
