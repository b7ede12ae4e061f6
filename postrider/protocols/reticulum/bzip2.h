// bzip2 in memory: one whole stream, never more output than said. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "postrider/base/result.h"

namespace postrider::reticulum {

std::string bzip2(std::string_view bytes);
// kLimit: it would become larger than `size_max`; kCorrupt: not exactly one complete stream.
Result<std::string> unbzip2(std::string_view stream, std::size_t size_max);

}  // namespace postrider::reticulum
