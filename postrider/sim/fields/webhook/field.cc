#include "postrider/sim/fields/webhook/field.h"

#include <algorithm>
#include <string>
#include <utility>

#include "postrider/base/hash.h"
#include "postrider/json/json_reader.h"
#include "postrider/model/id_address.h"
#include "postrider/profiles/webhook/profile.h"
#include "postrider/sim/checkers/batches.h"
#include "postrider/sim/world/notebook.h"
#include "postrider/sim/world/settings_draws.h"
#include "postrider/sim/world/submit_draws.h"

namespace postrider::sim {
namespace {

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr std::string_view kOrderKey = "order-key";
constexpr std::uint64_t kOrderKeys = 3;

std::string peer_address(std::uint32_t peer) {
  return "https://peer-" + std::to_string(peer) + ".example/hook";
}

NamedTexts draw_settings(std::uint32_t peer, Rng& rng) {
  NamedTexts settings{{"url", peer_address(peer)}};
  maybe(settings, "secret", 2, SettingChoices{kSecret, kSecret, kSecret}, rng);
  maybe(settings, "ladder", 3, SettingChoices{"1s,5s", "10s,1m,10m", "1s,2s,4s,8s,5m"}, rng);
  maybe(settings, "jitter_percent", 4, SettingChoices{"0", "50", "100"}, rng);
  maybe(settings, "budget", 3, SettingChoices{"1m", "2h", "20h"}, rng);
  maybe(settings, "retry_after_max", 4, SettingChoices{"0", "1m", "2h"}, rng);
  maybe(settings, "time_out", 4, SettingChoices{"2s", "20s", "1m"}, rng);
  maybe(settings, "in_flight_max", 3, SettingChoices{"1", "2", "20"}, rng);
  maybe(settings, "rate", 5, SettingChoices{"1", "3", "10"}, rng);
  maybe(settings, "strikes_max", 4, SettingChoices{"0", "1", "3"}, rng);
  maybe(settings, "wait_max", 4, SettingChoices{"5s", "1m", "1h"}, rng);
  maybe(settings, "disable_after", 4, SettingChoices{"10m", "6h", "0"}, rng);
  maybe(settings, "order", 2, SettingChoices{"fifo", "fifo", "none"}, rng);
  maybe(settings, "reject", 4, SettingChoices{"retry", "retry", "dead"}, rng);
  maybe(settings, "when_disabled", 3, SettingChoices{"hold", "hold", "refuse"}, rng);
  // Apart, so that the other draws of older worlds stay what they were.
  Rng more = Rng(rng).fork(1);
  maybe(settings, "when_exhausted", 2, SettingChoices{"park", "park", "dead"}, more);
  maybe(settings, "attempts_max", 3, SettingChoices{"1", "3", "6"}, more);
  Rng fair = Rng(rng).fork(2);
  maybe(settings, "adapt", 3, SettingChoices{"off", "off", "on"}, fair);
  maybe(settings, "tenant", 2, SettingChoices{"a", "b", "c"}, fair);
  if (fair.chance(1, 3)) {
    settings.emplace_back("group", "site");
    settings.emplace_back("group_in_flight_max", "2");
  }
  Rng kept = Rng(rng).fork(4);
  maybe(settings, "history", 3, SettingChoices{"on", "on", "off"}, kept);
  Rng lanes = Rng(rng).fork(3);
  maybe(settings, "lower_priority_every", 2, SettingChoices{"2", "2", "3"}, lanes);
  maybe(settings, "priority_ageing", 4, SettingChoices{"1s", "1m", "1h"}, lanes);
  maybe(settings, "on_poison", 2, SettingChoices{"park", "skip", "park"}, lanes);
  maybe(settings, "poison_after", 2, SettingChoices{"1", "2", "3"}, lanes);
  if (peer % 3 == 1 && lanes.chance(1, 2)) change(settings, "in_flight_max", "1");
  return settings;
}

// Of streams of their own, so that worlds without batches stay what they are.
void draw_batches(NamedTexts& settings, Rng rng) {
  if (rng.chance(1, 8)) return;
  constexpr SettingChoices kMembers = {"2", "6", "50"};
  settings.emplace_back("batch_max", std::string(kMembers[rng.below(kMembers.size())]));
  maybe(settings, "batch_wait", 3, SettingChoices{"200ms", "5s", "1m"}, rng);
  maybe(settings, "batch_bytes_max", 4, SettingChoices{"1024", "2048", "1024"}, rng);
  maybe(settings, "batch_format", 2, SettingChoices{"cloudevents", "cloudevents", "array"}, rng);
}

// Takes so many members and no more, and some messages only alone, so that they end whatever is
// done with rejections. What comes alone it answers as a peer without an application does: worlds
// without batches stay what they are.
class WebhookApplication final : public Application {
 public:
  explicit WebhookApplication(Rng rng) : members_max_(rng.chance(1, 2) ? 1 + rng.below(6) : 1000) {}

  PeerAnswer take(Peer& peer, const Call& call, std::vector<Receipt>& /*receipts*/) override {
    if (!call.members.empty()) {
      const bool bad = is_bad(call.id) ||
                       std::any_of(call.members.begin(), call.members.end(), is_bad);
      if (bad) return peer.answer_status(422, false);
      if (call.members.size() + 1 > members_max_) return peer.answer_status(413, false);
    }
    return peer.answer_status(peer.rng().chance(1, 8) ? 204 : 200, true);
  }

 private:
  static bool is_bad(MessageId id) { return hash64("bad", id.low) % 24 == 0; }

  std::uint64_t members_max_;
};

class WebhookWorkload final : public Workload {
 public:
  WebhookWorkload(SubmitDraws& draws, Rng lines) : draws_(draws), lines_(lines) {}

