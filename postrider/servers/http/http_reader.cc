#include "postrider/servers/http/http_reader.h"

#include <algorithm>
#include <cstring>

namespace postrider {
namespace {

// Sizes and extensions of one chunk. Extensions mean nothing to us; a long one is an attack.
constexpr std::uint32_t kChunkLineBytesMax = 256;
constexpr std::uint32_t kChunkDigitsMax = 15;  // so that a size never overflows

constexpr HttpRefusal bad_request(std::string_view detail) { return {400, detail}; }
constexpr HttpRefusal kBadChunk = bad_request("a chunk of the body is malformed");
constexpr HttpRefusal kBadTrailer = bad_request("a trailer is malformed");

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view take(std::span<char>& input, std::size_t size) {
  const std::string_view taken(input.data(), size);
  input = input.subspan(size);
  return taken;
}

}  // namespace

HttpReader::Found HttpReader::refuse(HttpRefusal refusal) {
  refusal_ = refusal;
  state_ = State::kRefused;
  return Found::kRefused;
}

HttpReader::Found HttpReader::finish() {
  state_ = State::kHead;
  skipped_empty_line_ = false;
  line_begin_ = 0;
  searched_ = 0;
  return Found::kLast;
}

HttpReader::Found HttpReader::next(std::span<char>& input, const HttpReaderLimits& limits,
                                   HttpRequest& request, std::string_view& piece) {
  switch (state_) {
    case State::kHead: return find_head(input, limits, request);
    case State::kNoBody: piece = {}; return finish();
    case State::kLength: return read_length(input, piece);
    case State::kRefused: return Found::kRefused;
    case State::kChunkSize:
    case State::kChunkExtra:
    case State::kChunkSizeEnd:
    case State::kChunkData:
    case State::kChunkDataCr:
    case State::kChunkDataEnd:
    case State::kTrailerBegin:
    case State::kTrailerName:
    case State::kTrailerValue:
    case State::kTrailerEnd:
    case State::kBodyEnd: return read_chunks(input, limits, piece);
  }
  return refuse(bad_request("unknown state"));
}

// Looks for the empty line, each byte once, however the head is cut into pieces.
HttpReader::Found HttpReader::find_head(std::span<char>& input, const HttpReaderLimits& limits,
                                        HttpRequest& request) {
  while (true) {
    if (input.empty()) return Found::kMore;
    if (searched_ == 0 && input[0] != '\r' && input[0] != '\n' && !is_http_token_char(input[0])) {
      return refuse(bad_request("this is not HTTP"));  // TLS on a plain port, for example
    }
    const std::size_t within = std::min<std::size_t>(input.size(), limits.head_bytes_max);
    const void* found = std::memchr(input.data() + searched_, '\n', within - searched_);
    if (found == nullptr) {
      searched_ = static_cast<std::uint32_t>(within);
      if (within < limits.head_bytes_max) return Found::kMore;
      return refuse({431, "request line and headers are too large"});
    }
    const auto line_end =
        static_cast<std::uint32_t>(static_cast<const char*>(found) - input.data());
    if (line_end == 0 || input[line_end - 1] != '\r')
      return refuse(bad_request("a line ends without CR"));
    searched_ = line_end + 1;
    if (line_end - 1 != line_begin_) {
      line_begin_ = searched_;
      continue;
    }
    if (line_begin_ != 0) break;
    // One empty line before a request is forgiven (RFC 9112 §2.2): old clients send it after a
    // body.
    if (skipped_empty_line_) return refuse(bad_request("empty lines instead of a request"));
    skipped_empty_line_ = true;
    take(input, searched_);
    searched_ = 0;
  }
  const HttpRefusal refusal = parse_http_head(input.first(searched_), limits.headers_max, request,
                                              framing_, limits.forwards);
  if (refusal) return refuse(refusal);
  take(input, searched_);
  remaining_ = framing_.length;
  line_bytes_ = 0;
  switch (framing_.body) {
    case HttpBodyKind::kNone: state_ = State::kNoBody; break;
    case HttpBodyKind::kLength: state_ = State::kLength; break;
    case HttpBodyKind::kChunked: state_ = State::kChunkSize; break;
  }
  if (state_ == State::kChunkSize) remaining_ = 0;
  return Found::kHead;
}

bool HttpReader::has_whole_body(std::span<const char> input) const {
  const bool known = state_ == State::kNoBody || state_ == State::kLength;
  return known && input.size() >= remaining_;
}

bool HttpReader::take_whole_body(std::span<char>& input, std::string_view& body) {
  if (!has_whole_body(input)) return false;
  body = take(input, static_cast<std::size_t>(remaining_));
  finish();
  return true;
}

HttpReader::Found HttpReader::read_length(std::span<char>& input, std::string_view& piece) {
  if (input.empty()) return Found::kMore;
  piece = take(input, static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size())));
  remaining_ -= piece.size();
  return remaining_ == 0 ? finish() : Found::kPiece;
}

