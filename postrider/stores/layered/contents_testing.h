// Everything that a layered store holds, for comparisons with the naive model.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "postrider/stores/conformance_model.h"
#include "postrider/stores/layered/layered_store.h"

namespace postrider::layered {

inline Contents contents_of(LayeredStore& store) {
  const Scan all{std::string(1, '\0'), std::string(1, '\xFF'), 1'000'000};
  const auto found = store.read({.keys = {}, .scans = {all}});
  Contents out;
  EXPECT_TRUE(found.has_value());
  if (!found) return out;
  for (const Row& row : found->scan(all)->rows) out.emplace(row.first, row.second.view());
  return out;
}

}  // namespace postrider::layered
