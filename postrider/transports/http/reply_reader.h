// ReplyReader: makes a WireReply of the bytes of an HTTP/1.1 answer, within limits and without any
// I/O. Owned by a connection and used for one answer after another.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "postrider/model/seams/transport.h"

namespace postrider {

struct ReplyLimits {
  std::uint32_t head_bytes_max = 32 * 1024;
  std::uint32_t body_bytes_max = 64 * 1024;
  std::uint32_t excerpt_bytes_max = 1024;
  std::uint32_t interim_max = 16;  // answers 1xx before the real one
};

enum class ReplyProgress : std::uint8_t {
  kMore,    // go on
  kWhole,   // the answer is complete
  kEnough,  // what counts is there; the rest is longer than we care to read
  kBroken,  // not HTTP, or a head beyond the limit
};

// Gets an answer while it is read, when its body is not to be kept.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void reply_head(const WireReply& head) = 0;  // status and headers, once
  virtual void reply_piece(std::string_view bytes) = 0;
};

class ReplyReader {
 public:
  explicit ReplyReader(const ReplyLimits& limits);
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Forgets the former answer. The answer to a HEAD has no body, whatever its head says. `wanted`
  // bytes of the body are kept, as far as it is read at all, and so many are read if
  // that is more than body_bytes_max, up to kReplyBytesOrderMax; 0: excerpt_bytes_max.
  void begin(bool to_head, std::uint32_t wanted = 0);
  // The answer goes to the sink as it comes, and its body has no limit. The sink outlives the
  // answer, and does not destroy the reader.
  void begin(bool to_head, ReplySink& sink);
  // Adds to `taken` how much of `bytes` was used. The rest must come again with more behind it, and
  // when `full`, because the caller can hold no more than that, something is settled now.
  ReplyProgress feed(std::string_view bytes, bool full, std::size_t& taken);
  ReplyProgress finish();  // the peer has closed
  bool keeps_alive() const;
  WireReply take();

 private:
  class Parser;
  ReplyLimits limits_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace postrider
