#include "postrider/servers/http/http_reader.h"

#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace postrider {
namespace {

using Found = HttpReader::Found;

constexpr HttpReaderLimits kLimits{.head_bytes_max = 4096, .headers_max = 16};

// What a reader makes of `text` when it comes in pieces of `step` bytes: one line for each request,
// then the refusal, if any.
std::vector<std::string> read(std::string_view text, std::size_t step,
                              const HttpReaderLimits& limits = kLimits) {
  std::vector<std::string> lines;
  HttpReader reader;
  HttpRequest request;
  std::string buffer;
  std::string_view piece;
  while (!text.empty()) {
    buffer += text.substr(0, step);
    text.remove_prefix(std::min(step, text.size()));
    std::span<char> input = buffer;
    Found found = Found::kPiece;
    while (found != Found::kMore) {
      found = reader.next(input, limits, request, piece);
      if (found == Found::kHead) {
        lines.push_back(std::string(request.method) + " " + std::string(request.target) + " ");
      }
      if (found == Found::kPiece || found == Found::kLast) lines.back() += piece;
      if (found == Found::kRefused) {
        lines.push_back(std::to_string(reader.refusal().status));
        return lines;
      }
    }
    buffer.erase(0, buffer.size() - input.size());
  }
  return lines;
}

struct ReadCase {
  std::string name;
  std::string text;
  std::vector<std::string> want;
};
void PrintTo(const ReadCase& each, std::ostream* out) { *out << each.name; }

class HttpReaderTest : public ::testing::TestWithParam<ReadCase> {};

// req: daemon.http.11
TEST_P(HttpReaderTest, ReadsTheSameHoweverItIsCut) {
  const ReadCase& each = GetParam();
  for (const std::size_t step :
       {std::size_t{1}, std::size_t{2}, std::size_t{7}, each.text.size()}) {
    EXPECT_EQ(read(each.text, step), each.want) << "in pieces of " << step;
  }
}

constexpr auto kName = [](const auto& info) { return info.param.name; };
const std::string kHost = "host: a\r\n";
const std::string kPost = "POST / HTTP/1.1\r\nhost: a\r\n";
const std::string kChunked = kPost + "transfer-encoding: chunked\r\n\r\n";

std::string with_nul() { return {'a', '\0', 'b'}; }

INSTANTIATE_TEST_SUITE_P(
    Taken, HttpReaderTest,
    ::testing::Values(
        ReadCase{"Get", "GET /a?b=c HTTP/1.1\r\nhost: a\r\n\r\n", {"GET /a?b=c "}},
        ReadCase{"Length", kPost + "content-length: 3\r\n\r\nabc", {"POST / abc"}},
        ReadCase{"LengthZero", kPost + "content-length: 0\r\n\r\n", {"POST / "}},
        ReadCase{"LeadingZeros", kPost + "content-length: 0003\r\n\r\nabc", {"POST / abc"}},
        ReadCase{"Chunks",
                 kChunked + "3\r\nabc\r\n00a\r\n0123456789\r\n0\r\n\r\n",
                 {"POST / abc0123456789"}},
        ReadCase{"ChunkedInCapitals",
                 kPost + "Transfer-Encoding:\tCHUNKED \r\n\r\n1\r\nx\r\n0\r\n\r\n",
                 {"POST / x"}},
        ReadCase{"ChunkExtension", kChunked + "1;a=\"b\"\r\nx\r\n0;c\r\n\r\n", {"POST / x"}},
        ReadCase{"Trailers", kChunked + "1\r\nx\r\n0\r\nx-sum: 1 2\r\ny:\r\n\r\n", {"POST / x"}},
        ReadCase{"Two",
                 kPost + "content-length: 1\r\n\r\naGET /b HTTP/1.1\r\nhost: b\r\n\r\n",
                 {"POST / a", "GET /b "}},
        ReadCase{"EmptyLineBefore", "\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n", {"GET / "}},
        ReadCase{"OldVersionWithoutHost", "GET / HTTP/1.0\r\n\r\n", {"GET / "}},
        ReadCase{"AbsoluteTarget", "GET http://a:1/b?c HTTP/1.1\r\nhost: a\r\n\r\n", {"GET /b?c "}},
        ReadCase{
            "AbsoluteTargetWithoutPath", "GET https://a HTTP/1.1\r\nhost: a\r\n\r\n", {"GET / "}},
        ReadCase{"OptionsOfAll", "OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", {"OPTIONS * "}},
        ReadCase{"EmptyValue", "GET / HTTP/1.1\r\nhost:\r\nx: \r\n\r\n", {"GET / "}},
        ReadCase{"OtherAlphabets", "GET / HTTP/1.1\r\nhost: a\r\nx: \xc3\xa4\r\n\r\n", {"GET / "}}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Smuggled, HttpReaderTest,
    ::testing::Values(
        ReadCase{"LengthAndChunked",
                 kPost + "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
                 {"400"}},
        ReadCase{"ChunkedAndLength",
                 kPost + "transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n",
                 {"400"}},
        ReadCase{"TwoLengths", kPost + "content-length: 3\r\ncontent-length: 4\r\n\r\n", {"400"}},
        ReadCase{
            "TwoEqualLengths", kPost + "content-length: 3\r\ncontent-length: 3\r\n\r\n", {"400"}},
        ReadCase{"ListOfLengths", kPost + "content-length: 3, 3\r\n\r\n", {"400"}},
        ReadCase{"NegativeLength", kPost + "content-length: -1\r\n\r\n", {"400"}},
        ReadCase{"SignedLength", kPost + "content-length: +1\r\n\r\n", {"400"}},
        ReadCase{"HexLength", kPost + "content-length: 0x1\r\n\r\n", {"400"}},
        ReadCase{"EmptyLength", kPost + "content-length:\r\n\r\n", {"400"}},
        ReadCase{"HugeLength", kPost + "content-length: 18446744073709551616\r\n\r\n", {"400"}},
        ReadCase{"LengthWithGap", kPost + "content-length: 1 0\r\n\r\n", {"400"}},
        ReadCase{"TwoCodings",
                 kPost + "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
                 {"400"}},
        ReadCase{"OtherCoding", kPost + "transfer-encoding: gzip, chunked\r\n\r\n", {"501"}},
        ReadCase{"HiddenCoding", kPost + "transfer-encoding: xchunked\r\n\r\n", {"501"}},
        ReadCase{"IdentityCoding", kPost + "transfer-encoding: identity\r\n\r\n", {"501"}},
        ReadCase{"CodingWithControl",
                 kPost + "transfer-encoding: \x0b"
                         "chunked\r\n\r\n",
                 {"400"}},
        ReadCase{"BlankBeforeColon", kPost + "transfer-encoding : chunked\r\n\r\n", {"400"}},
        ReadCase{
            "CodingInOldVersion", "POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n", {"400"}},
        ReadCase{"FoldedHeader", kPost + "x: a\r\n b\r\n\r\n", {"400"}},
        ReadCase{"FoldedFirstHeader", "POST / HTTP/1.1\r\n host: a\r\n\r\n", {"400"}},
        ReadCase{"BareLineFeed", "GET / HTTP/1.1\nhost: a\n\n", {"400"}},
        ReadCase{"BareLineFeedInHeaders", "GET / HTTP/1.1\r\nhost: a\nx: y\r\n\r\n", {"400"}},
        ReadCase{"BareCarriageReturn", "GET / HTTP/1.1\r\nhost: a\rx: y\r\n\r\n", {"400"}},
        ReadCase{"CarriageReturnTwice", "GET / HTTP/1.1\r\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"LineOfCarriageReturn", "GET / HTTP/1.1\r\nhost: a\r\n\rx\r\n\r\n", {"400"}},
        ReadCase{"NulInValue", kPost + "x: " + with_nul() + "\r\n\r\n", {"400"}},
        ReadCase{"NulInName", kPost + with_nul() + ": x\r\n\r\n", {"400"}},
        ReadCase{"NoName", kPost + ": x\r\n\r\n", {"400"}},
        ReadCase{"NoColon", kPost + "name\r\n\r\n", {"400"}},
        ReadCase{"NameWithBracket", kPost + "a(b): x\r\n\r\n", {"400"}},
        ReadCase{"NoHost", "GET / HTTP/1.1\r\nx: y\r\n\r\n", {"400"}},
        ReadCase{"TwoHosts", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", {"400"}},
        ReadCase{"ChunkWithoutSize", kChunked + "\r\nabc\r\n", {"POST / ", "400"}},
        ReadCase{"ChunkWithPrefix", kChunked + "0x3\r\nabc\r\n", {"POST / ", "400"}},
        ReadCase{"ChunkWithSign", kChunked + "-1\r\n", {"POST / ", "400"}},
        ReadCase{"ChunkWithBlank", kChunked + " 3\r\nabc\r\n", {"POST / ", "400"}},
        ReadCase{"ChunkOfManyDigits", kChunked + "0000000000000003\r\nabc\r\n", {"POST / ", "400"}},
        ReadCase{"ChunkWithBareLineFeed", kChunked + "3\nabc\r\n0\r\n\r\n", {"POST / ", "400"}},
        ReadCase{
            "ChunkLongerThanItSays", kChunked + "3\r\nabcd\r\n0\r\n\r\n", {"POST / abc", "400"}},
        ReadCase{
            "ChunkEndsWithBareLineFeed", kChunked + "3\r\nabc\n0\r\n\r\n", {"POST / abc", "400"}},
        ReadCase{"ChunkExtensionWithLineFeed", kChunked + "3;a\nb\r\nabc\r\n", {"POST / ", "400"}},
        ReadCase{"ChunkExtensionTooLong",
                 kChunked + "3;" + std::string(300, 'a') + "\r\nabc\r\n",
                 {"POST / ", "400"}},
        ReadCase{"BadTrailer", kChunked + "0\r\nx y: 1\r\n\r\n", {"POST / ", "400"}},
        ReadCase{"TrailerWithBareLineFeed", kChunked + "0\r\nx: 1\n\r\n", {"POST / ", "400"}},
        ReadCase{"EmptyLinesBefore", "\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n", {"400"}}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Refused, HttpReaderTest,
    ::testing::Values(
        ReadCase{"NotHttp", "\x16\x03\x01\x02", {"400"}},
        ReadCase{"NoTarget", "GET HTTP/1.1\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"TwoBlanks", "GET  / HTTP/1.1\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"NoVersion", "GET /\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"BlankAfterVersion", "GET / HTTP/1.1 \r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"VersionInLowerCase", "GET / http/1.1\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"OtherProtocol", "GET / ICY/1.1\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"Version2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {"505"}},
        ReadCase{"Version09", "GET / HTTP/0.9\r\n\r\n", {"505"}},
        ReadCase{"TargetNotEncoded", "GET /\xc3\xa4 HTTP/1.1\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"TargetWithFragment", "GET /a#b HTTP/1.1\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"TargetWithoutSlash", "GET a/b HTTP/1.1\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"TargetWithoutHost", "GET http:///b HTTP/1.1\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"StarWithGet", "GET * HTTP/1.1\r\nhost: a\r\n\r\n", {"400"}},
        ReadCase{"Connect", "CONNECT a:443 HTTP/1.1\r\nhost: a\r\n\r\n", {"501"}},
        ReadCase{"OtherExpectation", kPost + "expect: money\r\n\r\n", {"417"}}),
    kName);

TEST(HttpReader, TakesAHeadUpToItsLimit) {
  const std::string head = "GET / HTTP/1.1\r\nhost: a\r\nx: y\r\n\r\n";
  const auto size = static_cast<std::uint32_t>(head.size());
  for (const std::size_t step : {std::size_t{1}, head.size()}) {
    EXPECT_EQ(read(head, step, {size + 1, 2}), std::vector<std::string>{"GET / "});
    EXPECT_EQ(read(head, step, {size, 2}), std::vector<std::string>{"GET / "});
    EXPECT_EQ(read(head, step, {size - 1, 2}), std::vector<std::string>{"431"});
  }
  // Not a byte more is needed to know that it is too much.
  EXPECT_EQ(read(head.substr(0, 20), 1, {20, 2}), std::vector<std::string>{"431"});
}

// req: daemon.http.12
TEST(HttpReader, TakesHeadersUpToTheirLimit) {
  const std::string head = "GET / HTTP/1.1\r\nhost: a\r\nx: y\r\nx: z\r\n\r\n";
  EXPECT_EQ(read(head, head.size(), {100, 4}), std::vector<std::string>{"GET / "});
  EXPECT_EQ(read(head, head.size(), {100, 3}), std::vector<std::string>{"GET / "});
  EXPECT_EQ(read(head, head.size(), {100, 2}), std::vector<std::string>{"431"});
}

TEST(HttpReader, TakesTrailersUpToTheLimitOfHeads) {
  const auto text = [](std::size_t size) {
    return kChunked + "0\r\nx:" + std::string(size, 'y') + "\r\n\r\n";
  };
  EXPECT_EQ(read(text(200 - 6), 1, {200, 4}), std::vector<std::string>{"POST / "});
  EXPECT_EQ(read(text(200 - 5), 1, {200, 4}), (std::vector<std::string>{"POST / ", "431"}));
}

TEST(HttpReader, SaysWhatTheHeadSaysAboutTheConnection) {
  const auto framing = [](std::string text) {
    HttpReader reader;
    HttpRequest request;
    std::string_view piece;
    std::span<char> input = text;
    EXPECT_EQ(reader.next(input, kLimits, request, piece), Found::kHead);
    return reader.framing();
  };
  EXPECT_TRUE(framing(kPost + "\r\n").keep_alive);
  EXPECT_FALSE(framing(kPost + "connection: close\r\n\r\n").keep_alive);
  EXPECT_FALSE(framing(kPost + "connection: keep-alive ,CLOSE\r\n\r\n").keep_alive);
  EXPECT_FALSE(framing("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(framing("GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n").keep_alive);
  EXPECT_TRUE(
      framing(kPost + "expect: 100-continue\r\ncontent-length: 1\r\n\r\n").expects_continue);
  EXPECT_FALSE(framing(kPost + "expect: 100-continue\r\n\r\n").expects_continue);
  EXPECT_FALSE(framing("GET / HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n")
                   .expects_continue);
}

TEST(HttpReader, HandsTargetsOfOtherSchemesOnWhenItForwards) {
  HttpReaderLimits limits = kLimits;
  limits.forwards = true;
  const auto target_of = [&](const std::string& target) {
    return read("PUT " + target + " HTTP/1.1\r\nhost: a\r\n\r\n", 7, limits);
  };
  const auto taken = [](const std::string& target) {
    return std::vector<std::string>{"PUT " + target + " "};
  };
  const std::string matrix = "matrix-federation://[::1]:8448/send/1?x=y";
  EXPECT_EQ(target_of(matrix), taken(matrix));
  EXPECT_EQ(target_of("/send/1"), taken("/send/1"));
  EXPECT_EQ(target_of("http://a/send/1"), taken("/send/1"));
  for (const std::string bad : {"://a/b", "matrix:", "a b://c", "http://", "c://", "m(x)://a/b"})
    EXPECT_EQ(target_of(bad), std::vector<std::string>{"400"}) << bad;
  EXPECT_EQ(read("PUT " + matrix + " HTTP/1.1\r\nhost: a\r\n\r\n", 7),
            std::vector<std::string>{"400"});
}

}  // namespace
}  // namespace postrider
