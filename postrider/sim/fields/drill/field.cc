#include "postrider/sim/fields/drill/field.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "postrider/model/id_address.h"
#include "postrider/sim/fields/drill/checkers/all.h"
#include "postrider/sim/fields/drill/drill.h"
#include "postrider/sim/fields/drill/peer.h"
#include "postrider/sim/world/notebook.h"
#include "postrider/sim/world/settings_draws.h"
#include "postrider/sim/world/submit_draws.h"

namespace postrider::sim {
namespace {

// A share of the destinations knows a deep wait. A wait that is exactly as long as allowed is not
// deep, so the numbers meet where nothing is drawn.
void draw_deep(NamedTexts& settings, Rng rng) {
  if (!rng.chance(1, 3)) return;
  change(settings, "strikes", rng.chance(1, 2) ? "1" : "2");
  change(settings, "deep", std::array{"5000", "20000", "40000", "600000"}[rng.below(4)]);
  if (rng.chance(1, 2)) {
    change(settings, "jitter-low", "800");
    change(settings, "jitter-high", "1400");
  }
  maybe(settings, "factor", 4, SettingChoices{"150", "300", "100"}, rng);
  maybe(settings, "catch-up", 2, SettingChoices{"0", "10", "210"}, rng);
  maybe(settings, "drops", 3, SettingChoices{"4", "2", "6"}, rng);
  maybe(settings, "begins-behind", 4, SettingChoices{"1", "1", "0"}, rng);
  if (rng.chance(1, 3)) change(settings, "route", "behind");
}

NamedTexts draw_settings(std::uint32_t peer, Rng& rng) {
  NamedTexts settings{{"peer", "peer-" + std::to_string(peer)}};
  maybe(settings, "window", 2, SettingChoices{"1", "2", "5"}, rng);
  maybe(settings, "fifo", 2, SettingChoices{"65535", "2", "1"}, rng);
  maybe(settings, "in-use", 2, SettingChoices{"1", "2", "4"}, rng);
  maybe(settings, "spacing", 5, SettingChoices{"100", "1000", "7000"}, rng);
  maybe(settings, "tokens", 5, SettingChoices{"1", "2", "5"}, rng);
  maybe(settings, "burst", 5, SettingChoices{"1", "2", "10"}, rng);
  maybe(settings, "strikes", 2, SettingChoices{"1", "3", "5"}, rng);
  maybe(settings, "wait-max", 3, SettingChoices{"5000", "60000", "3600000"}, rng);
  maybe(settings, "disable-after", 5, SettingChoices{"600000", "7200000", "86400000"}, rng);
  maybe(settings, "attempts", 2, SettingChoices{"1", "3", "8"}, rng);
  maybe(settings, "budget", 3, SettingChoices{"60000", "3600000", "36000000"}, rng);
  maybe(settings, "base", 2, SettingChoices{"1000", "10000", "60000"}, rng);
  maybe(settings, "cap", 3, SettingChoices{"1000", "60000", "7200000"}, rng);
  maybe(settings, "cap-after", 4, SettingChoices{"1", "2", "4"}, rng);
  maybe(settings, "tick", 2, SettingChoices{"1000", "60000", "7000"}, rng);
  maybe(settings, "jitter", 3, SettingChoices{"0", "50", "100"}, rng);
  maybe(settings, "stage", 3, SettingChoices{"5000", "60000", "900000"}, rng);
  maybe(settings, "hold", 3, SettingChoices{"1", "1", "0"}, rng);
  maybe(settings, "route", 2, SettingChoices{"ask", "stale", "known"}, rng);
  maybe(settings, "link", 6, SettingChoices{"cold", "cold", "warm"}, rng);
  maybe(settings, "poll", 3, SettingChoices{"1000", "30000", "300000"}, rng);
  maybe(settings, "poll-error", 3, SettingChoices{"0", "1000", "60000"}, rng);
  maybe(settings, "life", 4, SettingChoices{"600000", "36000000", "172800000"}, rng);
  Rng more = Rng(rng).fork(1);
  maybe(settings, "strand", 2, SettingChoices{"1", "1", "0"}, more);
  Rng fair = Rng(rng).fork(2);
  maybe(settings, "adapt", 2, SettingChoices{"1", "1", "0"}, fair);
  maybe(settings, "tenant", 2, SettingChoices{"1", "2", "3"}, fair);
  maybe(settings, "group", 3, SettingChoices{"1", "2", "3"}, fair);
  Rng sealed = Rng(rng).fork(5);
  maybe(settings, "seal", 3, SettingChoices{"seal", "seal", "seal"}, sealed);
  Rng kept = Rng(rng).fork(4);
  maybe(settings, "history", 3, SettingChoices{"1", "1", "0"}, kept);
  Rng lanes = Rng(rng).fork(3);
  maybe(settings, "lower", 2, SettingChoices{"2", "2", "3"}, lanes);
  maybe(settings, "ageing", 4, SettingChoices{"1000", "60000", "3600000"}, lanes);
  maybe(settings, "poison", 2, SettingChoices{"1", "2", "1"}, lanes);
  maybe(settings, "poison-after", 2, SettingChoices{"1", "2", "3"}, lanes);
  if (peer % 3 == 1 && lanes.chance(1, 2)) change(settings, "in-use", "1");
  draw_deep(settings, Rng(rng).fork(6));
  return settings;
}

class DrillWorkload final : public Workload {
 public:
  DrillWorkload(SubmitDraws& draws, Rng rng)
      : draws_(draws),
        lines_(Rng(rng).fork(10)),
        tasks_(Rng(rng).fork(9)),
        gates_(Rng(rng).fork(11)),
        streams_(Rng(rng).fork(12)) {}

