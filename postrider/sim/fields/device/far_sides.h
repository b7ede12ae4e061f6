// DeviceFarSides: the far sides of a device world under virtual time. For each plugin a network
// server or a vendor, behind all of them the meters with their ledger.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/sim/fields/device/peers/network_server.h"
#include "postrider/sim/fields/device/peers/vendor.h"
#include "postrider/sim/fields/device/plan.h"
#include "postrider/sim/world/field.h"

namespace postrider::sim {

class DeviceFarSides final : public FarSides {
 public:
  DeviceFarSides(Surroundings around, const SimOptions& options, Rng rng);
  DeviceFarSides(const DeviceFarSides&) = delete;
  DeviceFarSides& operator=(const DeviceFarSides&) = delete;

  void request(std::uint64_t ticket, std::uint64_t tag, std::uint32_t peer,
               const WireRequest& request) override;
  void set_mood(std::uint32_t peer, Mood mood) override;
  void heal() override;
  void add_checkers(const CheckerContext& context, Notebook& notebook,
                    CheckerList& list) const override;

 private:
  struct Side {
    DevicePlugin plugin;
    std::unique_ptr<NetworkServer> server;  // or …
    std::unique_ptr<Vendor> vendor;
    NetworkFaults server_faults;  // of its good days
    VendorFaults vendor_faults;
    Mood mood = Mood::kHealthy;
    Timestamp wake_at = Timestamp::never();
    std::string authorization;  // of the last login
  };
  // A request that needs a login first; its way is that of the transport for such requests.
  struct Login {
    std::uint64_t ticket = 0;
    std::uint64_t tag = 0;
    std::uint32_t side = 0;
    WireRequest request;
    bool asks = false;   // waits for the login
    bool again = false;  // has been refused with 401 once
  };
  struct Asking {  // a command that waits for the answer to the question before it
    std::uint64_t tag = 0;
    WireRequest request;
  };
  struct Half {  // of an acknowledgement and its uplink, which may be told far apart
    Timestamp told;
    Duration apart{0};
  };

  Side* side_at(std::uint32_t peer);
  NetworkFaults draw_server_faults(Rng& rng) const;
  void draw_broker_faults(Rng& rng, NetworkFaults& out) const;
  VendorFaults draw_vendor_faults(Rng& rng) const;
  void apply_mood(Side& side);
  void pump(std::uint32_t number);
  void wake(std::uint32_t number);
  void call_server(Side& side, std::uint64_t ticket, std::uint64_t tag, const WireRequest& request);
  void call_vendor(std::uint32_t number, Login login);
  void vendor_replied(const VendorReply& reply);
  void logged_in(Login login, const VendorReply& reply);
  void server_replied(Side& side, const NetworkReply& reply);
  void publish(Side& side, std::uint64_t ticket, const Asking& asking);
  void tell(const Side& side, const NetworkPost& post);
  Duration hold_back(const chirpstack::Event& event);
  bool has(Fault fault) const { return !healed_ && faults_[static_cast<std::size_t>(fault)]; }

  Surroundings around_;
  Rng rng_;
  FaultSet faults_;
  Meters meters_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::map<std::uint64_t, Login> logins_;   // by the ticket at the vendor
  std::map<std::uint64_t, Asking> asking_;  // by ticket
  std::map<std::string, Half> halves_;      // by device and deduplication id
  std::uint64_t last_serial_ = 0;
  bool healed_ = false;
};

}  // namespace postrider::sim
