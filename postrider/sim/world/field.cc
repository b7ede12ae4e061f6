#include "postrider/sim/world/field.h"

#include <charconv>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"

namespace postrider::sim {

Result<DestinationConfig> Field::rehearse(DestinationConfig real, std::uint32_t /*peer*/) const {
  return fail(ErrorCode::kInvalid, "destination '" + real.name + "': the profile '" + real.profile +
                                       "' cannot be rehearsed");
}

std::unique_ptr<FarSides> Field::make_far_sides(FarSides::Surroundings /*around*/,
                                                const SimOptions& /*options*/,
                                                Rng& /*world*/) const {
  return nullptr;
}

const Field* Fields::find(std::string_view profile) const {
  for (const Field* field : list_) {
    if (field->profile().name == profile) return field;
  }
  return nullptr;
}

const Field& Fields::of(const SimOptions& options) const {
  const Field* field = options.profile.empty() ? list_.front() : find(options.profile);
  POSTRIDER_CHECK(field != nullptr);
  return *field;
}

std::vector<const ProfileSpec*> Fields::profiles() const {
  std::vector<const ProfileSpec*> out;
  for (const Field* field : list_) out.push_back(&field->profile());
  return out;
}

Call Fields::read_call(const WireRequest& request, const IdCodec& ids) const {
  Call call;
  call.verb = request.verb;
  call.body_hash = hash64(request.body);
  call.text = request.verb + request.target + std::string(request.headers.text());
  call.operation = digits_after(request.body, "\"operation\":");
  call.sends = call.verb == "SEND" || call.verb == "POST";
  for (const Field* field : list_) field->read_call(request, ids, call);
  return call;
}

}  // namespace postrider::sim
