// The items that simulated homeservers hand over, and what checkers know them by. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/rng.h"
#include "postrider/model/event.h"
#include "postrider/sim/world/field.h"

namespace postrider::sim {

inline constexpr std::string_view kMatrixOrigin = "us.example";
inline constexpr std::string_view kMatrixKeyName = "matrix-key";
// The key of the Matrix specification's examples.
inline constexpr std::string_view kMatrixKeyFile =
    "ed25519 1 YJDBA9Xnr2sVqXD9Vj7XVUnmFZcZrlw8Md7kMW+3XA1\n";
inline constexpr std::string_view kMatrixPoison = "\"poison\":true";

std::string matrix_server(std::uint32_t peer);  // "peer-3.example"

// Lane, body and attributes of an item with this number; its expiry where it has one.
void draw_matrix_item(Submit& submit, std::uint64_t operation, std::uint32_t peer, Timestamp now,
                      Rng& rng);

// An event or a message to devices, as receivers count it; empty for other units.
struct MatrixNote final : FieldNote {
  std::string id;
  std::string room;
};
std::shared_ptr<const MatrixNote> read_matrix_note(const Message& message);

}  // namespace postrider::sim
