// Batches of webhooks: which messages leave in one request, what that holds, and when it is halved.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "postrider/profiles/webhook/types.h"
#include "postrider/protocols/web/event_batch.h"

namespace postrider::webhook {

// The oldest of each lane, as many as fit. A message with headers of its own goes alone, because
// headers belong to a request and not to a member.
std::vector<std::size_t> compose(const Facts& leader, std::span<const postrider::Facts> candidates,
                                 std::uint32_t members_max);

BatchFormat batch_format(const DestinationFacts& destination);
std::string batch_body(const Facts& leader, BatchFormat format);

// The id of the leader and the number of the batch: it names these members for ever.
std::string batch_id(const Facts& leader);

// Whether the members go on in smaller batches: the far side refused them, or failed so often that
// one of them may be why. Alone a message is judged as it is without batches.
bool is_to_be_split(const Facts& leader, const WireReply& reply, const Reading& reading);

}  // namespace postrider::webhook
