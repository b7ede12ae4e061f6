#include "postrider/model/seams/wire.h"

#include "postrider/base/check.h"

namespace postrider {

std::string_view name_of(LineEnd end) {
  switch (end) {
    case LineEnd::kRefused: return "refused";
    case LineEnd::kNoName: return "no-name";
    case LineEnd::kNoTls: return "no-tls";
    case LineEnd::kForbidden: return "forbidden";
    case LineEnd::kLost: return "lost";
    case LineEnd::kOverflow: return "overflow";
    case LineEnd::kFull: return "full";
    case LineEnd::kBadAddress: return "bad-address";
  }
  POSTRIDER_CHECK(false);
}

}  // namespace postrider
