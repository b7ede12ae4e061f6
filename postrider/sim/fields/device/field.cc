#include "postrider/sim/fields/device/field.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "postrider/base/planted.h"
#include "postrider/profiles/device/profile.h"
#include "postrider/profiles/device/table.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/sim/fields/device/far_sides.h"
#include "postrider/sim/fields/device/notes.h"
#include "postrider/sim/fields/device/peers/vendor_texts.h"
#include "postrider/sim/fields/device/plan.h"
#include "postrider/sim/world/submit_draws.h"

namespace postrider::sim {
namespace {

constexpr std::string_view kConsumerProfile = "webhook";

// The device profile with one row that is wrong: a question that failed sends the command again.
const ProfileSpec& resending_twin() {
  struct Twin {
    std::vector<std::vector<Transition>> tables;
    std::vector<Method> methods;
    ProfileSpec spec = kDevice;
    Twin() {
      for (const Method& method : kDevice.methods) {
        std::vector<Transition>& rows = tables.emplace_back(method.rows.begin(), method.rows.end());
        for (Transition& row : rows) {
          if (row.from != in(device::kPolling) || row.on != On::kFailed) continue;
          row.to = device::kToRetry;
          row.verb = Do::kRetry;
        }
        methods.push_back(method);
      }
      for (std::size_t i = 0; i < methods.size(); ++i) methods[i].rows = tables[i];
      spec.methods = methods;
    }
  };
  static const Twin kTwin;
  return kTwin.spec;
}

// Commands and questions to network servers and vendors, told by verb and path alone.
void read_device_call(const WireRequest& request, Call& call) {
  const std::string_view target = request.target;
  if (request.verb == "PUBLISH") {
    call.to_field = call.sends = true;
  } else if (request.verb == "CALL") {
    call.to_field = true;
    call.sends = target.ends_with(chirpstack::kEnqueuePath);
  } else if (request.verb == "POST") {
    const std::size_t host = target.find("://");
    const std::size_t slash = host == std::string_view::npos ? host : target.find('/', host + 3);
    if (slash == std::string_view::npos) return;
    for (const VendorPath path :
         {read_path_v1(target.substr(slash)), read_path_v2(target.substr(slash))}) {
      if (path.kind == VendorCallKind::kOther) continue;
      call.to_field = true;
      call.sends = path.kind == VendorCallKind::kCreate;
    }
  }
}

// Only news comes unasked, and only over the air.
std::string_view unreachable_reason(const RowUse& row) {
  const auto has = [&row](std::string_view text) {
    return row.row.find(text) != std::string::npos;
  };
  if (row.method == "mint") return "no simulated client has tokens made";
  if (has("(Sending, still-held)")) return "no call is asked whether it is open: it ends by itself";
  if (row.method.starts_with("pull-")) {
    const bool said = has(", accepted) ignore") || has(", answered) ignore") ||
                      has(", still-held) ignore") || has(", failed) ignore");
    return said ? "a vendor speaks only when it is called" : std::string_view();
  }
  if (has(", accepted) ignore")) return "a reply that an event has overtaken is not heard any more";
  if (has(", still-held) ignore")) return "only a question is answered so, and none is open";
  if (has("(CheckAir, accepted)")) return "what was sent has a name, and a look goes by that";
  return {};
}

class DeviceWorkload final : public Workload {
 public:
  explicit DeviceWorkload(SubmitDraws& draws) : draws_(draws) {}

