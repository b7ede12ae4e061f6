#include "postrider/cli/wording.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "postrider/base/nearest.h"

namespace postrider {
namespace {

// Longer ones before their parts. tests/cli holds them against the API's own refusals.
// clang-format off
constexpr auto kWords = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"ask with ?drain=true to have it removed", "say --drain to have it removed"},
    {"repeat the request with the same Idempotency-Key, or ask GET /v1/operations/{key}",
     "repeat the command with the same --idempotency-key"},
    {"; repeat the request after the time in Retry-After", ""},
    {"this Idempotency-Key was used with other content; use a new key for a new operation",
     "this --idempotency-key was used with other content; use a new one for a new operation"},
    {"Idempotency-Key", "--idempotency-key"},
    {"say even_if_it_ran", "say --even-if-it-ran"},
    {"GET /v1/profiles/{name} lists them", "'postrider profile show NAME' lists them"},
    {"GET /v1/profiles lists them", "'postrider profile ls' lists them"},
    {"ended messages are at /v1/dead-letters and at their own ids",
     "of ended ones 'postrider dlq ls' lists the dead letters, and 'postrider msg get ID' shows any"},
    {"take `next` of the last page, or begin without one",
     "take the --cursor that the last page named, or begin without one"},
    {" in the header Authorization: Bearer …, or use the Unix socket", ", or use the Unix socket"},
    {"begin without Last-Event-ID", "begin without --last-event"},
    {"say null to go back to the default", "say 'default' to go back to the default"},
});

// Words that mean the same. Of each line the first that a noun has is what was meant.
constexpr auto kSameMeaning = std::to_array<std::string_view>({
    "put create add new make set update upsert register define",
    "ls list all index",
    "show get describe info view inspect cat print status",
    "get show describe info view inspect cat print",
    "rm remove delete del destroy unregister",
    "drop delete remove rm discard purge clear",
    "remove rm delete del",
    "pause stop disable suspend halt",
    "resume start enable unpause continue restart",
    "wake kick poke flush retry",
    "retry again",
    "redrive replay requeue retry resend reprocess",
    "resend replay redeliver",
    "cancel abort kill stop delete rm remove",
    "explain why where status",
    "timeline history log attempts",
    "limit throttle rate set",
    "rotate roll rekey secret",
    "test ping try",
    "check validate verify lint test",
    "run start create new",
    "init new create",
    "recover restore replay",
    "export dump save",
    "import load",
    // Nouns.
    "dest destination destinations dests endpoint endpoints subscriber",
    "msg message messages msgs",
    "dlq dead dead-letters dead-letter deadletters letters",
    "send publish submit enqueue push post emit",
    "serve daemon server start up",
    "tail events logs log follow watch",
    "status stats state health",
    "profile profiles", "group groups", "job jobs", "hold holds", "device devices meter",
    "sim simulate simulation", "sink receiver echo", "bench benchmark", "demo try example",
});
// clang-format on

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

bool has(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// What the noun calls it; nothing when it has no such thing.
std::optional<std::string_view> meant_by(std::string_view word,
                                         std::span<const std::string_view> verbs) {
  for (const std::string_view line : kSameMeaning) {
    const std::vector<std::string_view> words = words_of(line);
    if (has(words, word) && has(verbs, words.front())) return words.front();
  }
  return std::nullopt;
}

}  // namespace

std::string in_command_words(std::string detail) {
  for (const auto& [from, to] : kWords) {
    for (std::size_t at = detail.find(from); at != std::string::npos;
         at = detail.find(from, at + to.size()))
      detail.replace(at, from.size(), to);
  }
  return detail;
}

std::string did_you_mean_verb(std::string_view word, std::span<const std::string_view> verbs) {
  std::optional<std::string_view> meant = meant_by(word, verbs);
  if (!meant) meant = nearest(word, verbs);
  if (meant) return ", did you mean '" + std::string(*meant) + "'?";
  // A typing error in a word of others: 'creaet'.
  std::vector<std::string_view> others;
  for (const std::string_view line : kSameMeaning) {
    const std::vector<std::string_view> words = words_of(line);
    if (has(verbs, words.front())) others.insert(others.end(), words.begin(), words.end());
  }
  if (const auto near = nearest(word, others)) meant = meant_by(*near, verbs);
  return meant ? ", did you mean '" + std::string(*meant) + "'?" : std::string();
}

}  // namespace postrider
