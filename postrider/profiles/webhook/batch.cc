#include "postrider/profiles/webhook/batch.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "postrider/profiles/webhook/rules.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::webhook {
namespace {

std::size_t batch_bytes_max(const DestinationFacts& destination) {
  const std::string_view text = setting(destination, "batch_bytes_max", "");
  std::size_t bytes = kBatchBytes;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  return bytes;
}

bool has_headers(const Facts& facts) {
  return facts.parsed != nullptr &&
         std::any_of(facts.parsed->begin(), facts.parsed->end(), [](const NamedText& attribute) {
           return attribute.first.starts_with(kHeaderAttribute);
         });
}

// Attributes of events have no hyphens.
std::string member_word(std::string_view name, BatchFormat format) {
  std::string word = to_lower(name);
  if (format == BatchFormat::kArray) return word;
  if (word.starts_with(kEventAttribute)) return word.substr(kEventAttribute.size());
  std::erase(word, '-');
  return word;
}

bool append_member(EventBatch& batch, const Facts& facts, BatchFormat format,
                   std::size_t bytes_max) {
  const std::string id = to_string(facts.id());
  BatchMember member{.id = id,
                     .at = accepted_at(facts),
                     .content_type = content_type_of(facts),
                     .body = facts.message.body,
                     .source = setting(facts.destination, "event_source", "postrider"),
                     .type = setting(facts.destination, "event_type", "message")};
  NamedTexts words;  // of the few messages that have attributes
  if (facts.parsed != nullptr) {
    for (const auto& [name, value] : *facts.parsed) {
      if (name == kContentTypeAttribute || name == kOrderKey || name.starts_with(kHeaderAttribute))
        continue;
      std::string word = member_word(name, format);
      if (find_text(words, word) == nullptr) words.emplace_back(std::move(word), value);
    }
    for (const auto& [name, value] : words) member.attributes.emplace_back(name, value);
  }
  return batch.append(member, bytes_max);
}

// Never less than what the member takes: base64 is four bytes for three, and a byte of a text may
// be six in JSON.
std::size_t bytes_at_most(const Facts& facts) {
  constexpr std::size_t kFrame = 256;  // names, id, time and punctuation
  std::size_t texts = content_type_of(facts).size() +
                      setting(facts.destination, "event_source", "postrider").size() +
                      setting(facts.destination, "event_type", "message").size();
  if (facts.parsed != nullptr) {
    for (const auto& [name, value] : *facts.parsed) texts += name.size() + value.size() + 4;
  }
  return kFrame + 6 * texts + facts.message.body.size() * 4 / 3 + 4;
}

// Failures that a member may be the cause of: not those by which nothing arrived, nor an answer
// that says when to come back.
bool may_be_a_member(const WireReply& reply, const Reading& reading) {
  switch (reading.outcome.failure) {
    case FailureClass::kTimeout:
    case FailureClass::kOther: return true;
    case FailureClass::kServer: return reply.status != 503;
    case FailureClass::kNone:
    case FailureClass::kConnect:
    case FailureClass::kThrottled:
    case FailureClass::kRejected:
    case FailureClass::kGone:
    case FailureClass::kExpired:
    case FailureClass::kHeldBack: break;
  }
  return false;
}

// The attempt that would end the leader, or set it aside, is not made with others: any of them may
// be to blame.
std::uint16_t tries_together(const Policy& policy, FailureClass failure) {
  std::uint16_t tries = kTriesTogether;
  const std::uint16_t attempts_max = policy.rule(failure).attempts_max;
  if (attempts_max > 0) tries = std::min(tries, attempts_max);
  if (policy.on_poison != OnPoison::kBlock) tries = std::min(tries, policy.poison_after);
  return tries;
}

}  // namespace

std::string_view content_type_of(const Facts& facts) {
  if (facts.parsed != nullptr) {
    if (const std::string* own = find_text(*facts.parsed, kContentTypeAttribute)) return *own;
  }
  return setting(facts.destination, "content_type", kContentType);
}

BatchFormat batch_format(const DestinationFacts& destination) {
  return setting(destination, "batch_format", "array") == "cloudevents" ? BatchFormat::kCloudEvents
                                                                        : BatchFormat::kArray;
}

std::vector<std::size_t> compose(const Facts& leader, std::span<const postrider::Facts> candidates,
                                 std::uint32_t members_max) {
  std::vector<std::size_t> chosen;
  if (has_headers(leader)) return chosen;
  const std::size_t bytes_max = batch_bytes_max(leader.destination);
  // Usually all of them are far from the limit; else they are written once to be measured.
  std::size_t bytes = bytes_at_most(leader);
  for (std::size_t i = 0; i < candidates.size() && chosen.size() + 1 < members_max; ++i) {
    const Facts candidate(candidates[i]);
    if (has_headers(candidate)) continue;
    bytes += bytes_at_most(candidate);
    chosen.push_back(i);
  }
  if (bytes <= bytes_max) return chosen;
  chosen.clear();
  const BatchFormat format = batch_format(leader.destination);
  EventBatch batch(format);
  append_member(batch, leader, format, bytes_max);
  for (std::size_t i = 0; i < candidates.size() && batch.members() < members_max; ++i) {
    const Facts candidate(candidates[i]);
    if (has_headers(candidate)) continue;
    if (!append_member(batch, candidate, format, bytes_max)) break;
    chosen.push_back(i);
  }
  return chosen;
}

std::string batch_body(const Facts& leader, BatchFormat format) {
  EventBatch batch(format);
  const auto append = [&](const Facts& facts) {
    append_member(batch, facts, format, static_cast<std::size_t>(-1));
  };
  append(leader);
  for (const postrider::Facts& follower : leader.batch->followers) append(Facts(follower));
  return batch.finish();
}

std::string batch_id(const Facts& leader) {
  return to_string(leader.id()).append("-").append(std::to_string(leader.batch->claim));
}

bool is_to_be_split(const Facts& leader, const WireReply& reply, const Reading& reading) {
  if (leader.batch->followers.empty()) return false;
  if (reading.outcome.failure == FailureClass::kRejected) return true;
  return reading.signal == On::kFailed && may_be_a_member(reply, reading) &&
         leader.state.counted() >= tries_together(leader.policy, reading.outcome.failure);
}

}  // namespace postrider::webhook
