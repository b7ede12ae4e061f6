// Client: Postrider inside a program. The engine runs on a thread of its own; every call may come
// from any thread and waits for its answer.
//
//   auto rider = postrider::Client::open({.directory = "data"});
//   (*rider)->put({.name = "shop", .settings = {{"url", "https://shop.example/hook"}}});
//   auto sent = (*rider)->submit({.destination = "shop", .body = "{}"});
//   // sent->id is durable: the message will have exactly one end.
//
// What is not here (jobs, holds, groups, statistics) is behind the low door: node/postrider.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/include/postrider/answer.h"
#include "postrider/include/postrider/message.h"
#include "postrider/include/postrider/options.h"

namespace postrider {

class Postrider;

class Client {
 public:
  // kConflict: another process uses the directory. kCorrupt: the store is damaged, and unchanged.
  static Result<std::unique_ptr<Client>> open(const LibraryOptions& options);
  ~Client();  // closes
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Makes the destination, or changes it. kInvalid names the setting and what it may be.
  Result<void> put(const Address& address);

  // kNotFound: no such destination. kConflict: the key was used with other content. kInvalid: the
  // detail says what to change. kLimit: too large, or too many. kUnavailable: interrupted, and it
  // is not known whether it was taken; submit again with the same key.
  Result<Submitted> submit(const Outgoing& message);

  Result<Standing> explain(std::string_view id);
  Result<Cancelled> cancel(std::string_view id);

  // What waits in a mailbox, oldest first, behind `cursor` of an earlier reading; empty: from the
  // beginning. Reading changes nothing: what is not confirmed is there again. kNotFound: there is
  // no such mailbox. kInvalid: no such cursor.
  Result<Mail> read(const std::string& mailbox, std::string_view cursor = {},
                    std::uint32_t limit = 100);
  // Ends these messages as delivered; how many that were. To confirm again is harmless. kLimit: too
  // many at a time.
  Result<std::uint32_t> confirm(const std::string& mailbox, const std::vector<std::string>& ids);

  // Calls `told` for each end behind `position`, or from now on when that is empty, in order, on
  // the engine's thread: it must not block and must not call the client. One follower; a second
  // call replaces the first. kInvalid: no such position.
  Result<void> on_end(std::function<void(const Ended&)> told, std::string_view position = {});

  // Takes nothing new, lets open attempts end, and closes the store.
  Result<void> close();

  Postrider& low_door();

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
