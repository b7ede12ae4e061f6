#include "postrider/stores/memory_map.h"

#include "postrider/stores/conformance_map.h"

namespace postrider {
namespace {

struct MemoryMapHarness {
  Map& map() { return held; }
  void open_again() {}
  MemoryMap held;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, MapConformance, MemoryMapHarness);

}  // namespace
}  // namespace postrider
