#include "postrider/protocols/reticulum/resource.h"

#include <gtest/gtest.h>

#include "postrider/protocols/reticulum/bzip2.h"
#include "postrider/protocols/reticulum/incoming_resource.h"
#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/reticulum/outgoing_resource.h"
#include "postrider/protocols/reticulum/random_testing.h"
#include "postrider/protocols/reticulum/request.h"

namespace postrider::reticulum {
namespace {

constexpr Timestamp kBegin{1'700'000'000'000};

// req: rns.res.1, lxmf.io.1
TEST(ResourceHashes, EqualVector) {
  const ResourceSalt salt = {1, 2, 3, 4};
  const std::string body(1000, 'A');
  const Digest hash = resource_hash(body, salt);
  EXPECT_EQ(hex(hash), "22bbee5591f0ecae347a15e107e299ddd1c384f7f2740a23fb08297f510f4761");
  EXPECT_EQ(hex(resource_proof(body, hash)),
            "99190a7f23c83a7bb09ccffe542efaac57a5436a246e90e4d574323e0c531db8");
  EXPECT_EQ(hex(map_hash(std::string(464, 'B'), salt)), "bc93b40a");
  EXPECT_EQ(part_bytes(500), 464u);
  EXPECT_EQ(part_bytes(8192), 8156u);
}

Advertisement small_advertisement() {
  return {.blob_bytes = 900,
          .body_bytes = 850,
          .parts = 2,
          .resource = Digest{1},
          .salt = {1, 2, 3, 4},
          .original = Digest{1},
          .map_hashes = "aaaabbbb"};
}

// req: rns.res.1
TEST(Advertisements, AreReadAsTheyAreWritten) {
  Advertisement in = small_advertisement();
  in.request = Address{7};
  in.compressed = true;
  in.is_response = true;
  const std::string bytes = encode_advertisement(in);
  EXPECT_TRUE(to_hex(bytes).starts_with("8ba174cd0384a164cd0352a16e02a168c420"));
  const auto out = decode_advertisement(bytes);
  ASSERT_TRUE(out);
  EXPECT_EQ(encode_advertisement(*out), bytes);
  EXPECT_EQ(out->request, Address{7});
  EXPECT_TRUE(out->compressed && out->is_response && out->encrypted);
  EXPECT_FALSE(out->is_request || out->split || out->has_metadata);
  EXPECT_TRUE(is_consistent(*out, 464));
}

TEST(Advertisements, FitIntoOnePacketOfTheSmallestLink) {
  Advertisement in = small_advertisement();
  in.blob_bytes = in.body_bytes = 1'000'000;
  in.parts = 2156;
  in.request = Address{};
  in.map_hashes = std::string(74 * 4, 'h');
  EXPECT_LE(encode_advertisement(in).size(), 431u);
}

TEST(Advertisements, ThatContradictThemselvesAreFound) {
  const auto is_bad = [](auto&& change) {
    Advertisement in = small_advertisement();
    change(in);
    return !is_consistent(in, 464);
  };
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.blob_bytes = 0; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.parts = 3; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.parts = 1; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.body_bytes = 800; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.segment = 0; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.segment = 2; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.segments = 0; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.segments = kSegmentsMax + 1; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.map_hashes = "aaaabbb"; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.map_hashes = "aaaa"; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.map_hashes = "aaaabbbbcccc"; }));
  EXPECT_TRUE(is_bad([](Advertisement& in) { in.blob_bytes = UINT64_MAX; }));
  EXPECT_FALSE(is_bad([](Advertisement& in) { in.body_bytes = 900; }));
}

TEST(Advertisements, OfAnotherFormAreRefused) {
  const std::string good = encode_advertisement(small_advertisement());
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(decode_advertisement(good.substr(0, size))) << size;
  EXPECT_FALSE(decode_advertisement(good + "x"));
  EXPECT_FALSE(decode_advertisement(from_hex("90")));
  EXPECT_FALSE(decode_advertisement(from_hex("81a168c40101")));              // a short hash
  EXPECT_FALSE(decode_advertisement(from_hex("81a174cb4070000000000000")));  // a float as a size
  EXPECT_TRUE(decode_advertisement(from_hex("81a17a01")));                   // an unknown key
}

