#include "postrider/protocols/matrix/transaction.h"

#include <algorithm>
#include <optional>

#include "postrider/base/check.h"
#include "postrider/protocols/matrix/json_fields.h"

namespace postrider::matrix {
namespace {

constexpr std::uint32_t kItemDepth = 2;  // levels round an item: the body and its list

auto no_transaction(std::string_view why) { return fail(ErrorCode::kInvalid, std::string(why)); }

// Finds where values end. It looks at strings and brackets only; what it cuts out is read by the
// strict reader afterwards, piece by piece, so that memory is bounded by the largest item.
class Cutter {
 public:
  Cutter(std::string_view text, std::uint32_t depth_max) : text_(text), depth_max_(depth_max) {}

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool ended() const { return at_ == text_.size(); }
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    skip_space();
    if (here() != c) return false;
    ++at_;
    return true;
  }

  // The value that begins here, behind white space. `around` is how many levels it is in. An empty
  // one: it has no end. kLimit: it is too deep.
  Result<std::string_view> value(std::uint32_t around) {
    skip_space();
    const std::size_t begin = at_;
    std::uint32_t depth = around;
    do {
      const char c = here();
      if (ended()) return no_transaction("the body ends inside a value");
      if (c == '"') {
        if (!skip_string()) return no_transaction("the body ends inside a string");
        continue;
      }
      if (c == '{' || c == '[') {
        if (++depth > depth_max_)
          return fail(ErrorCode::kLimit, "more than " + std::to_string(depth_max_) + " levels");
      }
      if (c == '}' || c == ']') {
        if (depth == around) break;
        --depth;
      }
      if (c == ',' && depth == around) break;
      ++at_;
    } while (depth > around || !ends_value());
    return text_.substr(begin, at_ - begin);
  }

