// Feeds arbitrary records to the check of a store, which must tell what is wrong with any of them.
// Each record is the length of its key and of its value, whether it gets a good checksum, and both.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"
#include "postrider/stores/rocks/check_records.h"
#include "tests/fuzz/record_source.h"

namespace postrider::rocks {
namespace {

std::string_view take(std::string_view& bytes, std::size_t most) {
  const std::string_view out = bytes.substr(0, most);
  bytes.remove_prefix(out.size());
  return out;
}

Records read_records(std::string_view bytes) {
  Records records;
  while (bytes.size() >= 3) {
    const std::string_view head = take(bytes, 3);
    const std::string key(take(bytes, static_cast<unsigned char>(head[0])));
    std::string value(take(bytes, static_cast<unsigned char>(head[1])));
    if (head[2] % 4 != 0) seal_record(value);
    records.insert_or_assign(key, std::move(value));
  }
  return records;
}

}  // namespace
}  // namespace postrider::rocks

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider;         // NOLINT(google-build-using-namespace): one function
  using namespace postrider::rocks;  // NOLINT(google-build-using-namespace): one function
  const Records records = read_records({reinterpret_cast<const char*>(data), size});
  CheckReport report;
  check_records(source_of(records, 3), report);
  CheckReport again;
  check_records(source_of(records, 3), again);
  POSTRIDER_CHECK(report.damage.size() <= CheckReport::kLinesMax);
  POSTRIDER_CHECK(report.damages == again.damages && report.damage == again.damage);
  return 0;
}
