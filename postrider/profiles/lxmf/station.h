// LxmfStation: an endpoint of a Reticulum network. It holds interfaces, paths, links and the
// receipts of what was sent; what must survive it posts, and waits until that is durable.
//
// Always: a message that arrived is proven when it lies in its inbox, and not before; an announce
// leaves when its time and its ratchet are durable; a receipt is registered before its packet
// leaves. What the station forgets with its process costs time, never a message.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "postrider/model/seams/station.h"
#include "postrider/profiles/lxmf/cards.h"
#include "postrider/profiles/lxmf/interfaces.h"
#include "postrider/profiles/lxmf/setup.h"
#include "postrider/profiles/lxmf/wire.h"
#include "postrider/protocols/lxmf/app_data.h"
#include "postrider/protocols/lxmf/propagation.h"
#include "postrider/protocols/lxmf/sync.h"
#include "postrider/protocols/reticulum/announce_gate.h"
#include "postrider/protocols/reticulum/conversation.h"
#include "postrider/protocols/reticulum/entropy_random.h"
#include "postrider/protocols/reticulum/proof.h"
#include "postrider/protocols/reticulum/seen.h"

namespace postrider::lxmf {

using reticulum::Conversation;
using reticulum::SendId;

class LxmfStation final : public Station {
 public:
  explicit LxmfStation(StationSetup setup);

  std::string_view verb() const override { return kVerb; }
  void on(const StationNow& now, const station::Happened& happened, Wants& wanted) override;
  std::optional<Timestamp> next_deadline() const override;
  void tell(StationFigures& figures) const override;

 private:
  // One call of `on`: the time, the entropy, and where wants go.
  struct Call {
    Timestamp boot;
    Timestamp wall;
    reticulum::EntropyRandom random;
    Wants& wanted;
  };
  struct Own {  // a destination of ours
    IdentitySetup setup;  // of our node: key and name
    bool is_node = false;
    Address delivery{};   // or that of the node
    OwnCard card;
    Timestamp next;            // announce, by itself
    bool asked = false;        // the next announce is on its way to the store
    OwnCard asked_card;        // … with this
    std::set<InterfaceId> on;       // it is wanted on these …
    std::set<InterfaceId> answers;  // … and, as the answer to path requests, on these
    reticulum::AnnounceRandom random{};  // of the newest announce
    Timestamp announced;
  };
  struct Attempt {
    AttemptId id;
    MessageId message;
    Address recipient{};
    std::uint8_t method = 0;
    bool finds = false;
    std::string packed;
    // Of PROPAGATED and SYNC `recipient` is the node, and this is for whom the message is.
    Address to{};
    bool has_node = false;
    bool learns = false;              // the cost of the node, and what is sealed
    std::string message_id;           // by which its card is found
    std::optional<Digest> sealed;     // what lies there
    std::string from;                 // the key file
    Word at_due = Word::kUnproven;    // how it ends when it is due
    std::string stamp;                 // that was worked for, …
    std::uint32_t stamped = 0;         // … for this cost
    std::optional<std::uint32_t> wants;  // the cost, whatever was announced
    InterfaceId by = {};  // by which it was transmitted; unset: by all
    Timestamp due = {};  // unset: something else ends it
  };
  // What was transmitted of a message by single packets. Kept longer than its attempts: a proof may
  // be late.
  struct Outgoing {
    MessageId message;
    Address recipient{};
    AttemptId attempt = {};  // open
    std::uint32_t looks = 0;
    std::uint32_t transmissions = 0;
  };
  struct LinkSend {  // a message on a link
    enum class Use : std::uint8_t { kMessage, kUpload, kRequest };
    Use use = Use::kMessage;
    MessageId message;
    AttemptId attempt = {};  // open
    bool is_packet = false;
    Address link{};
    Address source{};
  };
  struct Talk {  // a link
    std::unique_ptr<Conversation> conversation;
    std::optional<Address> peer;  // the recipient that it leads to
    bool opener = false;
    bool identified = false;  // by us, …
    Address as{};             // … as the owner of this address
    std::size_t own = 0;      // that answered it
    InterfaceId interface;
  };
  struct Arrival {  // a message that waits for its commit
    enum class By : std::uint8_t { kPacket, kLinkPacket, kResource, kSync };
    By by = By::kPacket;
    std::size_t own = 0;
    InterfaceId interface = {};
    Address link{};
    Digest digest{};  // of the packet or resource
    Timestamp at = {};
    InboundForm form = {};
    std::optional<TicketCard> ticket = {};  // that it brings
    bool is_upload = false;                 // for our node
    AttemptId sync = {};                    // that brought it, …
    std::size_t place = 0;                  // … among others
  };
  struct Sync {  // a session with a node
    SyncSession session;
    std::size_t own = 0;
    Address link{};
    std::set<Digest> durable = {};      // of what the node lists
    std::vector<SyncFate> fates = {};   // of what it gave
    std::size_t open = 0;               // of those, not stored yet
    bool is_refused = false;            // one of them was not taken
  };
  struct Get {  // what a recipient asks of our node
    Address link{};
    Address request{};
    Address recipient{};
    GetRequest wants;
    std::vector<std::pair<std::size_t, Digest>> listed = {};  // by size
    std::vector<std::string> given = {};
    std::uint64_t given_bytes = 0;
    std::vector<MessageId> removed = {};
  };
  struct Measured {  // a message whose stamp is being looked at
    Arrival arrival;
    std::string packed;
  };
  struct Later {  // a packet that leaves not before
    Timestamp due;
    InterfaceId interface;  // unset: all
    std::string packet;
  };
  struct Counts {
    std::uint64_t packets_in = 0, doubled = 0, damaged = 0, not_for_us = 0, masked = 0;
    std::uint64_t announces = 0, bad_announces = 0, announced = 0;
    std::uint64_t path_requests = 0, path_answers = 0;
    std::uint64_t sent = 0, proofs = 0, late_proofs = 0, unknown_proofs = 0, forged_proofs = 0;
    std::uint64_t received = 0, known = 0, refused = 0, undecryptable = 0, proven = 0;
    std::uint64_t unstamped = 0;
    std::uint64_t uploads = 0, uploads_taken = 0, uploads_refused = 0, gets = 0;
    std::uint64_t syncs = 0, synced = 0, left_at_node = 0;
    std::uint64_t links_opened = 0, links_answered = 0, links_down = 0;
  };

