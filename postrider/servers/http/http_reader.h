// HttpReader: where one connection stands in the stream of requests that it receives. It is given
// bytes as they come and says what it found. Pure and small: it keeps no bytes itself, and a
// refusal is final.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "postrider/servers/http/http_head.h"

namespace postrider {

struct HttpReaderLimits {
  std::uint32_t head_bytes_max = 0;  // also of the trailers of a chunked body
  std::uint32_t headers_max = 0;
  bool forwards = false;  // targets of other schemes are handed on
};

class HttpReader {
 public:
  enum class Found : std::uint8_t {
    kMore,     // needs more bytes; those left in `input` must be offered again, with more behind
    kHead,     // the head of a request: `request` and framing() say what it is
    kPiece,    // bytes of the body; more is to come
    kLast,     // the last bytes of the body, possibly none; the next request follows
    kRefused,  // refusal() says why
  };

  // Takes what it understood from the front of `input`. Views in `request` and `piece` point into
  // it.
  Found next(std::span<char>& input, const HttpReaderLimits& limits, HttpRequest& request,
             std::string_view& piece);

  const HttpFraming& framing() const { return framing_; }
  const HttpRefusal& refusal() const { return refusal_; }
  bool in_body() const { return state_ != State::kHead; }
  // Whether a body of known length is there already.
  bool has_whole_body(std::span<const char> input) const;
  // The same, and it is taken from `input` then.
  bool take_whole_body(std::span<char>& input, std::string_view& body);

 private:
  enum class State : std::uint8_t {
    kHead,
    kNoBody,
    kLength,
    kChunkSize,     // nothing but digits so far
    kChunkExtra,    // an extension, which nobody uses and we skip
    kChunkSizeEnd,  // after the CR
    kChunkData,
    kChunkDataCr,
    kChunkDataEnd,
    kTrailerBegin,
    kTrailerName,
    kTrailerValue,
    kTrailerEnd,  // after the CR of a trailer
    kBodyEnd,     // after the CR of the empty line
    kRefused,
  };

  Found refuse(HttpRefusal refusal);
  Found find_head(std::span<char>& input, const HttpReaderLimits& limits, HttpRequest& request);
  Found read_length(std::span<char>& input, std::string_view& piece);
  Found read_chunks(std::span<char>& input, const HttpReaderLimits& limits,
                    std::string_view& piece);
  Found read_chunk_data(std::span<char>& input, std::string_view& piece);
  HttpRefusal step_size(char c);
  HttpRefusal step_data_end(char c);
  HttpRefusal step_trailer(char c);
  Found finish();

  State state_ = State::kHead;
  bool skipped_empty_line_ = false;
  std::uint32_t line_bytes_ = 0;  // of a chunk's size, or of all trailers
  std::uint32_t line_begin_ = 0;  // of the line of the head that is being looked at
  std::uint32_t searched_ = 0;    // so far no line end behind line_begin_
  std::uint64_t remaining_ = 0;   // of the body, or of the chunk
  HttpFraming framing_;
  HttpRefusal refusal_;
};

}  // namespace postrider
