// Dead letters as lines of JSON, to be carried to another store or kept elsewhere: each line is one
// letter with everything that a new message needs.
#pragma once

#include <string>
#include <string_view>

#include "postrider/api/submit.h"
#include "postrider/model/answer.h"
#include "postrider/model/id_codec.h"

namespace postrider::api {

// Appends a line; nothing when the message cannot be read.
void append_letter(std::string& out, const IdCodec& ids, const DeadLetter& letter,
                   const DeadLetters::Content& content);

// The message that a line makes. Its key is the letter's id: brought twice, it comes once.
class LetterReader {
 public:
  LetterReader(SubmitLimits limits, const IdCodec& ids) : limits_(limits), ids_(ids) {}
  Checked<Submit> read(std::string_view line, std::string_view tenant);

 private:
  SubmitLimits limits_;
  const IdCodec& ids_;
  JsonDocument document_;
};

}  // namespace postrider::api
