#include "postrider/api/message_words.h"

namespace postrider::api {

NamedTexts head_texts(const AllWords& words, const HttpRequest& request) {
  NamedTexts head;
  for (const MessageWords* door : words) {
    for (const std::string_view name : door->head) {
      const std::string_view value = request.header(name);
      if (!value.empty()) head.emplace_back(name, value);
    }
  }
  return head;
}

}  // namespace postrider::api
