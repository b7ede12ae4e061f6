#include "postrider/json/json_tree.h"

#include "postrider/json/json_writer.h"

namespace postrider::json {
namespace {

Tree tree_of(const JsonValue& value) {
  Tree out;
  switch (value.kind()) {
    case JsonKind::kNull: break;
    case JsonKind::kFalse:
    case JsonKind::kTrue:
      out.kind = Tree::Kind::kFlag;
      out.text = value.raw();
      break;
    case JsonKind::kNumber:
      out.kind = Tree::Kind::kNumber;
      out.text = value.raw();
      break;
    case JsonKind::kString:
      out.kind = Tree::Kind::kText;
      value.append_text(out.text);
      break;
    case JsonKind::kArray: {
      out.kind = Tree::Kind::kList;
      out.items.reserve(value.size());
      JsonValue item = value.first();
      for (std::size_t left = value.size(); left > 0; --left) {
        out.items.push_back(tree_of(item));
        if (left > 1) item = item.next();
      }
      break;
    }
    case JsonKind::kObject:
      out.kind = Tree::Kind::kObject;
      out.items.reserve(value.size());
      out.names.reserve(value.size());
      value.for_members([&](const JsonValue& name, const JsonValue& member) {
        out.names.push_back(name.text());
        out.items.push_back(tree_of(member));
        return true;
      });
      break;
  }
  return out;
}

}  // namespace

const Tree* Tree::find(std::string_view name) const {
  for (std::size_t i = names.size(); i > 0; --i) {
    if (names[i - 1] == name) return &items[i - 1];
  }
  return nullptr;
}

std::string Tree::at(std::string_view name) const {
  const Tree* value = find(name);
  return value == nullptr ? std::string() : value->text;
}

const std::vector<Tree>& Tree::list(std::string_view name) const {
  static const std::vector<Tree> kNone;
  const Tree* value = find(name);
  return value == nullptr ? kNone : value->items;
}

Result<Tree> parse_tree(std::string_view text, const JsonLimits& limits) {
  JsonDocument document;
  if (const Result<void> read = document.parse(text, limits); !read)
    return tl::unexpected<Error>(read.error());
  return tree_of(document.root());
}

std::string quoted(std::string_view text) {
  std::string out;
  JsonWriter(out).text(text);
  return out;
}

}  // namespace postrider::json
