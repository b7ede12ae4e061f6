// Dead letters as lines of JSON: to the standard output, and from a file.
#pragma once

#include "postrider/cli/options.h"

namespace postrider {

int export_letters(const Parsed& parsed);
int import_letters(const Parsed& parsed);

}  // namespace postrider
