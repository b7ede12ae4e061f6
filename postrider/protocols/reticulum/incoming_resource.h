// IncomingResource: the receiver's side of one resource, segment after segment. It asks for parts
// in windows that follow the line, keeps only what it asked for, and never more than was
// advertised. A machine without a clock. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/resource.h"

namespace postrider::reticulum {

class IncomingResource {
 public:
  enum class State : std::uint8_t {
    kReceiving,
    kBetween,   // a segment is complete and proven, the next not advertised yet
    kComplete,  // the whole body is there
    kFailed,
  };
  using Open = std::function<Result<std::string>(std::string_view sealed)>;

  // Begins with the first segment. kInvalid: equal map hashes are too near to each other.
  // `first_request_at`: peers lose a request that comes too early.
  static Result<IncomingResource> accept(const Advertisement& advertisement, std::size_t part_size,
                                         Duration rtt, Timestamp now, Timestamp first_request_at);

  // The next segment, or the current one again. False: it does not belong here.
  bool on_advertisement(const Advertisement& advertisement, Timestamp now,
                        std::vector<ResourceSend>& out);
  // False: the part was not asked for.
  bool on_part(std::string_view part, Timestamp now, const Open& open,
               std::vector<ResourceSend>& out);
  // False: not of this resource.
  bool on_hashmap(std::string_view plain, Timestamp now, std::vector<ResourceSend>& out);
  bool on_cancel(std::string_view plain);
  void on_time(Timestamp now, std::vector<ResourceSend>& out);
  void refuse(std::vector<ResourceSend>& out);

  std::optional<Timestamp> next_deadline() const;
  State state() const { return state_; }
  bool has_ended() const { return state_ >= State::kComplete; }
  const Digest& original() const { return first_.original; }
  const Digest& resource() const { return current_.resource; }
  const Digest& proof() const { return proof_; }  // of the segment that was completed last
  const Advertisement& advertised() const { return first_; }
  std::string take_body() { return std::move(body_); }
  std::uint32_t window() const { return window_; }
  std::uint32_t progress_permille() const;

 private:
  IncomingResource(std::size_t part_size, Duration rtt) : part_size_(part_size), rtt_(rtt) {}
  bool begin(const Advertisement& advertisement, Timestamp now, Timestamp request_at);
  bool add_hashes(std::string_view hashes);
  void ask(Timestamp now, std::vector<ResourceSend>& out);
  void finish_round(Timestamp now);
  void finish_segment(Timestamp now, const Open& open, std::vector<ResourceSend>& out);
  Result<std::string> assemble(const Open& open) const;
  void fail_with_refusal(std::vector<ResourceSend>& out);
  Duration quiet_max() const;

  std::size_t part_size_;
  Duration rtt_;
  State state_ = State::kReceiving;
  Advertisement first_;
  Advertisement current_;
  std::string body_;
  Digest proof_{};
  std::vector<MapHash> hashes_;
  std::vector<std::string> parts_;
  std::vector<bool> have_;
  std::size_t missing_from_ = 0;  // all parts before are there
  std::size_t received_ = 0;
  std::unordered_map<std::uint32_t, std::size_t> asked_;  // map hash to part, of this round
  bool wants_hashes_ = false;
  bool asked_once_ = false;
  Timestamp round_began_;
  std::uint64_t round_bytes_ = 0;
  Timestamp deadline_;
  Timestamp last_part_;
  Duration part_gap_{};  // the largest between two parts of the last rounds
  std::uint32_t window_ = kWindowFirst;
  std::uint32_t window_max_ = kWindowUsual;
  std::uint32_t fast_rounds_ = 0;
  std::uint32_t slow_rounds_ = 0;
  int silences_ = 0;

  static constexpr std::uint32_t kWindowFirst = 4;
  static constexpr std::uint32_t kWindowMin = 2;
  static constexpr std::uint32_t kWindowUsual = 10;
  static constexpr std::uint32_t kWindowFast = 75;
  static constexpr std::uint32_t kWindowSlow = 4;
};

}  // namespace postrider::reticulum
