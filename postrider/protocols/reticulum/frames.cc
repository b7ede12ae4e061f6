#include "postrider/protocols/reticulum/frames.h"

namespace postrider::reticulum {
namespace {

constexpr char kFlag = 0x7E;
constexpr char kEscape = 0x7D;
constexpr char kEscapeMask = 0x20;
constexpr std::string_view kMarks("\x7E\x7D", 2);

}  // namespace

std::string encode_frame(std::string_view packet) {
  std::string out;
  out.reserve(packet.size() + packet.size() / 32 + 2);
  out.push_back(kFlag);
  while (!packet.empty()) {
    const std::size_t plain = std::min(packet.find_first_of(kMarks), packet.size());
    out += packet.substr(0, plain);
    packet.remove_prefix(plain);
    if (packet.empty()) break;
    out.push_back(kEscape);
    out.push_back(static_cast<char>(packet[0] ^ kEscapeMask));
    packet.remove_prefix(1);
  }
  out.push_back(kFlag);
  return out;
}

void FrameReader::add(std::string_view bytes) {
  if (frame_.size() + bytes.size() <= kPacketBytesMax) {
    frame_ += bytes;
    return;
  }
  ++long_;
  frame_ = {};
  state_ = State::kSkipping;
}

void FrameReader::end_frame(const Take& take) {
  if (state_ == State::kEscaped)
    ++damaged_;
  else if (state_ == State::kInside && frame_.size() >= kPacketBytesMin)
    take(frame_);
  else if (state_ == State::kInside && !frame_.empty())
    ++short_;
  frame_.clear();
  state_ = State::kInside;  // the flag that ends a frame may begin the next
}

void FrameReader::feed(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    if (state_ == State::kEscaped && bytes[0] != kFlag) {
      const char plain = static_cast<char>(bytes[0] ^ kEscapeMask);
      bytes.remove_prefix(1);
      if (kMarks.find(plain) == std::string_view::npos) {
        ++damaged_;
        frame_.clear();
        state_ = State::kSkipping;
        continue;
      }
      state_ = State::kInside;
      add({&plain, 1});
      continue;
    }
    const bool inside = state_ == State::kInside;
    const std::size_t found = inside ? bytes.find_first_of(kMarks) : bytes.find(kFlag);
    const std::size_t plain = std::min(found, bytes.size());
    if (inside) add(bytes.substr(0, plain));
    bytes.remove_prefix(plain);
    if (bytes.empty()) return;
    if (bytes[0] == kFlag)
      end_frame(take);
    else if (state_ == State::kInside)
      state_ = State::kEscaped;
    bytes.remove_prefix(1);
  }
}

}  // namespace postrider::reticulum