  // station.cc
  void begin(Call& call);
  void ready(Call& call);
  void query(std::string_view drawer, const std::string& from, Call& call);
  void told(const station::Told& told, Call& call);
  void take_cards(std::string_view drawer, const CardPage& page, Call& call);
  void take_card(std::string_view drawer, const Card& card, Call& call);
  void interface_up(InterfaceId interface, Call& call);
  void interface_lost(const Interfaces::Lost& lost, Call& call);
  void doubt(InterfaceId interface) { doubted_.push_back(interface); }
  void leave_doubted(Call& call);
  void packet(InterfaceId interface, std::string_view raw, Call& call);
  void data_packet(InterfaceId interface, std::uint8_t hops, const reticulum::Packet& packet,
                   std::string_view raw, Call& call);
  void deadlines(Call& call);
  void send_later(Later later);
  Token next_token() { return Token(++last_token_); }
  void post(Event event, Call& call) {
    call.wanted.emplace_back(station::Post{{}, std::move(event)});
  }
  Arrived arrival(std::string_view kind, std::string bytes) const;

  // station_announces.cc
  void announce_due(Call& call);
  void announce(std::size_t own, Call& call);
  void own_durable(std::size_t own, const Answer& answer, Call& call);
  void send_announce(Own& own, Call& call);
  std::string make_own_announce(const Own& own, bool answers_request) const;
  void take_announce(InterfaceId interface, std::uint8_t hops, std::string_view raw, bool waited,
                     Call& call);
  void heard(const reticulum::Announce& announce, InterfaceId interface, Call& call);
  void take_path_request(InterfaceId interface, std::string_view data, Call& call);
  void request_path(const Address& wanted, Duration after, Call& call);
  std::optional<std::size_t> own_of(const Address& delivery) const;