 private:
  bool ends_value() const {
    const char c = here();
    return ended() || c == ',' || c == ']' || c == '}' || c == ':';
  }
  bool skip_string() {
    for (++at_; at_ < text_.size(); ++at_) {
      at_ = std::min(text_.find_first_of("\"\\", at_), text_.size());
      if (at_ == text_.size()) return false;
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      ++at_;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t depth_max_;
};

struct TopMember {
  std::string name;
  std::string_view value;
};

class TransactionReader {
 public:
  TransactionReader(std::string_view body, const TransactionLimits& limits)
      : body_(body), limits_(limits) {}

  Result<Transaction> read() {
    POSTRIDER_TRY(members, read_top());
    Transaction found;
    for (const TopMember& member : members) {
      if (const Result<void> taken = take_member(member, found); !taken)
        return tl::unexpected(taken.error());
    }
    return found;
  }

 private:
  Result<std::vector<TopMember>> read_top() {
    Cutter cutter(body_, limits_.depth_max);
    if (!cutter.take('{')) return no_transaction("a transaction must be an object");
    std::vector<TopMember> members;
    bool more = !cutter.take('}');
    while (more) {
      POSTRIDER_TRY(name, cutter.value(1));
      if (const Result<void> read = parse(name, kItemDepth); !read)
        return tl::unexpected(read.error());
      if (!document_.root().is_string()) return no_transaction("a name in quotes is missing");
      if (!cutter.take(':')) return no_transaction("a colon is missing");
      TopMember member{.name = document_.root().text(), .value = {}};
      POSTRIDER_TRY(value, cutter.value(1));
      member.value = value;
      if (std::any_of(members.begin(), members.end(),
                      [&](const TopMember& m) { return m.name == member.name; }))
        return fail(ErrorCode::kConflict, "a name of the transaction is given twice");
      if (members.size() == kTopMembersMax)
        return fail(ErrorCode::kLimit, "the transaction has too many members");
      members.push_back(std::move(member));
      more = cutter.take(',');
      if (!more && !cutter.take('}')) return no_transaction("a comma or '}' is missing");
    }
    cutter.skip_space();
    if (!cutter.ended()) return no_transaction("something follows the transaction");
    return members;
  }

  Result<void> take_member(const TopMember& member, Transaction& found) {
    if (member.name == "pdus")
      return cut(member.value, {.what = "PDUs", .items_max = limits_.pdus_max, .edu = false},
                 found.pdus);
    if (member.name == "edus")
      return cut(member.value, {.what = "EDUs", .items_max = limits_.edus_max, .edu = true},
                 found.edus);
    if (const Result<void> read = parse(member.value, 1); !read) return read;
    if (member.name == "origin") {
      if (!document_.root().is_string()) return no_transaction("origin must be a text");
      found.origin = document_.root().text();
    }
    return {};
  }

  struct ListKind {
    std::string_view what;
    std::uint32_t items_max = 0;
    bool edu = false;
  };

  Result<void> cut(std::string_view list, const ListKind& kind,
                   std::vector<TransactionItem>& items) {
    Cutter cutter(list, limits_.depth_max);
    if (!cutter.take('[')) return no_transaction(std::string(kind.what) + " must be a list");
    bool more = !cutter.take(']');
    while (more) {
      POSTRIDER_TRY(value, cutter.value(kItemDepth));
      if (items.size() == kind.items_max)
        return fail(ErrorCode::kLimit,
                    "more than " + std::to_string(kind.items_max) + " " + std::string(kind.what));
      // White space behind it belongs to the list.
      value = value.substr(0, value.find_last_not_of(" \t\r\n") + 1);
      POSTRIDER_TRY(fault, judge(value, kind.edu));
      items.push_back({.bytes = value, .fault = fault});
      more = cutter.take(',');
      if (!more && !cutter.take(']')) return no_transaction("a comma or ']' is missing");
    }
    cutter.skip_space();
    if (!cutter.ended()) return no_transaction("a comma is missing");
    return {};
  }

  Result<ItemFault> judge(std::string_view item, bool edu) {
    if (item.size() > limits_.item_bytes_max) return ItemFault::kTooLarge;
    if (const Result<void> read = parse(item, kItemDepth); !read)
      return tl::unexpected(read.error());
    const JsonValue root = document_.root();
    if (!is_object(root)) return ItemFault::kNoObject;
    if (edu && text_of(root, "edu_type").value_or("").empty()) return ItemFault::kNoType;
    if (edu && !object_of(root, "content")) return ItemFault::kNoContent;
    if (!edu && text_of(root, "type").value_or("").empty()) return ItemFault::kNoType;
    return ItemFault::kNone;
  }

  Result<void> parse(std::string_view value, std::uint32_t around) {
    // An item of the size that is let through cannot have more values than bytes.
    return document_.parse(value, {.depth_max = limits_.depth_max - around,
                                   .values_max = std::max(limits_.item_bytes_max, 65'536U)});
  }

  static constexpr std::size_t kTopMembersMax = 64;
  std::string_view body_;
  const TransactionLimits& limits_;
  JsonDocument document_;
};

void append_list(std::string& out, std::span<const std::string_view> items) {
  out.push_back('[');
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.push_back(',');
    out.append(items[i]);
  }
  out.push_back(']');
}

}  // namespace

std::string_view reason_of(ItemFault fault) {
  switch (fault) {
    case ItemFault::kNone: return "nothing is wrong with it";
    case ItemFault::kNoObject: return "it is no object";
    case ItemFault::kTooLarge: return "it is too large";
    case ItemFault::kNoType: return "it has no type";
    case ItemFault::kNoContent: return "it has no content";
  }
  POSTRIDER_CHECK(false);
}

Result<Transaction> read_transaction(std::string_view body, const TransactionLimits& limits) {
  POSTRIDER_CHECK(limits.depth_max > kItemDepth);
  if (body.size() > limits.bytes_max)
    return fail(ErrorCode::kLimit,
                "a transaction has at most " + std::to_string(limits.bytes_max) + " bytes");
  return TransactionReader(body, limits).read();
}

void append_transaction(std::string& out, const TransactionParts& parts) {
  out.push_back('{');
  if (!parts.edus.empty()) {
    out.append("\"edus\":");
    append_list(out, parts.edus);
    out.push_back(',');
  }
  out.append("\"origin\":");
  append_quoted(out, parts.origin);
  out.append(",\"origin_server_ts\":").append(std::to_string(parts.origin_server_ts.ms()));
  out.append(",\"pdus\":");
  append_list(out, parts.pdus);
  out.push_back('}');
}

}  // namespace postrider::matrix