// req: rns.res.6
TEST(Bzip2, ComesBackAndStopsAtItsLimit) {
  const std::string body = std::string(100'000, 'A') + counting(0, 256);
  const std::string smaller = bzip2(body);
  EXPECT_LT(smaller.size(), 1000u);
  EXPECT_EQ(unbzip2(smaller, body.size()), body);
  EXPECT_EQ(unbzip2(smaller, body.size() - 1).error().code, ErrorCode::kLimit);
  EXPECT_EQ(unbzip2(smaller, 0).error().code, ErrorCode::kLimit);
  EXPECT_EQ(unbzip2(bzip2(""), 0), "");
  for (std::size_t size = 0; size < smaller.size(); ++size)
    EXPECT_EQ(unbzip2(smaller.substr(0, size), 200'000).error().code, ErrorCode::kCorrupt) << size;
  EXPECT_EQ(unbzip2(smaller + "x", 200'000).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(unbzip2("no stream at all", 200'000).error().code, ErrorCode::kCorrupt);
}

// req: rns.res.6
TEST(Bzip2, BombTakesNoMoreThanItsLimit) {
  const std::string bomb = bzip2(std::string(std::size_t{64} << 20, '\0'));
  EXPECT_LT(bomb.size(), 100u);
  EXPECT_EQ(unbzip2(bomb, 1'048'575).error().code, ErrorCode::kLimit);
}

// req: rns.res.6
TEST(Compression, IsKeptOnlyWhereItIsSmaller) {
  SeededRandom random(1);
  ResourceBody body{.bytes = std::string(kSegmentBytesMax, 'z')};
  std::string noise(5000, '\0');
  random.fill({reinterpret_cast<std::uint8_t*>(noise.data()), noise.size()});
  body.bytes += noise;
  compress_segments(body);
  ASSERT_EQ(body.compressed.size(), 2u);
  EXPECT_FALSE(body.compressed[0].empty());
  EXPECT_TRUE(body.compressed[1].empty());
}

// A sender and a receiver without a link: sealing changes nothing.
class ResourceTest : public ::testing::Test {
 protected:
  static std::string same(std::string_view plain) { return std::string(plain); }
  static Result<std::string> same_back(std::string_view plain) { return std::string(plain); }

  OutgoingResource sender(std::size_t bytes, std::size_t part_size = 464) {
    std::string body(bytes, '\0');
    random_.fill({reinterpret_cast<std::uint8_t*>(body.data()), body.size()});
    body_ = body;
    return OutgoingResource(ResourceBody{.bytes = body}, part_size, 100ms);
  }
  Advertisement start(OutgoingResource& sending) {
    sending.start(kBegin, same, random_, sends_);
    Advertisement out = decode_advertisement(sends_.back().data).value();
    sends_.clear();
    return out;
  }
  static std::string request_for(const Advertisement& advertised, const std::string& hashes,
                                 const std::string& last = {}) {
    std::string out(1, last.empty() ? '\0' : '\xFF');
    return out + last + std::string(view(advertised.resource)) + hashes;
  }

  SeededRandom random_{8};
  std::string body_;
  std::vector<ResourceSend> sends_;
};

// req: rns.res.3
TEST_F(ResourceTest, SenderSendsWhatIsAskedForAndNothingElse) {
  OutgoingResource sending = sender(5000);
  const Advertisement advertised = start(sending);
  EXPECT_EQ(advertised.parts, 11u);
  const std::string hashes = advertised.map_hashes;
  sending.on_request(request_for(advertised, hashes.substr(8, 4) + hashes.substr(0, 4) + "none"),
                     kBegin, sends_);
  ASSERT_EQ(sends_.size(), 2u);
  EXPECT_EQ(view(map_hash(sends_[0].data, advertised.salt)), hashes.substr(8, 4));
  EXPECT_EQ(view(map_hash(sends_[1].data, advertised.salt)), hashes.substr(0, 4));
  sends_.clear();
  // The same part a hundred times in one request is one part.
  std::string greedy;
  for (int i = 0; i < 100; ++i) greedy += hashes.substr(0, 4);
  sending.on_request(request_for(advertised, greedy), kBegin, sends_);
  EXPECT_EQ(sends_.size(), 1u);
  sends_.clear();
  Advertisement other = advertised;
  other.resource[0] ^= 1;
  sending.on_request(request_for(other, hashes), kBegin, sends_);
  sending.on_request("", kBegin, sends_);
  sending.on_request("\xFF", kBegin, sends_);
  sending.on_request(request_for(advertised, "").substr(0, 20), kBegin, sends_);
  EXPECT_TRUE(sends_.empty());
}

// req: rns.res.3
TEST_F(ResourceTest, ExhaustedRequestGetsItsPartsAndTheUpdate) {
  OutgoingResource sending = sender(464 * 200);
  const Advertisement advertised = start(sending);
  EXPECT_EQ(advertised.map_hashes.size(), 74u * 4);
  const std::string hashes = advertised.map_hashes;
  sending.on_request(request_for(advertised, hashes.substr(0, 8), hashes.substr(73 * 4)), kBegin,
                     sends_);
  ASSERT_EQ(sends_.size(), 3u);
  EXPECT_EQ(sends_[0].context, Context::kResource);
  EXPECT_EQ(sends_[2].context, Context::kResourceHashmapUpdate);
  MsgpackReader in(std::string_view(sends_[2].data).substr(32));
  EXPECT_EQ(in.array(), 2u);
  EXPECT_EQ(in.whole(), 1u);
  EXPECT_EQ(in.binary().size(), 74u * 4);
  sends_.clear();
  // A last hash that ends no list gets no update.
  sending.on_request(request_for(advertised, "", hashes.substr(8, 4)), kBegin, sends_);
  EXPECT_TRUE(sends_.empty());
}

// req: rns.res.4
TEST_F(ResourceTest, AdvertisementIsRepeatedFourTimesAndThenGivenUp) {
  OutgoingResource sending = sender(1000);
  start(sending);
  EXPECT_EQ(sending.next_deadline(), kBegin + 850ms);
  for (int i = 0; i < 4; ++i) {
    sending.on_time(*sending.next_deadline(), Address{}, sends_);
    ASSERT_EQ(sends_.size(), 1u);
    EXPECT_EQ(sends_.back().context, Context::kResourceAdvertisement);
    sends_.clear();
  }
  sending.on_time(*sending.next_deadline(), Address{}, sends_);
  EXPECT_EQ(sending.state(), OutgoingResource::State::kFailed);
  EXPECT_EQ(sends_.back().context, Context::kResourceCancelledBySender);
  EXPECT_FALSE(sending.next_deadline());
}

// req: rns.res.4
TEST_F(ResourceTest, MissingProofIsAskedForThreeTimes) {
  OutgoingResource sending = sender(400);
  const Advertisement advertised = start(sending);
  sending.on_request(request_for(advertised, advertised.map_hashes), kBegin, sends_);
  EXPECT_EQ(sending.state(), OutgoingResource::State::kProving);
  EXPECT_EQ(sending.next_deadline(), kBegin + 10'300ms);
  for (int i = 0; i < 3; ++i) {
    sends_.clear();
    sending.on_time(*sending.next_deadline(), Address{}, sends_);
    ASSERT_EQ(sends_.size(), 1u);
    EXPECT_EQ(sends_.back().context, Context::kCacheRequest);
  }
  sending.on_time(*sending.next_deadline(), Address{}, sends_);
  EXPECT_EQ(sending.state(), OutgoingResource::State::kFailed);
}

TEST_F(ResourceTest, OnlyTheRightProofEndsTheSender) {
  OutgoingResource sending = sender(400);
  const Advertisement advertised = start(sending);
  const std::string resource(view(advertised.resource));
  const std::string proof(view(resource_proof(body_, advertised.resource)));
  const auto prove = [&](const std::string& data) {
    return sending.on_proof(data, kBegin, same, random_, sends_);
  };
  EXPECT_FALSE(prove(""));
  EXPECT_FALSE(prove(resource));
  EXPECT_FALSE(prove(resource + resource));
  EXPECT_FALSE(prove(proof + proof));
  EXPECT_FALSE(prove(resource + proof + "x"));
  EXPECT_FALSE(sending.has_ended());
  EXPECT_TRUE(prove(resource + proof));
  EXPECT_EQ(sending.state(), OutgoingResource::State::kDone);
  EXPECT_EQ(sending.progress_permille(), 1000u);
  EXPECT_FALSE(prove(resource + proof));
}

TEST_F(ResourceTest, RefusalAndCancelEndTheSender) {
  OutgoingResource refused = sender(400);
  const Advertisement advertised = start(refused);
  refused.on_refusal("another");
  EXPECT_FALSE(refused.has_ended());
  refused.on_refusal(view(advertised.resource));
  EXPECT_EQ(refused.state(), OutgoingResource::State::kRefused);
  OutgoingResource cancelled = sender(400);
  start(cancelled);
  cancelled.cancel(sends_);
  EXPECT_EQ(sends_.back().context, Context::kResourceCancelledBySender);
  EXPECT_EQ(cancelled.state(), OutgoingResource::State::kFailed);
}

// req: rns.res.4
TEST_F(ResourceTest, WindowGrowsWithTheLine) {
  struct Case {
    Duration per_part;
    std::uint32_t window;
  };
  // 200 bytes in 1 ms, in 100 ms (2000 B/s) and in 2 s (100 B/s).
  for (const Case& line : {Case{1ms, 75}, Case{100ms, 10}, Case{2s, 4}}) {
    OutgoingResource sending = sender(200 * 3500, 200);
    const Advertisement advertised = start(sending);
    auto receiving = IncomingResource::accept(advertised, 200, 100ms, kBegin, kBegin);
    ASSERT_TRUE(receiving);
    Timestamp now = kBegin;
    std::vector<ResourceSend> asks;
    receiving->on_time(now, asks);
    EXPECT_EQ(receiving->window(), 4u);
    while (!receiving->has_ended()) {
      ASSERT_FALSE(asks.empty());
      const std::vector<ResourceSend> round = std::move(asks);
      asks.clear();
      for (const ResourceSend& ask : round) sending.on_request(ask.data, now, sends_);
      for (const ResourceSend& send : sends_) {
        if (send.context == Context::kResource) {
          now = now + line.per_part;
          EXPECT_TRUE(receiving->on_part(send.data, now, same_back, asks));
        } else {
          EXPECT_TRUE(receiving->on_hashmap(send.data, now, asks));
        }
      }
      sends_.clear();
    }
    EXPECT_EQ(receiving->window(), line.window);
    EXPECT_EQ(receiving->take_body(), body_);
  }
}

// req: rns.res.4
TEST_F(ResourceTest, SilenceShrinksTheWindowAndEndsTheReceiver) {
  OutgoingResource sending = sender(464 * 20);
  auto receiving = IncomingResource::accept(start(sending), 464, 100ms, kBegin, kBegin + 4ms);
  EXPECT_EQ(receiving->next_deadline(), kBegin + 4ms);
  int asks = 0;
  while (!receiving->has_ended()) {
    sends_.clear();
    receiving->on_time(*receiving->next_deadline(), sends_);
    ASSERT_EQ(sends_.size(), 1u);
    if (sends_.back().context == Context::kResourceRequest) ++asks;
  }
  EXPECT_EQ(asks, 17);
  EXPECT_EQ(receiving->window(), 2u);
  EXPECT_EQ(sends_.back().context, Context::kResourceRefusedByReceiver);
}

TEST_F(ResourceTest, EqualMapHashesNearEachOtherAreRefused) {
  Advertisement in = small_advertisement();
  in.map_hashes = "aaaaaaaa";
  EXPECT_FALSE(IncomingResource::accept(in, 464, 0ms, kBegin, kBegin));
  in.map_hashes = "aaaabbbb";
  EXPECT_TRUE(IncomingResource::accept(in, 464, 0ms, kBegin, kBegin));
  in.original = Digest{2};  // a first segment is its own origin
  EXPECT_FALSE(IncomingResource::accept(in, 464, 0ms, kBegin, kBegin));
}

TEST_F(ResourceTest, UnaskedForgedAndDoubledPartsAreIgnored) {
  OutgoingResource sending = sender(464 * 8);
  const Advertisement advertised = start(sending);
  auto receiving = IncomingResource::accept(advertised, 464, 0ms, kBegin, kBegin);
  std::vector<ResourceSend> asks;
  receiving->on_time(kBegin, asks);
  sending.on_request(request_for(advertised, advertised.map_hashes), kBegin, sends_);
  EXPECT_FALSE(receiving->on_part(sends_[5].data, kBegin, same_back, asks));  // beyond the window
  EXPECT_FALSE(receiving->on_part("forged", kBegin, same_back, asks));
  EXPECT_FALSE(receiving->on_part("", kBegin, same_back, asks));
  EXPECT_TRUE(receiving->on_part(sends_[0].data, kBegin, same_back, asks));
  EXPECT_FALSE(receiving->on_part(sends_[0].data, kBegin, same_back, asks));
  EXPECT_FALSE(receiving->on_cancel("another"));
  EXPECT_TRUE(receiving->on_cancel(view(advertised.resource)));
  EXPECT_EQ(receiving->state(), IncomingResource::State::kFailed);
}

// req: rns.res.6
TEST_F(ResourceTest, BombIsRefusedAtTheAdvertisedSize) {
  const std::string bomb = bzip2(std::string(std::size_t{8} << 20, '\0'));
  const std::string blob = "rand" + bomb;
  const ResourceSalt salt = {1, 2, 3, 4};
  Advertisement in{.blob_bytes = blob.size(),
                   .body_bytes = 1000,
                   .parts = 1,
                   .resource = Digest{9},
                   .salt = salt,
                   .original = Digest{9},
                   .compressed = true,
                   .map_hashes = std::string(view(map_hash(blob, salt)))};
  ASSERT_TRUE(is_consistent(in, 464));
  auto receiving = IncomingResource::accept(in, 464, 0ms, kBegin, kBegin);
  receiving->on_time(kBegin, sends_);
  EXPECT_TRUE(receiving->on_part(blob, kBegin, same_back, sends_));
  EXPECT_EQ(receiving->state(), IncomingResource::State::kFailed);
  EXPECT_EQ(sends_.back().context, Context::kResourceRefusedByReceiver);
}

// req: lxmf.sync.1, lxmf.io.1
TEST(Requests, EqualVector) {
  EXPECT_EQ(hex(request_path("/get")), "9dc1a72883468f57fed571e796e9ce98");
  EXPECT_EQ(hex(request_path("/offer")), "94fd9fd7b04a5caae5882616446bb9ef");
  const std::string bytes =
      encode_request({.time = 1700000000.0, .path = request_path("/get"), .data = "\x92\xc0\xc0"});
  EXPECT_EQ(to_hex(bytes), "93cb41d954fc40000000c4109dc1a72883468f57fed571e796e9ce9892c0c0");
  const auto back = decode_request(bytes);
  EXPECT_EQ(to_hex(back->data), "92c0c0");
  EXPECT_EQ(back->time, 1700000000.0);
  const std::string response = encode_response({.request = Address{1}, .value = "\x90"});
  EXPECT_EQ(decode_response(response)->request, Address{1});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_request(bytes.substr(0, size)));
  for (std::size_t size = 0; size < response.size(); ++size)
    EXPECT_FALSE(decode_response(response.substr(0, size)));
  EXPECT_FALSE(decode_request(bytes + "x"));
  EXPECT_FALSE(decode_response(response + "x"));
}

}  // namespace
}  // namespace postrider::reticulum
