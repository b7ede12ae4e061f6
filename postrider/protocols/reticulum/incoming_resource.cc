#include "postrider/protocols/reticulum/incoming_resource.h"

#include <cstring>

#include "postrider/protocols/reticulum/bzip2.h"
#include "postrider/protocols/reticulum/msgpack.h"

namespace postrider::reticulum {
namespace {

constexpr std::uint64_t kFastBytesPerSecond = 6250;
constexpr std::uint64_t kSlowBytesPerSecond = 250;
constexpr std::uint32_t kFastRounds = 4;
constexpr std::uint32_t kSlowRounds = 2;
constexpr int kSilencesMax = 16;
constexpr std::size_t kStreamRandomBytes = 4;

std::uint32_t key_of(const MapHash& hash) {
  std::uint32_t out = 0;
  std::memcpy(&out, hash.data(), sizeof(out));
  return out;
}

Duration segment_patience(Duration rtt) { return 16 * 6 * rtt + 78s; }

}  // namespace

Result<IncomingResource> IncomingResource::accept(const Advertisement& advertisement,
                                                  std::size_t part_size, Duration rtt,
                                                  Timestamp now, Timestamp first_request_at) {
  IncomingResource out(part_size, rtt);
  out.first_ = advertisement;
  if (advertisement.segment != 1 || advertisement.original != advertisement.resource ||
      !out.begin(advertisement, now, first_request_at))
    return fail(ErrorCode::kInvalid, "resource that cannot be put together");
  return out;
}

bool IncomingResource::begin(const Advertisement& advertisement, Timestamp now,
                             Timestamp request_at) {
  current_ = advertisement;
  hashes_.clear();
  parts_.assign(static_cast<std::size_t>(advertisement.parts), {});
  have_.assign(parts_.size(), false);
  asked_.clear();
  missing_from_ = 0;
  received_ = 0;
  silences_ = 0;
  asked_once_ = false;
  last_part_ = now;
  deadline_ = request_at;
  state_ = State::kReceiving;
  return add_hashes(advertisement.map_hashes);
}

// False: more than there are parts, or equal ones so near that a part could be either.
bool IncomingResource::add_hashes(std::string_view hashes) {
  for (; hashes.size() >= sizeof(MapHash); hashes.remove_prefix(sizeof(MapHash))) {
    const MapHash hash = *exactly<4>(hashes.substr(0, sizeof(MapHash)));
    const std::size_t near = std::min(hashes_.size(), kMapHashesApart - 1);
    const auto from = hashes_.end() - static_cast<std::ptrdiff_t>(near);
    if (hashes_.size() == parts_.size() || std::find(from, hashes_.end(), hash) != hashes_.end())
      return false;
    hashes_.push_back(hash);
  }
  return true;
}

bool IncomingResource::on_advertisement(const Advertisement& advertisement, Timestamp now,
                                        std::vector<ResourceSend>& out) {
  if (has_ended() || advertisement.original != first_.original) return false;
  if (advertisement.resource == current_.resource) {
    // The peer heard nothing of us: our request was lost, or is still to be sent.
    if (state_ == State::kReceiving && asked_once_ && received_ == 0) ask(now, out);
    return true;
  }
  const bool is_next = state_ == State::kBetween && advertisement.segment == current_.segment + 1 &&
                       advertisement.segments == first_.segments;
  if (!is_next) return false;
  if (begin(advertisement, now, now))
    ask(now, out);
  else
    fail_with_refusal(out);
  return true;
}

Duration IncomingResource::quiet_max() const { return 250ms + std::max(6 * rtt_, 3 * part_gap_); }

void IncomingResource::ask(Timestamp now, std::vector<ResourceSend>& out) {
  std::string wanted;
  asked_.clear();
  wants_hashes_ = false;
  // Counted from the first missing part: senders look for a hash only near to it.
  const std::size_t end = std::min(parts_.size(), missing_from_ + window_);
  for (std::size_t i = missing_from_; i < end; ++i) {
    if (have_[i]) continue;
    if (i >= hashes_.size()) {
      wants_hashes_ = true;
      break;
    }
    wanted += view(hashes_[i]);
    asked_.emplace(key_of(hashes_[i]), i);
  }
  std::string data;
  data.push_back(wants_hashes_ ? static_cast<char>(0xFF) : '\0');
  if (wants_hashes_) data += view(hashes_.back());
  data += view(current_.resource);
  data += wanted;
  out.push_back({Context::kResourceRequest, std::move(data)});
  asked_once_ = true;
  round_began_ = now;
  round_bytes_ = 0;
  last_part_ = now;
  deadline_ = now + quiet_max();
}

void IncomingResource::finish_round(Timestamp now) {
  const auto ms =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, (now - round_began_).count()));
  const std::uint64_t rate = round_bytes_ * 1000 / ms;
  if (rate > kFastBytesPerSecond && ++fast_rounds_ == kFastRounds) window_max_ = kWindowFast;
  if (fast_rounds_ == 0 && rate < kSlowBytesPerSecond && ++slow_rounds_ == kSlowRounds)
    window_max_ = kWindowSlow;
  window_ = std::min(window_ + 1, window_max_);
}

