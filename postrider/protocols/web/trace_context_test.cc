#include "postrider/protocols/web/trace_context.h"

#include <string>

#include <gtest/gtest.h>

namespace postrider {
namespace {

TEST(TraceContext, KnowsATraceparent) {
  EXPECT_TRUE(is_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
  for (const std::string_view bad : {"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
                                     "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                     "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                     "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                                     "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                                     "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01"})
    EXPECT_FALSE(is_traceparent(bad)) << bad;
}

TEST(TraceContext, BoundsATracestate) {
  EXPECT_TRUE(is_tracestate("a=b"));
  EXPECT_TRUE(is_tracestate(std::string(512, 'a')));
  EXPECT_FALSE(is_tracestate(""));
  EXPECT_FALSE(is_tracestate(std::string(513, 'a')));
  EXPECT_FALSE(is_tracestate("a\nb"));
}

}  // namespace
}  // namespace postrider
