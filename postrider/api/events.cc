#include "postrider/api/events.h"

#include <algorithm>
#include <map>

#include "postrider/api/render.h"
#include "postrider/api/texts.h"

namespace postrider::api {
namespace {

constexpr std::string_view kEventsTenant = "events";  // these questions have a share of their own
constexpr std::string_view kBeginning = "retry: 2000\n\n";
constexpr std::size_t kPageBytes = 64ULL * 1024;  // a page is read while so much memory is left
constexpr LogPosition kBehindEverything{UINT32_MAX, UINT64_MAX, 0};

void append_id(std::string& out, const LogPosition& next) {
  out.append("id: ").append(to_text(next)).append("\n");
}

void append_notice(std::string& out, std::string_view event, std::string_view detail,
                   const LogPosition& next) {
  append_id(out, next);
  out.append("event: ").append(event).append("\ndata: ");
  JsonWriter json(out);
  json.open_object().field("kind", event).field("event", to_text(next));
  json.field("detail", detail).close_object();
  out.append("\n\n");
}

}  // namespace

void append_event(std::string& out, const IdCodec& ids, const LogEntry& entry,
                  const LogPosition& next) {
  append_id(out, next);
  out.append("event: ").append(name_of(entry.kind)).append("\ndata: ");
  JsonWriter json(out);
  write_log_entry(json, ids, entry, to_text(next));
  out.append("\n\n");
}

bool TailWish::fits(const LogEntry& entry) const {
  if (destination.value() != 0 && entry.id.destination() != destination) return false;
  if (kinds.empty()) return true;
  const bool end = entry.kind == LogEntry::Kind::kEnd;
  return std::any_of(kinds.begin(), kinds.end(), [&](const std::string& word) {
    return word == name_of(entry.kind) || (end && word == name_of(entry.phase));
  });
}

std::vector<std::string_view> event_words() {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < LogEntry::kKinds; ++i)
    words.push_back(name_of(static_cast<LogEntry::Kind>(i)));
  for (std::size_t i = 0; i < kPhases; ++i) {
    if (const auto phase = static_cast<Phase>(i); is_end(phase)) words.push_back(name_of(phase));
  }
  return words;
}

class Tails::Hub : public std::enable_shared_from_this<Tails::Hub> {
 public:
  Hub(Host& host, TailLimits limits) : host_(host), limits_(limits) {}

  struct Tail {
    HttpExchangePtr exchange;
    TailWish wish;
    LogPosition next = kBehindEverything;
    bool placed = false;  // its place is known
    bool asking = false;
    bool at_end = false;
    bool over = false;
    std::uint64_t seen_version = 0;
    Timestamp wrote;        // last sent something
    Timestamp stuck_since;  // unset: it reads
  };
  using TailPtr = std::shared_ptr<Tail>;  // shared with the question that is under way for it

  void add(HttpExchangePtr exchange, std::optional<LogPosition> from, TailWish wish,
           Timestamp boot) {
    auto tail = std::make_shared<Tail>();
    tail->wish = std::move(wish);
    tail->exchange = std::move(exchange);
    if (from) tail->next = *from;
    tail->placed = from.has_value();
    tail->wrote = boot;
    now_ = std::max(now_, boot);
    write(*tail, kBeginning);
    tails_.push_back(std::move(tail));
    feed();
  }

  void tick(Timestamp boot) {
    now_ = boot;
    for (const TailPtr& tail : tails_) look_after(*tail);
    std::erase_if(tails_, [](const TailPtr& tail) { return tail->over; });
    feed();
  }

  void cut_all() {
    for (const TailPtr& tail : tails_) cut(*tail);
    tails_.clear();
  }

  std::size_t size() const { return tails_.size(); }
  const TailLimits& limits() const { return limits_; }

 private:
  static void cut(Tail& tail) {
    if (!tail.over) tail.exchange->end();
    tail.over = true;
  }

  void write(Tail& tail, std::string_view text) {
    tail.wrote = now_;
    if (!tail.exchange->write(text)) cut(tail);
  }

