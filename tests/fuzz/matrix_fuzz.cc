// Feeds arbitrary bytes to the readers of Matrix: canonical JSON, transactions, units, events,
// headers, key objects, answers, names and what discovery asks for. The first byte picks the
// reader.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/protocols/matrix/answer.h"
#include "postrider/protocols/matrix/canonical_json.h"
#include "postrider/protocols/matrix/discovery.h"
#include "postrider/protocols/matrix/edu.h"
#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/key_object.h"
#include "postrider/protocols/matrix/server_name.h"
#include "postrider/protocols/matrix/signing.h"
#include "postrider/protocols/matrix/transaction.h"
#include "postrider/protocols/matrix/x_matrix.h"

namespace postrider::matrix {
namespace {

constexpr Timestamp kWall(1'800'000'000'000);

void read_canonical(std::string_view text) {
  for (const Numbers numbers : {Numbers::kIntegers, Numbers::kAsWritten}) {
    const Result<std::string> form = canonical_of(text, numbers);
    if (!form) continue;
    POSTRIDER_CHECK(is_canonical(*form, numbers));
    // The stricter rule refuses more, and agrees on the rest.
    if (numbers == Numbers::kIntegers)
      POSTRIDER_CHECK(*canonical_of(text, Numbers::kAsWritten) == *form);
  }
}

void read_body(std::string_view body) {
  const TransactionLimits limits{.pdus_max = 4, .edus_max = 4, .item_bytes_max = 200};
  const Result<Transaction> found = read_transaction(body, limits);
  if (!found) return;
  POSTRIDER_CHECK(found->pdus.size() <= limits.pdus_max && found->edus.size() <= limits.edus_max);
  std::vector<std::string_view> pdus;
  std::vector<std::string_view> edus;
  const auto take = [&](const std::vector<TransactionItem>& items,
                        std::vector<std::string_view>& views) {
    for (const TransactionItem& item : items) {
      POSTRIDER_CHECK(item.bytes.data() >= body.data());
      POSTRIDER_CHECK(item.bytes.data() + item.bytes.size() <= body.data() + body.size());
      POSTRIDER_CHECK((item.fault == ItemFault::kTooLarge) ==
                      (item.bytes.size() > limits.item_bytes_max));
      if (item.fault != ItemFault::kTooLarge)
        POSTRIDER_CHECK(canonical_of(item.bytes, Numbers::kAsWritten).has_value());
      if (item.fault == ItemFault::kNone) views.push_back(item.bytes);
    }
  };
  take(found->pdus, pdus);
  take(found->edus, edus);
  std::string again;
  append_transaction(
      again, {.origin = found->origin, .origin_server_ts = kWall, .pdus = pdus, .edus = edus});
  const Result<Transaction> same = read_transaction(again, limits);
  POSTRIDER_CHECK(same.has_value() && same->origin == found->origin);
  POSTRIDER_CHECK(same->pdus.size() == pdus.size() && same->edus.size() == edus.size());
  for (std::size_t i = 0; i < pdus.size(); ++i) POSTRIDER_CHECK(same->pdus[i].bytes == pdus[i]);
  for (std::size_t i = 0; i < edus.size(); ++i) POSTRIDER_CHECK(same->edus[i].bytes == edus[i]);
}

void read_unit(std::string_view edu) {
  constexpr EduNames kNames{.origin = "a", .destination = "b"};
  const Result<EduParts> parts = take_apart(edu, kNames);
  if (!parts) return;
  std::vector<const EduPart*> pointers;
  for (const EduPart& part : parts->parts) {
    POSTRIDER_CHECK(part.key.size() <= kEduKeyBytesMax &&
                    part.key.starts_with(receipt_group(part.key)));
    const Result<EduParts> again = take_apart(part.bytes, kNames);
    POSTRIDER_CHECK(again.has_value() && again->refused.empty() && again->parts.size() == 1);
    POSTRIDER_CHECK(again->parts[0].key == part.key && again->parts[0].kind == part.kind);
    pointers.push_back(&part);
  }
  // What is put together has the same parts, in any order.
  std::vector<std::string> wanted;
  std::vector<std::string> found;
  for (const EduPart& part : parts->parts) wanted.push_back(part.bytes);
  for (const std::string& unit : put_together(pointers)) {
    const Result<EduParts> again = take_apart(unit, kNames);
    POSTRIDER_CHECK(again.has_value() && again->refused.empty());
    for (const EduPart& part : again->parts) found.push_back(part.bytes);
  }
  std::sort(wanted.begin(), wanted.end());
  std::sort(found.begin(), found.end());
  POSTRIDER_CHECK(wanted == found);
}

void read_pdu(std::string_view event) {
  const std::vector<std::string> ids = event_ids(event);
  POSTRIDER_CHECK(ids.size() <= kEventIdsMax);
  if (const Result<EventFacts> facts = read_event(event))
    POSTRIDER_CHECK(!ids.empty() && !facts->type.empty());
}

void read_signed(std::string_view text) {
  if (const Result<XMatrix> header = parse_x_matrix(text)) {
    const std::string destination = header->destination.value_or("x");
    const RequestWords words{
        .method = "GET", .uri = "/", .origin = header->origin, .destination = destination};
    const Result<XMatrix> again =
        parse_x_matrix(authorization_of(words, header->key, header->signature));
    POSTRIDER_CHECK(again.has_value() && again->origin == header->origin);
    POSTRIDER_CHECK(again->key == header->key && again->signature == header->signature);
    POSTRIDER_CHECK(authenticate(*header, words, text, {}) != Authentication::kValid);
  }
  if (const Result<KeyFile> file = parse_key_file(text)) {
    POSTRIDER_CHECK(is_key_id(file->key.id()) && file->keys > 0);
    POSTRIDER_CHECK(verify(file->key.public_key(), text, file->key.sign(text)));
    const std::string object = write_key_object("a", kWall + Duration(1h), file->key);
    POSTRIDER_CHECK(read_key_object(object, "a", kWall).has_value());
    if (const Result<std::string> made = sign_object(text, "a", file->key))
      POSTRIDER_CHECK(is_canonical(*made, Numbers::kIntegers));
  }
  // No such key signed it.
  POSTRIDER_CHECK(!read_key_object(text, "a", kWall).has_value());
  static_cast<void>(parse_public_key(text));
}

void read_reply(std::string_view body) {
  if (const auto errors = read_send_answer(body)) {
    for (const PduError& error : *errors)
      POSTRIDER_CHECK(!error.text.empty() && error.event_id.size() <= kIdBytesMax);
    const std::vector<std::string_view> pdus = {body};
    POSTRIDER_CHECK(errors_of(pdus, *errors).size() == 1);
  }
  POSTRIDER_CHECK(read_refusal(body).error.size() <= kErrorTextBytesMax);
  for (const std::string_view header : {body, std::string_view()}) {
    const Duration hold = hold_of(header, body, kWall);
    POSTRIDER_CHECK(hold >= Duration(0) && hold <= kHoldMax);
  }
}

void read_names(std::string_view text) {
  if (const Result<ServerName> name = parse_server_name(text)) {
    POSTRIDER_CHECK(name->text == text && !name->host.empty());
    Discovery discovery(*name);
    Rng rng(text.size());
    for (int steps = 0; discovery.asks() != Discovery::Asks::kNothing; ++steps) {
      POSTRIDER_CHECK(steps < 4 && !discovery.question().empty());
      if (discovery.asks() == Discovery::Asks::kWellKnown) {
        discovery.well_known(std::nullopt);
      } else {
        discovery.srv({}, rng);
      }
    }
    POSTRIDER_CHECK(discovery.route().has_value() && discovery.route()->endpoints.size() == 1);
  }
  if (const Result<EgressTarget> target = parse_egress_target(text))
    POSTRIDER_CHECK(text.ends_with(target->uri) && target->uri.starts_with('/'));
  static_cast<void>(read_well_known(text));
  if (const Result<std::string> url = redirect_of("https://a.b/c/d?e", text))
    POSTRIDER_CHECK(url->starts_with("https://") && url->find('\n') == std::string::npos);
  Rng rng(1);
  const WellKnownTimes times;
  const Duration life = life_of({.cache_control = text, .expires = text}, times, kWall, rng);
  POSTRIDER_CHECK(life >= times.life_min && life <= times.life_max);
  Rng order(2);
  POSTRIDER_CHECK(order_srv({{std::string(text), 1, 0, 0}}, order).size() <= 1);
}

}  // namespace
}  // namespace postrider::matrix

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider::matrix;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 7) {
    case 0: read_canonical(text); break;
    case 1: read_body(text); break;
    case 2: read_unit(text); break;
    case 3: read_pdu(text); break;
    case 4: read_signed(text); break;
    case 5: read_reply(text); break;
    default: read_names(text); break;
  }
  return 0;
}
