// The low door of the library: every command and query of model/event.h. Programs that submit and
// observe take include/postrider/client.h instead. The engine runs on a thread of its
// own; every call may come from any thread. The daemon is made of the same parts (node/node.h).
//
//   auto rider = postrider::Postrider::open({.store = {.directory = "data"}});
//   (*rider)->call(postrider::Configure{.config = {.name = "shop", .profile = "webhook",
//                                                  .settings = {{"url", "https://…"}}}});
//   auto answer = (*rider)->call(postrider::Submit{.destination = "shop", .body = "{}"});
//   // answer.code == kAccepted: the message is on disk, and will have exactly one end.
//
//   // Those of one customer one after the other, and others beside them:
//   auto next = (*rider)->call(postrider::Submit{
//       .destination = "shop",
//       .attributes = postrider::encode_attributes({.order_key = "customer-7"}),
//       .body = "{}"});
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/model/answer.h"
#include "postrider/model/attributes.h"
#include "postrider/model/event.h"
#include "postrider/node/node.h"

namespace postrider {

// What a message for a webhook carries besides its body: for Submit::attributes and
// FanOut::attributes. What is empty is not said.
struct MessageAttributes {
  std::string content_type;
  std::string order_key;  // messages of one lane and key go one after the other; 1 to 128 bytes
  std::string event_id;   // for the destination's id_header, instead of the message's id; likewise
  NamedTexts headers;
};
std::string encode_attributes(const MessageAttributes& attributes);

class Postrider {
 public:
  using Done = std::function<void(Answer)>;

  static Result<std::unique_ptr<Postrider>> open(NodeOptions options,
                                                 Node::MakeTransport make = {});
  ~Postrider();  // closes
  Postrider(const Postrider&) = delete;
  Postrider& operator=(const Postrider&) = delete;

  // Asks for a command or a question (everything with a ticket in model/event.h). `done` is called
  // once, on the engine's thread, when the answer is durable; it must not block. When too much
  // waits already, or we are stopping, it is called with kUnavailable.
  void ask(Event event, Done done);

  // The same, waiting for the answer. Not from `done`.
  Answer call(Event event);

  // A message id as text, as API, events and receivers know it (webhook-id), and back; nothing when
  // the text is none. Unlike the id itself it is of this store alone.
  std::string shown(MessageId id) const;
  std::optional<MessageId> parse_id(std::string_view text) const;

  // Calls `told` on the engine's thread for each entry of the log from `from` on; what retention
  // removed before it was read is skipped. One follower: another call replaces it.
  using Told = std::function<void(const LogEntry&)>;
  void follow(const LogPosition& from, Told told);

  Timestamp wall() const;  // what time it is for people

  CommitCounters commits() const;  // what the store was given so far
  StoreMemory store_memory() const;

  // Takes nothing new, lets open attempts end for so long, and closes the store. The Error says
  // what went wrong with it.
  Result<void> close(Duration patience = Duration(30'000));

 private:
  class Impl;
  explicit Postrider(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
