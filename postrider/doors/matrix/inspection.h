// Inspection: what became of an event, and which rooms a server is owed. Nothing is kept for these
// questions. An event of the host API is found by its key in the ledger, with all its copies. What
// came through the egress has no index: what lives and what is a dead letter is walked in pages, so
// many of them for one request, and an answer that was cut says so and where the next one goes on.
// On the loop's thread; owned by the door.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/api/door.h"
#include "postrider/model/answer.h"

namespace postrider::matrix_door {

class Inspection final : public std::enable_shared_from_this<Inspection> {
 public:
  static constexpr std::uint32_t kRowsAtOnce = 100;
  static constexpr std::uint32_t kRowsMax = 1'000;  // of one request

  explicit Inspection(api::Desk& desk) : desk_(desk) {}
  void find_event(api::Call& call);  // its id is the capture
  void list_rooms(api::Call& call);  // of the server that is the capture

 private:
  struct Copy {
    std::string destination;
    std::string_view state;
    std::string reason;
  };
  struct Room {
    std::uint64_t events = 0;
    Timestamp oldest;
  };
  struct Job;
  using JobPtr = std::shared_ptr<Job>;
  // What is done with each message that a walk comes to, with its body.
  using Look = void (*)(Job& job, const MessageView& view);

  bool begin(api::Call& call, Job& job);
  void ask(const JobPtr& job, Query query, std::function<void(const Answer&)> then);
  void ask_part(const JobPtr& job);
  void tell_part(const JobPtr& job, const FanoutView& part, std::size_t from);
  void walk(const JobPtr& job);
  void take_page(const JobPtr& job, const Answer& answer);
  void look_at(const JobPtr& job, const std::vector<MessageId>& ids, std::string next);
  void go_on(const JobPtr& job, const std::string& next);
  void finish(const JobPtr& job);

  api::Desk& desk_;
};

}  // namespace postrider::matrix_door
