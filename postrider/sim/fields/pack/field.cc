#include "postrider/sim/fields/pack/field.h"

#include <charconv>
#include <string>

#include "postrider/model/id_address.h"
#include "postrider/sim/checkers/batches.h"
#include "postrider/sim/fields/pack/checker.h"
#include "postrider/sim/fields/pack/profile.h"
#include "postrider/sim/world/notebook.h"
#include "postrider/sim/world/settings_draws.h"
#include "postrider/sim/world/submit_draws.h"

namespace postrider::sim {
namespace {

NamedTexts draw_settings(std::uint32_t peer, Rng& rng) {
  NamedTexts settings{{"peer", "peer-" + std::to_string(peer)}};
  maybe(settings, "members", 2, SettingChoices{"2", "5", "50"}, rng);
  maybe(settings, "linger", 3, SettingChoices{"200", "5000", "60000"}, rng);
  maybe(settings, "small", 2, SettingChoices{"1", "1", "0"}, rng);
  maybe(settings, "window", 2, SettingChoices{"1", "4", "12"}, rng);
  maybe(settings, "fifo", 2, SettingChoices{"65535", "2", "1"}, rng);
  maybe(settings, "strikes", 2, SettingChoices{"1", "3", "5"}, rng);
  maybe(settings, "wait-max", 3, SettingChoices{"5000", "60000", "3600000"}, rng);
  maybe(settings, "attempts", 2, SettingChoices{"1", "2", "8"}, rng);
  maybe(settings, "base", 2, SettingChoices{"1000", "20000", "400000"}, rng);
  maybe(settings, "spacing", 4, SettingChoices{"50", "1000", "7000"}, rng);
  maybe(settings, "life", 5, SettingChoices{"600000", "36000000", "172800000"}, rng);
  maybe(settings, "deep", 2, SettingChoices{"5000", "40000", "600000"}, rng);
  maybe(settings, "catch-up", 3, SettingChoices{"0", "10", "210"}, rng);
  maybe(settings, "drops", 4, SettingChoices{"4", "2", "6"}, rng);
  maybe(settings, "begins-behind", 4, SettingChoices{"1", "1", "0"}, rng);
  maybe(settings, "latest", 2, SettingChoices{"1", "3", "65535"}, rng);
  maybe(settings, "behind", 3, SettingChoices{"2", "4", "65532"}, rng);
  maybe(settings, "keep", 4, SettingChoices{"60000", "3600000", "86400000"}, rng);
  maybe(settings, "keep-max", 3, SettingChoices{"2", "10", "10000"}, rng);
  maybe(settings, "riders", 3, SettingChoices{"1", "6", "65535"}, rng);
  maybe(settings, "rides", 2, SettingChoices{"2000", "30000", "600000"}, rng);
  return settings;
}

class PackWorkload final : public Workload {
 public:
  explicit PackWorkload(SubmitDraws& draws) : draws_(draws) {}

  Submit draw_submit(std::uint32_t destination) override {
    return draws_.draw(destination, [this] { return draw_attributes(); });
  }
  void draw_other_content(Submit& again) override { again.body = draws_.draw_body(); }
  std::string rush_attributes() override { return {}; }

 private:
  std::string draw_attributes() {
    NamedTexts texts;
    Rng& rng = draws_.rng();
    if (rng.chance(1, 8)) texts.emplace_back("solo", "");
    if (rng.chance(1, 16)) texts.emplace_back("alone", "");
    if (rng.chance(1, 24)) texts.emplace_back("bad", "");
    // Few keys, so that many values meet.
    if (rng.chance(1, 2)) texts.emplace_back("key", std::string(1, "abc"[rng.below(3)]));
    return texts.empty() ? std::string() : encode_texts(texts);
  }

  SubmitDraws& draws_;
};

// Takes packs of so many members and no more, and none with a bad member in it.
class PackApplication final : public Application {
 public:
  explicit PackApplication(Rng rng) : members_max_(rng.chance(1, 2) ? 1 + rng.below(6) : 1000) {}

  PeerAnswer take(Peer& peer, const Call& call, std::vector<Receipt>& /*receipts*/) override {
    if (call.text.find("pack-bad") != std::string::npos) return peer.answer_status(422, false);
    if (call.members.size() + 1 > members_max_) return peer.answer_status(413, false);
    if (peer.rng().chance(1, 60)) return peer.answer_status(423, false);
    return peer.answer_status(peer.rng().chance(1, 6) ? 207 : 200, true);
  }

 private:
  std::uint64_t members_max_;
};

class PackField final : public Field {
 public:
  const ProfileSpec& profile() const override { return pack_profile(); }
  Trials trials() const override {
    Trials trials;
    trials.standard = {20 * 24h, 12, 1000};
    trials.standard_seeds = 10;
    trials.fresh_seeds = 0;  // worlds with keys have open findings (docs/testing.md)
    trials.crash = {12h, 3, 40};
    trials.crash_points = 60;
    return trials;
  }

  DestinationConfig draw_destination(const SimOptions& /*options*/, std::uint32_t number,
                                     Rng& rng) const override {
    DestinationConfig config;
    config.name = "destination-" + std::to_string(number);
    config.profile = profile().name;
    config.settings = draw_settings(number, rng);
    return config;
  }

  std::unique_ptr<Workload> make_workload(SubmitDraws& draws, Rng /*rng*/) const override {
    return std::make_unique<PackWorkload>(draws);
  }
  std::unique_ptr<Application> make_application(Rng rng) const override {
    return std::make_unique<PackApplication>(rng);
  }
  void add_checkers(const CheckerContext& context, Notebook& notebook,
                    CheckerList& list) const override {
    list.push_back(make_batch_checker(context, notebook, {.free_states = {"queued", "aside"}}));
    list.push_back(make_latest_checker(context, notebook));
  }

  void read_call(const WireRequest& request, const IdCodec& /*ids*/, Call& call) const override {
    const auto id = parse_message_id(request.headers.find("pack-id"));
    if (!id) return;
    call.id = *id;
    call.batch = request.headers.find("pack-batch");
    call.carries_body = call.batch.empty();
    std::string_view rest = request.headers.find("pack-members");
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (const auto member = parse_message_id(rest.substr(0, end)))
        call.members.push_back(*member);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const std::string_view now = request.headers.find("pack-now");
    std::int64_t ms = 0;
    if (now.empty()) return;
    std::from_chars(now.data(), now.data() + now.size(), ms);
    call.decided_at = Timestamp(ms);
  }

  std::string_view unreachable(const RowUse& row) const override {
    const bool late = row.row.find("no-link) ignore") != std::string::npos ||
                      row.row.find("failed) ignore") != std::string::npos ||
                      row.row.find("timed-out) ignore") != std::string::npos ||
                      row.row.find("stale-route) ignore") != std::string::npos ||
                      row.row.find("rejected) ignore") != std::string::npos ||
                      row.row.find("progressed) ignore") != std::string::npos;
    if (late) return "no peer tells of a pack unasked";
    if (row.row.find("peer-seen) await") != std::string::npos)
      return "no far side of packs gives a sign of life";
    const bool alone =
        row.method == "solo" && row.row.find("stale-route) release") != std::string::npos;
    return alone ? "a message that goes alone is refused for good" : std::string_view();
  }
};

}  // namespace

const Field& pack_field() {
  static const PackField kField;
  return kField;
}

}  // namespace postrider::sim
