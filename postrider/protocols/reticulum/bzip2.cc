#include "postrider/protocols/reticulum/bzip2.h"

#include <algorithm>

#include <bzlib.h>

#include "postrider/base/check.h"

namespace postrider::reticulum {
namespace {

constexpr int kBlockSize = 9;  // the largest: 900 kB
constexpr std::size_t kBzip2BytesMax = std::size_t{1} << 30;
constexpr std::size_t kFirstRoom = 4096;

char* reading(std::string_view bytes) { return const_cast<char*>(bytes.data()); }

}  // namespace

std::string bzip2(std::string_view bytes) {
  POSTRIDER_CHECK(bytes.size() <= kBzip2BytesMax);
  auto size = static_cast<unsigned int>(bytes.size() + bytes.size() / 100 + 600);  // its own bound
  std::string out(size, '\0');
  POSTRIDER_CHECK(BZ2_bzBuffToBuffCompress(out.data(), &size, reading(bytes),
                                           static_cast<unsigned int>(bytes.size()), kBlockSize, 0,
                                           0) == BZ_OK);
  out.resize(size);
  return out;
}

Result<std::string> unbzip2(std::string_view stream, std::size_t size_max) {
  if (stream.size() > kBzip2BytesMax) return fail(ErrorCode::kLimit, "compressed bytes");
  bz_stream state{};
  POSTRIDER_CHECK(BZ2_bzDecompressInit(&state, 0, 0) == BZ_OK);
  state.next_in = reading(stream);
  state.avail_in = static_cast<unsigned int>(stream.size());
  std::string out;
  int told = BZ_OK;
  // Room grows with what really comes out, up to one byte more than may: memory follows the
  // content and not what a peer claims.
  while (told == BZ_OK && out.size() <= size_max) {
    const std::size_t before = out.size();
    const std::size_t room = std::min(size_max + 1, std::max(kFirstRoom, 2 * before)) - before;
    out.resize(before + room);
    state.next_out = out.data() + before;
    state.avail_out = static_cast<unsigned int>(room);
    told = BZ2_bzDecompress(&state);
    out.resize(before + room - state.avail_out);
    if (told == BZ_OK && state.avail_in == 0 && state.avail_out != 0) break;  // cut off
  }
  const bool is_whole = told == BZ_STREAM_END && state.avail_in == 0;
  BZ2_bzDecompressEnd(&state);
  if (out.size() > size_max) return fail(ErrorCode::kLimit, "more than was advertised");
  if (!is_whole) return fail(ErrorCode::kCorrupt, "not one complete stream of bzip2");
  return out;
}

}  // namespace postrider::reticulum
