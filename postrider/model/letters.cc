#include "postrider/model/letters.h"

#include <utility>

#include "postrider/base/planted.h"

namespace postrider {

Submit import_of(CarriedLetter letter, std::string_view scope) {
  Submit submit;
  submit.origin = letter.id;
  submit.destination = std::move(letter.destination);
  submit.origin_ran = letter.ran;
  submit.lane = letter.lane;
  submit.priority = letter.priority;
  submit.attributes = std::move(letter.attributes);
  submit.body = std::move(letter.body);
  if (planted(Bug::kImportLosesContent)) submit.body.clear();
  if (planted(Bug::kImportedTwice)) return submit;
  submit.caller.key.kind = OperationKey::Kind::kOpaque;
  submit.caller.key.scope = scope;
  submit.caller.key.key = "import:" + letter.shown_id;
  return submit;
}

}  // namespace postrider
