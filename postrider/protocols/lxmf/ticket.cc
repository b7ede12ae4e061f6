#include "postrider/protocols/lxmf/ticket.h"

#include <cmath>

#include "postrider/base/codec.h"
#include "postrider/protocols/lxmf/message.h"
#include "postrider/protocols/reticulum/crypto.h"
#include "postrider/protocols/reticulum/msgpack.h"

namespace postrider::lxmf {
namespace {

constexpr double kExpirySecondsMax = 1e11;  // far beyond any clock, and a number that fits
constexpr Duration kTicketTurn = kTicketLife - kTicketRenew;  // for so long one is given

std::int64_t turn_of(Timestamp wall) { return wall.ms() / kTicketTurn.count(); }

GivenTicket ticket_of_turn(const reticulum::Identity& identity, const reticulum::Address& peer,
                           std::int64_t turn) {
  std::string salt = "postrider lxmf ticket";
  Writer(salt).raw(reticulum::view(peer)).i64(turn);
  return {.ticket = reticulum::hkdf<16>(reticulum::view(identity.agreement_secret()), salt),
          .expires = Timestamp(turn * kTicketTurn.count()) + kTicketLife};
}

}  // namespace

GivenTicket make_ticket(Timestamp wall, reticulum::Random& random) {
  return {.ticket = random.bytes<16>(), .expires = wall + kTicketLife};
}

GivenTicket ticket_for(const reticulum::Identity& identity, const reticulum::Address& peer,
                       Timestamp wall) {
  return ticket_of_turn(identity, peer, turn_of(wall));
}

bool is_stamp_by_own_ticket(std::string_view stamp, const reticulum::Identity& identity,
                            const reticulum::Address& peer, const reticulum::Digest& message,
                            Timestamp wall) {
  if (stamp.size() != sizeof(Ticket)) return false;
  const std::int64_t now = turn_of(wall);
  bool found = false;
  // The clock of an earlier process may have been ahead.
  for (std::int64_t turn = now + 1; turn >= 0; --turn) {
    const GivenTicket given = ticket_of_turn(identity, peer, turn);
    if (!is_accepted(given, wall)) break;
    found = found || reticulum::equal_in_constant_time(
                         stamp, reticulum::view(stamp_by_ticket(given.ticket, message)));
  }
  return found;
}

std::string encode_ticket(const GivenTicket& ticket) {
  std::string out;
  reticulum::MsgpackWriter(out)
      .array(2)
      .real(to_seconds(ticket.expires))
      .binary(reticulum::view(ticket.ticket));
  return out;
}

std::optional<GivenTicket> decode_ticket(std::string_view value) {
  reticulum::MsgpackReader in(value);
  const bool is_pair = in.array() == 2;
  const double expires = in.real();
  const auto ticket = reticulum::exactly<16>(in.binary());
  // Less than a second would become the time that means none.
  const bool is_time = std::isfinite(expires) && expires >= 1 && expires < kExpirySecondsMax;
  if (!in.at_end() || !is_pair || !ticket || !is_time) return std::nullopt;
  return GivenTicket{.ticket = *ticket,
                     .expires = Timestamp(static_cast<std::int64_t>(expires * 1000.0))};
}

std::optional<GivenTicket> ticket_in(std::string_view fields) {
  const auto value = find_field(fields, kFieldTicket);
  return value ? decode_ticket(*value) : std::nullopt;
}

bool is_usable(const GivenTicket& ticket, Timestamp wall) { return wall < ticket.expires; }

bool is_accepted(const GivenTicket& ticket, Timestamp wall) {
  return wall < ticket.expires + kTicketGrace;
}

bool may_enclose_again(const GivenTicket& ticket, Timestamp wall) {
  return ticket.expires - wall > kTicketRenew;
}

bool may_enclose(Timestamp last_delivered, Timestamp wall) {
  return !last_delivered.is_set() || wall - last_delivered >= kTicketEvery;
}

}  // namespace postrider::lxmf
