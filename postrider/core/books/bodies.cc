#include "postrider/core/books/bodies.h"

#include <utility>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"
#include "postrider/model/records/keys.h"

namespace postrider {

Bodies::Body& Bodies::at(std::uint64_t id) {
  const auto found = bodies_.find(id);
  POSTRIDER_CHECK(found != bodies_.end());
  return found->second;
}

const Bodies::Body& Bodies::add(std::uint64_t id, Body body) {
  bytes_ += body.bytes;
  idle_.push_back(id);
  const auto [added, is_new] = bodies_.emplace(id, std::move(body));
  POSTRIDER_CHECK(is_new);
  return added->second;
}

void Bodies::leave(std::uint64_t id) {
  if (--at(id).users == 0) idle_.push_back(id);
}

void Bodies::touch(std::uint64_t id, Body& body) {
  if (std::exchange(body.touched, true)) return;
  touched_.push_back(id);
}

void Bodies::refer(std::uint64_t id) {
  Body& body = at(id);
  if (!body.counted) return;
  ++body.references;
  touch(id, body);
}

void Bodies::release(std::uint64_t id) {
  Body& body = at(id);
  if (!body.counted) return;
  POSTRIDER_CHECK(body.references > 0);
  --body.references;
  touch(id, body);
}

void Bodies::forget(std::uint64_t id) {
  const auto found = bodies_.find(id);
  bytes_ -= found->second.bytes;
  bodies_.erase(found);
}

void Bodies::forget_idle() {
  for (const std::uint64_t id : std::exchange(idle_, {})) {
    const auto found = bodies_.find(id);
    if (found == bodies_.end() || found->second.users > 0 || found->second.touched) continue;
    forget(id);
  }
}

void Bodies::write(Counters& counters, WriteBatch& out) {
  for (const std::uint64_t id : std::exchange(touched_, {})) {
    Body& body = at(id);
    body.touched = false;
    const std::uint32_t last = planted(Bug::kBodyFreedEarly) ? 1 : 0;
    if (body.references > last) {
      out.put(keys::body(id, keys::BodyPart::kCount),
              encode_body_count({body.references, body.bytes}));
    } else {
      out.remove_once(keys::body(id, keys::BodyPart::kBytes));
      out.remove(keys::body(id, keys::BodyPart::kCount));
      --counters.shared_bodies;
      counters.shared_bytes -= body.bytes;
      body.counted = false;
    }
    if (body.users == 0) forget(id);
  }
}

}  // namespace postrider
