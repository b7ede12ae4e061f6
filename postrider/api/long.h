// A long answer: its text is made piece by piece, and more of it only when the client has taken
// what it was told. A text that turns out to be short leaves as an ordinary answer. What waits here
// counts against the budget of the server.
#pragma once

#include <string>
#include <string_view>

#include "postrider/api/http_api_impl.h"

namespace postrider {

struct HttpApi::Impl::LongAnswer {
  // Text is collected up to here, and written in pieces of this size.
  static constexpr std::size_t kPieceBytes = 65'536;

  Waiting waiting;
  std::string content_type;
  std::string text;         // not written yet, …
  std::size_t written = 0;  // … except for its beginning
  std::size_t beside = 0;   // bytes that are held to make more text of
  bool begun = false;       // too late to say anything else than 200
};

}  // namespace postrider
