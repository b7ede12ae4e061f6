// Postrider inside a program: one message to a webhook, and how it ended.
//
//   embed DIRECTORY URL [BODY]
//
// Prints the id and the end of the message; exit code 0 when it was delivered.
#include <cstdio>
#include <future>
#include <string>

#include "postrider/client.h"

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: embed DIRECTORY URL [BODY]\n");
    return 2;
  }
  const auto fail = [](const postrider::Error& error) {
    std::fprintf(stderr, "embed: %s\n", error.detail.c_str());
    return 1;
  };

  auto opened =
      postrider::Client::open({.directory = words[1], .allow = {"127.0.0.0/8", "::1/128"}});
  if (!opened) return fail(opened.error());
  postrider::Client& rider = **opened;

  if (auto put = rider.put({.name = "shop", .settings = {{"url", words[2]}}}); !put)
    return fail(put.error());

  std::promise<postrider::Ended> ended;
  bool told = false;  // of the engine's thread
  auto following = rider.on_end([&](const postrider::Ended& end) {
    if (!told) ended.set_value(end);
    told = true;
  });
  if (!following) return fail(following.error());

  const auto sent = rider.submit({.destination = "shop",
                                  .body = count > 3 ? words[3] : "{}",
                                  .attributes = {{"content-type", "application/json"}},
                                  .expires_in = std::chrono::seconds(30)});
  if (!sent) return fail(sent.error());
  std::printf("submitted %s\n", sent->id.c_str());

  const postrider::Ended end = ended.get_future().get();
  std::printf("%s %s after %u attempts: %s\n", end.id.c_str(), end.phase.c_str(), end.attempts,
              end.reason.c_str());
  if (auto closed = rider.close(); !closed) return fail(closed.error());
  return end.phase == "delivered" ? 0 : 1;
}
