// IdCodec: how message ids are written outside. Inside, a MessageId is the address of its message
// and sorts as its lane is served; it follows from the destination's name and from counters that
// begin anew in each new store. Outside, the same 128 bits are shown enciphered with a key that
// each store draws once, so ids of two stores never meet (docs/adr/0022). One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/block_cipher.h"
#include "postrider/model/ids.h"

namespace postrider {

class IdCodec final {
 public:
  explicit IdCodec(const IdKey& key) : cipher_(key) {}

  // An id that is not set stays so. Every other one has one form outside.
  PublicId outside(MessageId id) const;
  // Any text of the right shape is the id of something inside; whether such a message exists is for
  // the engine to say.
  MessageId inside(PublicId id) const;

  std::string text(MessageId id) const { return to_string(outside(id)); }
  std::optional<MessageId> parse(std::string_view text) const;

 private:
  BlockCipher cipher_;
};

}  // namespace postrider
