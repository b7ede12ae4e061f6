// Checker 15: what is listed and shown is what there is. A list by pages holds each thing that was
// there from the first question to the last answer and stayed where it was, once; it holds nothing
// twice and nothing that had gone before the page was asked for. A message that is shown has the
// content with which it was submitted.
#include <map>
#include <set>
#include <unordered_map>

#include "postrider/base/hash.h"
#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

std::uint64_t content_of(std::string_view attributes, std::string_view body) {
  return hash64(std::string(attributes) + '\n' + std::string(body));
}

class ListingChecker final : public Checker {
 public:
  ListingChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override { newest_ = when.incarnation; }

  void asked(const Asked& asked) override {
    const std::uint64_t ticket = asked.ticket.value();
    if (const auto* submit = std::get_if<Submit>(&asked.event))
      submits_[ticket] = content_of(submit->attributes, submit->body);
    if (const auto* fanout = std::get_if<FanOut>(&asked.event))
      submits_[ticket] = content_of(fanout->attributes, fanout->body);
    if (const auto* redrive = std::get_if<Redrive>(&asked.event)) redrives_[ticket] = redrive->id;
    const auto* query = std::get_if<Query>(&asked.event);
    if (query == nullptr) return;
    if (query->what == Query::What::kMessages) go_on(messages_, *query, ticket);
    if (query->what == Query::What::kDestinations) go_on(destinations_, *query, ticket);
    if (query->what == Query::What::kMessage)
      shows_[ticket] = {query->id, serial_, notebook_.letter(query->id) != nullptr,
                        notebook_.is_kept(query->id)};
  }

  void told(const Told& told) override {
    learn_content(told);
    check_shown(told);
    if (told.ticket.value() == messages_.ticket) check_messages(told);
    if (told.ticket.value() == destinations_.ticket) check_destinations(told);
  }

  void batch(const Batch& batch) override {
    ++serial_;
    for (const MessageNote* note : batch.entered) settled_[note->id] = serial_;
    for (const MessageNote* note : batch.moved) settled_[note->id] = serial_;
    for (const MessageNote* note : batch.left) {
      settled_.erase(note->id);
      gone_[note->id] = serial_;
    }
    for (const DestinationNote* note : batch.configured) configured_[note->id.value()] = serial_;
  }

 private:
  struct Series {
    std::string destination;
    std::uint64_t began = 0;  // serials of batches
    std::uint64_t asked = 0;
    std::uint64_t ticket = 0;
    bool spoilt = false;  // by an owner who was none any more, or a destination that is not there
    std::set<MessageId> messages;
    std::set<std::uint64_t> destinations;
  };
  struct Shown {
    MessageId id;
    std::uint64_t asked = 0;
    bool letter = false;  // there was one
    bool kept = false;    // its content was in the history
  };

  void go_on(Series& series, const Query& query, std::uint64_t ticket) const {
    if (query.cursor.empty()) {
      series = {};
      series.destination = query.destination;
      series.began = serial_;
    }
    series.ticket = ticket;
    series.asked = serial_;
  }

  void complain(const std::string& what) { verdicts_.violation(15, what); }

  void check_messages(const Told& told) {
    Series& series = messages_;
    const auto* page = std::get_if<MessagePage>(&told.answer.view);
    if (told.answer.code == AnswerCode::kInvalid) complain("a cursor was refused that was given");
    series.spoilt = series.spoilt || page == nullptr || told.when.incarnation != newest_;
    if (series.spoilt) return;
    for (const Explanation& seen : page->messages) {
      if (!series.messages.insert(seen.id).second)
        complain("a message was listed twice: " + to_string(seen.id));
      const auto gone = gone_.find(seen.id);
      if (is_end(seen.phase) || (gone != gone_.end() && gone->second <= series.asked))
        complain("a message was listed that had ended: " + to_string(seen.id));
      if (!series.destination.empty() && seen.destination != series.destination)
        complain("a message of another destination was listed: " + to_string(seen.id));
    }
    if (page->next.empty()) check_all_messages(series);
  }

  void check_all_messages(const Series& series) {
    for (const auto& [id, since] : settled_) {
      if (since > series.began || series.messages.contains(id)) continue;
      const MessageNote* note = notebook_.find(id);
      if (note == nullptr || note->damaged || note->destination == nullptr) continue;
      if (!series.destination.empty() && note->destination->config.name != series.destination)
        continue;
      complain("a live message was not listed: " + to_string(id));
    }
  }

