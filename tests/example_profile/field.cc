#include "tests/example_profile/field.h"

#include <map>
#include <string>
#include <utility>

#include "postrider/sim/world/checkers.h"
#include "postrider/sim/world/submit_draws.h"
#include "tests/example_profile/profile.h"
#include "tests/example_profile/wire_format.h"

namespace postrider::sim {
namespace {

constexpr int kDecidedChecker = 90;

class PagerWorkload final : public Workload {
 public:
  explicit PagerWorkload(SubmitDraws& draws) : draws_(draws) {}

  Submit draw_submit(std::uint32_t destination) override {
    Submit submit = draws_.draw(destination, [] { return std::string(); });
    submit.body = draw_page();
    return submit;
  }
  void draw_other_content(Submit& again) override { again.body = draw_page(); }

 private:
  // The notebook and the receivers know a message by the number of its operation.
  std::string draw_page() {
    const std::string operation = std::to_string(draws_.next_operation());
    return pager::encode_page(
        {.number = "0170" + std::to_string(draws_.rng().between(1'000, 9'999)),
         .text = "\"operation\":" + operation});
  }

  SubmitDraws& draws_;
};

// A pager centre that is in a good mood: it takes most pages, and now and then it is busy or knows
// no such pager.
class PagerCentre final : public Application {
 public:
  PeerAnswer take(Peer& peer, const Call& /*call*/, std::vector<Receipt>& /*receipts*/) override {
    const std::uint64_t draw = peer.rng().below(20);
    PeerAnswer answer = peer.answer_status(200, draw > 2);
    answer.reply.body = draw == 0 ? "NEVER no such pager" : draw <= 2 ? "LATER busy" : "TAKEN";
    return answer;
  }
};

// A page about which the centre has decided, and said so in an attempt that was not given up, is
// not sent again.
class DecidedChecker final : public Checker {
 public:
  explicit DecidedChecker(const CheckerContext& context) : verdicts_(context.verdicts) {}

  // What a process had heard dies with it, and what was not durable is sent again.
  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    forget();
  }
  void died(const Moment& /*when*/) override { forget(); }

  void left(const Left& left) override {
    if (left.when.incarnation != newest_) return;
    const auto decided = decided_.find(left.start.message);
    if (decided != decided_.end() && left.when.truth - decided->second > kPatience) {
      verdicts_.violation(kDecidedChecker, "sent again although the centre had decided: " +
                                               to_string(left.start.message));
    }
    open_[left.start.attempt] = left.start.message;
  }
  void aborted(const Aborted& aborted) override { open_.erase(aborted.attempt); }

  void outcome(const Outcomed& outcome) override {
    const auto open = open_.find(outcome.attempt);
    if (open == open_.end() || outcome.when.incarnation != newest_) return;
    const pager::Verdict verdict = pager::parse_verdict(outcome.reply.body);
    const bool decides = verdict == pager::Verdict::kTaken || verdict == pager::Verdict::kNever;
    if (outcome.reply.end == WireEnd::kAnswered && decides)
      decided_.try_emplace(open->second, outcome.when.truth);
    open_.erase(open);
  }

 private:
  static constexpr Duration kPatience = 5min;  // a full event queue, slow reads and slow commits

  void forget() {
    open_.clear();
    decided_.clear();
  }

  Verdicts& verdicts_;
  Incarnation newest_ = 0;
  std::map<AttemptId, MessageId> open_;
  std::map<MessageId, Timestamp> decided_;
};

class PagerField final : public Field {
 public:
  const ProfileSpec& profile() const override { return kPager; }
  // Clients that send one body to many, or bodies that are no pages, would only be refused.
  Customs customs() const override {
    return {.rushes = false, .fans_out = false, .imports = false};
  }

  DestinationConfig draw_destination(const SimOptions& /*options*/, std::uint32_t number,
                                     Rng& /*rng*/) const override {
    DestinationConfig config;
    config.name = "centre-" + std::to_string(number);
    config.profile = profile().name;
    config.settings = {{"url", "https://peer-" + std::to_string(number) + ".example/centre"}};
    return config;
  }

  std::unique_ptr<Workload> make_workload(SubmitDraws& draws, Rng /*rng*/) const override {
    return std::make_unique<PagerWorkload>(draws);
  }
  std::unique_ptr<Application> make_application(Rng /*rng*/) const override {
    return std::make_unique<PagerCentre>();
  }
  void add_checkers(const CheckerContext& context, Notebook& /*notebook*/,
                    CheckerList& list) const override {
    list.push_back(std::make_unique<DecidedChecker>(context));
  }

  void read_call(const WireRequest& request, const IdCodec& ids, Call& call) const override {
    const std::string_view id = request.headers.find("page-id");
    if (!id.empty()) call.id = ids.parse(std::string(id)).value_or(call.id);
  }
};

}  // namespace

const Field& pager_field() {
  static const PagerField kField;
  return kField;
}

}  // namespace postrider::sim
