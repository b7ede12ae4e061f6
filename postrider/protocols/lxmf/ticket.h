// Tickets: what a recipient gives a sender, so that its messages need no work. Pure functions; any
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/time.h"
#include "postrider/protocols/lxmf/stamp.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/identity.h"

namespace postrider::lxmf {

inline constexpr Duration kTicketLife = 21 * 24h;
inline constexpr Duration kTicketGrace = 5 * 24h;   // that an own one is kept longer
inline constexpr Duration kTicketRenew = 14 * 24h;  // with less left, a new one is made
inline constexpr Duration kTicketEvery = 24h;       // to one peer

struct GivenTicket {
  Ticket ticket{};
  Timestamp expires;  // wall
};
GivenTicket make_ticket(Timestamp wall, reticulum::Random& random);
// The ticket that this identity gives a peer at this time. It follows from the identity's secret,
// the peer and the week, so nothing has to be kept of it: one is given for a week, and more than
// 14 d remain of its life when another follows.
GivenTicket ticket_for(const reticulum::Identity& identity, const reticulum::Address& peer,
                       Timestamp wall);
// Whether it is the stamp by any ticket that this identity gave the peer and still accepts.
bool is_stamp_by_own_ticket(std::string_view stamp, const reticulum::Identity& identity,
                            const reticulum::Address& peer, const reticulum::Digest& message,
                            Timestamp wall);
// The value of the field of a message, as msgpack, and what such a field says. Nothing: no ticket.
std::string encode_ticket(const GivenTicket& ticket);
std::optional<GivenTicket> decode_ticket(std::string_view value);
std::optional<GivenTicket> ticket_in(std::string_view fields);

bool is_usable(const GivenTicket& ticket, Timestamp wall);    // by the sender
bool is_accepted(const GivenTicket& ticket, Timestamp wall);  // by the recipient that gave it
bool may_enclose_again(const GivenTicket& ticket, Timestamp wall);
// `last_delivered` unset: never.
bool may_enclose(Timestamp last_delivered, Timestamp wall);

}  // namespace postrider::lxmf
