// What senders, recipients and propagation nodes tell each other: uploads, lists, messages. Pure
// functions; what is read only views the bytes that were given. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/protocols/lxmf/message.h"
#include "postrider/protocols/lxmf/stamp.h"

namespace postrider::lxmf {

inline constexpr std::size_t kItemBytesMin = 145;  // envelope, stamp, and something in between
inline constexpr std::size_t kListedMax = 65'536;
inline constexpr std::string_view kGetPath = "/get";

// A message as a node keeps it: the recipient's address, the rest sealed for the recipient. Made
// once: sealing it again would make another message of it. kInvalid: the recipient's key is bad.
Result<std::string> seal_for_node(std::string_view packed, const reticulum::PublicKeys& recipient,
                                  const std::optional<Key>& ratchet,
                                  const reticulum::SealKeys& keys);
Digest transient_id(std::string_view sealed);
// The packed message that a recipient finds in it. kCorrupt: not for this identity.
Result<std::string> open_from_node(std::string_view sealed, const reticulum::Identity& identity,
                                   const Address& delivery, std::span<const Key> ratchets);

// The recipient's address of a kept message, and the stamp behind an uploaded one.
struct UploadedItem {
  Address recipient{};
  std::string_view sealed;
  std::string_view stamp;
};
std::string encode_upload(double time, std::string_view sealed, const Stamp& stamp);
// Exactly one item: a peer that syncs nodes would send more. kCorrupt: it is none.
Result<UploadedItem> decode_upload(std::string_view bytes);
bool fits_one_packet(std::string_view upload);

// A node's word on a link, after a packet that it does not take.
inline constexpr std::uint8_t kWordBadStamp = 0xF5;
std::string encode_word(std::uint8_t word);
std::optional<std::uint8_t> decode_word(std::string_view plain);

inline constexpr std::uint8_t kAnswerNoIdentity = 0xF0;
inline constexpr std::uint8_t kAnswerNoAccess = 0xF1;

// A request to /get: nothing wanted and nothing removed lists; else it fetches and removes.
struct GetRequest {
  std::optional<std::vector<Digest>> wanted;
  std::optional<std::vector<Digest>> removed;
  std::optional<double> limit_kb;
};
std::string encode_get(const GetRequest& request);
Result<GetRequest> decode_get(std::string_view data);

struct GetAnswer {
  std::uint8_t error = 0;               // or one of the answers above
  std::vector<std::string_view> items;  // ids of a list, sealed messages of a fetch
};
std::string encode_answer(const std::vector<std::string_view>& items);
std::string encode_answer_error(std::uint8_t error);
Result<GetAnswer> decode_answer(std::string_view value);
// The ids of a list. kCorrupt: one of them is none.
Result<std::vector<Digest>> ids_in(const GetAnswer& answer);

}  // namespace postrider::lxmf
