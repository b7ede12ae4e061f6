#include "postrider/api/batch.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "postrider/api/json_names.h"
#include "postrider/api/letters.h"
#include "postrider/api/texts.h"

namespace postrider::api {
namespace {

// A line up to this length is taken though the server has no memory left.
constexpr std::size_t kShortLineBytes = 16ULL * 1024;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

void append_good(std::string& out, const IdCodec& ids, std::uint64_t line, const Answer& answer) {
  JsonWriter json(out);
  json.open_object().count("line", line).field("id", ids.text(answer.id));
  if (answer.replayed) json.flag("replayed", true);
  json.close_object();
  out.push_back('\n');
}

void append_bad(std::string& out, std::uint64_t line, const Problem& problem) {
  JsonWriter json(out);
  std::string text;
  append_problem(text, problem);
  json.open_object().count("line", line).name("problem").raw(text).close_object();
  out.push_back('\n');
}

}  // namespace

struct Batches::Context {
  Host& host;
  const Clock& clock;
  SubmitReader reader;
  LetterReader letters;
  BatchLimits limits;
  bool closed = false;  // the API is gone; what is still answered is only written down
};

class Batches::Batch : public std::enable_shared_from_this<Batch> {
 public:
  Batch(std::shared_ptr<Context> context, BatchStart start)
      : context_(std::move(context)), start_(std::move(start)) {}

  void take(std::string_view piece, bool last) {
    if (over_) return;
    input_.append(piece);
    last_ = last_ || last;
    count();
    pump();
  }

  // Looks again at what holds it up: the door, or a client that does not read.
  void tick() {
    if (over_) return;
    if (start_.exchange->gone()) return drop();
    send();
    pump();
  }

 private:
  static constexpr std::size_t kNone = std::string_view::npos;

  bool may_read() const {
    return waiting_.size() < context_->limits.lines_waiting_max &&
           bytes_waiting_ < context_->limits.bytes_waiting_max &&
           start_.exchange->unsent() <= context_->limits.unsent_bytes_max &&
           (waiting_.empty() || !pressed());
  }

  bool pressed() const { return !start_.exchange->has_room(kKeptMin); }

  // What this holds, for the server.
  void count() {
    start_.exchange->keep(std::max(kKeptMin, input_.size() + output_.size() + bytes_waiting_));
  }

  void pump() {
    if (over_ || context_->closed) return;
    std::size_t at = 0;
    bool held = false;
    while (!held && !over_ && may_read()) {
      const std::size_t end = input_.find('\n', at);
      if (end == kNone && !last_) break;
      if (end == kNone && at == input_.size()) break;
      const std::string_view line = std::string_view(input_).substr(at, end - at);
      held = !take_line(line);
      if (!held) at = end == kNone ? input_.size() : end + 1;
    }
    if (over_) return;
    input_.erase(0, at);
    if (!held) cut_long_line();
    count();
    set_paused(held || !may_read());
    if (last_ && input_.empty() && waiting_.empty()) finish();
  }

  // False: the door is too full just now; the line is looked at again later.
  bool take_line(std::string_view line) {
    const std::uint64_t number = lines_ + 1;
    if (skipping_) {  // the rest of a line that was answered already
      skipping_ = false;
      return true;
    }
    if (is_blank(line)) {
      lines_ = number;
      return true;
    }
    if (line.size() > context_->limits.line_bytes_max) {
      lines_ = number;
      refuse(number, too_long());
      return true;
    }
    if (line.size() > kShortLineBytes && pressed()) {
      lines_ = number;
      refuse(number, no_room());
      return true;
    }
    auto submit = start_.letters ? context_->letters.read(line, start_.tenant)
                                 : context_->reader.read(line, defaults_of(number));
    if (!submit) {
      lines_ = number;
      refuse(number, submit.error());
      return true;
    }
    submit->even_if_it_ran = start_.even_if_it_ran;
    return post(number, std::move(*submit), line.size());
  }

  bool post(std::uint64_t number, Submit submit, std::size_t bytes) {
    const Door door =
        context_->host.post(start_.tenant, std::move(submit),
                            [self = shared_from_this(), number](const Answer& answer) {
                              self->answered(number, answer);
                            });
    if (door == Door::kBusy || door == Door::kTenantBusy) return false;
    lines_ = number;
    if (door == Door::kOpen) {
      waiting_.push_back({number, bytes, std::nullopt});
      bytes_waiting_ += bytes;
    } else {
      refuse(number, problem_of(door));
    }
    return true;
  }

