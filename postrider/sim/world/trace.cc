#include "postrider/sim/world/trace.h"

#include <charconv>

#include "postrider/base/hash.h"
#include "postrider/model/id_address.h"

namespace postrider::sim {
namespace {

template <class Integer>
void append(std::string& out, Integer value) {
  char digits[24];
  const auto result = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, result.ptr);
}

}  // namespace

Trace& Trace::line(Timestamp at, std::string_view what) {
  line_.clear();
  append(line_, at.ms());
  return word(what);
}

Trace& Trace::word(std::string_view text) {
  line_.push_back(' ');
  line_.append(text);
  return *this;
}

Trace& Trace::number(std::uint64_t value) {
  line_.push_back(' ');
  append(line_, value);
  return *this;
}

Trace& Trace::number(std::int64_t value) {
  line_.push_back(' ');
  append(line_, value);
  return *this;
}

Trace& Trace::id(MessageId id) { return word(to_string(id)); }

void Trace::look(std::string_view text) {
  if (secrets_ == nullptr) return;
  for (const std::string_view name : secrets_->names())
    leaked_ = leaked_ || text.find(secrets_->find(name)) != std::string_view::npos;
}

void Trace::end() {
  look(line_);
  hash_ = hash64(line_, hash_);
  ++lines_;
  if (file_ == nullptr) return;
  line_.push_back('\n');
  std::fwrite(line_.data(), 1, line_.size(), file_);
}

void Trace::detail(std::string_view text) {
  if (file_ == nullptr) return;
  look(text);
  std::fprintf(file_, "    %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace postrider::sim
