#include "postrider/api/ask_all.h"

#include <memory>
#include <utility>

namespace postrider::api {
namespace {

struct Asked {
  std::vector<Told> told;
  std::size_t left = 0;
  AllTold then;

  void settle() {
    if (--left == 0) then(std::move(told));
  }
};

}  // namespace

void ask_all(Host& host, std::string_view tenant, std::vector<Event> events, AllTold then) {
  auto asked = std::make_shared<Asked>();
  asked->told.resize(events.size());
  asked->then = std::move(then);
  // One more than events: an answer that comes at once must not end it before all are posted.
  asked->left = events.size() + 1;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Door door = host.post(tenant, std::move(events[i]), [asked, i](Answer answer) {
      asked->told[i].answer = std::move(answer);
      asked->settle();
    });
    if (door == Door::kOpen) continue;
    asked->told[i].door = door;
    asked->settle();
  }
  asked->settle();
}

}  // namespace postrider::api