  void check_destinations(const Told& told) {
    Series& series = destinations_;
    const auto* page = std::get_if<DestinationPage>(&told.answer.view);
    if (page == nullptr) return complain("a list of destinations was refused");
    series.spoilt = series.spoilt || told.when.incarnation != newest_;
    if (series.spoilt) return;
    for (const DestinationView& seen : page->destinations) {
      if (is_template_name(seen.config.name)) continue;  // another checker's
      if (!series.destinations.insert(seen.id.value()).second)
        complain("a destination was listed twice: " + seen.config.name);
      const DestinationNote* note = notebook_.find(seen.id);
      if (note == nullptr) {
        complain("a destination was listed that is not durable: " + seen.config.name);
      } else if (configured_[seen.id.value()] <= series.asked &&
                 encode_config(note->config) != encode_config(seen.config)) {
        complain("a destination was listed otherwise than it is: " + seen.config.name);
      }
    }
    if (!page->next.empty()) return;
    for (const auto& [number, note] : notebook_.destinations()) {
      const bool stood = !note->config.removed && configured_[number] <= series.began;
      if (stood && !series.destinations.contains(number))
        complain("a destination was not listed: " + note->config.name);
    }
  }

  void learn_content(const Told& told) {
    const auto submit = submits_.find(told.ticket.value());
    if (submit != submits_.end()) {
      if (told.answer.code == AnswerCode::kAccepted)
        contents_.emplace(told.answer.id, submit->second);
      if (const auto* fanout = std::get_if<FanoutView>(&told.answer.view)) {
        for (const FanoutView::Member& member : fanout->members)
          contents_.emplace(member.message, submit->second);
      }
      submits_.erase(submit);
    }
    const auto redrive = redrives_.find(told.ticket.value());
    if (redrive == redrives_.end()) return;
    const auto old = contents_.find(redrive->second);
    if (told.answer.code == AnswerCode::kAccepted && old != contents_.end())
      contents_.emplace(told.answer.id, old->second);
    redrives_.erase(redrive);
  }

  void check_shown(const Told& told) {
    const auto at = shows_.find(told.ticket.value());
    if (at == shows_.end()) return;
    const Shown shown = at->second;
    shows_.erase(at);
    const auto* view = std::get_if<MessageView>(&told.answer.view);
    const MessageNote* note = notebook_.find(shown.id);
    if (view == nullptr || note == nullptr || told.when.incarnation != newest_) return;
    if (view->explanation.id != shown.id) complain("another message was shown than was asked for");
    const auto content = contents_.find(shown.id);
    if (view->has_body && content != contents_.end() &&
        content_of(view->attributes, view->body) != content->second)
      complain("a message was shown with another content: " + to_string(shown.id));
    if (note->damaged) return;
    const LetterNote* letter = notebook_.letter(shown.id);
    const bool letter_stayed = shown.letter && letter != nullptr && !letter->damaged;
    if ((note->live() || letter_stayed) && !view->has_body)
      complain("a message was shown without its body: " + to_string(shown.id));
    const auto gone = gone_.find(shown.id);
    const bool over = gone != gone_.end() && gone->second <= shown.asked;
    if (over && !shown.letter && !shown.kept && view->has_body)
      complain("a body was shown that is nowhere: " + to_string(shown.id));
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::uint64_t serial_ = 0;                    // of the last durable batch
  std::map<MessageId, std::uint64_t> settled_;  // live: since when its record lies there
  std::unordered_map<MessageId, std::uint64_t> gone_;
  std::unordered_map<std::uint64_t, std::uint64_t> configured_;  // destination: last change
  Series messages_;
  Series destinations_;
  std::unordered_map<std::uint64_t, std::uint64_t> submits_;  // by ticket
  std::unordered_map<std::uint64_t, MessageId> redrives_;
  std::unordered_map<MessageId, std::uint64_t> contents_;
  std::unordered_map<std::uint64_t, Shown> shows_;
};

}  // namespace

std::unique_ptr<Checker> make_listing_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<ListingChecker>(context, notebook);
}

}  // namespace postrider::sim
