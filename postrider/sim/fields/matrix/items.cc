#include "postrider/sim/fields/matrix/items.h"

#include "postrider/model/attributes.h"
#include "postrider/profiles/matrix/types.h"
#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/json_fields.h"

namespace postrider::sim {
namespace {

constexpr std::uint64_t kRooms = 3;
constexpr std::uint64_t kUsers = 4;
constexpr Duration kTypingLife{30'000};

std::string user_of(Rng& rng) {
  return "@u" + std::to_string(rng.below(kUsers)) + ":" + std::string(kMatrixOrigin);
}
std::string room_of(Rng& rng) {
  return "!r" + std::to_string(rng.below(kRooms)) + ":" + std::string(kMatrixOrigin);
}

std::string event_body(const std::string& room, const std::string& number) {
  return R"({"auth_events":[],"content":{"operation":)" + number +
         R"(},"depth":7,"hashes":{"sha256":")" + number +
         R"("},"origin_server_ts":1700000000000,"prev_events":["$p"],"room_id":")" + room +
         R"(","sender":"@u0:us.example","type":"m.room.message"})";
}

}  // namespace

std::string matrix_server(std::uint32_t peer) {
  return "peer-" + std::to_string(peer) + ".example";
}

void draw_matrix_item(Submit& submit, std::uint64_t operation, std::uint32_t peer, Timestamp now,
                      Rng& rng) {
  const std::string number = std::to_string(operation);
  const std::string user = user_of(rng);
  const std::string room = room_of(rng);
  const std::uint64_t draw = rng.below(20);
  NamedTexts texts;
  submit.priority = 0;
  if (draw < 10) {
    submit.lane = matrix::kEventLane;
    submit.body = event_body(room, number);
    if (rng.chance(1, 2)) texts.emplace_back(matrix::kPositionAttribute, number);
  } else if (draw < 14) {
    submit.lane = matrix::kToDeviceLane;
    const std::string poison = rng.chance(1, 12) ? std::string(kMatrixPoison) + "," : "";
    submit.body = R"({"content":{"message_id":")" + number + R"(","messages":{"@v:)" +
                  matrix_server(peer) + R"(":{"*":{"operation":)" + number + R"(}}},)" + poison +
                  R"("sender":")" + user + R"(","type":"t"},"edu_type":"m.direct_to_device"})";
  } else if (draw < 16) {
    submit.lane = matrix::kPresenceLane;
    submit.body = R"({"content":{"push":[{"operation":)" + number +
                  R"(,"presence":"online","user_id":")" + user + R"("}]},"edu_type":"m.presence"})";
    texts.emplace_back(matrix::kKeyAttribute, user);
  } else if (draw < 18) {
    submit.lane = matrix::kTypingLane;
    submit.body = R"({"content":{"operation":)" + number + R"(,"room_id":")" + room +
                  R"(","typing":true,"user_id":")" + user + R"("},"edu_type":"m.typing"})";
    texts.emplace_back(matrix::kKeyAttribute, room + " " + user);
    submit.expires = now + kTypingLife;
  } else if (draw == 18) {
    submit.lane = matrix::kOtherLane;
    submit.body = R"({"content":{"operation":)" + number + R"(},"edu_type":"org.example.new"})";
  } else {
    submit.lane = matrix::kEventLane;
    submit.body = R"(["operation":)" + number;
    texts.emplace_back(matrix::kFaultAttribute, "it is no event");
  }
  submit.attributes = texts.empty() ? std::string() : encode_texts(texts);
}

std::shared_ptr<const MatrixNote> read_matrix_note(const Message& message) {
  auto note = std::make_shared<MatrixNote>();
  const std::uint8_t lane = message.id.lane();
  if (lane == matrix::kEventLane) {
    const auto facts = matrix::read_event(message.body);
    if (!facts) return nullptr;
    note->id = matrix::event_ids(message.body).front();
    note->room = facts->room_id;
    return note;
  }
  if (lane != matrix::kToDeviceLane) return nullptr;
  matrix::JsonDocument document;
  if (!document.parse(message.body, matrix::kItemLimits)) return nullptr;
  const auto content = matrix::object_of(document.root(), "content");
  if (!content) return nullptr;
  note->id = matrix::text_of(*content, "sender").value_or("") + " " +
             matrix::text_of(*content, "message_id").value_or("");
  return note;
}

}  // namespace postrider::sim