  Submit draw_submit(std::uint32_t destination) override {
    return draws_.draw(destination, [this] { return draw_attributes(); });
  }
  void draw_other_content(Submit& again) override { again.body = draws_.draw_body(); }

 private:
  std::string draw_attributes() {
    NamedTexts texts;
    if (draws_.rng().chance(1, 4)) texts.emplace_back("content-type", "text/plain");
    if (lines_.chance(1, 3))
      texts.emplace_back(std::string(kOrderKey), "key-" + std::to_string(lines_.below(kOrderKeys)));
    return texts.empty() ? std::string() : encode_texts(texts);
  }

  SubmitDraws& draws_;
  Rng lines_;  // of its own, so that the other draws stay what they were
};

class WebhookField final : public Field {
 public:
  const ProfileSpec& profile() const override { return kWebhook; }
  Customs customs() const override { return {.parked_return = true, .answers_prove = true}; }

  DestinationConfig draw_destination(const SimOptions& options, std::uint32_t number,
                                     Rng& rng) const override {
    DestinationConfig config;
    config.name = "destination-" + std::to_string(number);
    config.profile = profile().name;
    config.settings = draw_settings(number, rng);
    if (options.batches) draw_batches(config.settings, Rng(rng).fork(5));
    return config;
  }

  Result<DestinationConfig> rehearse(DestinationConfig real, std::uint32_t peer) const override {
    NamedTexts settings;
    for (auto& [name, value] : real.settings) {
      if (name == "trust") continue;
      if (name == "url") value = peer_address(peer);
      if (name == "secret") value = kSecret;
      // A world has no key files.
      if (name == "secret_name") settings.emplace_back("secret", kSecret);
      if (name == "secret_name") continue;
      if (name.starts_with("headers.")) value = "x";
      if (name == "id_header") continue;
      settings.emplace_back(name, value);
    }
    // Peers know a message by this header, which one of the signatures leaves out.
    const std::string* signature = find_text(settings, "signature");
    if (signature != nullptr && *signature == "hmac-sha256-body")
      settings.emplace_back("id_header", "webhook-id");
    real.settings = std::move(settings);
    return real;
  }

  std::optional<DestinationConfig> stage(const StagedDestination& wanted) const override {
    DestinationConfig config;
    config.name = wanted.name;
    config.profile = profile().name;
    config.settings = {{"url", peer_address(wanted.peer)}};
    const auto set = [&config](const char* name, std::string value) {
      config.settings.emplace_back(name, std::move(value));
    };
    const auto in_words = [](Duration wait) {
      const std::int64_t seconds = wait / 1s;
      return seconds % 60 == 0 ? std::to_string(seconds / 60) + "m" : std::to_string(seconds) + "s";
    };
    if (!wanted.tenant.empty()) set("tenant", wanted.tenant);
    if (wanted.tenant_weight > 0) set("tenant_weight", std::to_string(wanted.tenant_weight));
    if (wanted.in_flight_max > 0) set("in_flight_max", std::to_string(wanted.in_flight_max));
    if (wanted.wait > Duration(0)) {
      set("wait_base", in_words(wanted.wait));
      set("ladder", in_words(wanted.wait));
    }
    if (wanted.wait_max > Duration(0)) set("wait_max", in_words(wanted.wait_max));
    return config;
  }

  std::unique_ptr<Workload> make_workload(SubmitDraws& draws, Rng rng) const override {
    return std::make_unique<WebhookWorkload>(draws, rng.fork(10));
  }

  std::unique_ptr<Application> make_application(Rng rng) const override {
    return std::make_unique<WebhookApplication>(rng);
  }

  void add_checkers(const CheckerContext& context, Notebook& notebook,
                    CheckerList& list) const override {
    list.push_back(make_batch_checker(
        context, notebook, {.free_states = {"Queued", "Parked", "Aside"}, .same_bytes = false}));
  }

  // The id of a batch is that of its leader and a number.
  void read_call(const WireRequest& request, const IdCodec& ids, Call& call) const override {
    for (const NamedText& header : request.headers.list()) {
      if (header.first != "webhook-id") continue;
      const std::string_view id = header.second;
      call.id = ids.parse(id.substr(0, id.find('-'))).value_or(call.id);
      const std::size_t number = id.find('-');
      if (number != std::string_view::npos) read_batch(request, ids, call, id.substr(number));
    }
  }

  std::string_view unreachable(const RowUse& row) const override {
    return row.method == "batch" ? "worlds with --batches use it" : std::string_view();
  }

  void read_message(const Message& message, const NamedTexts& attributes,
                    MessageNote& note) const override {
    const std::string* line = message.ordered ? find_text(attributes, kOrderKey) : nullptr;
    if (line != nullptr) note.line = *line;
  }

 private:
  // By what really stands in the body.
  static void read_batch(const WireRequest& request, const IdCodec& ids, Call& call,
                         std::string_view number) {
    call.batch = to_string(call.id).append(number);
    call.carries_body = false;
    json::JsonDocument document;
    if (!document.parse(request.body, {.names_twice = true})) return;
    json::JsonValue element = document.root().first();
    for (std::size_t left = document.root().size(); left > 0; --left) {
      element.for_members([&](const json::JsonValue& key, const json::JsonValue& value) {
        if (!key.text_is("id")) return true;
        const auto id = ids.parse(value.text());
        if (id && *id != call.id) call.members.push_back(*id);
        return false;
      });
      if (left > 1) element = element.next();
    }
  }
};

}  // namespace

const Field& webhook_field() {
  static const WebhookField kField;
  return kField;
}

}  // namespace postrider::sim