bool IncomingResource::on_part(std::string_view part, Timestamp now, const Open& open,
                               std::vector<ResourceSend>& out) {
  if (state_ != State::kReceiving) return false;
  const auto found = asked_.find(key_of(map_hash(part, current_.salt)));
  if (found == asked_.end()) return false;
  const std::size_t index = found->second;
  const std::size_t rest = static_cast<std::size_t>(current_.blob_bytes) - index * part_size_;
  if (part.size() != std::min(rest, part_size_)) return false;
  asked_.erase(found);
  parts_[index] = part;
  have_[index] = true;
  while (missing_from_ < parts_.size() && have_[missing_from_]) ++missing_from_;
  ++received_;
  silences_ = 0;
  round_bytes_ += part.size();
  part_gap_ = std::max(part_gap_ * 3 / 4, now - last_part_);
  last_part_ = now;
  deadline_ = now + quiet_max();
  if (received_ == parts_.size()) {
    finish_segment(now, open, out);
  } else if (asked_.empty() && !wants_hashes_) {
    finish_round(now);
    ask(now, out);
  }
  return true;
}

bool IncomingResource::on_hashmap(std::string_view plain, Timestamp now,
                                  std::vector<ResourceSend>& out) {
  if (state_ != State::kReceiving || plain.substr(0, sizeof(Digest)) != view(current_.resource))
    return false;
  MsgpackReader in(plain.substr(sizeof(Digest)));
  const bool is_pair = in.array() == 2;
  const std::uint64_t segment = in.whole();
  const std::string_view hashes = in.binary();
  const bool is_next =
      hashes_.size() % kMapHashesPerUpdate == 0 && segment == hashes_.size() / kMapHashesPerUpdate;
  if (!in.at_end() || !is_pair || !is_next || hashes.empty() ||
      hashes.size() % sizeof(MapHash) != 0 || hashes.size() > kMapHashesPerUpdate * sizeof(MapHash))
    return true;  // ours, but of no use
  if (!add_hashes(hashes)) {
    fail_with_refusal(out);
    return true;
  }
  wants_hashes_ = false;
  silences_ = 0;
  deadline_ = now + quiet_max();
  if (asked_.empty()) {
    if (round_bytes_ > 0) finish_round(now);
    ask(now, out);
  }
  return true;
}

Result<std::string> IncomingResource::assemble(const Open& open) const {
  std::string blob;
  blob.reserve(static_cast<std::size_t>(current_.blob_bytes));
  for (const std::string& part : parts_) blob += part;
  POSTRIDER_TRY(stream, open(blob));
  if (stream.size() < kStreamRandomBytes) return fail(ErrorCode::kCorrupt, "resource is too short");
  const std::string_view content = std::string_view(stream).substr(kStreamRandomBytes);
  const bool is_single = first_.segments == 1;
  const auto size_max = is_single ? static_cast<std::size_t>(first_.body_bytes) : kSegmentBytesMax;
  std::string body;
  if (current_.compressed) {
    POSTRIDER_TRY(larger, unbzip2(content, size_max));
    body = std::move(larger);
  } else {
    body = content;
  }
  if (body.size() > size_max || (is_single && body.size() != size_max))
    return fail(ErrorCode::kInvalid, "resource of another size than advertised");
  if (resource_hash(body, current_.salt) != current_.resource)
    return fail(ErrorCode::kCorrupt, "resource with another hash than advertised");
  return body;
}

void IncomingResource::finish_segment(Timestamp now, const Open& open,
                                      std::vector<ResourceSend>& out) {
  const Result<std::string> segment = assemble(open);
  parts_.clear();
  have_.clear();
  asked_.clear();
  if (!segment) {
    fail_with_refusal(out);
    return;
  }
  proof_ = resource_proof(*segment, current_.resource);
  body_ += *segment;
  const bool is_last = current_.segment == first_.segments;
  state_ = is_last ? State::kComplete : State::kBetween;
  deadline_ = now + segment_patience(rtt_);
}

bool IncomingResource::on_cancel(std::string_view plain) {
  if (has_ended() || plain != view(current_.resource)) return false;
  state_ = State::kFailed;
  return true;
}

void IncomingResource::fail_with_refusal(std::vector<ResourceSend>& out) {
  state_ = State::kFailed;
  out.push_back({Context::kResourceRefusedByReceiver, std::string(view(current_.resource))});
}

void IncomingResource::refuse(std::vector<ResourceSend>& out) {
  if (state_ != State::kFailed) fail_with_refusal(out);
}

void IncomingResource::on_time(Timestamp now, std::vector<ResourceSend>& out) {
  if (has_ended() || now < deadline_) return;
  if (state_ == State::kBetween || (asked_once_ && ++silences_ > kSilencesMax)) {
    fail_with_refusal(out);
    return;
  }
  if (asked_once_) window_ = std::max(window_ - 1, kWindowMin);
  ask(now, out);
  // A line that stays silent is asked less and less often.
  deadline_ = now + quiet_max() * std::min(1 + silences_, 8);
}

std::optional<Timestamp> IncomingResource::next_deadline() const {
  if (has_ended()) return std::nullopt;
  return deadline_;
}

std::uint32_t IncomingResource::progress_permille() const {
  if (state_ == State::kComplete) return 1000;
  const auto parts = std::max<std::uint64_t>(1, current_.parts);
  const std::uint64_t here = state_ == State::kReceiving ? received_ * 1000 / parts : 1000;
  return static_cast<std::uint32_t>(((current_.segment - 1) * 1000 + here) / first_.segments);
}

}  // namespace postrider::reticulum
