// check_any_store: check_store (stores/rocks/check.h) for every kind of store. Of one with a
// journal it judges the journal as a start does, names the first group that is damaged, and looks
// at the records as journal and map have them together.
#pragma once

#include <string>

#include "postrider/stores/rocks/check.h"

namespace postrider {

Result<CheckReport> check_any_store(const std::string& directory);

}  // namespace postrider
