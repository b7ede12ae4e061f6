#include "postrider/profiles/matrix/case_testing.h"

#include <gtest/gtest.h>

namespace postrider::matrix {

std::string event_in(std::string_view room, std::string_view text) {
  return R"({"auth_events":[],"content":{"body":")" + std::string(text) +
         R"("},"depth":7,"hashes":{"sha256":")" + std::string(text.substr(0, 40)) +
         R"("},"origin_server_ts":1700000000000,"prev_events":["$p"],"room_id":")" +
         std::string(room) + R"(","sender":"@u:domain","type":"m.room.message"})";
}
std::string to_device_unit(std::string_view text) {
  return R"({"content":{"message_id":")" + std::string(text) +
         R"(","messages":{"@v:them.example":{"*":{}}},"sender":"@u:domain","type":"t"},)"
         R"("edu_type":"m.direct_to_device"})";
}
std::string presence_unit(std::string_view user) {
  return R"({"content":{"push":[{"presence":"online","user_id":")" + std::string(user) +
         R"("}]},"edu_type":"m.presence"})";
}
std::string receipt_unit(std::string_view room, std::string_view user) {
  return R"({"content":{")" + std::string(room) + R"(":{"m.read":{")" + std::string(user) +
         R"(":{"data":{"ts":1},"event_ids":["$e"]}}}},"edu_type":"m.receipt"})";
}
std::string typing_unit(std::string_view room, std::string_view user) {
  return R"({"content":{"room_id":")" + std::string(room) + R"(","typing":true,"user_id":")" +
         std::string(user) + R"("},"edu_type":"m.typing"})";
}

MatrixCase::MatrixCase(NamedTexts more_settings)
    : settings({{"server_name", std::string(kVectorName)}, {"key", "k"}}),
      codec_(std::make_unique<IdCodec>(IdKey{0x5E, 0x11})) {
  for (NamedText& setting : more_settings) settings.push_back(std::move(setting));
  const auto configured = kMatrix.settings.configure(settings);
  EXPECT_TRUE(configured) << (configured ? "" : configured.error().detail);
  if (configured) policy = *configured;
  prepared_ = kMatrix.settings.prepare(settings);
  secrets->put("k", std::string(kVectorKeyFile));
}

std::size_t MatrixCase::add(std::uint8_t lane, std::string body, NamedTexts attributes) {
  Held held;
  Message fields;
  fields.id = MessageId::make(DestinationId(0x123), lane, 0, Sequence(items.size() + 1));
  fields.accepted = now;
  held.message = encode_message(fields, encode_texts(attributes), body);
  auto parsed = kMatrix.door.read(held.message.body, held.message.attributes);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().detail);
  if (parsed) held.parsed = std::move(*parsed);
  items.push_back(std::move(held));
  return items.size() - 1;
}

postrider::Facts MatrixCase::facts(std::size_t item) const {
  const Held& held = items.at(item);
  postrider::Facts out{held.message, held.state, {destination, settings}, policy, now, kCaseWall};
  out.notes = held.notes;
  out.intent = held.intent.hash == 0 ? nullptr : &held.intent;
  out.values = {prepared_.get(), held.parsed.get()};
  out.ids = codec_.get();
  out.secrets = secrets.get();
  out.route = &route;
  return out;
}

postrider::Facts MatrixCase::leading(std::size_t leader, const std::vector<std::size_t>& followers,
                                     std::uint32_t claim) {
  followers_.clear();
  for (const std::size_t item : followers) followers_.push_back(facts(item));
  batch_.followers = followers_;
  batch_.claim = claim;
  postrider::Facts out = facts(leader);
  out.batch = &batch_;
  return out;
}

std::vector<std::size_t> MatrixCase::composed(std::size_t leader, std::uint32_t members_max) const {
  std::vector<postrider::Facts> candidates;
  std::vector<std::size_t> places;
  for (std::uint8_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i == leader || items[i].message.id.lane() != lane) continue;
      candidates.push_back(facts(i));
      places.push_back(i);
    }
  }
  std::vector<std::size_t> out;
  for (const std::size_t index : kMatrix.wire.compose(facts(leader), candidates, members_max))
    out.push_back(places.at(index));
  return out;
}

Reading MatrixCase::reading(const postrider::Facts& leader, int status, std::string body,
                            NamedTexts headers) const {
  WireReply reply;
  reply.status = status;
  reply.body = std::move(body);
  reply.headers = std::move(headers);
  return kMatrix.wire.classify(leader, AttemptKind::kSend, reply);
}

}  // namespace postrider::matrix
