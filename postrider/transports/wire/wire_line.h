// WireLine: one line of a LoopWire. Owned by the wire; shared with handlers that are under way. On
// the loop's thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "postrider/base/time.h"
#include "postrider/model/seams/wire.h"
#include "postrider/transports/net/address_guard.h"

namespace postrider {

struct LineRules {
  LineLimits limits;
  Duration connect_time_out{0};  // of one address
  Duration tls_time_out{0};
  Duration linger{0};  // what was written before a close may take so long to leave
};

// The wire, as its lines know it. Called from handlers of the loop only, never from inside a call
// of the line; each of them may close the line.
class LineKeeper {
 public:
  virtual ~LineKeeper() = default;
  virtual void line_opened(LineId line, std::string peer) = 0;
  virtual void line_took(LineId line, std::string_view bytes, std::string_view from) = 0;
  virtual void line_drained(LineId line) = 0;
  virtual void line_ended(LineId line, LineEnd end, std::string detail) = 0;
  virtual void line_gone(LineId line) = 0;  // it was closed, and lingers no more
  virtual void line_accepted(LineId listener, int descriptor, std::string peer) = 0;
  // These may be called at any time.
  virtual void line_due(LineId line, Timestamp at) = 0;      // time_out() then; never: no more
  virtual bool permits(const IpAddress& address) const = 0;  // the guard, for what is foreign
  virtual std::span<char> scratch() = 0;  // to read into; good until the next call of the keeper
  virtual Timestamp now() const = 0;
  virtual void datagram_lost() = 0;
};

class WireLine {
 public:
  virtual ~WireLine() = default;
  virtual void write(std::string bytes, std::string_view to) = 0;
  virtual void hold(bool held) = 0;
  // True: it is gone. False: something is still to leave, and line_gone follows.
  virtual bool close() = 0;
  virtual void time_out() = 0;
  virtual void cut() = 0;  // at once, and nothing is told afterwards
};

}  // namespace postrider
