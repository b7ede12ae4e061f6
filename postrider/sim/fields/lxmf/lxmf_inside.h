// The inside of the world of LXMF, for the two files that it is made of.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/model/id_address.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "postrider/profiles/lxmf/cards.h"
#include "postrider/profiles/lxmf/notes.h"
#include "postrider/profiles/lxmf/profile.h"
#include "postrider/profiles/lxmf/settings.h"
#include "postrider/profiles/lxmf/station.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/profiles/lxmf/work.h"
#include "postrider/protocols/lxmf/propagation.h"
#include "postrider/protocols/lxmf/text_form.h"
#include "postrider/protocols/reticulum/frames.h"
#include "postrider/sim/fields/lxmf/lxmf_world.h"
#include "postrider/sim/world/trace.h"

namespace postrider::sim::lxmf_world {

using reticulum::Address;
using reticulum::Identity;
using reticulum::view;

inline constexpr std::int64_t kBeginning = 1'700'000'000'000;
inline constexpr Duration kBound{6h};  // after the faults
inline constexpr std::size_t kViolationsMax = 20;
inline constexpr Duration kPatience{20'000};
inline constexpr std::string_view kKeyFile = "key";
inline constexpr std::string_view kBox = "inbox";
inline constexpr std::uint8_t kStampCost = 5;
inline constexpr std::uint8_t kNodeCost = 13;  // the least that a node may want
inline constexpr Duration kSyncEvery{180'000};

// What the clients of one machine want, until it is answered.
struct Wish {
  std::uint32_t machine = 0;
  Event event;
  std::string key;
  bool done = false;
  Ticket ticket;  // unset: it has to be asked, or asked again
};

std::string machine_name(std::uint32_t machine);

class LxmfWorld {
 public:
  explicit LxmfWorld(const LxmfOptions& options);
  LxmfReport run();

 private:
  struct Place {  // one machine, as the world knows it
    std::string name;
    std::shared_ptr<Secrets> secrets = std::make_shared<Secrets>();
    std::optional<Identity> identity;
    Address address{};
    std::unique_ptr<Site> site;
    Ticket asks;                       // of its reader; unset: it has to ask
    std::vector<MessageId> confirms;   // what the confirmation under way names
    std::set<MessageId> confirmed;     // as it was told
    std::set<std::string> seen;        // message ids that are durable here
    std::set<std::string> kept;        // transient ids that are durable at its node
    std::map<std::string, std::string> uploaded;  // message ids to transient ids
    std::set<std::pair<MessageId, std::uint32_t>> searched;  // stamps, in this process
    std::uint64_t announced = 0;       // seconds
    std::set<std::string> ratchets;    // public, durable
    std::map<MessageId, std::string> sent;  // ids of messages of ours, as they were accepted
  };

  void make_place(std::uint32_t machine);
  // The first machine is a node for the others, when there are two of them.
  bool has_node() const { return options_.machines > 2; }
  static Identity node_identity() { return Identity(reticulum::Bytes<64>{7}); }
  static Address node_address() {
    return reticulum::single_destination(reticulum::name_hash(lxmf::kPropagationName),
                                         node_identity().hash());
  }
  void starts(std::uint32_t machine, const StartAttempt& start);
  void sync(std::uint32_t machine);
  lxmf::StationSetup setup_of(std::uint32_t machine) const;
  std::unique_ptr<Station> make_station(std::uint32_t machine) const;
  void plan();
  void wish(std::uint32_t machine, Event event, Duration after);
  void ask(std::size_t number);
  bool all_configured() const;
  void told(std::uint32_t machine, Ticket ticket, const Answer& answer);
  void died(std::uint32_t machine);
  void leaves(const std::string& machine, std::string_view bytes);
  void packet_leaves(std::uint32_t machine, std::string_view raw);
  void announce_leaves(std::uint32_t machine, const reticulum::Packet& packet);
  void durable(std::uint32_t machine, const Applied& applied);
  void durable_message(Place& place, const Blob& record);
  void durable_card(Place& place, std::string_view key, std::string_view value);
  void durable_end(Place& place, const EndRecord& end);
  void read_inbox(std::uint32_t machine);
  void read_page(std::uint32_t machine, const MailboxPage& page);
  void draw_trouble(std::uint32_t machine);
  void run_until(Timestamp end);
  bool all_done();
  void judge();
  void violation(std::string what);

  LxmfOptions options_;
  Rng rng_;
  Agenda agenda_;
  Trace trace_;
  ProfileSpec spec_ = kLxmf;
  std::vector<const ProfileSpec*> profiles_;
  Wires wires_;
  std::vector<Place> places_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_datagrams_;  // between these two
  std::vector<Wish> wishes_;
  std::map<std::uint64_t, std::size_t> tickets_;  // to wishes
  std::uint64_t last_ticket_ = 0;
  std::set<std::string, std::less<>> ephemeral_;  // keys of packets
  std::map<std::string, std::set<std::pair<std::uint32_t, MessageId>>> handed_over_;  // by text
  std::set<std::string> texts_;  // that clients wanted to send
  std::vector<std::string> violations_;
  bool given_up_ = false;
  LxmfReport report_;
};

}  // namespace postrider::sim::lxmf_world
