// docs/store-format.md is held to the code: every space is listed, and the fields of a record are
// those that the document names, in its order.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/codec.h"
#include "postrider/model/destination.h"
#include "postrider/model/message.h"
#include "postrider/model/records/records.h"

namespace postrider {
namespace {

std::string read_source(const std::string& path) {
  std::ifstream in(std::string(POSTRIDER_SOURCE_DIR) + "/" + path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::set<std::string> all_matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> out;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    out.insert((*match)[1]);
  }
  return out;
}

TEST(StoreFormat, ListsEverySpace) {  // req: engine.record.11
  const auto in_code = all_matches(read_source("postrider/model/records/keys.h"),
                                   std::regex("constexpr char k\\w+ = '(.)';"));
  const auto in_document =
      all_matches(read_source("docs/store-format.md"), std::regex("\\n\\| `(.)` \\|"));
  EXPECT_GE(in_code.size(), 15U);
  EXPECT_EQ(in_document, in_code);
}

// The fields of "**name**: u8 this · text that · …", one string each.
std::vector<std::string> fields_of(const std::string& name) {
  const std::string document = read_source("docs/store-format.md");
  const std::size_t start = document.find("\n**" + name + "**: ");
  if (start == std::string::npos) return {};
  std::string paragraph = document.substr(start, document.find("\n\n", start) - start);
  paragraph = paragraph.substr(paragraph.find(": ") + 2);
  std::replace(paragraph.begin(), paragraph.end(), '\n', ' ');
  std::vector<std::string> fields;
  const std::string dot = " · ";
  for (std::size_t at = 0; at != std::string::npos;) {
    const std::size_t next = paragraph.find(dot, at);
    fields.push_back(paragraph.substr(at, next == std::string::npos ? next : next - at));
    at = next == std::string::npos ? next : next + dot.size();
  }
  return fields;
}

// Reads one field as the document describes it.
void read_field(Reader& reader, const std::string& field) {
  const auto is = [&](const char* word) { return field.starts_with(word); };
  if (is("u8")) return static_cast<void>(reader.u8());
  if (is("u16")) return static_cast<void>(reader.u16());
  if (is("u32")) return static_cast<void>(reader.u32());
  if (is("u64") || is("i64")) return static_cast<void>(reader.u64());
  if (is("varint") || is("svarint")) return static_cast<void>(reader.varint());
  if (is("packed")) return reader.u8(), static_cast<void>(reader.text());
  if (is("text")) return static_cast<void>(reader.text());
  if (is("id")) return static_cast<void>(reader.raw(16));
  if (is("16 bytes")) return static_cast<void>(reader.raw(16));
  if (is("3 × u64")) return static_cast<void>(reader.raw(24));
  if (is("body")) return static_cast<void>(reader.raw(reader.rest().size()));
  ADD_FAILURE() << "the document speaks of '" << field << "', which this test cannot read";
  reader.fail();
}

// True when the fields of the document, with or without those in brackets, are exactly the record.
void expect_described(const std::string& name, std::string_view record, bool optional_fields) {
  SCOPED_TRACE(name);
  const std::vector<std::string> fields = fields_of(name);
  ASSERT_FALSE(fields.empty()) << "the document does not describe it";
  Reader reader = open_record(record, static_cast<std::uint8_t>(record[0]));
  for (const std::string& field : fields) {
    const bool optional = field.starts_with("[");
    if (optional && !optional_fields) continue;
    read_field(reader, optional ? field.substr(1) : field);
    ASSERT_TRUE(reader.ok()) << "at '" << field << "'";
  }
  EXPECT_TRUE(reader.at_end()) << "the record has more than the document says";
}

TEST(StoreFormat, DescribesMessages) {  // req: engine.record.11
  Message fields;
  fields.id = {1, 2};
  expect_described("message", encode_message(fields, "attributes", "body").record.view(), false);
  fields.not_before = Timestamp(1);
  fields.expires = Timestamp(2);
  fields.origin = {3, 4};
  fields.gates[0] = 5;
  fields.lasting = 1;
  fields.ordered = true;
  fields.shared.id = 6;
  fields.shared.bytes = 4;
  const Message whole = encode_message(fields, "attributes", "body", nullptr, "key");
  expect_described("message", whole.record.view(), true);
}

TEST(StoreFormat, DescribesStatesAndRoutes) {  // req: engine.record.11
  expect_described("state", encode_state(State(), "a reason"), false);
  State state;
  state.due = state.first_attempt = Timestamp(4);
  state.probes_failed = 2;
  state.held_back = 1;
  const Intent intent{Timestamp(1), Timestamp(2), 3, true};
  expect_described("state", encode_state(state, "a reason", intent, "notes", "trail"), true);
  Route route;
  route.reason = "a reason";
  expect_described("route", encode_route(route), false);
  route.interval = Duration(5);
  route.delivered_at = route.sweep_until = route.latest_until = Timestamp(6);
  route.position = 7;
  route.claims = 8;
  route.batch = {.leader = {1, 2}, .followers = {{1, 3}}};
  expect_described("route", encode_route(route), true);
}

TEST(StoreFormat, DescribesTheBooks) {  // req: engine.record.11
  LedgerEntry entry;
  entry.answer = "an answer";
  expect_described("ledger", encode_ledger(entry), false);
  expect_described("session", encode_session(SessionEntry()), false);
  EndRecord end;
  end.id = {1, 2};
  end.reason = "a reason";
  expect_described("end", encode_end(end), false);
  end.origin = {3, 4};
  end.notes = "notes";
  end.past = "trail";
  end.content_bucket = 5;
  expect_described("end", encode_end(end), true);
  expect_described("arrival",
                   encode_arrival({Timestamp(1), "drill", {"peer", "kind", "format"}, "bytes"}),
                   false);
  expect_described("nested", encode_nested({{1, 2}, "bell", 0, 0, "attributes", "body"}), false);
  expect_described("census", encode_census({"mailbox", {{0, 3}}, 700}), false);
  expect_described("name", encode_name({Timestamp(1), {{{1, 2}, 3}}}), false);
  DeadLetter letter;
  letter.reason = "a reason";
  expect_described("dead", encode_dead(letter, "a message"), false);
}

}  // namespace
}  // namespace postrider
