// Vendor: a model of the vendor API "Calin" in both versions, with the meters behind it. A command
// becomes a task, the task reaches the meter some time later, and whoever asks is told how it went.
// No I/O and no clock: `now` is given and never decreases, chance comes from the seed. The
// simulator drives it under virtual time, `postrider sink calin` on a real loop. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/base/time.h"
#include "postrider/protocols/device/command.h"
#include "postrider/protocols/device/reply.h"
#include "postrider/sim/fields/device/peers/far_side.h"
#include "postrider/sim/fields/device/peers/meter.h"
#include "postrider/sim/world/agenda.h"

namespace postrider::sim {

struct VendorCredentials;

// Percentages, unless the name says otherwise; vendor_fault_rows() says what each does.
struct VendorFaults {
  std::uint32_t hang = 0;
  std::uint32_t lose_calls = 0;
  std::uint32_t lose_replies = 0;
  std::uint32_t errors = 0;
  std::uint32_t error_status = 503;
  std::uint32_t fail_taken = 0;
  std::uint32_t html = 0;
  std::uint32_t garbage = 0;
  std::uint32_t refuse = 0;
  std::uint32_t code_99 = 0;
  std::uint32_t no_task = 0;
  std::uint32_t twice = 0;
  std::uint32_t fail_polls = 0;
  std::uint32_t hang_polls = 0;
  std::uint32_t lies = 0;
  std::uint32_t fail_tasks = 0;
  std::uint32_t task_ms = 8000;
  std::uint32_t slow_tasks = 0;
  std::uint32_t slow_task_ms = 600'000;
  std::uint32_t meter_refuses = 0;
  std::uint32_t fail_logins = 0;
  std::uint32_t forget_logins = 0;
};
std::span<const FaultRow<VendorFaults>> vendor_fault_rows();

struct VendorOptions {
  int version = 1;
  // Empty: not looked at.
  std::string company;
  std::string user;
  std::string password;
  Duration login_life{600'000};     // version 2
  std::uint32_t think_ms_max = 50;  // of an answer
  std::uint32_t tasks_max = 10'000'000;
};

struct VendorCall {
  std::uint64_t ticket = 0;  // names the call in its reply
  std::string_view path;
  std::string_view authorization;  // the header; empty when there is none
  std::string_view body;
  std::uint64_t tag = 0;  // for the ledger
};
struct VendorReply {
  Timestamp at;
  std::uint64_t ticket = 0;
  CallEnd end = CallEnd::kAnswered;
  int status = 200;
  std::string_view content_type = "application/json";
  std::string body;
  bool twice = false;  // the same bytes come a second time, though nobody asked
};

struct VendorCounts {
  std::uint64_t creates = 0;
  std::uint64_t taken = 0;
  std::uint64_t polls = 0;
  std::uint64_t logins = 0;
  std::uint64_t unauthorized = 0;
  std::uint64_t tokens = 0;  // that were made, also those whose answer was lost
};

class Vendor {
 public:
  // `meters` outlives it.
  Vendor(VendorOptions options, Meters& meters, Rng rng, Timestamp start);
  Vendor(const Vendor&) = delete;
  Vendor& operator=(const Vendor&) = delete;

  VendorFaults faults;  // may be changed at any time

  void call(Timestamp now, const VendorCall& call);
  std::vector<VendorReply> due(Timestamp now);  // in order
  std::optional<Timestamp> next() const;

  const VendorCounts& counts() const { return counts_; }

 private:
  struct Task {
    device::Request request;
    MeterLedger::Number copy = 0;
    std::optional<device::Response> response;  // nothing yet: pending
  };

  bool chance(std::uint32_t percent) { return percent != 0 && rng_.chance(percent, 100); }
  Timestamp now() const { return agenda_.now(); }

  void serve(const VendorCall& call);
  void serve_v1(const VendorCall& call);
  void serve_v2(const VendorCall& call);
  void log_in(const VendorCall& call);
  bool is_logged_in(std::string_view authorization);
  void create(const VendorCall& call, const Result<device::Request>& request);
  void mint(const VendorCall& call);
  bool is_known(const VendorCredentials& who) const;
  void poll(const VendorCall& call, std::string_view task, device::Command kind);
  std::string take(const device::Request& request, std::uint64_t tag);
  void run(std::uint64_t task, bool reaches);
  bool fails_poll(const VendorCall& call);

  void reply(const VendorCall& call, int status, std::string body,
             std::string_view content_type = "application/json");
  void end_without_reply(const VendorCall& call, CallEnd end);

  VendorOptions options_;
  Meters& meters_;
  Rng rng_;
  Agenda agenda_;
  std::unordered_map<std::uint64_t, Task> tasks_;
  std::uint64_t last_task_ = 100'000;
  std::unordered_map<std::string, Timestamp> logins_;  // until when
  std::vector<VendorReply> happened_;
  VendorCounts counts_;
};

}  // namespace postrider::sim