  SubmitDefaults defaults_of(std::uint64_t number) const {
    SubmitDefaults defaults;
    defaults.tenant = start_.tenant;
    defaults.head = &start_.head;
    defaults.line = true;
    defaults.wall = context_->clock.read().wall;
    if (start_.key.kind != OperationKey::Kind::kNone) {
      defaults.key = start_.key;
      defaults.key.key.append("#").append(std::to_string(number));
    }
    return defaults;
  }

  Problem too_long() const {
    return complaint(ProblemType::kTooLarge,
                     "the line has more than " + std::to_string(context_->limits.line_bytes_max) +
                         " bytes; send larger messages in a body of their own, or not at all");
  }

  // A line without an end is answered when it is too long to be good, or for the memory that is
  // left, and not kept. What follows its end is: it may have to wait.
  void cut_long_line() {
    if (input_.find('\n') != kNone) return;
    const bool too_much = input_.size() > context_->limits.line_bytes_max;
    const bool cut = too_much || (input_.size() > kShortLineBytes && pressed());
    if (!skipping_ && !cut) return;
    if (!skipping_) refuse(++lines_, too_much ? too_long() : no_room());
    skipping_ = true;
    input_.clear();
  }

  void answered(std::uint64_t number, const Answer& answer) {
    if (over_) return;
    std::string text;
    if (const auto problem = problem_of(answer)) {
      append_bad(text, number, *problem);
    } else {
      append_good(text, context_->host.ids(), number, answer);
    }
    settle(number, std::move(text));
    if (over_) return;
    count();
    // Nothing to do while it is not held up; and when it is, not for each line.
    const bool room = waiting_.size() <= context_->limits.lines_waiting_max / 2 &&
                      bytes_waiting_ <= context_->limits.bytes_waiting_max / 2;
    if ((paused_ && room) || (last_ && waiting_.empty())) pump();
  }

  void refuse(std::uint64_t number, const Problem& problem) {
    waiting_.push_back({number, 0, std::nullopt});
    std::string text;
    append_bad(text, number, problem);
    settle(number, std::move(text));
  }

  // Lines are answered in order: one that is ready early waits for those before it.
  void settle(std::uint64_t number, std::string text) {
    const auto found = std::lower_bound(
        waiting_.begin(), waiting_.end(), number,
        [](const Slot& slot, std::uint64_t wanted) { return slot.number < wanted; });
    found->text = std::move(text);
    bytes_waiting_ -= std::exchange(found->bytes, 0);
    while (!waiting_.empty() && waiting_.front().text) {
      output_.append(*waiting_.front().text);
      waiting_.pop_front();
    }
    if (output_.size() >= context_->limits.write_bytes || waiting_.empty()) send();
  }

  void send() {
    if (output_.empty()) return;
    const bool taken = start_.exchange->write(output_);
    output_.clear();
    if (!taken) drop();
  }

  void set_paused(bool wanted) {
    if (wanted == paused_ || over_) return;
    paused_ = wanted;
    if (wanted) {
      start_.exchange->pause();
    } else {
      start_.exchange->resume();
    }
  }

  void finish() {
    send();
    if (!over_) start_.exchange->end();
    over_ = true;
  }

  void drop() {
    over_ = true;
    output_ = {};
    waiting_.clear();
    bytes_waiting_ = 0;
  }

  struct Slot {
    std::uint64_t number = 0;
    std::size_t bytes = 0;  // of the line, until it is answered
    std::optional<std::string> text;
  };

  std::shared_ptr<Context> context_;
  BatchStart start_;
  std::string input_;
  std::string output_;
  std::deque<Slot> waiting_;  // lines without an answer that was sent, in order
  std::size_t bytes_waiting_ = 0;
  std::uint64_t lines_ = 0;  // looked at
  bool last_ = false;
  bool paused_ = false;
  bool skipping_ = false;
  bool over_ = false;
};

Batches::Batches(Host& host, const Clock& clock, SubmitReader reader, SubmitLimits submit,
                 BatchLimits limits)
    : context_(std::make_shared<Context>(
          Context{host, clock, std::move(reader), LetterReader(submit, host.ids()), limits})) {}

Batches::~Batches() { context_->closed = true; }

HttpBodySink Batches::begin(BatchStart start) {
  auto batch = std::make_shared<Batch>(context_, std::move(start));
  batches_.push_back(batch);
  return [batch](std::string_view piece, bool last) { batch->take(piece, last); };
}

void Batches::tick() {
  std::erase_if(batches_, [](const std::weak_ptr<Batch>& batch) { return batch.expired(); });
  for (const std::weak_ptr<Batch>& weak : batches_) {
    if (const auto batch = weak.lock()) batch->tick();
  }
}

std::size_t Batches::size() const { return batches_.size(); }

}  // namespace postrider::api
