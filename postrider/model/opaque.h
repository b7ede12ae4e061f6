// Opaque: a value of a profile's own type that the engine keeps and hands back, and never looks at.
// Its type is compared when it is taken out: a value of another type is a bug, and shows as one.
// A mark is compared instead of a dynamic_cast, because that happens at every call of a profile.
#pragma once

#include <utility>

#include "postrider/base/check.h"

namespace postrider {

class Opaque {
 public:
  Opaque() = default;
  Opaque(const Opaque&) = delete;
  Opaque& operator=(const Opaque&) = delete;
  virtual ~Opaque() = default;

  virtual const char* mark() const = 0;  // an address that only this type has
};

template <class T>
class OpaqueOf final : public Opaque {
 public:
  explicit OpaqueOf(T value) : value_(std::move(value)) {}

  const char* mark() const override { return &kMark; }

  // Null stays null.
  static const T* in(const Opaque* opaque) {
    if (opaque == nullptr) return nullptr;
    POSTRIDER_CHECK(opaque->mark() == &kMark);
    return &static_cast<const OpaqueOf*>(opaque)->value_;
  }

 private:
  static constexpr char kMark = 0;

  T value_;
};

}  // namespace postrider
