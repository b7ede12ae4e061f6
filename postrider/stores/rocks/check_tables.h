// The checksums of all tables of a database, for check.
#pragma once

#include "postrider/stores/rocks/check.h"
#include "postrider/stores/rocks/database.h"

namespace postrider::rocks {

// One by one, so that each damaged table is named.
void check_tables(Database& database, CheckReport& report);

}  // namespace postrider::rocks
