// Tails: the clients of GET /v1/events, each with its place in the outcome log. What was written is
// the same for all that stand at one place, so it is read and rendered once. A reader that does not
// read is cut; it comes back with the id of the last event and misses nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/model/answer.h"
#include "postrider/runtime/host.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::api {

struct TailLimits {
  std::uint32_t tails_max = 100;
  std::uint32_t page_entries = 500;              // of one question to the engine
  std::size_t unsent_bytes_max = 256ULL * 1024;  // more waits for the client to read …
  Duration stuck_max{10'000};                    // … and so long at most
  Duration heartbeat{15'000};
};

// Which events a client wants.
struct TailWish {
  std::vector<std::string> kinds;  // of events, or phases of ends; none: all
  DestinationId destination;       // 0: of any
  bool until_now = false;          // it is ended when the end of the log is reached

  bool fits(const LogEntry& entry) const;
  bool fits_all() const { return kinds.empty() && destination.value() == 0; }
};
// The words that `kinds` may have.
std::vector<std::string_view> event_words();

class Tails {
 public:
  Tails(Host& host, TailLimits limits);
  ~Tails();
  Tails(const Tails&) = delete;
  Tails& operator=(const Tails&) = delete;

  bool full() const;
  std::size_t size() const;
  // `from`: where to go on; unset: at the end of the log as it is now. The head has been sent.
  void add(HttpExchangePtr exchange, std::optional<LogPosition> from, TailWish wish,
           Timestamp boot);
  void tick(Timestamp boot);
  void cut_all();  // resumable, as always

 private:
  class Hub;
  std::shared_ptr<Hub> hub_;
};

// One event as it is sent; `next` is where a reader goes on behind it.
void append_event(std::string& out, const IdCodec& ids, const LogEntry& entry,
                  const LogPosition& next);

}  // namespace postrider::api
