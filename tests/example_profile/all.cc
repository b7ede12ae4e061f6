#include "tests/example_profile/all.h"

#include <vector>

#include "postrider/doors/all.h"
#include "postrider/profiles/all.h"
#include "postrider/sim/fields/all.h"
#include "tests/example_profile/door.h"
#include "tests/example_profile/field.h"
#include "tests/example_profile/profile.h"

namespace postrider::pager {
namespace {

template <class T>
std::vector<const T*> with(std::span<const T* const> list, const T& added) {
  std::vector<const T*> all(list.begin(), list.end());
  all.push_back(&added);
  return all;
}

}  // namespace

std::span<const ProfileSpec* const> all_profiles() {
  static const auto kAll = with(postrider::all_profiles(), kPager);
  return kAll;
}

doors::Doors all_doors() {
  static const auto kAll = with(doors::all_doors(), doors::kPagerDoor);
  return kAll;
}

const sim::Fields& all_fields() {
  static const sim::Fields kAll(with(sim::all_fields().list(), sim::pager_field()));
  return kAll;
}

}  // namespace postrider::pager
