#include "postrider/profiles/rpc/session_news.h"

#include <algorithm>
#include <array>
#include <utility>

#include "postrider/base/codec.h"

namespace postrider::rpc {
namespace {

constexpr std::string_view kAttach = "attach";
constexpr std::array<std::string_view, 3> kMarks = {"confirm", "use", "end"};

template <std::size_t kSize>
std::string_view view_of(const std::array<std::uint8_t, kSize>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), kSize};
}
template <std::size_t kSize>
void read_raw(Reader& in, std::array<std::uint8_t, kSize>& out) {
  const std::string_view bytes = in.raw(kSize);
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

Arrived event_of(std::string_view kind, std::string bytes) {
  Arrived event;
  event.profile = kProfileName;
  event.source = {.origin = "station", .kind = std::string(kind), .format = "rpc"};
  event.bytes = std::move(bytes);
  return event;
}

std::optional<AttachOrder> read_order(std::string_view bytes) {
  Reader in(bytes);
  AttachOrder order;
  order.principal = in.text();
  read_raw(in, order.fresh);
  read_raw(in, order.next);
  if (in.u8() == 1) read_raw(in, order.session.emplace());
  order.shown.generation = in.u32();
  read_raw(in, order.shown.hash);
  if (!in.at_end() || order.principal.size() > kPrincipalBytesMax) return std::nullopt;
  return order;
}

std::string encode_reply(const AttachReply& reply) {
  std::string out;
  Writer(out)
      .u8(static_cast<std::uint8_t>(reply.verdict))
      .raw(view_of(reply.session))
      .u32(reply.generation)
      .i64(reply.begun.ms())
      .i64(reply.idle.count())
      .u64(reply.highest);
  return out;
}

Card card_of(const SessionId& session, const SessionCard& card) {
  return {.drawer = std::string(kSessionDrawer),
          .key = std::string(view_of(session)),
          .bytes = encode_card(card),
          .expires = card.used + kSessionLife};
}

// Nothing: there is none, or its life is over, or it is damaged.
std::optional<SessionCard> find_session(const Inbound& inbound, const SessionId& session) {
  const std::string* bytes = inbound.cabinet->card(kSessionDrawer, view_of(session));
  if (bytes == nullptr) return std::nullopt;
  auto card = decode_card(*bytes);
  if (!card || card->used + kSessionLife <= inbound.now) return std::nullopt;
  return std::move(*card);
}

Received receive_attach(const Inbound& inbound) {
  Received out;
  const auto order = read_order(inbound.bytes);
  if (!order) return out;
  std::optional<SessionCard> card;
  if (order->session) card = find_session(inbound, *order->session);
  if (inbound.cabinet->lacks()) return out;
  AttachReply reply;
  reply.verdict = judge_claim(card ? &*card : nullptr, order->principal, order->shown);
  if (reply.verdict == ClaimVerdict::kRefused) {
    out.reply = encode_reply(reply);
    return out;
  }
  const bool resumed = reply.verdict == ClaimVerdict::kResumed;
  const SessionCard next = resumed ? resume_session(*card, order->shown, order->next)
                                   : begin_session(order->principal, order->next, inbound.now);
  reply.session = resumed ? *order->session : order->fresh;
  reply.generation = next.generation;
  reply.begun = next.begun;
  reply.idle = inbound.now - next.used;
  reply.highest = next.highest;
  out.cards.push_back(card_of(reply.session, next));
  out.reply = encode_reply(reply);
  return out;
}

Received receive_mark(const Inbound& inbound, MarkKind kind) {
  Received out;
  Reader in(inbound.bytes);
  SessionMark mark;
  read_raw(in, mark.session);
  mark.generation = in.u32();
  mark.highest = in.u64();
  if (!in.at_end()) return out;
  auto card = find_session(inbound, mark.session);
  if (inbound.cabinet->lacks() || !card) return out;
  // Of an older generation: its attachment was fenced, and only its calls still count.
  const bool fenced = mark.generation != card->generation;
  if (fenced && kind != MarkKind::kUse) return out;
  if (kind == MarkKind::kConfirm) *card = confirm_session(std::move(*card));
  if (kind == MarkKind::kUse) card->used = inbound.now;
  card->highest = std::max(card->highest, mark.highest);
  out.cards.push_back(card_of(mark.session, *card));
  out.cards.back().removed = kind == MarkKind::kEnd;
  return out;
}

}  // namespace

Arrived attach_event(const AttachOrder& order) {
  std::string bytes;
  Writer(bytes)
      .text(order.principal)
      .raw(view_of(order.fresh))
      .raw(view_of(order.next))
      .u8(order.session ? 1 : 0)
      .raw(order.session ? view_of(*order.session) : std::string_view())
      .u32(order.shown.generation)
      .raw(view_of(order.shown.hash));
  return event_of(kAttach, std::move(bytes));
}

Arrived mark_event(MarkKind kind, const SessionMark& mark) {
  std::string bytes;
  Writer(bytes).raw(view_of(mark.session)).u32(mark.generation).u64(mark.highest);
  return event_of(kMarks[static_cast<std::size_t>(kind)], std::move(bytes));
}

Result<AttachReply> decode_attach_reply(std::string_view bytes) {
  Reader in(bytes);
  AttachReply reply;
  const std::uint8_t verdict = in.u8();
  read_raw(in, reply.session);
  reply.generation = in.u32();
  reply.begun = Timestamp(in.i64());
  reply.idle = Duration(in.i64());
  reply.highest = in.u64();
  if (!in.at_end() || verdict > static_cast<std::uint8_t>(ClaimVerdict::kRefused))
    return fail(ErrorCode::kCorrupt, "the reply to a claim is damaged");
  reply.verdict = static_cast<ClaimVerdict>(verdict);
  return reply;
}

Received receive_session(const Inbound& inbound) {
  if (inbound.source.kind == kAttach) return receive_attach(inbound);
  for (std::size_t i = 0; i < kMarks.size(); ++i) {
    if (inbound.source.kind == kMarks[i]) return receive_mark(inbound, static_cast<MarkKind>(i));
  }
  return {};
}

}  // namespace postrider::rpc
