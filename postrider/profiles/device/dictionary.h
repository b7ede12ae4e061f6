// The words of commands, of the events that we send and of those that a network server sends, by
// which their texts are packed (base/packing.h).
#pragma once

#include "postrider/base/packing.h"

namespace postrider::device {

extern const Dictionary kDictionary;

}  // namespace postrider::device
