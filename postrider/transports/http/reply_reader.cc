#include "postrider/transports/http/reply_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace postrider {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

constexpr std::size_t kHeadersUsual = 8;
constexpr int kSwitchingProtocols = 101;
// Beast insists on seeing a whole last chunk, "0\r\n\r\n", once it has met its first three bytes.
constexpr std::size_t kLastChunkBytes = 5;

bool is_interim(int status) {
  return status >= 100 && status <= 199 && status != kSwitchingProtocols;
}

std::string lower(string_view text) {
  std::string out(text.data(), text.size());
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// The parser of Beast without its message: each field goes straight to where it stays.
class Grammar final : public http::basic_parser<false> {
 public:
  struct Measure {
    std::uint32_t body_bytes_max;  // that are read
    std::uint32_t excerpt;         // … and kept
  };
  Grammar(const ReplyLimits& limits, Measure measure, WireReply& reply, ReplySink* sink)
      : measure_(measure), reply_(reply), sink_(sink) {
    eager(true);
    // Ours is over all of the head; this one, over what of it comes at once, is never reached.
    header_limit(limits.head_bytes_max + 1);
    body_limit(boost::none);  // we count ourselves: a long body is not an error
  }
  bool in_head() const { return in_head_; }

 private:
  void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int status, string_view, int, error_code&) override {
    reply_.status = status;
  }
  void on_field_impl(http::field, string_view name, string_view value, error_code&) override {
    if (!in_head_) return;  // a trailer is of no use to anybody here
    if (reply_.headers.empty()) reply_.headers.reserve(kHeadersUsual);
    reply_.headers.emplace_back(lower(name), std::string(value.data(), value.size()));
  }
  void on_header_impl(error_code&) override {
    in_head_ = false;
    if (sink_ != nullptr && !is_interim(reply_.status)) sink_->reply_head(reply_);
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view bytes, error_code& error) override {
    if (sink_ != nullptr) {
      sink_->reply_piece({bytes.data(), bytes.size()});
      return bytes.size();
    }
    const std::size_t room = measure_.excerpt - reply_.body.size();
    reply_.body.append(bytes.data(), std::min(room, bytes.size()));
    body_bytes_ += bytes.size();
    if (body_bytes_ > measure_.body_bytes_max) error = http::error::body_limit;
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code& error) override {
    return on_body_impl(bytes, error);
  }
  void on_finish_impl(error_code&) override {}

  Measure measure_;
  WireReply& reply_;
  ReplySink* sink_;  // null: the body is kept
  std::uint64_t body_bytes_ = 0;
  bool in_head_ = true;
};

}  // namespace

class ReplyReader::Parser {
 public:
  void begin(const ReplyLimits& limits, bool to_head, std::uint32_t wanted, ReplySink* sink) {
    to_head_ = to_head;
    sink_ = sink;
    const std::uint32_t ordered = std::min(wanted, kReplyBytesOrderMax);
    measure_.body_bytes_max = std::max(limits.body_bytes_max, ordered);
    measure_.excerpt =
        wanted == 0 ? limits.excerpt_bytes_max : std::min(wanted, measure_.body_bytes_max);
    interim_ = 0;
    after_head_ = 0;
    restart(limits);
  }
  void restart(const ReplyLimits& limits) {
    reply = WireReply{};
    head_bytes = 0;
    grammar.emplace(limits, measure_, reply, sink_);
    grammar->skip(to_head_);
  }
  // Chunks can carry long extensions around little body, so all bytes are counted too.
  bool too_long(const ReplyLimits& limits, std::size_t more) {
    if (sink_ != nullptr) return false;
    if (!grammar->in_head()) after_head_ += more;
    return after_head_ > 2 * std::uint64_t{measure_.body_bytes_max} + limits.head_bytes_max;
  }
  bool one_interim_too_many(const ReplyLimits& limits) { return ++interim_ > limits.interim_max; }

  WireReply reply;
  std::optional<Grammar> grammar;
  std::size_t head_bytes = 0;  // of this head that were taken before it was whole

 private:
  bool to_head_ = false;
  Grammar::Measure measure_{};
  ReplySink* sink_ = nullptr;
  std::uint32_t interim_ = 0;
  std::uint64_t after_head_ = 0;
};

ReplyReader::ReplyReader(const ReplyLimits& limits)
    : limits_(limits), parser_(std::make_unique<Parser>()) {
  begin(false);
}
ReplyReader::~ReplyReader() = default;

void ReplyReader::begin(bool to_head, std::uint32_t wanted) {
  parser_->begin(limits_, to_head, wanted, nullptr);
}

void ReplyReader::begin(bool to_head, ReplySink& sink) {
  parser_->begin(limits_, to_head, 0, &sink);
}

ReplyProgress ReplyReader::feed(std::string_view bytes, bool full, std::size_t& taken) {
  while (!bytes.empty()) {
    Grammar& grammar = *parser_->grammar;
    if (!grammar.in_head() && grammar.chunked() && bytes.size() < kLastChunkBytes) break;
    const std::size_t room =
        grammar.in_head() ? limits_.head_bytes_max - parser_->head_bytes : bytes.size();
    const std::string_view piece = bytes.substr(0, room);
    error_code error;
    const std::size_t used = grammar.put(boost::asio::buffer(piece.data(), piece.size()), error);
    taken += used;
    bytes.remove_prefix(used);
    if (error == http::error::body_limit || parser_->too_long(limits_, used))
      return ReplyProgress::kEnough;
    if (error == http::error::need_more) {
      if (grammar.in_head()) parser_->head_bytes += used;
      if (grammar.in_head() && piece.size() == room) return ReplyProgress::kBroken;
      if (piece.size() < used + bytes.size()) continue;  // it had not seen all
      break;
    }
    if (error) return ReplyProgress::kBroken;
    if (!grammar.is_done()) continue;
    if (!is_interim(parser_->reply.status)) return ReplyProgress::kWhole;
    if (parser_->one_interim_too_many(limits_)) return ReplyProgress::kBroken;
    parser_->restart(limits_);
  }
  if (!full || bytes.empty()) return ReplyProgress::kMore;
  return parser_->grammar->in_head() ? ReplyProgress::kBroken : ReplyProgress::kEnough;
}

ReplyProgress ReplyReader::finish() {
  Grammar& grammar = *parser_->grammar;
  if (grammar.in_head() || grammar.is_done()) return ReplyProgress::kBroken;
  error_code error;
  grammar.put_eof(error);
  return error ? ReplyProgress::kBroken : ReplyProgress::kWhole;
}

bool ReplyReader::keeps_alive() const {
  return parser_->grammar->is_done() && parser_->grammar->keep_alive() &&
         parser_->reply.status != kSwitchingProtocols;
}

WireReply ReplyReader::take() { return std::move(parser_->reply); }

}  // namespace postrider
