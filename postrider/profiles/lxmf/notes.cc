#include "postrider/profiles/lxmf/notes.h"

#include "postrider/base/codec.h"
#include "postrider/protocols/lxmf/stamp.h"

namespace postrider::lxmf {

std::string encode_notes(const Notes& notes) {
  std::string out;
  Writer(out).u8(notes.cost).u8(notes.stamped).text(notes.stamp);
  return out;
}

Notes decode_notes(std::string_view bytes) {
  Reader reader(bytes);
  Notes out;
  out.cost = reader.u8();
  out.stamped = reader.u8();
  out.stamp = reader.text();
  const bool good = reader.at_end() && (out.stamp.empty() || out.stamp.size() == sizeof(Stamp));
  return good ? out : Notes{};
}

}  // namespace postrider::lxmf