  Submit draw_submit(std::uint32_t destination) override {
    return draws_.draw(destination, [this] { return draw_attributes(); });
  }
  void draw_other_content(Submit& again) override { again.body = draws_.draw_body(); }
  std::string rush_attributes() override { return encode_texts({{"method", "post"}}); }

  std::string fanout_attributes(Rng& rng) override {
    constexpr std::array<std::string_view, 4> kMethods = {"relay", "post", "once", "task"};
    NamedTexts texts{{"method", std::string(kMethods[rng.below(kMethods.size())])}};
    if (rng.chance(1, 8)) texts.emplace_back("supersede", "key-" + std::to_string(rng.below(3)));
    return encode_texts(texts);
  }

  bool repeats_news() override { return tasks_.chance(1, 8); }

 private:
  std::string draw_attributes() {
    NamedTexts texts;
    Rng& rng = draws_.rng();
    constexpr std::array<std::string_view, 3> kNames = {"relay", "post", "once"};
    texts.emplace_back("method", std::string(kNames[rng.below(kNames.size())]));
    for (const DrillGate& gate : drill_gates()) {
      if (rng.chance(1, 6)) texts.emplace_back(std::string(gate.name), "");
    }
    draw_task(texts);
    const bool plain = texts.front().second == "relay" || texts.front().second == "post";
    if (streams_.chance(1, 3) && plain) texts.front().second = "patient";
    if (streams_.chance(1, 4)) {
      // Mostly rising, and sometimes far back.
      position_ += 1 + streams_.below(3);
      const std::uint64_t back = streams_.chance(1, 4) ? streams_.below(position_) : 0;
      texts.emplace_back("position", std::to_string(position_ - back));
    }
    if (lines_.chance(1, 5)) texts.emplace_back("line", std::to_string(lines_.below(kDrillLines)));
    return encode_texts(texts);
  }

  void draw_task(NamedTexts& texts) {
    if (tasks_.chance(1, 3)) texts.front().second = "task";
    const bool ordered = texts.front().second == "task" || texts.front().second == "once";
    if (ordered && tasks_.chance(1, 4))
      texts.emplace_back("order", std::to_string(tasks_.below(kDrillOrders)));
    if (tasks_.chance(1, 8))
      texts.emplace_back("supersede", "key-" + std::to_string(tasks_.below(3)));
    if (ordered && gates_.chance(1, 3)) texts.emplace_back(std::string(kDrillFrail), "");
    if (ordered && gates_.chance(1, 6))
      texts.emplace_back("begins",
                         draws_.destinations()[gates_.below(draws_.destinations().size())].name);
    if (tasks_.chance(1, 10)) {
      const std::size_t which = tasks_.below(draws_.destinations().size() + 1);
      texts.emplace_back("then", which == draws_.destinations().size()
                                     ? "nobody"
                                     : draws_.destinations()[which].name);
    }
  }