  // As the API hands it on. A client that names no correlation id cannot ask for the same again.
  Submit draw_submit(std::uint32_t destination) override {
    Rng& rng = draws_.rng();
    while (is_consumer(destination))
      destination = static_cast<std::uint32_t>(rng.below(draws_.destinations().size()));
    device::DeviceMessage command =
        draw_command(draws_.options(), destination, draws_.next_operation(), rng);
    Submit submit;
    submit.destination = draws_.draw_name(destination);
    submit.priority = command.priority;
    draws_.draw_times(submit);
    submit.not_before = Timestamp();
    if (submit.expires.is_set()) command.expires_at = submit.expires;
    if (rng.chance(1, 4)) command.correlation.clear();
    submit.body = encode_device_message(command);
    if (command.correlation.empty()) return submit;
    submit.caller.key = {.kind = OperationKey::Kind::kOpaque,
                         .scope = "device",
                         .key = correlation_key(command),
                         .made = {},
                         .sequence = 0};
    submit.caller.said = submit.body;
    return submit;
  }

  void draw_other_content(Submit& again) override {
    again.body = draw_submit(1).body;
    again.caller.said = again.body;
  }

 private:
  SubmitDraws& draws_;
};

class DeviceField final : public Field {
 public:
  const ProfileSpec& profile() const override {
    return planted(Bug::kFailedPollResends) ? resending_twin() : kDevice;
  }
  // Commands go by their queue and by the API of devices, which knows no groups.
  Customs customs() const override {
    return {.rushes = false, .fans_out = false, .imports = false};
  }
  Trials trials() const override {
    constexpr Trials::Size kSize = {4 * 24h, 8, 120};
    return {.standard = kSize,
            .standard_seeds = 60,
            .fresh = kSize,
            .fresh_seeds = 8,
            .crash = {12h, 5, 24},
            .crash_points = 10'000};
  }

  DestinationConfig draw_destination(const SimOptions& options, std::uint32_t number,
                                     Rng& rng) const override {
    return draw_device_queue(options, number, rng);
  }
  std::string_view profile_of(std::uint32_t number) const override {
    return is_consumer(number) ? kConsumerProfile : kDeviceProfile;
  }

  std::unique_ptr<Workload> make_workload(SubmitDraws& draws, Rng /*rng*/) const override {
    return std::make_unique<DeviceWorkload>(draws);
  }
  std::unique_ptr<FarSides> make_far_sides(FarSides::Surroundings around, const SimOptions& options,
                                           Rng& world) const override {
    return std::make_unique<DeviceFarSides>(std::move(around), options, world.fork(8));
  }

  void read_call(const WireRequest& request, const IdCodec& /*ids*/, Call& call) const override {
    read_device_call(request, call);
    if (call.to_field) call.carries_body = false;
  }

  void read_message(const Message& message, const NamedTexts& attributes,
                    MessageNote& note) const override {
    if (note.operation == 0)
      note.operation = digits_after(message.body, "\"correlationId\":\"corr-");
    note.own = read_note(message, attributes, note.destination);
  }

  // A command may also say by the wall's clock when it is over; and a clock that is set late would
  // be set wrong, so that command does not wait for its expiry.
  bool may_expire_early(const MessageNote& note, const Expired& expired) const override {
    const CommandNote* own = command_of(note);
    if (own == nullptr) return false;
    const device::DeviceMessage& command = own->command;
    if (command.expires_at && expired.wall_max >= *command.expires_at) return true;
    return command.request.command == device::Command::kSetTime &&
           expired.end.at - expired.accepted >= Duration(60'000);
  }

  // A command that cannot be sent, or not any more, is found out when its turn comes.
  bool may_end_unsent(const MessageNote& note, const Explanation& restored) const override {
    const CommandNote* own = command_of(note);
    if (own == nullptr) return false;
    const bool sets_time = own->command.request.command == device::Command::kSetTime;
    return (restored.phase == Phase::kDead && restored.attempts == 0) ||
           (restored.phase == Phase::kExpired && sets_time);
  }

  std::string_view unreachable(const RowUse& row) const override { return unreachable_reason(row); }
  // Some pairs of news are rare, and few commands must never be repeated.
  bool rows_alike(std::string_view method, std::string_view other) const override {
    return method.starts_with("push-") && other.starts_with("push-");
  }
};

}  // namespace

const Field& device_field() {
  static const DeviceField kField;
  return kField;
}

}  // namespace postrider::sim
