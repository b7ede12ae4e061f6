#include "postrider/protocols/lxmf/stamp.h"

#include <bit>

#include "postrider/base/check.h"
#include "postrider/protocols/reticulum/msgpack.h"

namespace postrider::lxmf {
namespace {

using reticulum::Digest;
using reticulum::view;

constexpr std::size_t kRoundBytes = 256;
// What a round costs: its salt, the extraction, eight blocks of output, and hashing them.
constexpr std::uint32_t kCompressionsPerRound = 28;

std::uint32_t leading_zeros(const Digest& hash) {
  std::uint32_t bits = 0;
  for (const std::uint8_t byte : hash) {
    if (byte != 0) return bits + static_cast<std::uint32_t>(std::countl_zero(byte));
    bits += 8;
  }
  return bits;
}

// Whether the hash, as a number, is at most 2^(256 − cost).
bool meets(const Digest& hash, std::uint32_t cost) {
  const std::uint32_t zeros = leading_zeros(hash);
  if (zeros >= cost || cost == 0) return true;
  if (zeros + 1 != cost) return false;
  // The one number with a bit less: the power of two itself.
  std::uint32_t ones = 0;
  for (const std::uint8_t byte : hash) ones += static_cast<std::uint32_t>(std::popcount(byte));
  return ones == 1;
}

void step(Stamp& stamp) {
  for (std::size_t i = stamp.size(); i-- > 0;) {
    if (++stamp[i] != 0) return;
  }
}

}  // namespace

bool Workblock::build(std::uint32_t rounds_max) {
  for (; rounds_max > 0 && done_ < rounds_; --rounds_max, ++done_) {
    std::string number;
    reticulum::MsgpackWriter(number).whole(done_);
    const Digest salt = reticulum::sha256({material_, number});
    const auto bytes = reticulum::hkdf<kRoundBytes>(material_, view(salt));
    block_.add(view(bytes));
  }
  return is_complete();
}

std::uint32_t Workblock::value_of(std::string_view stamp) const {
  POSTRIDER_CHECK(is_complete());
  return leading_zeros(block_.with(stamp));
}

bool Workblock::is_valid(std::string_view stamp, std::uint32_t cost) const {
  POSTRIDER_CHECK(is_complete());
  return meets(block_.with(stamp), cost);
}

std::uint32_t stamp_value(std::string_view material, std::uint32_t rounds, std::string_view stamp) {
  Workblock block{std::string(material), rounds};
  block.build(rounds);
  return block.value_of(stamp);
}

bool is_valid_stamp(std::string_view material, std::uint32_t rounds, std::string_view stamp,
                    std::uint32_t cost) {
  Workblock block{std::string(material), rounds};
  block.build(rounds);
  return block.is_valid(stamp, cost);
}

Result<StampSearch> StampSearch::make(Job job) {
  if (job.cost > kWorkCostMax)
    return fail(ErrorCode::kLimit, "stamp of cost " + std::to_string(job.cost));
  return StampSearch(std::move(job));
}

bool StampSearch::run(std::uint32_t compressions) {
  if (!block_.is_complete()) {
    block_.build(std::max(1u, compressions / kCompressionsPerRound));
    return false;
  }
  for (; compressions > 0 && !found_; --compressions) {
    ++trials_;
    if (block_.is_valid(view(stamp_), cost_))
      found_ = true;
    else
      step(stamp_);
  }
  return found_;
}

Ticket stamp_by_ticket(const Ticket& ticket, const reticulum::Digest& message) {
  return reticulum::short_hash({view(ticket), view(message)});
}

}  // namespace postrider::lxmf
