// Commands on the wire: what is accepted, when it may be sent, what is sent, and what an answer
// means. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/profiles/device/types.h"
#include "postrider/protocols/calin/calin.h"
#include "postrider/protocols/device/message.h"

namespace postrider::device {

// A command as JSON, or, with the attribute of one, the making of a token.
Result<std::optional<Content>> read(std::string_view body, std::string_view attributes);
Result<Admission> admit(const Offer& offer);
Judgement judge(const Facts& facts);
WireRequest encode(const Facts& facts, AttemptKind kind);
Reading classify(const Facts& facts, AttemptKind kind, const WireReply& reply);
GateLimits gate_limits(GateName name, const Policy& policy);
GateWords gate_words(GateName name);

// What commands and tokens share.
calin::CredentialsV1 credentials_v1(const Facts& facts);
calin::CredentialsV2 credentials_v2(const Facts& facts);
WireRequest post(const Facts& facts, const calin::Call& made);
calin::HttpAnswer answer_of(const WireReply& reply);
Reading unanswered_send(const Facts& facts, const WireReply& reply);
Reading refused_send(const Facts& facts, const SendReply& said);  // anything but accepted
// Failed calls in a row to one address close it to everybody.
Gate endpoint_gate(std::string_view url, const Policy& policy);
// A UUID that follows from the message and the time of its attempt, so that a repeat of that
// attempt has the same.
std::string uuid_of(PublicId id, Timestamp at);

bool is_push(const Facts& facts);
// Whether the class of its command demands that an attempt is closed before the next one.
bool is_careful(const Facts& facts);

// One for all ways and plugins: a device is busy with one attempt at a time.
GateName device_gate(std::string_view meter);

// When the server must have forgotten the attempt, on the wall's clock; nothing when it was not
// told to, or nothing was sent.
std::optional<Timestamp> expiry_of(const Facts& facts);

// News that gives the item of the current attempt its name.
void adopt_item(Reading& reading, Notes& notes, std::string_view item);
// The current attempt is over: why, and what that says about whether it ran.
Reading closed(const Facts& facts, Notes notes, Proof proof, std::string_view reason);

}  // namespace postrider::device
