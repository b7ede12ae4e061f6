#include "postrider/profiles/lxmf/notes.h"

#include "postrider/base/codec.h"
#include "postrider/protocols/lxmf/stamp.h"

namespace postrider::lxmf {

std::string encode_notes(const Notes& notes) {
  std::string out;
  Writer(out)
      .u8(notes.cost)
      .u8(notes.stamped)
      .text(notes.stamp)
      .text(notes.node)
      .text(notes.sealed)
      .u8(notes.renewed)
      .u8(notes.inner_cost)
      .u8(notes.inner_stamped)
      .text(notes.inner_stamp);
  return out;
}

Notes decode_notes(std::string_view bytes) {
  Reader reader(bytes);
  Notes out;
  out.cost = reader.u8();
  out.stamped = reader.u8();
  out.stamp = reader.text();
  out.node = reader.text();
  out.sealed = reader.text();
  out.renewed = reader.u8();
  out.inner_cost = reader.u8();
  out.inner_stamped = reader.u8();
  out.inner_stamp = reader.text();
  const bool good = reader.at_end() && (out.stamp.empty() || out.stamp.size() == sizeof(Stamp));
  return good ? out : Notes{};
}

}  // namespace postrider::lxmf
