#include "postrider/stores/layered/group.h"

namespace postrider::layered {

void append_batch(std::string& group, const WriteBatch& batch) {
  Writer out(group);
  out.varint(batch.writes().size());
  for (const Write& write : batch.writes()) {
    out.u8(static_cast<std::uint8_t>(write.kind)).text(write.key);
    out.text(write.kind == Write::Kind::kRemoveRange ? std::string_view(write.last)
                                                     : write.value.view());
  }
}

}  // namespace postrider::layered
