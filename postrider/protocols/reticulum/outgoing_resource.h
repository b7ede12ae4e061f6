// OutgoingResource: the sender's side of one resource, segment after segment. It sends what was
// asked for and nothing else. A machine without a clock. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/resource.h"

namespace postrider::reticulum {

struct ResourceBody {
  std::string bytes;  // not empty
  // Each segment compressed, where that is smaller; empty texts: as it is. Compressing takes long,
  // so it may be done elsewhere before.
  std::vector<std::string> compressed;
  std::optional<Address> request;
  bool is_request = false;
  bool is_response = false;
};
void compress_segments(ResourceBody& body);

class OutgoingResource {
 public:
  enum class State : std::uint8_t {
    kAdvertised,
    kTransferring,
    kProving,
    kDone,
    kRefused,
    kFailed
  };
  using Seal = std::function<std::string(std::string_view plain)>;

  OutgoingResource(ResourceBody body, std::size_t part_size, Duration rtt);

  void start(Timestamp now, const Seal& seal, Random& random, std::vector<ResourceSend>& out);
  // Each ignores what is not about the current segment.
  void on_request(std::string_view plain, Timestamp now, std::vector<ResourceSend>& out);
  // True: it was the expected proof, and perhaps the next segment begins.
  bool on_proof(std::string_view data, Timestamp now, const Seal& seal, Random& random,
                std::vector<ResourceSend>& out);
  void on_refusal(std::string_view plain);
  void on_time(Timestamp now, const Address& link, std::vector<ResourceSend>& out);
  void cancel(std::vector<ResourceSend>& out);

  std::optional<Timestamp> next_deadline() const;
  State state() const { return state_; }
  bool has_ended() const { return state_ >= State::kDone; }
  std::uint32_t progress_permille() const;

 private:
  void begin_segment(Timestamp now, const Seal& seal, Random& random,
                     std::vector<ResourceSend>& out);
  bool map_parts(const ResourceSalt& salt);
  void advertise(Timestamp now, std::vector<ResourceSend>& out);
  void send_part(std::size_t index, std::vector<ResourceSend>& out);
  void send_hashes_after(const MapHash& last, std::vector<ResourceSend>& out);
  std::string_view segment_bytes() const;
  std::size_t segments() const;
  std::string hashes(std::size_t from) const;

  ResourceBody body_;
  std::size_t part_size_;
  Duration rtt_;
  State state_ = State::kAdvertised;
  std::size_t segment_ = 0;
  std::string blob_;
  Advertisement advertisement_;
  std::optional<Digest> original_;
  Digest proof_{};
  std::vector<MapHash> hashes_;
  std::unordered_map<std::uint32_t, std::size_t> index_;  // of a map hash
  std::vector<std::uint32_t> served_in_;  // the request that a part was last sent for; 0: none
  std::size_t parts_served_ = 0;
  std::uint32_t requests_ = 0;
  int repeats_ = 0;
  Timestamp deadline_;
};

}  // namespace postrider::reticulum
