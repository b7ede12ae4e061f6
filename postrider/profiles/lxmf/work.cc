#include "postrider/profiles/lxmf/work.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "postrider/base/codec.h"

namespace postrider::lxmf {
namespace {

using reticulum::exactly;
using reticulum::view;

constexpr std::uint32_t kRoundsMax = 10'000;
// A round of a workblock costs as much as so many units, which are compressions.
constexpr std::uint64_t kUnitsPerRound = 28;

class SearchWork final : public Work {
 public:
  explicit SearchWork(StampSearch search) : search_(std::move(search)) {}
  bool go_on(std::uint64_t units) override {
    constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 30;
    return search_.is_found() ||
           search_.run(static_cast<std::uint32_t>(std::min(units, kAtOnce)));
  }
  std::string result() override { return std::string(view(search_.stamp())); }

 private:
  StampSearch search_;
};

class MeasureWork final : public Work {
 public:
  MeasureWork(Workblock block, std::string stamp)
      : block_(std::move(block)), stamp_(std::move(stamp)) {}
  bool go_on(std::uint64_t units) override {
    const std::uint64_t rounds = std::clamp<std::uint64_t>(units / kUnitsPerRound, 1, kRoundsMax);
    return block_.build(static_cast<std::uint32_t>(rounds));
  }
  std::string result() override {
    // 256 zeros need a hash that nothing has.
    return std::string(1, static_cast<char>(std::min(block_.value_of(stamp_), 255U)));
  }

 private:
  Workblock block_;
  std::string stamp_;
};

std::unique_ptr<Work> make_search(std::string_view input) {
  Reader reader(input);
  StampSearch::Job job;
  job.rounds = reader.u32();
  job.cost = reader.u32();
  const auto start = exactly<32>(reader.raw(32));
  job.material = reader.rest();
  if (!reader.ok() || !start || job.rounds == 0 || job.rounds > kRoundsMax) return nullptr;
  job.start = *start;
  auto search = StampSearch::make(std::move(job));
  return search ? std::make_unique<SearchWork>(std::move(*search)) : nullptr;
}

std::unique_ptr<Work> make_measure(std::string_view input) {
  Reader reader(input);
  const std::uint32_t rounds = reader.u32();
  std::string stamp(reader.raw(32));
  if (!reader.ok() || rounds == 0 || rounds > kRoundsMax) return nullptr;
  return std::make_unique<MeasureWork>(Workblock(std::string(reader.rest()), rounds),
                                       std::move(stamp));
}

}  // namespace

const std::array<WorkKind, 2> kWorkKinds = {
    {{kStampWork, make_search}, {kMeasureWork, make_measure}}};

std::string encode_search(const StampSearch::Job& job) {
  std::string out;
  Writer(out).u32(job.rounds).u32(job.cost).raw(view(job.start)).raw(job.material);
  return out;
}

std::string encode_measure(std::string_view material, std::uint32_t rounds,
                           std::string_view stamp) {
  std::string out;
  Writer(out).u32(rounds).raw(stamp).raw(material);
  return out;
}

std::optional<std::uint32_t> measured_value(std::string_view result) {
  if (result.size() != 1) return std::nullopt;
  return static_cast<unsigned char>(result[0]);
}

}  // namespace postrider::lxmf
