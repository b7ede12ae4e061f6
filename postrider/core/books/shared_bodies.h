// SharedBodies: bodies that the messages of one fan-out share, and how they are read and go. Bodies
// in memory are counted by Bodies; this class reads them, and counts down what letters referred to.
//
// Invariants
//   - A body record exists as long as its count does, and the count is the number of messages
//     and letters that refer to it, less those that wait as records under bucket 0.
//   - A reference whose count is not in memory is a record until it is counted down, so a crash
//     between the two leaks nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "postrider/base/packing.h"
#include "postrider/core/books/bodies.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/model/message.h"

namespace postrider::core {

class SharedBodies {
 public:
  SharedBodies(const EngineLimits& limits, Receipts& receipts, Dictionaries dictionaries)
      : limits_(limits), receipts_(receipts), dictionaries_(dictionaries) {}
  SharedBodies(const SharedBodies&) = delete;
  SharedBodies& operator=(const SharedBodies&) = delete;

  bool load_body(Step& step, std::uint64_t id, bool with_bytes);
  void need_body(Step& step, const Row& row);
  bool give_body(Message& message) const;
  void release_later(Step& step, const SharedBody& shared, MessageId id);
  void count_down(Step& step);
  void lose_body(Step& step, const Row& row);
  static SharedBody shared_of_letter(std::string_view letter);
  std::optional<Message> message_of_letter(Step& step, std::string_view letter);

  void use(std::uint64_t id) { bodies_.use(id); }          // an entry in memory has it …
  void leave(std::uint64_t id) { bodies_.leave(id); }      // … and has it no longer
  void release(std::uint64_t id) { bodies_.release(id); }  // one reference less, for good
  void add(std::uint64_t id, Bodies::Body body) { bodies_.add(id, std::move(body)); }
  std::uint64_t bytes() const { return bodies_.bytes(); }
  void tidy() { bodies_.tidy(); }
  void write(WriteBatch& out) {
    if (bodies_.changed()) bodies_.write(receipts_.counters(), out);
  }
  // References wait to be counted down; the next end of a step asks for it.
  void count_down_later() { waits_ = true; }
  // True: a chore is to be begun for it.
  bool begin_count_down() {
    if (!waits_ || counting_) return false;
    counting_ = true;
    waits_ = false;
    return true;
  }

 private:
  const EngineLimits& limits_;
  Receipts& receipts_;
  Dictionaries dictionaries_;
  Bodies bodies_;
  bool waits_ = false;     // references are to be counted down …
  bool counting_ = false;  // … and that is under way
};

}  // namespace postrider::core
