#include "postrider/profiles/rpc/declarations.h"

#include <algorithm>
#include <utility>

#include "postrider/protocols/rpc/frames.h"

namespace postrider::rpc {
namespace {

constexpr std::string_view kMayBe = "volatile or persist, then idem, then channels";

// Takes the next word off a list with commas, blanks around it allowed.
std::string_view next_word(std::string_view& text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  std::string_view word = text.substr(0, comma);
  text.remove_prefix(comma);
  while (word.starts_with(' ')) word.remove_prefix(1);
  while (word.ends_with(' ')) word.remove_suffix(1);
  return word;
}

tl::unexpected<Error> wrong_word(std::string_view word) {
  return fail(ErrorCode::kInvalid,
              "'" + std::string(word) + "' is not expected here; it may be " + std::string(kMayBe));
}

}  // namespace

Result<MethodPolicy> parse_declaration(std::string_view text) {
  MethodPolicy policy;
  std::string_view word = next_word(text);
  if (word != "volatile" && word != "persist") return wrong_word(word);
  policy.persist = word == "persist";
  while (!text.empty()) {
    text.remove_prefix(1);
    word = next_word(text);
    if (word == "idem" && !policy.idem && !policy.channels)
      policy.idem = true;
    else if (word == "channels" && !policy.channels)
      policy.channels = true;
    else
      return wrong_word(word);
  }
  if (!is_allowed(policy))
    return fail(ErrorCode::kInvalid,
                "a persist method has no channels: they do not outlive a connection");
  return policy;
}

std::string to_text(const MethodPolicy& policy) {
  std::string text = policy.persist ? "persist" : "volatile";
  if (policy.idem) text += ", idem";
  if (policy.channels) text += ", channels";
  return text;
}

bool is_method_name(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= kMethodBytesMax && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), is_good);
}

Result<Declarations> parse_declarations(const NamedTexts& settings) {
  Declarations out;
  for (const auto& [name, value] : settings) {
    if (!name.starts_with(kMethodSetting)) continue;
    const std::string_view method = std::string_view(name).substr(kMethodSetting.size());
    if (!is_method_name(method))
      return fail(ErrorCode::kInvalid, "'" + std::string(method) + "' is not the name of a method");
    if (out.size() == kMethodsMax)
      return fail(ErrorCode::kInvalid, "a service has 256 methods at most");
    const Result<MethodPolicy> policy = parse_declaration(value);
    if (!policy) return fail(policy.error().code, name + ": " + policy.error().detail);
    if (!out.emplace(method, *policy).second)
      return fail(ErrorCode::kInvalid, name + " is declared twice");
  }
  if (out.empty()) return fail(ErrorCode::kInvalid, "a service declares a method at least");
  return out;
}

}  // namespace postrider::rpc