  SubmitDraws& draws_;
  Rng lines_;  // of its own, as those below, so that the other draws stay what they were
  Rng tasks_;
  Rng gates_;
  Rng streams_;
  std::uint64_t position_ = 0;
};

class DrillField final : public Field {
 public:
  const ProfileSpec& profile() const override { return drill_profile(); }
  Trials trials() const override {
    // Few worlds are so small and visit everything; the search begins near one.
    return {.crash = {12h, 4, 40}, .crash_from_seed = 1600};
  }

  DestinationConfig draw_destination(const SimOptions& /*options*/, std::uint32_t number,
                                     Rng& rng) const override {
    DestinationConfig config;
    config.name = "destination-" + std::to_string(number);
    config.profile = profile().name;
    config.settings = draw_settings(number, rng);
    return config;
  }

  std::optional<NamedTexts> draw_template(const SimOptions& options, Rng& rng) const override {
    const auto peer = static_cast<std::uint32_t>(rng.below(options.destinations));
    NamedTexts settings = draw_settings(peer, rng);
    Rng idle = Rng(rng).fork(7);
    if (options.idle && idle.chance(3, 4))
      settings.emplace_back("idle", std::array{"600000", "14400000", "43200000"}[idle.below(3)]);
    return settings;
  }

  std::unique_ptr<Workload> make_workload(SubmitDraws& draws, Rng rng) const override {
    return std::make_unique<DrillWorkload>(draws, rng);
  }
  std::unique_ptr<Application> make_application(Rng rng) const override {
    return make_drill_application(rng);
  }
  void add_checkers(const CheckerContext& context, Notebook& notebook,
                    CheckerList& list) const override {
    for (CheckerMaker* maker :
         {make_pairing_checker, make_intent_checker, make_starts_checker, make_frail_checker,
          make_holder_checker, make_seen_checker, make_seal_checker})
      list.push_back(maker(context, notebook));
  }

  // Peers of the drill are ours, and know a message by its address.
  void read_call(const WireRequest& request, const IdCodec& /*ids*/, Call& call) const override {
    for (const NamedText& header : request.headers.list()) {
      if (header.first == "drill-id") call.id = parse_message_id(header.second).value_or(call.id);
      if (header.first == "drill-method") call.method = header.second;
      if (header.first == "drill-task") call.task = header.second;
      if (header.first == "drill-order") call.order = header.second;
    }
    if (call.method == "once") call.once = true;
    if (call.method == "relay") call.lingers = true;
    const std::string_view now = request.headers.find("drill-now");
    if (now.empty()) return;
    std::int64_t ms = 0;
    std::from_chars(now.data(), now.data() + now.size(), ms);
    call.decided_at = Timestamp(ms);
  }

  void read_message(const Message& message, const NamedTexts& attributes,
                    MessageNote& note) const override {
    const auto read = [&attributes](std::string_view name, std::string& place) {
      if (const std::string* text = find_text(attributes, name)) place = *text;
    };
    read("supersede", note.supersedes);
    read("then", note.then);
    read("begins", note.begins);
    read("order", note.order);
    if (message.ordered) read("line", note.line);
    const std::string* after = find_text(attributes, "after");
    note.nested = after != nullptr && *after == to_string(message.origin);
  }

  std::string_view unreachable(const RowUse& row) const override {
    // A receipt that denies what is on its way would be believed, and the operation would run
    // twice; so no peer sends one.
    const bool denial = row.row.find(", no-link) ignore") != std::string::npos ||
                        row.row.find(", failed) ignore") != std::string::npos ||
                        row.row.find(", rejected) ignore") != std::string::npos;
    const bool once = row.method == "once";
    return once && denial ? "no peer denies by receipt what must not be repeated"
                          : std::string_view();
  }
};

}  // namespace

const Field& drill_field() {
  static const DrillField kField;
  return kField;
}

}  // namespace postrider::sim
