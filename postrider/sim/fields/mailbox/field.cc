#include "postrider/sim/fields/mailbox/field.h"

#include <string>

#include "postrider/profiles/mailbox/profile.h"
#include "postrider/sim/fields/mailbox/checkers.h"
#include "postrider/sim/world/settings_draws.h"
#include "postrider/sim/world/submit_draws.h"

namespace postrider::sim {
namespace {

class MailboxWorkload final : public Workload {
 public:
  explicit MailboxWorkload(SubmitDraws& draws) : draws_(draws) {}

  Submit draw_submit(std::uint32_t destination) override {
    Submit submit = draws_.draw(destination, [] { return std::string(); });
    // Now and then one that a mailbox does not take.
    if (!draws_.rng().chance(1, 30)) {
      submit.lane = 0;
      submit.not_before = Timestamp();
    }
    return submit;
  }
  void draw_other_content(Submit& again) override { again.body = draws_.draw_body(); }

 private:
  SubmitDraws& draws_;
};

class MailboxField final : public Field {
 public:
  const ProfileSpec& profile() const override { return kMailbox; }
  Customs customs() const override { return {.rushes = false, .reads = true}; }
  // Readers ask again and again, so a large world takes long and shows no more.
  Trials trials() const override {
    Trials trials;
    trials.standard = {10 * 24h, 8, 300};
    trials.standard_seeds = 10;
    trials.fresh_seeds = 60;
    trials.crash_points = 40;
    return trials;
  }

  DestinationConfig draw_destination(const SimOptions& /*options*/, std::uint32_t number,
                                     Rng& rng) const override {
    DestinationConfig config;
    config.name = "destination-" + std::to_string(number);
    config.profile = profile().name;
    maybe(config.settings, "kept_max", 2, SettingChoices{"3", "10", "0"}, rng);
    maybe(config.settings, "kept_bytes_max", 3, SettingChoices{"1000", "20000", "0"}, rng);
    maybe(config.settings, "history", 3, SettingChoices{"on", "on", "off"}, rng);
    return config;
  }

  std::optional<NamedTexts> draw_template(const SimOptions& options, Rng& rng) const override {
    if (!options.idle) return std::nullopt;
    NamedTexts settings;
    maybe(settings, "kept_max", 3, SettingChoices{"3", "10", "0"}, rng);
    maybe(settings, "idle_life", 1, SettingChoices{"10m", "4h", "12h"}, rng);
    return settings;
  }

  std::unique_ptr<Workload> make_workload(SubmitDraws& draws, Rng /*rng*/) const override {
    return std::make_unique<MailboxWorkload>(draws);
  }

  void add_checkers(const CheckerContext& context, Notebook& notebook,
                    CheckerList& list) const override {
    list.push_back(make_mailbox_checker(context, notebook));
    list.push_back(make_await_checker(context, notebook));
  }

  std::string_view unreachable(const RowUse& row) const override {
    if (row.row.find(", due)") != std::string::npos) return "nothing makes it due: nothing is sent";
    if (row.row.find(", exhausted)") != std::string::npos) return "nothing is tried";
    return {};
  }
};

}  // namespace

const Field& mailbox_field() {
  static const MailboxField kField;
  return kField;
}

}  // namespace postrider::sim
