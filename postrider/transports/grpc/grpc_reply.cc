#include "postrider/transports/grpc/grpc_reply.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr std::uint32_t kFieldOverhead = 32;  // as HTTP/2 counts fields (RFC 9113 §6.5.2)
constexpr std::size_t kPushbackBytesMax = 16;

int parse_http_status(std::string_view text) {
  int status = 0;
  std::from_chars(text.data(), text.data() + text.size(), status);
  return status;
}

}  // namespace

bool GrpcReply::broken(std::string problem) {
  problem_ = std::move(problem);
  body_.clear();
  return false;
}

// Only the last block counts: the trailers, or the only one of an answer without a message.
void GrpcReply::begin_fields() {
  begun_ = true;
  status_named_ = false;
  status_.reset();
  message_.clear();
  pushback_.clear();
}

bool GrpcReply::field(std::string_view name, std::string_view value) {
  if (!problem_.empty()) return false;
  const std::size_t size = name.size() + value.size() + kFieldOverhead;
  if (size > limits_.head_bytes_max - head_bytes_)
    return broken("the header fields are larger than " + std::to_string(limits_.head_bytes_max) +
                  " bytes");
  head_bytes_ += static_cast<std::uint32_t>(size);
  if (name == ":status") {
    http_status_ = parse_http_status(value);
  } else if (name == "grpc-status") {
    status_named_ = true;
    status_ = parse_grpc_status(value);
  } else if (name == "grpc-message") {
    message_ = value;
  } else if (name == "grpc-retry-pushback-ms") {
    pushback_ = clean_excerpt(value, kPushbackBytesMax);
  }
  return true;
}

// True when the prefix is whole and good.
bool GrpcReply::take_prefix(std::string_view& bytes) {
  while (prefix_used_ < kGrpcPrefixBytes && !bytes.empty()) {
    prefix_.at(prefix_used_++) = bytes.front();
    bytes.remove_prefix(1);
  }
  if (prefix_used_ < kGrpcPrefixBytes) return false;
  if (prefix_[0] == 1) return broken("the message is compressed, which we did not offer");
  if (prefix_[0] != 0) return broken("this is no message of gRPC");
  body_bytes_ = 0;
  for (std::size_t i = 1; i < kGrpcPrefixBytes; ++i)
    body_bytes_ = body_bytes_ << 8 | static_cast<unsigned char>(prefix_.at(i));
  if (body_bytes_ <= limits_.message_bytes_max) return true;
  return broken("the message is larger than " + std::to_string(limits_.message_bytes_max) +
                " bytes");
}

bool GrpcReply::data(std::string_view bytes) {
  begun_ = true;
  if (!problem_.empty()) return false;
  if (http_status_ != 200) return true;  // somebody's error page
  if (!take_prefix(bytes)) return problem_.empty();
  if (bytes.size() > body_bytes_ - body_.size())
    return broken("there is more than one message in the answer");
  body_.append(bytes);
  return true;
}

WireReply GrpcReply::finish() {
  WireReply out;
  const bool whole =
      prefix_used_ == 0 || (prefix_used_ == kGrpcPrefixBytes && body_.size() == body_bytes_);
  if (problem_.empty() && status_named_ && !status_) broken("grpc-status is no number");
  if (problem_.empty() && status_ == 0 && !whole) broken("the message is cut off");
  if (problem_.empty() && !status_ && http_status_ <= 200) broken("the answer has no grpc-status");
  if (!problem_.empty()) {
    out.end = WireEnd::kReset;
    out.body = problem_;
    return out;
  }
  out.end = WireEnd::kAnswered;
  out.status = status_ ? *status_ : grpc_status_of_http(http_status_);
  if (!message_.empty())
    out.headers.emplace_back("grpc-message", decode_grpc_message(message_, limits_.text_bytes_max));
  if (http_status_ != 200) out.headers.emplace_back("http-status", std::to_string(http_status_));
  if (!pushback_.empty()) out.headers.emplace_back("grpc-retry-pushback-ms", std::move(pushback_));
  if (whole) out.body = std::move(body_);
  return out;
}

}  // namespace postrider
