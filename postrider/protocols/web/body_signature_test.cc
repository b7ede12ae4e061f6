#include "postrider/protocols/web/body_signature.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

// req: device.wire.2
TEST(BodySignature, IsTheOneOfTheVector) {
  EXPECT_EQ(body_signature("secret", "{}"),
            "sha256=77325902caca812dc259733aacd046b73817372c777b8d95b402647474516e13");
}

}  // namespace
}  // namespace postrider
