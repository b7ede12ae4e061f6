// A peer that has the key of a link and says anything on it, while a conversation sends and
// receives: rows of words, parts, proofs, advertisements that fit, and time. Each send of ours must
// end at most once, nothing more than the budget may be held, and all of it is given back.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"
#include "postrider/protocols/reticulum/conversation.h"
#include "postrider/protocols/reticulum/link_testing.h"
#include "postrider/protocols/reticulum/msgpack.h"

namespace postrider::reticulum {
namespace {

class LyingPeer {
 public:
  LyingPeer() {
    const Wired request(sent_.back());
    talk_ =
        Conversation::answer(request.arrival(), owner(), settings(), budget_, now_, random_, out_)
            .value();
    const Wired proof(out_.packets.back());
    sent_.clear();
    liar_.take(proof.arrival(), now_, random_, sent_);
    hand(sent_.back());
    POSTRIDER_CHECK(talk_->link().is_usable());
  }
  ~LyingPeer() {
    talk_.reset();
    POSTRIDER_CHECK(budget_.count() == 0 && budget_.bytes() == 0);
  }

  void run(Reader& in) {
    switch (in.u8() % 8) {
      case 0: say(static_cast<Context>(in.u8()), in.text()); break;
      case 1:
        hand_if_whole(liar_.send_clear(static_cast<Context>(in.u8()), in.text(), now_));
        break;
      case 2: prove(in.text()); break;
      case 3: advertise(in); break;
      case 4: answer_last_request(in.u8()); break;
      case 5: ours(in); break;
      case 6: time(Duration(in.varint() % 100'000)); break;
      default: prove_arrived(in.u8()); break;
    }
    look();
  }
  bool is_up() const { return talk_->link().is_usable(); }

 private:
  static const Identity& owner() {
    static const Identity identity = bob();
    return identity;
  }
  static ConversationSettings settings() { return {.resource_bytes_max = 5000}; }

  void hand(const std::string& raw) {
    const Wired wired(raw);
    talk_->take(wired.arrival(), now_, random_, out_);
  }
  void hand_if_whole(const std::string& raw) {
    if (raw.size() >= kPacketBytesMin) hand(raw);
  }
  void say(Context context, std::string_view plain) {
    hand(liar_.send(context, plain.substr(0, 5000), now_, random_));
  }
  void prove(std::string_view data) {
    hand_if_whole(
        encode_packet({.kind = PacketKind::kProof,
                       .destination_kind = DestinationKind::kLink,
                       .destination = liar_.id(),
                       .context = data.size() == 64 ? Context::kResourceProof : Context::kNone,
                       .data = data}));
  }
  // One that is consistent, so that what comes behind it is reached.
  void advertise(Reader& in) {
    const std::uint64_t bytes = 1 + in.varint() % 6000;
    Advertisement out{.blob_bytes = bytes + 4 + 48,
                      .body_bytes = bytes,
                      .resource = Digest{in.u8()},
                      .original = Digest{in.u8()},
                      .compressed = in.u8() % 2 == 0};
    out.parts = (out.blob_bytes + 463) / 464;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(out.parts, 74); ++i) {
      const Bytes<4> hash = {static_cast<std::uint8_t>(i), in.u8(), 0, 0};
      out.map_hashes += view(hash);
    }
    say(Context::kResourceAdvertisement, encode_advertisement(out));
  }
  // Asks for what we advertised, or proves it, as a good peer would in part.
  void answer_last_request(std::uint8_t which) {
    if (!advertised_) return;
    std::string request(1, '\0');
    request += view(advertised_->resource);
    request += advertised_->map_hashes.substr(0, 4u * (which % 8));
    say(Context::kResourceRequest, request);
  }
  void ours(Reader& in) {
    const SendId id(++ids_);
    const std::uint8_t what = in.u8() % 4;
    const std::string body(1 + in.varint() % 3000, 'b');
    bool is_sent = false;
    if (what == 0) is_sent = talk_->send_packet(id, body.substr(0, 400), now_, random_, out_);
    if (what == 1) is_sent = talk_->send_resource(id, {.bytes = body}, now_, random_, out_);
    if (what == 2) {
      is_sent = talk_->send_request(id, {.path = request_path("/get"), .data = "\xc0"}, now_,
                                    random_, out_);
    }
    if (what == 3) talk_->cancel(SendId(in.u8()), now_, random_, out_);
    if (is_sent) ends_[id] = 0;
  }
  void time(Duration passed) {
    const Timestamp until = now_ + passed;
    for (int i = 0; i < 100 && talk_->link().is_usable(); ++i) {
      const auto next = talk_->next_deadline();
      if (!next || *next > until) break;
      now_ = std::max(now_, *next);
      talk_->on_time(now_, random_, out_);
      look();
    }
    now_ = until;
  }
  void prove_arrived(std::uint8_t which) {
    if (arrived_.empty()) return;
    const Digest digest = arrived_[which % arrived_.size()];
    if (which % 3 == 0) talk_->prove_packet(digest, now_, out_);
    if (which % 3 == 1) talk_->prove_resource(digest, now_, out_);
    if (which % 3 == 2) talk_->refuse_resource(digest, now_, random_, out_);
  }

  void look() {
    POSTRIDER_CHECK(budget_.count() <= 16 && budget_.bytes() <= 16u * 5000);
    for (const std::string& raw : std::exchange(out_.packets, {})) {
      const auto packet = decode_packet(raw);
      POSTRIDER_CHECK(packet.has_value());
      if (packet->context != Context::kResourceAdvertisement || !liar_.is_usable()) continue;
      const auto plain = liar_.open_sealed_bytes(packet->data);
      POSTRIDER_CHECK(plain.has_value());
      advertised_ = decode_advertisement(*plain).value();
      POSTRIDER_CHECK(is_consistent(*advertised_, 464));
    }
    for (const LinkEvent& event : std::exchange(out_.events, {})) {
      if (const auto* ended = std::get_if<SendEnded>(&event)) end(ended->id);
      if (const auto* response = std::get_if<ResponseArrived>(&event)) end(response->id);
      if (const auto* packet = std::get_if<PacketArrived>(&event))
        arrived_.push_back(packet->packet);
      if (const auto* resource = std::get_if<ResourceArrived>(&event)) {
        POSTRIDER_CHECK(resource->body.size() <= 5000);
        arrived_.push_back(resource->resource);
      }
      if (const auto* request = std::get_if<RequestArrived>(&event)) {
        talk_->respond({.request = request->request, .value = "\xc3"}, now_, random_, out_);
      }
      if (!std::holds_alternative<LinkDown>(event)) continue;
      for (const auto& [id, times] : ends_) POSTRIDER_CHECK(times == 1);
    }
  }
  void end(SendId id) {
    POSTRIDER_CHECK(ends_.contains(id));
    POSTRIDER_CHECK(++ends_[id] == 1);
  }

  SeededRandom random_{6};
  Timestamp now_ = kTestStart;
  std::vector<std::string> sent_;
  LinkOutput out_;
  ResourceBudget budget_;
  Link liar_ = Link::open(link_target(owner(), "x"), {}, now_, random_, sent_);
  std::unique_ptr<Conversation> talk_;
  std::optional<Advertisement> advertised_;
  std::vector<Digest> arrived_;
  std::map<SendId, int> ends_;
  std::uint64_t ids_ = 0;
};

}  // namespace
}  // namespace postrider::reticulum

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::Reader in(std::string_view(reinterpret_cast<const char*>(data), size));
  postrider::reticulum::LyingPeer peer;
  for (int i = 0; i < 200 && in.ok() && !in.rest().empty() && peer.is_up(); ++i) peer.run(in);
  return 0;
}
