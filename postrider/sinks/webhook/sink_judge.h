// What a sink makes of a request: whether its signature is right, what it is answered with, and the
// line in the log. One thread, the sink's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/rng.h"
#include "postrider/base/time.h"
#include "postrider/json/json_reader.h"
#include "postrider/protocols/web/standard_webhooks.h"
#include "postrider/sinks/common/sink_http.h"
#include "postrider/sinks/webhook/sink.h"

namespace postrider {

enum class SinkSignature : std::uint8_t { kNotAsked, kGood, kBad };

struct SinkVerdict {
  static constexpr int kCut = 0;    // no answer, and the connection is closed
  static constexpr int kNone = -1;  // no answer, and the connection stays
  int status = 200;
  SinkSignature signature = SinkSignature::kNotAsked;
};

class SinkJudge {
 public:
  explicit SinkJudge(const SinkOptions& options);  // which live as long as this
  ~SinkJudge();
  SinkJudge(const SinkJudge&) = delete;
  SinkJudge& operator=(const SinkJudge&) = delete;

  Result<void> set_secrets(std::string_view secrets);  // empty: signatures are not looked at
  void begin_turn(Timestamp wall);
  SinkVerdict judge(const SinkRequest& request);
  void append_line(const SinkRequest& request, SinkVerdict verdict, std::string& out);

 private:
  class Hasher;
  bool is_signed(const SinkRequest& request) const;
  int choose_status(bool forged, std::string_view body);
  bool is_too_many(std::string_view body);

  const SinkOptions& options_;
  std::vector<WebhookSecret> keys_;
  Timestamp wall_;
  std::array<char, 32> time_text_{};
  Rng rng_;
  std::unique_ptr<Hasher> hasher_;
  json::JsonDocument document_;
};

}  // namespace postrider
