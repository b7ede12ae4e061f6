// Letters that are carried: a dead letter of elsewhere, as the submit that it becomes. Plain
// values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/model/event.h"

namespace postrider {

struct CarriedLetter {
  // That it had where it died. Of another store it is no address of ours, but it is written
  // outside as it came.
  MessageId id;
  std::string shown_id = {};  // the same as text
  std::string destination;
  std::uint8_t lane = 0;
  std::uint16_t priority = 0;
  std::string attributes;  // encode_texts
  std::string body;
  bool ran = false;  // where it died it could not be ruled out that it was done
};

// Its key is the letter's id within the scope: brought twice, it comes once.
Submit import_of(CarriedLetter letter, std::string_view scope);

}  // namespace postrider
