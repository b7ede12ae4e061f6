#include "postrider/model/attributes.h"

#include "postrider/base/codec.h"

namespace postrider {

std::string encode_texts(const NamedTexts& texts) {
  std::string out;
  Writer writer(out);
  for (const NamedText& text : texts) writer.text(text.first).text(text.second);
  return out;
}

Result<NamedTexts> decode_texts(std::string_view bytes) {
  NamedTexts texts;
  Reader reader(bytes);
  while (reader.ok() && !reader.at_end()) {
    const std::string_view name = reader.text();
    const std::string_view value = reader.text();
    if (reader.ok()) texts.emplace_back(name, value);
  }
  if (!reader.ok()) return fail(ErrorCode::kCorrupt, "list of named texts");
  return texts;
}

}  // namespace postrider
