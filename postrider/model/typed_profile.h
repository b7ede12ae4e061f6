// TypedProfile: a profile as its author writes it, with the types of its own that the engine keeps
// for it: what `read` makes of a message and what `prepare` makes of a destination's settings.
// `profile_of` makes a ProfileSpec of it. The engine's side of those values is Opaque; the way back
// to their types is in this file and nowhere else.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "postrider/model/profile.h"

namespace postrider {

struct Nothing {};  // of a profile that reads or prepares nothing

// Facts, Offer or Rerun with what is kept for the profile in its own types.
template <class Base, class PreparedType, class ParsedType>
struct TypedView : Base {
  explicit TypedView(const Base& base)
      : Base(base),
        prepared(OpaqueOf<PreparedType>::in(base.values.prepared)),
        parsed(OpaqueOf<ParsedType>::in(base.values.parsed)) {}

  const PreparedType* prepared;  // null: `prepare` made nothing of these settings
  const ParsedType* parsed;      // null: `read` made nothing of this message
};

// The beats are those of ProfileSpec, and what is said there holds here.
template <class PreparedType, class ParsedType>
struct TypedProfile {
  using Prepared = PreparedType;
  using Parsed = ParsedType;
  using FactsView = TypedView<Facts, Prepared, Parsed>;
  using OfferView = TypedView<Offer, Prepared, Parsed>;
  using RerunView = TypedView<Rerun, Prepared, Parsed>;

  struct Settings {
    std::span<const SettingRow> rows = {};
    Result<Policy> (*configure)(const NamedTexts& settings);
    std::optional<Prepared> (*prepare)(const NamedTexts& settings) = nullptr;
  };
  struct Door {
    Result<std::optional<Parsed>> (*read)(std::string_view body,
                                          std::string_view attributes) = nullptr;
    Result<Admission> (*admit)(const OfferView& offer);
    std::string (*why_not_again)(const RerunView& rerun) = nullptr;
  };
  struct Wire {
    Judgement (*judge)(const FactsView& facts) = nullptr;  // null: it is due
    // A FactsView can be made of each candidate.
    std::vector<std::size_t> (*compose)(const FactsView& leader, std::span<const Facts> candidates,
                                        std::uint32_t members_max) = nullptr;
    WireRequest (*encode)(const FactsView& facts, AttemptKind kind);
    Reading (*classify)(const FactsView& facts, AttemptKind kind, const WireReply& reply);
  };
  struct News {
    Received (*receive)(const Inbound& inbound) = nullptr;
    Reading (*notice)(const FactsView& facts, const Notice& notice) = nullptr;
  };

  std::string_view name;
  std::span<const StateRow> states;
  std::span<const Method> methods;
  Settings settings;
  Door door;
  Wire wire;
  News news = {};
  Aftermath (*after)(const FactsView& facts, const Moment& moment) = nullptr;
  ProfileSpec::Gates gates = {};
  const Dictionary* dictionary = nullptr;
  bool bounded = false;
  bool keeps_arrivals = true;
  bool keeps_outcomes = false;
  Result<std::unique_ptr<Station>> (*make_station)(const NamedTexts& settings,
                                                   const Secrets& secrets) = nullptr;
};

// Whether a function is given. Asked of the type that the pointer names as an argument: under
// -fsanitize=undefined g++ 12 does not take `function != nullptr` for a constant (its bug 71962).
template <auto function>
inline constexpr bool kGiven = !std::is_same_v<std::integral_constant<decltype(function), function>,
                                               std::integral_constant<decltype(function), nullptr>>;

// `kTyped` is a constexpr TypedProfile of static storage.
template <const auto& kTyped>
constexpr ProfileSpec profile_of() {
  using Typed = std::remove_cvref_t<decltype(kTyped)>;
  using FactsView = typename Typed::FactsView;
  using Prepared = OpaqueOf<typename Typed::Prepared>;
  using Parsed = OpaqueOf<typename Typed::Parsed>;
  ProfileSpec spec{
      .name = kTyped.name,
      .states = kTyped.states,
      .methods = kTyped.methods,
      .settings = {.rows = kTyped.settings.rows, .configure = kTyped.settings.configure},
      .door = {.admit =
                   [](const Offer& offer) {
                     return kTyped.door.admit(typename Typed::OfferView(offer));
                   }},
      .wire = {
          .judge = judge_due,
          .encode = [](const Facts& facts,
                       AttemptKind kind) { return kTyped.wire.encode(FactsView(facts), kind); },
          .classify =
              [](const Facts& facts, AttemptKind kind, const WireReply& reply) {
                return kTyped.wire.classify(FactsView(facts), kind, reply);
              }},
      .news = {.receive = kTyped.news.receive},
      .gates = kTyped.gates,
      .dictionary = kTyped.dictionary,
      .bounded = kTyped.bounded,
      .keeps_arrivals = kTyped.keeps_arrivals,
      .keeps_outcomes = kTyped.keeps_outcomes,
      .make_station = kTyped.make_station,
  };
  if constexpr (kGiven<kTyped.settings.prepare>) {
    spec.settings.prepare = [](const NamedTexts& settings) -> std::shared_ptr<const Opaque> {
      auto prepared = kTyped.settings.prepare(settings);
      if (!prepared) return nullptr;
      return std::make_shared<const Prepared>(std::move(*prepared));
    };
  }
  if constexpr (kGiven<kTyped.door.read>) {
    spec.door.read = [](std::string_view body,
                        std::string_view attributes) -> Result<std::unique_ptr<const Opaque>> {
      auto parsed = kTyped.door.read(body, attributes);
      if (!parsed) return tl::unexpected<Error>(std::move(parsed.error()));
      if (!*parsed) return std::unique_ptr<const Opaque>();
      return std::unique_ptr<const Opaque>(std::make_unique<const Parsed>(std::move(**parsed)));
    };
  }
  if constexpr (kGiven<kTyped.door.why_not_again>) {
    spec.door.why_not_again = [](const Rerun& rerun) {
      return kTyped.door.why_not_again(typename Typed::RerunView(rerun));
    };
  }
  if constexpr (kGiven<kTyped.wire.judge>) {
    spec.wire.judge = [](const Facts& facts) { return kTyped.wire.judge(FactsView(facts)); };
  }
  if constexpr (kGiven<kTyped.wire.compose>) {
    spec.wire.compose = [](const Facts& leader, std::span<const Facts> candidates,
                           std::uint32_t members_max) {
      return kTyped.wire.compose(FactsView(leader), candidates, members_max);
    };
  }
  if constexpr (kGiven<kTyped.news.notice>) {
    spec.news.notice = [](const Facts& facts, const Notice& notice) {
      return kTyped.news.notice(FactsView(facts), notice);
    };
  }
  if constexpr (kGiven<kTyped.after>) {
    spec.after = [](const Facts& facts, const Moment& moment) {
      return kTyped.after(FactsView(facts), moment);
    };
  }
  return spec;
}

}  // namespace postrider
