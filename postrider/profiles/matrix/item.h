// Items of a server's queue as they are accepted: what they are, and into which lane they may go.
// Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/profiles/matrix/types.h"

namespace postrider::matrix {

// kInvalid: an attribute that there is not, or a body that is neither an event nor a unit. An item
// with a fault may have any body.
Result<std::optional<Item>> read(std::string_view body, std::string_view attributes);
// kInvalid: a destination that is no server, a lane that is not the item's, a body that is too
// large.
Result<Admission> admit(const Offer& offer);

}  // namespace postrider::matrix
