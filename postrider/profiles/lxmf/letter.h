// Letter: a message as it is handed in, or as it is stored. Handed in, the body is the content, and
// attributes say the rest; stored, the body is the packed and signed message, and the attributes
// say its id. `admit` makes the second of the first, once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/model/profile.h"
#include "postrider/model/typed_profile.h"
#include "postrider/profiles/lxmf/settings.h"
#include "postrider/protocols/lxmf/message.h"

namespace postrider::lxmf {

struct Letter {
  bool packed = false;   // stored: nothing below but `from` and `method` is filled
  std::string id;        // of a packed one, in digits
  std::string from;      // the key file of the sender; empty: the destination's
  std::optional<Carriage> method;
  bool syncs = false;  // no message: what the node keeps that the destination names is fetched
  std::string title;
  std::string content;
  std::string fields;  // msgpack
  bool encloses_ticket = false;
  std::optional<std::uint8_t> stamp_cost;  // whatever the recipient announced
};

using Typed = TypedProfile<Prepared, Letter>;

// Attributes: title, content (instead of the body), fields, from, method, stamp_cost, ticket; id of
// what was stored.
Result<std::optional<Letter>> read_letter(std::string_view body, std::string_view attributes);
Result<Admission> admit_letter(const Typed::OfferView& offer);

}  // namespace postrider::lxmf