HttpReader::Found HttpReader::read_chunk_data(std::span<char>& input, std::string_view& piece) {
  piece = take(input, static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size())));
  remaining_ -= piece.size();
  if (remaining_ == 0) state_ = State::kChunkDataCr;
  return Found::kPiece;
}

HttpReader::Found HttpReader::read_chunks(std::span<char>& input, const HttpReaderLimits& limits,
                                          std::string_view& piece) {
  while (!input.empty()) {
    if (state_ == State::kChunkData) return read_chunk_data(input, piece);
    const char c = take(input, 1).front();
    HttpRefusal refusal;
    if (state_ <= State::kChunkSizeEnd) {
      refusal = step_size(c);
    } else if (state_ <= State::kChunkDataEnd) {
      refusal = step_data_end(c);
    } else {
      if (++line_bytes_ > limits.head_bytes_max) refusal = {431, "the trailers are too large"};
      if (!refusal) refusal = step_trailer(c);
    }
    if (refusal) return refuse(refusal);
    if (state_ == State::kHead) {
      piece = {};
      return finish();
    }
  }
  return Found::kMore;
}

// 1*HEXDIG [";" text] CRLF. `line_bytes_` counts the digits first, for an empty size is no size.
HttpRefusal HttpReader::step_size(char c) {
  if (++line_bytes_ > kChunkLineBytesMax) return bad_request("a chunk extension is too long");
  if (state_ == State::kChunkSizeEnd) {
    if (c != '\n') return kBadChunk;
    line_bytes_ = 0;
    state_ = remaining_ == 0 ? State::kTrailerBegin : State::kChunkData;
    return {};
  }
  if (c == '\r') {
    if (line_bytes_ == 1) return kBadChunk;
    state_ = State::kChunkSizeEnd;
    return {};
  }
  if (state_ == State::kChunkExtra) return is_http_text_char(c) ? HttpRefusal{} : kBadChunk;
  if (c == ';' && line_bytes_ > 1) {
    state_ = State::kChunkExtra;
    return {};
  }
  const int digit = hex_value(c);
  if (digit < 0 || line_bytes_ > kChunkDigitsMax) return kBadChunk;
  remaining_ = remaining_ * 16 + static_cast<unsigned>(digit);
  return {};
}

HttpRefusal HttpReader::step_data_end(char c) {
  const bool at_cr = state_ == State::kChunkDataCr;
  if (c != (at_cr ? '\r' : '\n')) return kBadChunk;
  state_ = at_cr ? State::kChunkDataEnd : State::kChunkSize;
  return {};
}

// Trailers are checked like headers and dropped.
HttpRefusal HttpReader::step_trailer(char c) {
  switch (state_) {
    case State::kTrailerBegin:
      if (c == '\r') {
        state_ = State::kBodyEnd;
        return {};
      }
      state_ = State::kTrailerName;
      return is_http_token_char(c) ? HttpRefusal{} : kBadTrailer;
    case State::kTrailerName:
      if (c == ':') state_ = State::kTrailerValue;
      return c == ':' || is_http_token_char(c) ? HttpRefusal{} : kBadTrailer;
    case State::kTrailerValue:
      if (c == '\r') state_ = State::kTrailerEnd;
      return c == '\r' || is_http_text_char(c) ? HttpRefusal{} : kBadTrailer;
    case State::kTrailerEnd:
      state_ = State::kTrailerBegin;
      return c == '\n' ? HttpRefusal{} : kBadTrailer;
    case State::kBodyEnd: state_ = State::kHead; return c == '\n' ? HttpRefusal{} : kBadTrailer;
    case State::kHead:
    case State::kNoBody:
    case State::kLength:
    case State::kChunkSize:
    case State::kChunkExtra:
    case State::kChunkSizeEnd:
    case State::kChunkData:
    case State::kChunkDataCr:
    case State::kChunkDataEnd:
    case State::kRefused: break;
  }
  return kBadTrailer;
}

}  // namespace postrider
