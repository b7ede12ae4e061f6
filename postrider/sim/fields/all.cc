#include "postrider/sim/fields/all.h"

#include "postrider/sim/fields/device/field.h"
#include "postrider/sim/fields/drill/field.h"
#include "postrider/sim/fields/mailbox/field.h"
#include "postrider/sim/fields/matrix/field.h"
#include "postrider/sim/fields/pack/field.h"
#include "postrider/sim/fields/webhook/field.h"

namespace postrider::sim {

const Fields& all_fields() {
  static const Fields kFields({&webhook_field(), &device_field(), &drill_field(), &mailbox_field(),
                               &pack_field(), &matrix_field()});
  return kFields;
}

}  // namespace postrider::sim