  // station_messages.cc
  void started(const station::Started& started, Call& call);
  void aborted(AttemptId id, Call& call);
  void look(Attempt& attempt, Call& call);
  void look_opportunistic(Attempt& attempt, Call& call);
  void find(Attempt& attempt, Call& call);
  void transmit(Attempt& attempt, Outgoing& outgoing, SendId id, const reticulum::Path* path,
                Call& call);
  void end(AttemptId attempt, Word word, Call& call, std::string body = {});
  void take_proof(const reticulum::Packet& packet, Call& call);
  SendId outgoing_of(const Attempt& attempt);
  void take_opportunistic(std::size_t own, InterfaceId interface, const reticulum::Packet& packet,
                          std::string_view raw, Call& call);
  void take_message(std::string_view packed, Carriage carriage, Arrival arrival, Call& call);

  // station_stamps.cc
  std::optional<std::uint32_t> add_stamp(Attempt& attempt, const Call& call) const;
  std::uint32_t cost_for(const Attempt& attempt, const Call& call) const;
  std::optional<StampReading> judge_stamp(const ReceivedMessage& received, const Own& to,
                                          const Call& call) const;
  void measure(Arrival arrival, const ReceivedMessage& received, std::string_view packed,
               Call& call);
  void exchanged(const station::Exchanged& exchanged, Call& call);
  void take_stamped(Arrival arrival, std::string_view packed, Call& call);
  void leave_unproven(const Arrival& arrival, Call& call);

  // station_uploads.cc
  std::optional<NodeData> node_data(const Address& node) const;
  void learn(Attempt& attempt, Call& call);
  void look_propagated(Attempt& attempt, Call& call);
  void upload_read(AttemptId id, const Answer& answer, Call& call);
  void upload_ended(const LinkSend& send, reticulum::SendEnd end, Call& call);
  void node_says(const Address& link, std::string_view plain, Call& call);
  void settle_uploads(const Address& node, bool closed_by_node, Call& call);

  // station_sync.cc
  void look_sync(Attempt& attempt, Call& call);
  void begin_sync(AttemptId id, Talk& talk, Call& call);
  void go_on(AttemptId id, SyncWant want, Call& call);
  bool request_sync(AttemptId id, const Sync& sync, const SyncWant& want, Call& call);
  void read_fetched(AttemptId id, const std::string& from, Call& call);
  void fetched_read(AttemptId id, const Answer& answer, Call& call);
  void store_fetched(AttemptId id, const SyncWant& want, Call& call);
  void fetched_stored(AttemptId id, std::size_t place, std::optional<SyncFate> fate, Call& call);
  void sync_answered(const LinkSend& send, std::string_view value, Call& call);
  void sync_broke(AttemptId id, Call& call);
  std::vector<AttemptId> syncs_with(const Address& node) const;

  // station_node.cc
  void take_upload(std::string_view plain, Arrival arrival, Call& call);
  void upload_measured(Measured& measured, std::uint32_t value, Call& call);
  void refuse_upload(const Arrival& arrival, Call& call);
  void take_get(const Address& link, const reticulum::RequestArrived& request, Call& call);
  void read_kept(Get get, MessageId after, Call& call);
  void kept_read(Get get, const Answer& answer, Call& call);
  void answer_get(const Get& get, Call& call);
  void respond(const Address& link, const Address& request, const std::string& value, Call& call);

  // station_messages.cc, again
  void drop(const Arrival& arrival, bool is_refused, Call& call);
  void prove(const Arrival& arrival, Call& call);

