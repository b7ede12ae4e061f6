#include "postrider/model/seams/transport.h"

namespace postrider {
namespace {

// Takes the next line off `rest` and splits it. Lines were made by add().
NamedText next_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  const std::size_t colon = line.find(": ");
  return {std::string(line.substr(0, colon)), std::string(line.substr(colon + 2))};
}

}  // namespace

std::string_view HeaderLines::find(std::string_view name) const {
  for (std::string_view rest = text_; !rest.empty();) {
    const std::size_t end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    if (line.size() >= name.size() + 2 && line.starts_with(name) &&
        line.substr(name.size(), 2) == ": ")
      return line.substr(name.size() + 2);
    rest.remove_prefix(end + 2);
  }
  return {};
}

NamedTexts HeaderLines::list() const {
  NamedTexts out;
  for (std::string_view rest = text_; !rest.empty();) out.push_back(next_line(rest));
  return out;
}

}  // namespace postrider
