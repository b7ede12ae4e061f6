// Feeds arbitrary bytes to every decoder of the model. The first byte picks the decoder, and
// whether the rest gets a good checksum first: without one hardly any input would come past it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "postrider/base/check.h"
#include "postrider/model/records/record_codecs_testing.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider;  // NOLINT(google-build-using-namespace): one function, one namespace
  if (size == 0) return 0;
  const RecordCodec& codec = kRecordCodecs[data[0] % kRecordCodecs.size()];
  const bool seal = codec.has_checksum && data[0] < 192;
  std::string record(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (seal) seal_record(record);

  // What decodes is a proper value: encoded again it is the same one for ever.
  const std::optional<std::string> once = codec.again(record);
  if (once) POSTRIDER_CHECK(codec.again(*once) == once);
  return 0;
}