  // station_links.cc
  void look_direct(Attempt& attempt, Call& call);
  void find_link(Attempt& attempt, Call& call);
  std::optional<Word> open_link(const Address& recipient, Call& call);
  Talk* active_link(const Address& recipient);
  bool send_on(Talk& talk, Attempt& attempt, Call& call);
  void take_link_request(std::size_t own, InterfaceId interface, std::uint8_t hops,
                         const reticulum::Packet& packet, std::string_view raw, Call& call);
  bool take_link_packet(InterfaceId interface, std::uint8_t hops, const reticulum::Packet& packet,
                        std::string_view raw, Call& call);
  void leave(const Address& link, reticulum::LinkOutput& out, Call& call);
  void happened(const Address& link, reticulum::LinkEvent& event, Call& call);
  void link_up(const Address& link, Call& call);
  void link_down(const Address& link, const reticulum::LinkDown& down, Call& call);
  void identified(const Address& link, const reticulum::PublicKeys& keys);
  void arrived(const Address& link, std::string_view plain, Arrival arrival, Call& call);
  void send_ended(const Address& link, const reticulum::SendEnded& ended, Call& call);
  void identify(Talk& talk, const Address& link, const Address& source, Call& call);
  void close_links(InterfaceId interface, Call& call);
  reticulum::ConversationSettings settings_on(InterfaceId interface) const;
  reticulum::ConversationSettings settings_to(const Address& recipient,
                                              InterfaceId interface) const;
  std::vector<AttemptId> finds_for(const Address& recipient) const;

  const StationSetup setup_;
  Interfaces interfaces_;
  std::vector<Own> own_;
  std::map<Address, std::size_t> own_by_address_;
  std::map<Address, PeerCard> peers_;
  reticulum::PathTable paths_;
  std::map<std::uint64_t, reticulum::AnnounceGate> gates_;  // by interface
  reticulum::Seen<32> seen_{reticulum::kSeenPacketsMax};
  reticulum::Seen<32> seen_requests_{reticulum::kSeenPathTagsMax};
  std::map<Address, Timestamp> requested_;  // path requests, boot
  std::map<Address, std::uint32_t> unproven_;  // transmissions, since a proof or an announce
  std::set<Address> dropped_;                  // paths, since the last announce
  std::set<Address> starved_;               // recipients that lacked an interface

  std::map<std::uint64_t, Attempt> attempts_;
  std::set<std::pair<Timestamp, std::uint64_t>> due_;  // of attempts
  std::vector<station::Started> waiting_;              // until the cards are read
  reticulum::Receipts receipts_;
  std::map<SendId, Outgoing> outgoing_;
  std::map<MessageId, SendId> outgoing_by_message_;
  std::deque<SendId> outgoing_order_;
  std::deque<Later> later_;  // by due

  reticulum::ResourceBudget budget_;
  std::map<Address, Talk> talks_;            // by link
  std::map<Address, Address> links_to_;      // links that we opened, by recipient
  std::map<Address, Address> backchannels_;  // links of identified peers, by recipient
  std::set<Address> closed_links_;           // recipients whose active link was lost
  std::map<SendId, LinkSend> link_sends_;
  std::deque<Talk> ended_talks_;  // until the call is over; references into it stay
  std::vector<InterfaceId> doubted_;  // until the call is over; losing one ends attempts and links

  std::map<std::uint64_t, std::string> queries_;   // drawers, by token
  std::map<std::uint64_t, std::size_t> own_asked_;  // by token
  std::map<std::uint64_t, Arrival> arrivals_;      // by token
  std::map<std::uint64_t, Measured> measured_;     // by token of the exchange
  std::map<std::string, GivenTicket> tickets_;     // of peers, by ticket_key
  std::set<Address> doubted_nodes_;                // whose cost must be heard anew
  std::map<std::uint64_t, AttemptId> upload_reads_;  // by token
  std::map<std::uint64_t, AttemptId> fetched_reads_;  // by token
  std::map<std::uint64_t, Sync> syncs_;               // by attempt
  std::map<std::uint64_t, Get> gets_;                 // by token
  std::uint64_t last_token_ = 0;
  std::uint64_t last_send_ = 0;
  std::vector<std::string> unread_;  // drawers whose query was refused: asked again …
  Timestamp read_again_;             // … at this time
  bool loaded_ = false;              // the cards have been read once
  bool reading_ = false;
  Counts counts_;
};

}  // namespace postrider::lxmf
