#include "postrider/profiles/matrix/notes.h"

#include <charconv>

#include "postrider/model/attributes.h"

namespace postrider::matrix {
namespace {

constexpr std::string_view kAsideNote = "aside";
constexpr std::string_view kFailedClaimNote = "failed-claim";
constexpr std::string_view kStruckNote = "struck";

template <class Number>
Number number_in(const NamedTexts& texts, std::string_view name) {
  const std::string* text = find_text(texts, name);
  Number value = 0;
  if (text == nullptr) return value;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && end == text->data() + text->size() ? value : Number{0};
}

}  // namespace

ItemNotes read_notes(std::string_view notes) {
  ItemNotes out;
  if (notes.empty()) return out;
  const auto texts = decode_texts(notes);
  if (!texts) return out;
  if (const auto aside = number_in<std::int64_t>(*texts, kAsideNote); aside > 0)
    out.aside = Timestamp(aside);
  out.failed_claim = number_in<std::uint32_t>(*texts, kFailedClaimNote);
  out.struck = find_text(*texts, kStruckNote) != nullptr;
  return out;
}

std::string to_text(const ItemNotes& notes) {
  NamedTexts texts;
  if (notes.aside.is_set()) texts.emplace_back(kAsideNote, std::to_string(notes.aside.ms()));
  if (notes.failed_claim != 0)
    texts.emplace_back(kFailedClaimNote, std::to_string(notes.failed_claim));
  if (notes.struck) texts.emplace_back(kStruckNote, "yes");
  return texts.empty() ? std::string() : encode_texts(texts);
}

}  // namespace postrider::matrix
