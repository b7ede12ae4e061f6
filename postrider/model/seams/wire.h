// Wire: the seam to lines of bytes and datagrams. A line is one connection, one datagram socket or
// one listener. A wire carries bytes and decides nothing. What happens on a line is told to the
// owner of the wire as events of model/seams/station.h, never from inside a call of the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/ids.h"

namespace postrider {

// A line is numbered by its opener, upwards and never twice; an accepted line gets its number from
// the wire, with the top bit set.
using LineId = Id<struct LineIdTag>;
inline constexpr std::uint64_t kAcceptedLine = 1ULL << 63;

struct LineOrder {
  // "tcp://b.example:4242", "tls://b.example:4242", "udp://0.0.0.0:4242", "unix:/run/x",
  // "unix:@rns/default", "socks5://127.0.0.1:9050/abc.onion:443"
  std::string address;
  bool listens = false;  // a listener, or a datagram socket that takes from anyone
  bool foreign = false;  // the address came from outside: the guard of private ranges applies
  std::string tls;       // name of the secret with our key and certificate; empty: none of our own
  // SHA-256 of the public key (SubjectPublicKeyInfo) that the far side must show, 32 bytes; empty:
  // its certificate decides.
  std::string peer_key;
  std::string group;  // multicast group to join: "ff12:0:…%eth0"
};

enum class LineEnd : std::uint8_t {
  kRefused,     // no far side there, or the address of a listener is taken
  kNoName,      // the name does not resolve
  kNoTls,       // no trust, or the far side does not speak it
  kForbidden,   // our own guard does not let us go there
  kLost,        // was open, and the far side closed it or it broke
  kOverflow,    // more was written than may wait; what was unsent is lost
  kFull,        // as many lines are open as may be: nothing was opened
  kBadAddress,  // it cannot be read, or names a way that is not built
};
inline constexpr std::size_t kLineEnds = 8;
std::string_view name_of(LineEnd end);

struct LineLimits {
  std::uint32_t lines_max = 4096;           // open, of all stations of a shard
  std::size_t unsent_bytes_max = 8U << 20;  // of one line, then it ends as kOverflow
  std::size_t datagram_bytes_max = 65'507;  // a larger one is lost
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual void open(LineId line, LineOrder order) = 0;
  // `to`: where a datagram goes, by a line that listens; one write is one datagram. What a line
  // cannot send at once waits; LineDrained says that all of it has left.
  virtual void write(LineId line, std::string bytes, std::string_view to) = 0;
  virtual void hold(LineId line, bool held) = 0;  // nothing is read from it meanwhile
  // What was written before still leaves, if the far side takes it soon. Nothing is told
  // afterwards.
  virtual void close(LineId line) = 0;
};

}  // namespace postrider
