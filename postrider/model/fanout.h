// Fan-out: one message for every member of a named group that subscribes to its type. All of them
// are accepted in one commit, or none; the body is one record, which goes with the last message or
// dead letter that refers to it. (Not to be confused with the `group` setting of a destination,
// which is a shared limit, nor with groups of dead letters, which are counts.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/bytes.h"
#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/ids.h"

namespace postrider {

using FanoutId = Id<struct FanoutIdTag>;  // a sequence, and the name of the shared body
std::string to_string(FanoutId id);       // 16 hexadecimal digits
std::optional<FanoutId> parse_fanout_id(std::string_view text);

struct FanoutMember {
  std::string destination;
  // What it subscribes to: names of event types, or a beginning of such names ("invoice.*").
  // Empty: everything, also what has no type.
  std::vector<std::string> types;
  friend bool operator==(const FanoutMember&, const FanoutMember&) = default;
};

struct FanoutGroup {
  std::string name;
  // Members that take no new messages (disabled, being taken away, gone) are left out; else one of
  // them refuses the whole.
  bool skip_closed = false;
  std::vector<FanoutMember> members;  // by destination; each once
  Timestamp changed;
  friend bool operator==(const FanoutGroup&, const FanoutGroup&) = default;
};
std::string encode_fanout_group(const FanoutGroup& group);
Result<FanoutGroup> decode_fanout_group(std::string_view record);

inline constexpr std::size_t kEventTypeBytesMax = 128;
// Letters, digits, '_', '-' and '.'.
bool is_event_type(std::string_view type);
// A type, or a beginning that ends in ".*", or "*".
bool is_subscription(std::string_view text);
bool subscribes(const FanoutMember& member, std::string_view type);

// What became of a fan-out.
struct FanoutView {
  struct Member {
    std::string destination;
    MessageId message;
    friend bool operator==(const Member&, const Member&) = default;
  };
  FanoutId id;
  std::vector<Member> members;       // that subscribe, each with its message
  std::vector<std::string> skipped;  // that subscribe and take no new messages
  friend bool operator==(const FanoutView&, const FanoutView&) = default;
};
std::string encode_fanout(const FanoutView& view);
Result<FanoutView> decode_fanout(std::string_view bytes);

struct FanoutGroupPage {
  std::vector<FanoutGroup> groups;
  std::string next;  // ask from here; empty: that was all
};

// The shared body: its bytes, written once and never changed …
Blob encode_body(std::string_view body);
Result<std::string_view> decode_body(std::string_view record);  // looks into the record
std::string_view body_in(const Blob& record);  // the same of one that was decoded before
// … and how many messages and dead letters refer to it.
struct BodyCount {
  std::uint32_t references = 0;
  std::uint32_t bytes = 0;  // of the body
  friend bool operator==(const BodyCount&, const BodyCount&) = default;
};
std::string encode_body_count(const BodyCount& count);
Result<BodyCount> decode_body_count(std::string_view record);

}  // namespace postrider
