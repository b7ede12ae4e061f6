// Conversation: a link with all that travels on it: packets and their proofs, resources, requests.
// What a station holds for each link. A machine without a clock; what it wants sent and what
// happened comes out of each call. One owner, one thread.
//
// Always: a receipt exists before its packet is handed out; nothing that arrived is proven before
// the owner says so (what must be durable first is the owner's); each thing that was sent ends with
// exactly one event, at the latest when the link goes down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/incoming_resource.h"
#include "postrider/protocols/reticulum/link.h"
#include "postrider/protocols/reticulum/outgoing_resource.h"
#include "postrider/protocols/reticulum/proof.h"
#include "postrider/protocols/reticulum/request.h"

namespace postrider::reticulum {

struct LinkUp {};
struct LinkDown {
  LinkEnd end = LinkEnd::kNone;
  bool was_active = false;
};
struct PeerIdentified {
  PublicKeys keys{};
};
struct PacketArrived {
  std::string plain;
  Digest packet{};  // to be proven by prove_packet
};
struct ResourceArrived {
  std::string body;
  Digest resource{};  // to be proven by prove_resource
};
struct RequestArrived {
  Address request{};  // to be answered by respond
  Address path{};
  double time = 0;
  std::string data;
};
struct ResponseArrived {
  SendId id;
  std::string value;
};
enum class SendEnd : std::uint8_t {
  kProven,   // a request that went as a resource is not told so
  kRefused,  // the receiver does not want the resource
  kFailed,   // unproven or unanswered in time, or the link went down
};
struct SendEnded {
  SendId id;
  SendEnd end = SendEnd::kFailed;
};
using LinkEvent = std::variant<LinkUp, LinkDown, PeerIdentified, PacketArrived, ResourceArrived,
                               RequestArrived, ResponseArrived, SendEnded>;

struct LinkOutput {
  std::vector<std::string> packets;  // raw, with short headers, for the link's interface
  std::vector<LinkEvent> events;
};

// What inbound resources of all links may take together.
class ResourceBudget {
 public:
  explicit ResourceBudget(std::size_t count_max = 16, std::uint64_t bytes_max = 64u << 20)
      : count_max_(count_max), bytes_max_(bytes_max) {}
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);
  std::size_t count() const { return count_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::size_t count_max_;
  std::uint64_t bytes_max_;
  std::size_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

struct ConversationSettings {
  LinkSettings link;
  std::uint64_t resource_bytes_max = 1'000'000;  // of one that is offered to us
  std::uint64_t response_bytes_max = std::uint64_t{16} << 20;
  // Below this round trip a peer loses answers that come earlier than the floor.
  Duration fast_rtt = 20ms;
  Duration answer_floor = 4ms;
  std::size_t packets_in_flight_max = 64;
  std::size_t resources_queued_max = 1024;
  std::size_t requests_in_flight_max = 16;
};

struct ConversationCounters {
  std::uint64_t forged_proofs = 0;
  std::uint64_t unknown_proofs = 0;
  std::uint64_t unasked_parts = 0;
  std::uint64_t refused_resources = 0;
  std::uint64_t damaged_payloads = 0;
};

class Conversation {
 public:
  // The budget outlives it.
  static std::unique_ptr<Conversation> open(const Link::Target& target,
                                            const ConversationSettings& settings,
                                            ResourceBudget& budget, Timestamp now, Random& random,
                                            LinkOutput& out);
  static Result<std::unique_ptr<Conversation>> answer(const Arrival& request, const Identity& owner,
                                                      const ConversationSettings& settings,
                                                      ResourceBudget& budget, Timestamp now,
                                                      Random& random, LinkOutput& out);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  void take(const Arrival& arrival, Timestamp now, Random& random, LinkOutput& out);
  std::optional<Timestamp> next_deadline() const;
  void on_time(Timestamp now, Random& random, LinkOutput& out);

  // Each is false when the link is not usable, the payload too long, or too much is under way:
  // then nothing was sent, and no event follows.
  bool send_packet(SendId id, std::string_view plain, Timestamp now, Random& random,
                   LinkOutput& out);
  bool send_resource(SendId id, ResourceBody body, Timestamp now, Random& random, LinkOutput& out);
  bool send_request(SendId id, const Request& request, Timestamp now, Random& random,
                    LinkOutput& out);
  bool identify(const Identity& identity, Timestamp now, Random& random, LinkOutput& out);
  // A packet without a receipt, as a node's refusal is.
  bool send_word(std::string_view plain, Timestamp now, Random& random, LinkOutput& out);
  // Stops a resource; its end is told as failed.
  void cancel(SendId id, Timestamp now, Random& random, LinkOutput& out);

  void prove_packet(const Digest& packet, Timestamp now, LinkOutput& out);
  void prove_resource(const Digest& resource, Timestamp now, LinkOutput& out);
  // Instead of a proof.
  void refuse_resource(const Digest& resource, Timestamp now, Random& random, LinkOutput& out);
  bool respond(const Response& response, Timestamp now, Random& random, LinkOutput& out);
  void close(LinkEnd end, Random& random, LinkOutput& out);

  const Link& link() const { return link_; }
  const ConversationCounters& counters() const { return counters_; }
  std::size_t packets_in_flight() const { return receipts_.size(); }
  std::size_t resources_waiting() const { return outgoing_.size(); }
  std::optional<std::uint32_t> progress_permille(SendId id) const;

 private:
  struct Sending {
    SendId id;
    OutgoingResource resource;
    bool is_request = false;  // its end is told by the response
    bool has_started = false;
  };
  struct Receiving {
    IncomingResource resource;
    std::uint64_t budgeted = 0;
  };
  struct Asked {
    SendId id;
    std::string packed;
    std::vector<Address> ids;  // of the request and its repetition
    Timestamp deadline;
    bool is_repeated = false;
    bool is_answering = false;  // the response arrives as a resource
  };
  struct Later {
    Timestamp due;
    std::string raw;
  };
  struct Arrived {
    Address key{};
    Timestamp at;
  };
  // What was received completely, for peers that did not hear so.
  struct Received {
    Digest resource{};
    Digest proof{};
    bool is_proven = false;
  };
  struct Receipt {
    SendId id;
    Timestamp deadline;
  };

  Conversation(Link link, const ConversationSettings& settings, ResourceBudget& budget)
      : settings_(settings), budget_(budget), link_(std::move(link)) {}
  void on_reading(LinkReading reading, const Arrival* arrival, Timestamp now, Random& random,
                  LinkOutput& out);
  void on_plain(Context context, std::string plain, const Arrival& arrival, Timestamp now,
                Random& random, LinkOutput& out);
  void on_clear(Context context, std::string_view data, Timestamp now, Random& random,
                LinkOutput& out);
  void on_proof(std::string_view data, Timestamp now, LinkOutput& out);
  void on_resource_proof(std::string_view data, Timestamp now, Random& random, LinkOutput& out);
  void on_part(std::string_view part, Timestamp now, Random& random, LinkOutput& out);
  void on_advertisement(std::string_view plain, Timestamp now, Random& random, LinkOutput& out);
  void on_hashmap(std::string_view plain, Timestamp now, Random& random, LinkOutput& out);
  void on_request(std::string_view plain, const Address& request, Timestamp now, LinkOutput& out);
  void on_response(std::string_view plain, LinkOutput& out);
  bool is_wanted(const Advertisement& advertisement) const;
  void after_receiving(std::size_t at, Timestamp now, LinkOutput& out);
  void deliver(IncomingResource& resource, Timestamp now, LinkOutput& out);
  void keep_received(const IncomingResource& resource, Timestamp now);
  void fail_response(const Advertisement& advertisement, Timestamp now);
  void drop_receiving(std::size_t at);
  void run_resources(Timestamp now, Random& random, LinkOutput& out);
  void send_all(std::vector<ResourceSend>& sends, Timestamp now, Random& random, LinkOutput& out);
  bool ask(Asked& asked, Timestamp now, Random& random, LinkOutput& out);
  void end_sending(const Sending& sending, Timestamp now, LinkOutput& out);
  void refuse(const Digest& resource, Timestamp now, Random& random, LinkOutput& out);
  bool enqueue(Sending sending, Timestamp now, Random& random, LinkOutput& out);
  void time_receipts(Timestamp now, LinkOutput& out);
  void time_resources(Timestamp now, Random& random, LinkOutput& out);
  void time_requests(Timestamp now, Random& random, LinkOutput& out);
  void fail_all(LinkOutput& out);
  void went_down(LinkOutput& out);
  void answer_later(std::string raw, Timestamp arrived, Timestamp now, LinkOutput& out);
  Timestamp arrival_of(const Address& key, Timestamp now);
  void note_arrival(const Address& key, Timestamp now);
  Asked* find_asked(const Address& request);
  OutgoingResource::Seal seal(Random& random) const;
  IncomingResource::Open open_bytes() const;
  Duration request_patience() const { return 6 * link_.rtt() + 11'250ms; }

  ConversationSettings settings_;
  ResourceBudget& budget_;
  Link link_;
  std::map<Digest, Receipt> receipts_;
  std::deque<Sending> outgoing_;  // the first one runs
  std::vector<Receiving> incoming_;
  std::vector<Asked> asked_;
  std::deque<Later> later_;
  std::deque<Arrived> arrived_;
  std::deque<Received> received_;
  ConversationCounters counters_;
  bool is_down_told_ = false;
};

}  // namespace postrider::reticulum
