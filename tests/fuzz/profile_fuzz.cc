// Feeds arbitrary bytes to the functions of the profiles, as the engine calls them: settings,
// bodies and attributes that ask to be accepted, answers, events that arrive unasked, and notes and
// trails as an older version or a bad disk may have left them.
//
// The input has parts with a zero byte between them: a choice, settings ("name=value", one a line),
// the body, notes, the answer's body, the source of what arrives. What arrives is the answer's body
// too.
#include "postrider/model/profile.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/model/attributes.h"
#include "postrider/model/message.h"
#include "postrider/profiles/all.h"
#include "postrider/profiles/device/mint.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/profiles/device/report.h"

namespace postrider {
namespace {

constexpr Timestamp kNow(1'800'000'100'000);
constexpr std::string_view kCommand =
    R"({"commandType":"READ_CREDIT","priority":0,"pluginId":"p","device":{"type":"ELECTRICITY_METER","externalReference":"47003333623"}})";
constexpr std::string_view kMint =
    R"({"type":"TOP_UP_KWH","pluginId":"p","issueDateString":"2027-01-01T00:00:00.000Z","device":{"externalReference":"47003333623","decoderKey":"0123456789abcdef"},"payload":{"kwh":1.5}})";
constexpr std::array<std::string_view, 4> kWays = {"chirpstack", "chirpstack-mqtt", "calin-v1",
                                                   "calin-v2"};

struct Input {
  std::string choice;  // profile and way, kind of attempt, end of the wire, state, attempts
  std::string settings;
  std::string body;
  std::string notes;
  std::string answer;
  std::string source;

