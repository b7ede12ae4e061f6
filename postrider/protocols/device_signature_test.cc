#include "postrider/protocols/device_signature.h"

#include <gtest/gtest.h>

namespace postrider::device {
namespace {

// req: device.wire.2
TEST(DeviceSignature, IsTheOneOfTheVector) {
  EXPECT_EQ(event_signature("secret", "{}"),
            "sha256=77325902caca812dc259733aacd046b73817372c777b8d95b402647474516e13");
}

}  // namespace
}  // namespace postrider::device
