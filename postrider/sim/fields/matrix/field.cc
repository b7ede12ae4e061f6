#include "postrider/sim/fields/matrix/field.h"

#include <string>
#include <utility>

#include "postrider/profiles/matrix/profile.h"
#include "postrider/protocols/matrix/server_name.h"
#include "postrider/sim/fields/matrix/far_sides.h"
#include "postrider/sim/fields/matrix/items.h"
#include "postrider/sim/world/notebook.h"
#include "postrider/sim/world/settings_draws.h"
#include "postrider/sim/world/submit_draws.h"

namespace postrider::sim {
namespace {

NamedTexts draw_settings(Rng& rng) {
  NamedTexts settings{{"server_name", std::string(kMatrixOrigin)},
                      {"key", std::string(kMatrixKeyName)}};
  maybe(settings, "policy", 3, SettingChoices{"compatible", "compatible", "better"}, rng);
  maybe(settings, "tries", 4, SettingChoices{"1", "2", "5"}, rng);
  maybe(settings, "interval_first", 3, SettingChoices{"1s", "1m", "20m"}, rng);
  maybe(settings, "interval_max", 4, SettingChoices{"30m", "3h", "1d"}, rng);
  maybe(settings, "deep_after", 3, SettingChoices{"10s", "10m", "1h"}, rng);
  maybe(settings, "pdus_max", 4, SettingChoices{"1", "3", "50"}, rng);
  maybe(settings, "members_max", 4, SettingChoices{"1", "4", "512"}, rng);
  maybe(settings, "linger", 4, SettingChoices{"0", "1s", "20ms"}, rng);
  maybe(settings, "time_out", 4, SettingChoices{"5s", "30s", "2m"}, rng);
  return settings;
}

class MatrixWorkload final : public Workload {
 public:
  MatrixWorkload(SubmitDraws& draws, Rng items) : draws_(draws), items_(items) {}

  Submit draw_submit(std::uint32_t destination) override {
    Submit submit = draws_.draw(destination, [] { return std::string(); });
    put_item(submit);
    return submit;
  }
  void draw_other_content(Submit& again) override { put_item(again); }

 private:
  // As the egress hands it on: nothing is for later, and only what expires has an end.
  void put_item(Submit& submit) {
    submit.not_before = Timestamp();
    submit.expires = Timestamp();
    draw_matrix_item(submit, draws_.next_operation(), peer_of(submit.destination),
                     draws_.engine_now(), items_);
  }

  SubmitDraws& draws_;
  Rng items_;
};

class MatrixField final : public Field {
 public:
  const ProfileSpec& profile() const override { return kMatrix; }
  // Groups have other destinations than servers, and an item says which lane is its.
  Customs customs() const override {
    return {.rushes = false, .fans_out = false, .imports = false, .parked_return = true};
  }
  Trials trials() const override {
    Trials trials;
    trials.standard = {10 * 24h, 8, 300};
    trials.standard_seeds = 20;
    trials.fresh = {5 * 24h, 6, 200};
    trials.fresh_seeds = 60;
    trials.crash_points = 40;
    return trials;
  }

  DestinationConfig draw_destination(const SimOptions& /*options*/, std::uint32_t number,
                                     Rng& rng) const override {
    DestinationConfig config;
    config.name = matrix::destination_name(matrix_server(number));
    config.profile = profile().name;
    config.settings = draw_settings(rng);
    return config;
  }
  void add_secrets(Secrets& secrets) const override {
    secrets.put(std::string(kMatrixKeyName), std::string(kMatrixKeyFile));
  }

  Result<DestinationConfig> rehearse(DestinationConfig real, std::uint32_t peer) const override {
    NamedTexts settings{{"server_name", std::string(kMatrixOrigin)},
                        {"key", std::string(kMatrixKeyName)}};
    for (auto& [name, value] : real.settings) {
      const bool ours = name == "server_name" || name == "key" || name == "trust" ||
                        name.starts_with("catch_up_");
      if (!ours) settings.emplace_back(name, value);
    }
    real.name = matrix::destination_name(matrix_server(peer));
    real.settings = std::move(settings);
    return real;
  }

  std::unique_ptr<Workload> make_workload(SubmitDraws& draws, Rng rng) const override {
    return std::make_unique<MatrixWorkload>(draws, rng.fork(10));
  }
  std::unique_ptr<FarSides> make_far_sides(FarSides::Surroundings around, const SimOptions& options,
                                           Rng& world) const override {
    return std::make_unique<MatrixFarSides>(std::move(around), options, world.fork(8));
  }

  void read_call(const WireRequest& request, const IdCodec& /*ids*/, Call& call) const override {
    if (!matrix::is_matrix_target(request.target)) return;
    call.to_field = call.sends = true;
    call.carries_body = false;
    call.batch = request.target.substr(request.target.rfind('/') + 1);
  }
  void read_message(const Message& message, const NamedTexts& /*attributes*/,
                    MessageNote& note) const override {
    note.own = read_matrix_note(message);
  }

  std::string_view unreachable(const RowUse& row) const override {
    const auto has = [&row](std::string_view text) {
      return row.row.find(text) != std::string::npos;
    };
    if (has("(Asking, ") || has("(Asked, ") || has("(Queued, no-route)") || has(", acked)"))
      return "no simulated host is asked";
    if (has(", exhausted)") && !has("(Sending, ")) return "only tries are spent";
    if (has(", answered) ignore") || has(", still-held) ignore") || has(", failed) ignore") ||
        has(", stale-route) ignore"))
      return "a receiver speaks only when it is asked";
    if (has(", no-route) ignore") || has(", no-link) ignore") || has(", rejected) ignore"))
      return "a receipt meets these states too rarely";
    if (has("(Pausing, peer-seen)")) return "signs of life are drawn apart from pauses";
    return {};
  }
};

}  // namespace

const Field& matrix_field() {
  static const MatrixField kField;
  return kField;
}

}  // namespace postrider::sim
