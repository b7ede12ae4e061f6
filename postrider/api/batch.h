// Batches: messages by the thousand, one JSON object per line (NDJSON), answered line by line and
// in order. A batch reads on only while few of its lines wait for an answer and its client takes
// what it was told; so a batch of any length costs a bounded amount of memory. When the server has
// none left, a batch goes on with one line at a time, and long lines are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/api/submit.h"
#include "postrider/model/seams/clock.h"
#include "postrider/runtime/host.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::api {

struct BatchLimits {
  std::uint32_t lines_waiting_max = 1024;
  std::size_t bytes_waiting_max = 4ULL << 20;  // of these lines; one line may be longer
  std::size_t line_bytes_max = 512ULL * 1024;
  std::size_t unsent_bytes_max = 256ULL * 1024;  // of answers that the client has not taken
  std::size_t write_bytes = 16ULL * 1024;        // answers are sent in pieces of about this size
};

struct BatchStart {
  HttpExchangePtr exchange;  // its head has been sent
  std::string tenant;
  OperationKey key;             // of the whole: line n has the key KEY#n
  NamedTexts head;              // of the request, for each line
  bool letters = false;         // lines are dead letters from elsewhere
  bool even_if_it_ran = false;  // letters: whoever brings them takes it upon himself
};

class Batches {
 public:
  // A key of a batch leaves room for "#" and the number of a line.
  static constexpr std::size_t kKeyBytesMax = 240;
  // What a batch counts for in the budget of the server, also when it holds less.
  static constexpr std::size_t kKeptMin = 64ULL * 1024;

  Batches(Host& host, const Clock& clock, SubmitReader reader, SubmitLimits submit,
          BatchLimits limits);
  ~Batches();
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  HttpBodySink begin(BatchStart start);
  void tick();
  std::size_t size() const;

 private:
  struct Context;
  class Batch;
  std::shared_ptr<Context> context_;
  std::vector<std::weak_ptr<Batch>> batches_;
};

}  // namespace postrider::api
