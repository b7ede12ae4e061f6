// Export: dead letters with their bodies, one JSON object per line. Letters are asked for in small
// numbers, rendered one after the other and sent as the client takes them, so that neither many
// exports nor large letters take memory or time from others. One answer is one page; its last line
// says where the next begins.
#include <algorithm>
#include <utility>

#include "postrider/api/json_names.h"
#include "postrider/api/letters.h"
#include "postrider/api/long.h"
#include "postrider/api/texts.h"
#include "postrider/model/records/keys.h"

namespace postrider {
namespace {

using api::ProblemType;

constexpr std::uint32_t kExportMax = 100;              // letters of one answer
constexpr std::uint32_t kLettersFirst = 4;             // of the first question, …
constexpr std::uint32_t kLettersAtOnceMax = 64;        // … and of one, while letters are small
constexpr std::size_t kQuestionBytes = 128ULL * 1024;  // a smaller answer: ask for more at once
constexpr std::size_t kBesideBody = 64ULL * 1024;      // what a letter has beside its body

}  // namespace

struct HttpApi::Impl::Export {
  LongAnswer answer;
  std::string tenant;
  Query query;
  std::uint32_t left = kExportMax;  // letters that may still be told
  std::uint32_t at_once = kLettersFirst;
  DeadLetters page;
  std::size_t told = 0;  // of the page
};

void HttpApi::Impl::export_dead_letters(Call& call) {
  const auto limit = call.query.number("limit", kExportMax, 1, kExportMax);
  if (!limit) return refuse(call.waiting, limit.error());
  auto job = std::make_shared<Export>();
  job->query.what = Query::What::kDeadLetters;
  job->query.contents = true;
  job->query.cursor = keys::space(keys::kDead);  // parked messages live, and are no letters
  if (const std::string* text = call.query.find("cursor")) {
    auto cursor = api::decode_cursor(*text);
    if (!cursor || !cursor->starts_with(keys::kDead))
      return refuse(call.waiting, api::complaint(ProblemType::kInvalidParameter,
                                                 "this is no cursor of an export", "cursor"));
    job->query.cursor = std::move(*cursor);
  }
  job->answer.waiting = call.waiting;
  job->answer.content_type = "application/x-ndjson";
  job->tenant = call.tenant;
  job->left = *limit;
  // Not before the answers to earlier requests of this client are out: it holds nothing until then.
  call.waiting.exchange->when_room([weak = weak_from_this(), job] {
    if (const auto self = weak.lock()) self->ask_letters(job);
  });
}

// The memory for the largest letters there may be is set aside before they are read.
void HttpApi::Impl::ask_letters(const std::shared_ptr<Export>& job) {
  const std::shared_ptr<LongAnswer> answer(job, &job->answer);
  HttpExchange& exchange = *answer->waiting.exchange;
  const std::size_t each = options_.body_bytes_max + kBesideBody;
  std::uint32_t count = std::min(job->at_once, job->left);
  if (!exchange.has_room(count * each)) count = 1;
  if (!exchange.has_room(count * each)) {
    if (!answer->begun) return fail_telling(answer, api::no_room());
    return exports_.push_back(job);
  }
  answer->beside = count * each;
  exchange.keep(answer->text.size() + answer->beside);
  job->query.limit = count;
  const Door door =
      host_.post(job->tenant, job->query, [weak = weak_from_this(), job](Answer told) {
        if (const auto self = weak.lock()) self->take_letters(job, told);
      });
  if (door != Door::kOpen) fail_telling(answer, api::problem_of(door));
}

void HttpApi::Impl::take_letters(const std::shared_ptr<Export>& job, Answer& told) {
  const std::shared_ptr<LongAnswer> answer(job, &job->answer);
  if (const auto problem = api::problem_of(told)) return fail_telling(answer, *problem);
  job->page = std::move(std::get<DeadLetters>(told.view));
  job->told = 0;
  std::size_t bytes = 0;
  for (const DeadLetters::Content& content : job->page.contents) bytes += content.message.size();
  answer->beside = bytes;
  const bool small = bytes <= kQuestionBytes;
  job->at_once = small ? std::min(2 * job->at_once, kLettersAtOnceMax) : kLettersFirst;
  tell_letters(job);
}

void HttpApi::Impl::tell_letters(const std::shared_ptr<Export>& job) {
  const std::shared_ptr<LongAnswer> answer(job, &job->answer);
  DeadLetters& page = job->page;
  const std::size_t letters = std::min(page.letters.size(), page.contents.size());
  while (job->told < letters && answer->text.size() <= LongAnswer::kPieceBytes) {
    DeadLetters::Content& content = page.contents[job->told];
    api::append_letter(answer->text, host_.ids(), page.letters[job->told], content);
    answer->beside -= content.message.size();
    content.message = Blob();
    ++job->told;
  }
  if (job->told < letters) {
    return tell(answer, [weak = weak_from_this(), job] {
      if (const auto self = weak.lock()) self->tell_letters(job);
    });
  }
  job->left -= std::min(job->left, static_cast<std::uint32_t>(page.letters.size()));
  job->query.cursor = page.next;
  if (!page.next.empty() && job->left > 0) {
    return tell(answer, [weak = weak_from_this(), job] {
      if (const auto self = weak.lock()) self->ask_letters(job);
    });
  }
  if (!page.next.empty()) {
    api::JsonWriter(answer->text)
        .open_object()
        .field("next", api::encode_cursor(page.next))
        .close_object();
    answer->text.push_back('\n');
  }
  end_telling(answer);
}

// Those that had no memory to go on with.
void HttpApi::Impl::look_at_exports() {
  for (const std::shared_ptr<Export>& job : std::exchange(exports_, {})) {
    if (!job->answer.waiting.exchange->gone()) ask_letters(job);
  }
}

}  // namespace postrider
