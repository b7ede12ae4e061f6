#include "postrider/protocols/rpc/frame_reader.h"

#include <algorithm>
#include <utility>

#include "postrider/base/codec.h"

namespace postrider::rpc {
namespace {

constexpr std::size_t kRoomKept = 65'536;  // of an idle connection, after a long frame

}  // namespace

std::optional<ErrorFrame> FrameReader::begin_frame() {
  wanted_ = Reader(held_).u32();
  has_length_ = true;
  held_.clear();
  if (wanted_ == 0)
    return ErrorFrame{.code = FaultCode::kMalformed, .detail = "a frame of 0 bytes"};
  if (wanted_ > bytes_max_)
    return ErrorFrame{.code = FaultCode::kTooLong,
                      .detail = "a frame of " + std::to_string(wanted_) + " bytes; at most " +
                                std::to_string(bytes_max_)};
  return std::nullopt;
}

std::optional<ErrorFrame> FrameReader::feed(std::string_view bytes, const Take& take) {
  while (!over_ && !bytes.empty()) {
    const std::size_t part = std::min(wanted_ - held_.size(), bytes.size());
    held_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    if (held_.size() < wanted_) return std::nullopt;
    std::optional<ErrorFrame> error;
    if (!has_length_) {
      error = begin_frame();
    } else {
      auto frame = decode(held_);
      if (held_.capacity() > kRoomKept)
        held_ = {};
      else
        held_.clear();
      wanted_ = kLengthBytes;
      has_length_ = false;
      if (frame)
        over_ = !take(std::move(*frame));
      else
        error = std::move(frame.error());
    }
    if (error) {
      over_ = true;
      held_ = {};
      return error;
    }
  }
  return std::nullopt;
}

}  // namespace postrider::rpc
