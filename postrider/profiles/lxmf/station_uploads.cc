// Messages that go PROPAGATED: what a node wants, the upload, and what the node says of it.
#include <algorithm>

#include "postrider/profiles/lxmf/station.h"
#include "postrider/profiles/lxmf/table.h"

namespace postrider::lxmf {
namespace {

constexpr Duration kUploadSettles{1'000};  // a node that did not accept closes the link before

}  // namespace

// Nothing: no node, none that takes anything, or its cost must be heard anew.
std::optional<NodeData> LxmfStation::node_data(const Address& node) const {
  const auto peer = peers_.find(node);
  if (peer == peers_.end() || !peer->second.is_node || doubted_nodes_.contains(node))
    return std::nullopt;
  auto data = decode_node_data(peer->second.app_data);
  if (!data || !data->active) return std::nullopt;
  return std::move(*data);
}

// What the engine must know before it works for a stamp: the cost of the node, and what is
// uploaded. That is sealed once; the same bytes leave in each attempt.
void LxmfStation::learn(Attempt& attempt, Call& call) {
  if (!attempt.has_node) return end(attempt.id, Word::kNoNode, call);
  const auto node = node_data(attempt.recipient);
  if (!node || paths_.find(attempt.recipient, call.wall) == nullptr) {
    request_path(attempt.recipient, Duration(0), call);
    return end(attempt.id, Word::kNodeNoPath, call);
  }
  std::string out(1, static_cast<char>(cost_of_upload(*node)));
  if (!attempt.sealed) {
    const auto peer = peers_.find(attempt.to);
    if (peer == peers_.end()) {  // without its keys nothing can be sealed
      request_path(attempt.to, Duration(0), call);
      return end(attempt.id, Word::kNoPath, call);
    }
    if (const auto cost = add_stamp(attempt, call))
      return end(attempt.id, Word::kWantsStamp, call, std::string(1, static_cast<char>(*cost)));
    std::optional<Key> ratchet = peer->second.ratchet;
    if (call.wall - peer->second.heard >= reticulum::kRatchetUsedFor) ratchet.reset();
    const auto sealed = seal_for_node(attempt.packed, peer->second.keys, ratchet,
                                      reticulum::fresh_seal_keys(call.random));
    if (!sealed) return end(attempt.id, Word::kTooLarge, call);
    out += *sealed;
  }
  end(attempt.id, Word::kLearnt, call, std::move(out));
}

void LxmfStation::look_propagated(Attempt& attempt, Call& call) {
  if (!attempt.has_node) return end(attempt.id, Word::kNoNode, call);
  const Address node = attempt.recipient;
  if (active_link(node) == nullptr) {
    const bool known = node_data(node) && paths_.find(node, call.wall) != nullptr;
    if (!known) request_path(node, Duration(0), call);
    return end(attempt.id, known ? Word::kNoLink : Word::kNodeNoPath, call);
  }
  Query query;
  query.what = Query::What::kCard;
  query.profile = kProfileName;
  query.drawer = kUploads;
  query.card = attempt.message_id;
  const Token token = next_token();
  upload_reads_[token.value()] = attempt.id;
  call.wanted.emplace_back(station::Post{token, std::move(query)});
}

void LxmfStation::upload_read(AttemptId id, const Answer& answer, Call& call) {
  const auto found = attempts_.find(id.value());
  if (found == attempts_.end()) return;
  const Attempt& attempt = found->second;
  const auto* page = std::get_if<CardPage>(&answer.view);
  if (page == nullptr) return end(id, Word::kTooLarge, call);  // the door is shut for a moment
  const auto stamp = reticulum::exactly<32>(attempt.stamp);
  if (page->cards.empty() || !stamp || !attempt.sealed ||
      transient_id(page->cards[0].bytes) != *attempt.sealed)
    return end(id, Word::kUploadLost, call);
  Talk* const talk = active_link(attempt.recipient);
  if (talk == nullptr) return end(id, Word::kLinkClosed, call);
  const std::string upload = encode_upload(to_seconds(call.wall), page->cards[0].bytes, *stamp);
  LinkSend send;
  send.use = LinkSend::Use::kUpload;
  send.message = attempt.message;
  send.attempt = id;
  send.is_packet = fits_one_packet(upload);
  send.link = talk->conversation->link().id();
  const SendId number(++last_send_);
  reticulum::LinkOutput out;
  bool sent = false;
  if (send.is_packet) {
    sent = talk->conversation->send_packet(number, upload, call.boot, call.random, out);
  } else {
    reticulum::ResourceBody body;
    body.bytes = upload;
    sent = talk->conversation->send_resource(number, std::move(body), call.boot, call.random, out);
  }
  if (!sent) return end(id, Word::kTooLarge, call);
  ++counts_.uploads;
  link_sends_[number] = send;
  const Address link = send.link;
  leave(link, out, call);
}

void LxmfStation::upload_ended(const LinkSend& send, reticulum::SendEnd ended, Call& call) {
  const auto found = attempts_.find(send.attempt.value());
  if (found == attempts_.end()) return;
  Attempt& attempt = found->second;
  switch (ended) {
    case reticulum::SendEnd::kProven:
      ++counts_.proofs;
      if (send.is_packet) return end(attempt.id, Word::kProven, call);
      // The proof of a resource says only that it arrived: a node that does not take the stamp
      // closes the link behind it.
      attempt.at_due = Word::kProven;
      attempt.due = call.boot + kUploadSettles;
      due_.insert({attempt.due, attempt.id.value()});
      return;
    case reticulum::SendEnd::kRefused: return end(attempt.id, Word::kRefused, call);
    case reticulum::SendEnd::kFailed: break;
  }
  end(attempt.id, Word::kLinkClosed, call);
  const auto talk = talks_.find(send.link);
  if (talk == talks_.end()) return;
  reticulum::LinkOutput out;
  talk->second.conversation->close(reticulum::LinkEnd::kByUs, call.random, out);
  leave(send.link, out, call);
}

// A node refuses the stamp of the upload that is open on this link, and of no other one.
void LxmfStation::node_says(const Address& link, std::string_view plain, Call& call) {
  if (decode_word(plain) != kWordBadStamp) return;
  const auto send = std::find_if(link_sends_.begin(), link_sends_.end(), [&](const auto& one) {
    return one.second.use == LinkSend::Use::kUpload && one.second.link == link &&
           one.second.attempt.is_set();
  });
  if (send == link_sends_.end()) return;
  if (const auto talk = talks_.find(link); talk != talks_.end())
    doubted_nodes_.insert(*talk->second.peer);
  end(std::exchange(send->second.attempt, {}), Word::kStampRefused, call);
}

// The link of the node is gone while a proof of a resource was waiting to count.
void LxmfStation::settle_uploads(const Address& node, bool closed_by_node, Call& call) {
  std::vector<AttemptId> settling;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt.method == kPropagated && attempt.recipient == node &&
        attempt.at_due == Word::kProven)
      settling.emplace_back(id);
  }
  if (closed_by_node && !settling.empty()) doubted_nodes_.insert(node);
  for (const AttemptId id : settling)
    end(id, closed_by_node ? Word::kUploadDropped : Word::kProven, call);
}

}  // namespace postrider::lxmf
