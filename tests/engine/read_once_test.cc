// How often the functions of a profile are asked: a message is taken apart once while it is in
// memory, and news asks a message once what it means to it.
#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

struct Asked {
  int reads = 0;
  int notices = 0;
};
Asked& asked() {
  static Asked counts;
  return counts;
}

class ReadOnce : public SpecRig {
 protected:
  ReadOnce() {
    asked() = {};
    spec_.door.read = [](std::string_view body, std::string_view attributes) {
      ++asked().reads;
      return sim::drill_profile().door.read(body, attributes);
    };
    spec_.news.notice = [](const Facts& facts, const Notice& notice) {
      ++asked().notices;
      return sim::drill_profile().news.notice(facts, notice);
    };
  }
};

// From admission to the end, by a send, an answer and news. req: engine.profile.1
TEST_F(ReadOnce, AMessageIsTakenApartOnceWhileItIsInMemory) {
  open_mill();
  id = sent({{"method", "task"}, {"order", "1"}});
  accept_task();
  post(news(next(), "done t1"));
  EXPECT_EQ(phase(id), Phase::kDelivered);
  EXPECT_EQ(asked().reads, 1);
}

// req: engine.profile.1
TEST_F(ReadOnce, AMessageThatComesFromDiskIsTakenApartAgain) {
  open_mill({{"base", "100000"}, {"strikes", "1000"}});
  id = sent({{"method", "task"}, {"order", "1"}});
  post(answer(last_attempt(), 408));
  EXPECT_EQ(phase(id), Phase::kBackoff);
  EXPECT_EQ(asked().reads, 1);
  restart();
  pass(200s);
  EXPECT_FALSE(starts().empty());
  EXPECT_EQ(asked().reads, 2);
}

// req: engine.profile.2
TEST_F(ReadOnce, NewsAsksAMessageOnce) {
  open_mill();
  id = sent({{"method", "task"}});
  accept_task();
  post(news(next(), "seen t1"));
  EXPECT_EQ(asked().notices, 1);
  post(news(next(), "done t1"));
  EXPECT_EQ(asked().notices, 2);
  EXPECT_EQ(phase(id), Phase::kDelivered);
}

}  // namespace
}  // namespace postrider
