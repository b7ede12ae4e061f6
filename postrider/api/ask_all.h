// Several questions to the engine whose answers are needed together.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "postrider/model/answer.h"
#include "postrider/model/event.h"
#include "postrider/runtime/host.h"

namespace postrider::api {

struct Told {
  Answer answer;
  Door door = Door::kOpen;  // other than open: the event did not pass, and has no answer
};
using AllTold = std::function<void(std::vector<Told>)>;

// Posts all events and calls `then` once when all are answered, with the answers in the order of
// the events.
void ask_all(Host& host, std::string_view tenant, std::vector<Event> events, AllTold then);

}  // namespace postrider::api