  void look_after(Tail& tail) {
    if (tail.exchange->gone()) tail.over = true;
    if (tail.over) return;
    if (tail.exchange->unsent() <= limits_.unsent_bytes_max) {
      tail.stuck_since = Timestamp();
    } else if (!tail.stuck_since.is_set()) {
      tail.stuck_since = now_;
    } else if (now_ - tail.stuck_since >= limits_.stuck_max) {
      cut(tail);
    }
    if (tail.over || now_ - tail.wrote < limits_.heartbeat) return;
    // The id moves on with the end of the log, so that a reader who comes back after a long silence
    // is not told that it fell behind.
    std::string beat = ": heartbeat\n";
    if (tail.placed && tail.at_end) append_id(beat, tail.next);
    write(tail, beat.append("\n"));
  }

  bool wants_more(const Tail& tail) const {
    if (tail.over || tail.asking || tail.stuck_since.is_set()) return false;
    if (tail.exchange->unsent() > limits_.unsent_bytes_max) return false;
    if (!tail.exchange->has_room(kPageBytes)) return false;  // looked at again by the next tick
    return !tail.placed || !tail.at_end || tail.seen_version != host_.log_version();
  }

  // One question for all that stand at one place.
  void feed() {
    std::map<LogPosition, std::vector<TailPtr>> groups;
    for (const TailPtr& tail : tails_) {
      if (wants_more(*tail)) groups[tail->next].push_back(tail);
    }
    for (auto& [from, group] : groups) ask(from, std::move(group));
  }

  void ask(const LogPosition& from, std::vector<TailPtr> group) {
    Query question;
    question.what = Query::What::kLog;
    question.from = from;
    question.limit = limits_.page_entries;
    const std::uint64_t version = host_.log_version();
    const auto asked = std::make_shared<std::vector<TailPtr>>(std::move(group));
    const Door door = host_.post(kEventsTenant, std::move(question),
                                 [weak = weak_from_this(), asked, version](const Answer& answer) {
                                   if (const auto self = weak.lock())
                                     self->take(*asked, version, answer);
                                 });
    if (door != Door::kOpen) return;  // the next tick asks again
    for (const TailPtr& tail : *asked) tail->asking = true;
  }

  void take(const std::vector<TailPtr>& group, std::uint64_t version, const Answer& answer) {
    const auto* page = std::get_if<LogPage>(&answer.view);
    const std::string text = page == nullptr ? std::string() : render(*page, {});
    for (const TailPtr& tail : group) {
      tail->asking = false;
      if (page == nullptr || tail->over) continue;
      const bool place = !tail->placed;
      tail->next = page->next;
      tail->placed = true;
      tail->at_end = page->at_end;
      tail->seen_version = version;
      const bool all = tail->wish.fits_all();
      const std::string own = all ? std::string() : render(*page, tail->wish);
      if (const std::string& piece = all ? text : own; !piece.empty()) write(*tail, piece);
      // Its place, so that a reader who is cut before the first event, or behind events that it did
      // not want, misses nothing and is told nothing twice.
      if (place || (!all && !page->entries.empty())) {
        std::string start;
        append_id(start, tail->next);
        write(*tail, start.append("\n"));
      }
      if (tail->wish.until_now && tail->at_end) cut(*tail);
    }
    // A place at the end is looked at again by the next tick, not at once: the version may change
    // with every turn, and our own question is one.
    if (page != nullptr && !page->at_end) feed();
  }

  std::string render(const LogPage& page, const TailWish& wish) const {
    std::string text;
    if (page.fell_behind) {
      append_notice(text, "fell-behind",
                    "events behind your last one were removed by retention; what follows begins "
                    "with the oldest that is left",
                    page.entries.empty() ? page.next : page.entries.front().position);
    }
    for (const LogEntry& entry : page.entries) {
      if (!wish.fits(entry)) continue;
      LogPosition next = entry.position;
      ++next.index;
      append_event(text, host_.ids(), entry, next);
    }
    return text;
  }

  Host& host_;
  TailLimits limits_;
  Timestamp now_;
  std::vector<TailPtr> tails_;
};

Tails::Tails(Host& host, TailLimits limits) : hub_(std::make_shared<Hub>(host, limits)) {}
Tails::~Tails() { hub_->cut_all(); }

bool Tails::full() const { return hub_->size() >= hub_->limits().tails_max; }
std::size_t Tails::size() const { return hub_->size(); }

void Tails::add(HttpExchangePtr exchange, std::optional<LogPosition> from, TailWish wish,
                Timestamp boot) {
  hub_->add(std::move(exchange), from, std::move(wish), boot);
}

void Tails::tick(Timestamp boot) { hub_->tick(boot); }
void Tails::cut_all() { hub_->cut_all(); }

}  // namespace postrider::api