  std::uint8_t pick(std::size_t which, std::size_t count) const {
    const auto byte = which < choice.size() ? static_cast<unsigned char>(choice[which]) : 0U;
    return static_cast<std::uint8_t>(byte % count);
  }
};

std::string take(std::string_view& text, char until) {
  const std::size_t end = std::min(text.find(until), text.size());
  std::string out(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

// Notes and answers may have zero bytes themselves: "\x01" stands for one, "\x02" for itself or
// the other.
std::string unescape(std::string text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x02' && i + 1 < text.size()) {
      out.push_back(text[++i]);
    } else {
      out.push_back(text[i] == '\x01' ? '\0' : text[i]);
    }
  }
  return out;
}

DestinationConfig config_of(const Input& input) {
  DestinationConfig config;
  config.name = "d";
  const std::uint8_t way = input.pick(0, kWays.size() + 1);
  config.profile = way < kWays.size() ? "device" : "webhook";
  config.settings = {{"url", "http://far.example"}};
  if (way < kWays.size()) {
    const NamedTexts more = {{"plugin", "p"},       {"way", std::string(kWays[way])},
                             {"application", "1"},  {"broker", "b"},
                             {"company", "c"},      {"user", "u"},
                             {"password", "pass1"}, {"vend_password", "vend1"},
                             {"events", "e"}};
    config.settings.insert(config.settings.end(), more.begin(), more.end());
  }
  std::string_view lines = input.settings;
  while (!lines.empty()) {
    const std::string line = take(lines, '\n');
    std::string_view value = line;
    std::string name = take(value, '=');
    const auto same = std::find_if(config.settings.begin(), config.settings.end(),
                                   [&](const NamedText& one) { return one.first == name; });
    if (same != config.settings.end()) {
      same->second = value;
    } else {
      config.settings.emplace_back(std::move(name), value);
    }
  }
  return config;
}

// "PLUGIN EVENT FORMAT": words, and what is missing is empty.
ArrivalSource source_of(std::string_view words) {
  ArrivalSource out;
  for (std::string* word : {&out.origin, &out.kind, &out.format}) {
    const std::size_t end = std::min(words.find(' '), words.size());
    *word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out;
}

class Case {
 public:
  Case(const Input& input, const ProfileSpec& profile, DestinationConfig config, Policy policy)
      : input_(input), profile_(profile), config_(std::move(config)), policy_(policy) {}

  void run() {
    const bool device = profile_.name == "device";
    const bool mint = device && input_.pick(5, 4) == 3;
    attributes_ = mint ? device::mint_attributes() : attributes_of_choice(device);
    if (!admit(input_.body) && !admit(mint ? kMint : kCommand)) return;
    make_state();
    trail_ = decode_trail(input_.notes).value_or(Trail());
    if (device) check_notes();
    look();
    send();
    arrive();
    leave();
    if (device) report();
  }

 private:
  Facts facts() const {
    Facts out{message_, state_, config_, policy_, kNow, kNow};
    out.notes = input_.notes;
    out.intent = profile_.methods[state_.method].durable_intent ? &intent_ : nullptr;
    out.trail = &trail_;
    out.values = {.prepared = prepared_.get(), .parsed = parsed_.get()};
    out.ids = &ids_;
    return out;
  }

  std::string attributes_of_choice(bool device) const {
    if (device) return {};
    // Of a webhook: the bytes that an application gave, when they are attributes at all.
    return decode_texts(input_.notes) ? input_.notes : std::string();
  }

  bool admit(std::string_view body) {
    parsed_.reset();
    if (profile_.door.read != nullptr) {
      auto parsed = profile_.door.read(body, attributes_);
      if (!parsed) {
        POSTRIDER_CHECK(!parsed.error().detail.empty());
        return false;
      }
      parsed_ = std::move(*parsed);
    }
    const Offer offer{config_, policy_, 0, attributes_, body, {nullptr, parsed_.get()}};
    const Result<Admission> admitted = profile_.door.admit(offer);
    if (!admitted) {
      POSTRIDER_CHECK(!admitted.error().detail.empty());
      return false;
    }
    POSTRIDER_CHECK(admitted->method < profile_.methods.size());
    Message fields;
    fields.id = {0x0010'0000'0010'0000, 77};
    fields.accepted = kNow - Duration(5000);
    fields.method = admitted->method;
    message_ = encode_message(fields, attributes_, body, profile_.dictionary);
    return true;
  }

  void make_state() {
    state_.method = message_.method;
    state_.state = input_.pick(3, profile_.states.size());
    state_.attempts = static_cast<std::uint16_t>(1 + input_.pick(4, 3));
    state_.since = kNow - Duration(1000);
    state_.first_attempt = kNow - Duration(2000);
    intent_ = {.at = kNow - Duration(1000), .wall = kNow - Duration(1000), .hash = 1, .open = true};
    if (profile_.settings.prepare != nullptr)
      prepared_ = profile_.settings.prepare(config_.settings);
  }

  void check_notes() const {
    const device::Notes notes = device::decode_notes(input_.notes);
    const std::string again = device::encode_notes(notes);
    POSTRIDER_CHECK(device::encode_notes(device::decode_notes(again)) == again);
  }

  void look() const {
    const Judgement judgement = profile_.wire.judge(facts());
    if (judgement.signal != On::kDue) return;
    const WireRequest request = profile_.wire.encode(facts(), AttemptKind::kSend);
    POSTRIDER_CHECK(!request.verb.empty() && !request.target.empty());
    POSTRIDER_CHECK(profile_.wire.encode(facts(), AttemptKind::kSend).body == request.body);
    if (profile_.after != nullptr) leave({.kind = Moment::Kind::kStarted});
    may_send_ = true;
  }

  void send() const {
    if (!may_send_) return;
    WireReply reply;
    reply.end = static_cast<WireEnd>(input_.pick(2, 16) < 8 ? input_.pick(2, 16) : 0);
    constexpr std::array<int, 8> kStatuses = {200, 0, 201, 401, 410, 429, 500, 503};
    reply.status = kStatuses[input_.pick(6, kStatuses.size())];
    reply.body = input_.answer;
    reply.headers = {{"content-type", "application/json"},
                     {"grpc-message", input_.answer.substr(0, 64)},
                     {"retry-after", input_.answer.substr(0, 32)}};
    check(profile_.wire.classify(facts(), AttemptKind::kSend, reply));
    const bool asks = profile_.name == "device" && message_.attributes.empty();
    if (!asks) return;
    static_cast<void>(profile_.wire.encode(facts(), AttemptKind::kProbe));
    check(profile_.wire.classify(facts(), AttemptKind::kProbe, reply));
  }

  void arrive() const {
    if (profile_.news.receive == nullptr) return;
    const ArrivalSource source = source_of(input_.source);
    const Received received = profile_.news.receive({.source = source,
                                                     .settings = config_.settings,
                                                     .bytes = input_.answer,
                                                     .now = kNow,
                                                     .wall = kNow});
    POSTRIDER_CHECK(received.subjects.size() <= kSubjectsMax);
    check(received.submits);
    for (const Subject& subject : received.subjects) {
      POSTRIDER_CHECK(subject.names.size() <= kNamesMax);
      tell(subject.detail);
    }
    tell(input_.answer);
  }

  void tell(std::string_view detail) const {
    if (!may_send_) return;
    Notice notice{.detail = detail, .at = kNow};
    for (const bool by_gate : {false, true}) {
      notice.by_gate = by_gate;
      notice.attempt = by_gate ? std::uint16_t{0} : std::uint16_t{1};
      check(profile_.news.notice(facts(), notice));
    }
  }

  Aftermath leave(const Moment& moment) const {
    Aftermath left = profile_.after(facts(), moment);
    POSTRIDER_CHECK(left.names.size() <= kNamesMax);
    check(left.submits);
    return left;
  }

  void leave() const {
    if (profile_.after == nullptr || !may_send_) return;
    leave({.kind = Moment::Kind::kAbandoned});
    for (std::size_t i = 0; i < profile_.states.size(); ++i) {
      if (!is_end(profile_.states[i].phase)) continue;
      const Moment end{.kind = Moment::Kind::kEnded, .end = static_cast<StateIndex>(i)};
      POSTRIDER_CHECK(!leave(end).outcome.empty());
    }
  }

  void report() const {
    MessageView view;
    view.explanation.id = message_.id;
    view.notes = input_.notes;
    view.trail = trail_;
    view.body = message_.body;
    view.has_body = true;
    const device::DeviceView seen{view, ids_, "p.network:7"};
    static_cast<void>(device::report_message(seen).has_value());
    static_cast<void>(device::report_history(seen).has_value());
    static_cast<void>(device::minted(view).token);
    static_cast<void>(device::parse_state(input_.source));
  }

  void check(const Reading& reading) const {
    POSTRIDER_CHECK(reading.names.size() <= kNamesMax);
    POSTRIDER_CHECK(!name_of(reading.signal).empty());
    if (reading.notes) {
      const std::string again = device::encode_notes(device::decode_notes(*reading.notes));
      POSTRIDER_CHECK(again == *reading.notes);  // what is written can be read
    }
    check(reading.submits);
  }

  static void check(const std::vector<NestedSubmit>& submits) {
    POSTRIDER_CHECK(submits.size() <= kNestedMax);
    for (const NestedSubmit& submit : submits)
      POSTRIDER_CHECK(decode_texts(submit.attributes).has_value());
  }

  const Input& input_;
  const ProfileSpec& profile_;
  DestinationConfig config_;
  Policy policy_;
  std::string attributes_;
  Message message_;
  State state_;
  Intent intent_;
  Trail trail_;
  std::shared_ptr<const Opaque> prepared_;
  std::unique_ptr<const Opaque> parsed_;
  const IdCodec ids_{IdKey{1}};
  mutable bool may_send_ = false;
};

}  // namespace
}  // namespace postrider

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider;  // NOLINT(google-build-using-namespace): one function, one namespace
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Input input;
  input.choice = take(bytes, '\0');
  input.settings = take(bytes, '\0');
  input.body = take(bytes, '\0');
  input.notes = unescape(take(bytes, '\0'));
  input.answer = unescape(take(bytes, '\0'));
  input.source = take(bytes, '\0');
  DestinationConfig config = config_of(input);
  const ProfileSpec* const profile = find_profile(config.profile);
  POSTRIDER_CHECK(profile != nullptr);
  const Result<Policy> policy = profile->settings.configure(config.settings);
  if (!policy) {
    POSTRIDER_CHECK(!policy.error().detail.empty());
    return 0;
  }
  Case(input, *profile, std::move(config), *policy).run();
  return 0;
}
