// Checker 50: templates. A destination that is made for a message comes in the commit of that
// message, names the longest template that it fits and nothing else, and is made once: no two
// destinations have one name. What is told of a template is what is durable.
#include <map>
#include <set>
#include <string>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class TemplatesChecker final : public Checker {
 public:
  TemplatesChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void asked(const Asked& asked) override {
    const auto* query = std::get_if<Query>(&asked.event);
    if (query != nullptr && is_template_name(query->destination))
      asked_[asked.ticket.value()] = changes_;
  }

  void told(const Told& told) override {
    const auto at = asked_.find(told.ticket.value());
    if (at == asked_.end()) return;
    const bool same = at->second == changes_;
    asked_.erase(at);
    const auto* view = std::get_if<DestinationView>(&told.answer.view);
    if (!same || view == nullptr) return;
    const auto wide = notebook_.templates().find(view->config.name);
    if (wide == notebook_.templates().end() || wide->second.settings != view->config.settings)
      complain("a template is told otherwise than it is: " + view->config.name);
  }

  void batch(const Batch& batch) override {
    for (const Write& write : batch.applied.batch.writes()) {
      if (write.key[0] == keys::kTemplate) ++changes_;
    }
    std::set<const DestinationNote*> entered;
    for (const MessageNote* note : batch.entered) entered.insert(note->destination);
    for (DestinationNote* note : batch.configured) {
      if (note->config.removed) {
        forget(*note);
        continue;
      }
      const auto [place, fresh] = numbers_.try_emplace(note->config.name, note->id.value());
      if (place->second != note->id.value())
        complain("a destination was made twice: " + note->config.name);
      const bool made = std::exchange(note->is_new, false) && !note->config.like.empty();
      if (made && note->own.empty()) check_made(*note, entered.contains(note));
    }
  }

 private:
  void complain(const std::string& what) { verdicts_.violation(50, what); }

  void check_made(const DestinationNote& note, bool has_message) {
    if (!has_message)
      complain("a destination was made without the message that it was made for: " +
               note.config.name);
    for (const auto& [name, wide] : notebook_.templates()) {
      const std::string beginning = name.substr(0, name.size() - 1);
      if (note.config.name.rfind(beginning, 0) == 0 && name.size() > note.config.like.size())
        complain("a longer template fits " + note.config.name);
    }
  }

  void forget(const DestinationNote& note) {
    const auto at = numbers_.find(note.config.name);
    if (at != numbers_.end() && at->second == note.id.value()) numbers_.erase(at);
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::map<std::string, std::uint64_t> numbers_;  // of the destinations that there are
  std::map<std::uint64_t, std::uint64_t> asked_;  // by ticket: after so many changes
  std::uint64_t changes_ = 0;
};

}  // namespace

std::unique_ptr<Checker> make_templates_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<TemplatesChecker>(context, notebook);
}

}  // namespace postrider::sim
