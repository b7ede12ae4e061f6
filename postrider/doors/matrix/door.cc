#include "postrider/doors/matrix/door.h"

#include <array>

#include "postrider/doors/matrix/cli.h"
#include "postrider/doors/matrix/config.h"
#include "postrider/doors/matrix/routes.h"

namespace postrider::doors {
namespace {

std::shared_ptr<OpenDoor> open(const Config& config, DoorTools /*tools*/) {
  return std::make_shared<matrix_door::MatrixRoutes>(config.parts.of<matrix_door::MatrixConfig>());
}

constexpr auto kNouns = std::to_array<Noun>(
    {{"matrix", matrix_door::run_matrix, "federation: ls, show, rooms, event, reset, seen, drain, doctor"}});

}  // namespace

const ProfileDoor kMatrixDoor{
    .profile = "matrix", .config = &matrix_door::kConfigPart, .open = open, .nouns = kNouns};

}  // namespace postrider::doors
