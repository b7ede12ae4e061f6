// What a profile makes of a message when it is admitted: another body, other attributes, once.
#include <functional>

#include "postrider/model/records/keys.h"
#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

using Admit = std::function<Result<Admission>(const Offer&)>;
Admit& admit() {
  static Admit one;
  return one;
}
std::string& body_that_was_read() {
  static std::string body;
  return body;
}

class MadeMessage : public SpecRig {
 protected:
  MadeMessage() {
    admit() = nullptr;
    spec_.door.admit = [](const Offer& offer) {
      return admit() ? admit()(offer) : sim::drill_profile().door.admit(offer);
    };
    spec_.wire.encode = [](const Facts& facts, AttemptKind kind) {
      WireRequest request = sim::drill_profile().wire.encode(facts, kind);
      request.body = facts.message.body;
      request.owner = facts.message.body_owner();
      return request;
    };
    spec_.door.read = [](std::string_view body, std::string_view attributes) {
      body_that_was_read() = body;
      return sim::drill_profile().door.read(body, attributes);
    };
  }
  // Seals what was handed in with the time of the wall, and leaves alone what is sealed.
  static Result<Admission> seal(const Offer& offer) {
    auto out = sim::drill_profile().door.admit(offer);
    if (!out || offer.body.starts_with("sealed ")) return out;
    out->body = "sealed " + std::to_string(offer.wall.ms()) + " " + std::string(offer.body);
    out->attributes = encode_texts({{"method", "post"}});
    return out;
  }
  Submit letter(const std::string& body) {
    Submit event = message(next(), {{"method", "post"}, {"order", "first"}});
    event.body = body;
    return event;
  }
  std::size_t bodies() {
    return store.memory()
        .scan({keys::space(keys::kBody), keys::after_prefix(keys::space(keys::kBody)), UINT32_MAX})
        .rows.size();
  }
};

// req: engine.submit.10
TEST_F(MadeMessage, IsStoredSentAndReadInPlaceOfWhatWasHandedIn) {
  admit() = seal;
  open_mill();
  const std::string sealed = "sealed " + std::to_string(instant().wall.ms()) + " a word";
  post(letter("a word"));
  ASSERT_EQ(code_of(questions), AnswerCode::kAccepted) << told(questions).detail;
  const MessageId first = id_of(questions);
  EXPECT_EQ(shown(first).body, sealed);
  EXPECT_EQ(shown(first).attributes, encode_texts({{"method", "post"}}));
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts().back().request.body, sealed);
  EXPECT_EQ(body_that_was_read(), sealed);

  advance(5s);
  open();  // a crash: the attempt is made again, of the same bytes
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts().back().request.body, sealed);
}

// req: engine.submit.10
TEST_F(MadeMessage, IsHandedInAgainByARerun) {
  admit() = seal;
  open_mill({{"attempts", "1"}});
  post(letter("a word"));
  const MessageId first = id_of(questions);
  const std::string sealed = shown(first).body;
  post(answer(starts().back().attempt, 400));
  turn();
  advance(1s);
  Redrive again;
  again.caller.ticket = Ticket(next());
  again.id = first;
  post(again);
  turn();
  ASSERT_EQ(code_of(questions), AnswerCode::kAccepted) << told(questions).detail;
  EXPECT_EQ(shown(id_of(questions)).body, sealed);
}

// req: engine.submit.10
TEST_F(MadeMessage, IsRefusedBeyondTheLimits) {
  admit() = [this](const Offer& offer) {
    auto out = sim::drill_profile().door.admit(offer);
    out->body = std::string(options.engine.limits.body_bytes_max + std::size_t{1}, 'x');
    return out;
  };
  open_mill();
  post(letter("small"));
  EXPECT_EQ(code_of(questions), AnswerCode::kInvalid);
  EXPECT_NE(told(questions).detail.find("at most 262144"), std::string::npos)
      << told(questions).detail;
  EXPECT_TRUE(starts().empty());
}

// req: engine.submit.11
TEST_F(MadeMessage, OfAFanOutHasABodyOfItsOwn) {
  admit() = [](const Offer& offer) -> Result<Admission> {
    auto out = sim::drill_profile().door.admit(offer);
    if (offer.destination.name == "mill") out->body = "for the mill alone";
    return out;
  };
  open_mill();
  post(place(next(), "barn"));
  const auto fan_out = [&](std::vector<std::string> to) {
    FanOut event;
    event.caller.ticket = Ticket(next());
    event.destinations = std::move(to);
    event.attributes = encode_texts({{"method", "post"}});
    event.body = "for all";
    post(event);
    EXPECT_EQ(code_of(questions), AnswerCode::kAccepted) << told(questions).detail;
    return view_of<FanoutView>(questions);
  };
  const FanoutView both = fan_out({"mill", "barn"});
  ASSERT_EQ(both.members.size(), 2U);
  for (const auto& member : both.members)
    EXPECT_EQ(shown(member.message).body,
              member.destination == "mill" ? "for the mill alone" : "for all");
  EXPECT_GT(bodies(), 0U);
  for (const auto& start : starts()) post(answer(start.attempt, 200));
  turn();
  advance(1s);
  turn();
  EXPECT_EQ(bodies(), 0U) << "the shared body has gone with the one message that referred to it";
  fan_out({"mill"});
  EXPECT_EQ(bodies(), 0U) << "no message refers to one";
}

}  // namespace
}  // namespace postrider
