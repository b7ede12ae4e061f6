// MatrixRig: a shard with the real matrix profile, and the words of one server and its
// transactions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "postrider/profiles/matrix/lanes.h"
#include "postrider/protocols/matrix/vectors_testing.h"
#include "tests/support/task_rig.h"

namespace postrider {

class MatrixRig : public TaskRig {
 protected:
  static constexpr const char* kFar = "matrix:far.example";

  MatrixRig() {
    options.engine.profiles = all_profiles();
    auto secrets = std::make_shared<Secrets>();
    secrets->put("k", std::string(matrix::kVectorKeyFile));
    options.engine.secrets = std::move(secrets);
  }

  void make(NamedTexts settings = {}, const std::string& name = kFar) {
    if (shard == nullptr) open();
    settings.emplace_back("server_name", "domain");
    settings.emplace_back("key", "k");
    Configure event;
    event.caller.ticket = Ticket(++questions);
    event.config.name = name;
    event.config.profile = "matrix";
    event.config.settings = std::move(settings);
    post(event);
    ASSERT_EQ(code_of(questions), AnswerCode::kDone) << told(questions).detail;
  }

  static std::string event_body(std::string_view room, std::string_view text) {
    return R"({"auth_events":[],"content":{"body":")" + std::string(text) +
           R"("},"depth":7,"hashes":{"sha256":"h"},"origin_server_ts":1,"prev_events":["$p"],)" +
           R"("room_id":")" + std::string(room) +
           R"(","sender":"@u:domain","type":"m.room.message"})";
  }
  static std::string unit_body(std::string_view type, std::string_view text) {
    return R"({"content":{"body":")" + std::string(text) + R"("},"edu_type":")" +
           std::string(type) + R"("})";
  }

  MessageId put(Submit event) {
    event.caller.ticket = Ticket(++questions);
    post(std::move(event));
    EXPECT_EQ(code_of(questions), AnswerCode::kAccepted) << told(questions).detail;
    return id_of(questions);
  }
  static Submit event_in(std::string_view room, std::string_view text,
                         std::uint64_t position = 0, const std::string& to = kFar) {
    Submit event;
    event.destination = to;
    event.lane = matrix::kEventLane;
    event.body = event_body(room, text);
    NamedTexts texts = {{"key", std::string(room)}};
    if (position != 0) texts.emplace_back("position", std::to_string(position));
    event.attributes = encode_texts(texts);
    return event;
  }
  MessageId send(std::string_view room, std::string_view text, std::uint64_t position = 0,
                 const std::string& to = kFar) {
    return put(event_in(room, text, position, to));
  }
  MessageId send_unit(std::uint8_t lane, std::string_view type, std::string_view text,
                      const std::string& key = {}, Duration life = Duration(0)) {
    Submit event;
    event.destination = kFar;
    event.lane = lane;
    event.body = unit_body(type, text);
    if (!key.empty()) event.attributes = encode_texts({{"key", key}});
    if (life > Duration(0)) event.expires = instant().wall + life;
    return put(std::move(event));
  }
  MessageId to_device(std::string_view text) {
    return send_unit(matrix::kToDeviceLane, "m.direct_to_device", text);
  }
  MessageId typing(std::string_view text) {
    return send_unit(matrix::kTypingLane, "m.typing", text, "!r @u " + std::string(text), 30s);
  }

  void reply(int status, std::string body = R"({"pdus":{}})", NamedTexts headers = {}) {
    AttemptEnded event = answer(last_attempt(), status);
    event.reply.body = std::move(body);
    event.reply.headers = std::move(headers);
    post(std::move(event));
  }
  void refuse() { post(ended(last_attempt(), WireEnd::kRefused)); }

  Route route(const std::string& name = kFar) { return server(name).route; }
  DestinationView server(const std::string& name = kFar) {
    Query question = ask(++questions, Query::What::kDestination);
    question.destination = name;
    post(question);
    turn();
    return view_of<DestinationView>(questions);
  }

  // Turns at each deadline until something leaves, and says how long that took.
  Duration until_next_start() {
    const std::size_t before = starts().size();
    const Duration from = elapsed;
    for (int i = 0; i < 10'000 && starts().size() == before; ++i) {
      const auto next = shard->next_deadline();
      if (!next) break;
      elapsed = std::max(elapsed, *next - Timestamp(1000));
      turn();
    }
    EXPECT_GT(starts().size(), before) << "nothing leaves any more";
    return elapsed - from;
  }
  // All tries of what is open, or of what leaves next, fail. Returns how many there were.
  int fail_until_closed(WireEnd end = WireEnd::kRefused) {
    for (int tries = 1; tries < 100; ++tries) {
      post(ended(last_attempt(), end));
      if (route().closed_until.is_set()) return tries;
      until_next_start();
    }
    ADD_FAILURE() << "the server never backs off";
    return 0;
  }
  // Everything that leaves is taken, until nothing is open.
  void take_all() {
    for (std::size_t seen = 0; seen != starts().size();) {
      seen = starts().size();
      reply(200);
      pass(10ms);
    }
  }

  static std::vector<std::string> texts_in(const StartAttempt& start, const char* list) {
    std::vector<std::string> out;
    const auto body = boost::json::parse(start.request.body).as_object();
    if (const auto* items = body.if_contains(list)) {
      for (const auto& item : items->as_array())
        out.emplace_back(item.at("content").at("body").as_string());
    }
    return out;
  }
  std::vector<std::string> events() const { return texts_in(starts().back(), "pdus"); }
  std::vector<std::string> units() const { return texts_in(starts().back(), "edus"); }
  std::size_t tries_of(const std::string& server_name) const {
    std::size_t found = 0;
    for (const StartAttempt& start : starts())
      found += start.request.target.starts_with("matrix://" + server_name + "/") ? 1U : 0U;
    return found;
  }
  // What a held commit says of the server's route.
  std::optional<Route> route_in(const WriteBatch& batch) {
    std::optional<Route> found;
    for (const Write& write : batch.writes()) {
      if (write.key != keys::route(destination_)) continue;
      auto route = decode_route(write.value.view());
      if (route) found = *route;
    }
    return found;
  }
  void know_server() { destination_ = server().id; }

 private:
  DestinationId destination_;
};

}  // namespace postrider
