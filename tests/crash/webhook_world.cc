// The world of webhooks: several clients, eight receivers that are healthy, slow, flaky and dead.
#include <fstream>
#include <utility>

#include "postrider/base/rng.h"
#include "tests/crash/client.h"
#include "tests/crash/conductor.h"
#include "tests/crash/world.h"

namespace postrider::crash {
namespace {

class WebhookWorld final : public World {
 public:
  WebhookWorld(const RoundsOptions& options, std::uint64_t seed, std::uint64_t& next_serial)
      : next_serial_(next_serial),
        rng_(seed),
        journal_(next_serial),
        receiver_(kSites, rng_.next()),
        load_(options.clients, [this](std::uint32_t number, std::function<void()> accepted) {
          return std::make_unique<Client>(number, rng_.next(), journal_, std::move(accepted));
        }) {}
  ~WebhookWorld() override { next_serial_ += journal_.all().size(); }

  void begin(Findings& /*out*/) override {}
  std::vector<std::string> serve_words() const override { return {}; }
  void change_weather(bool crowded) override;
  void prepare(const std::string& address, Findings& out) override;
  Load& load() override { return load_; }
  Receiver& receiver() override { return receiver_; }
  std::int64_t linger_us_max() const override { return 2'000; }
  Bounds bounds() const override {
    return {journal_.accepted(), journal_.accepted() + journal_.unknown()};
  }
  void audit_living(const std::string& address, Books& books, Findings& out) override;
  bool make_fine(const std::string& address) override;
  void wait_quiet(Findings& /*out*/) override {}
  void look_back(const std::string& /*address*/, Findings& /*out*/) override {}
  void audit(const Ended& ended, Findings& out) override;
  std::vector<std::string> complaints() const override { return journal_.complaints(); }
  void add_to(RoundsTotals& totals) const override;
  void write_down(const std::string& directory) const override;

 private:
  std::uint64_t& next_serial_;
  Rng rng_;
  Journal journal_;
  Receiver receiver_;
  Load load_;
  bool configured_ = false;
};

void WebhookWorld::change_weather(bool crowded) {
  for (std::uint32_t site = 0; site < kSites; ++site) {
    if (crowded) {
      receiver_.set_mood(site, Mood::kHealthy);
    } else if (rng_.chance(1, 4)) {
      receiver_.set_mood(site, static_cast<Mood>(rng_.below(4)));
    }
  }
}

void WebhookWorld::prepare(const std::string& address, Findings& out) {
  HttpConnection connection;
  for (std::uint32_t site = 0; site < kSites && !configured_; ++site) {
    const std::string body =
        "{\"profile\":\"webhook\",\"settings\":{\"url\":\"" + receiver_.url(site) +
        "\",\"order\":\"" + (is_fifo(site) ? "fifo" : "none") +
        "\",\"ladder\":\"100ms,150ms,200ms\",\"wait_base\":\"100ms\",\"wait_max\":\"300ms\","
        "\"disable_after\":\"0\",\"time_out\":\"60s\"}}";
    const std::string path = "/v1/destinations/" + destination_of(site);
    std::optional<HttpAnswer> answer;
    if (connection.is_open() || connection.open(address))
      answer = connection.ask({.method = "PUT", .path = path, .body = body});
    if (!answer || answer->status / 100 != 2)
      return out.push_back("answer: a destination cannot be put: " +
                           (answer ? answer->body : "no answer"));
  }
  configured_ = true;
}

// Every message that was accepted lives or has ended.
void WebhookWorld::audit_living(const std::string& address, Books& books, Findings& out) {
  const std::vector<Submission> submissions = journal_.all();
  const std::vector<Arrival> arrivals = receiver_.arrivals();
  const auto living = books.living(address);
  if (!living) return out.push_back("answer: " + books.why());
  const auto is_known = [&](PublicId id) {
    return living->contains(id) || books.ends().contains(id) || books.explain(address, id) == 200;
  };
  for (const Submission& submission : submissions) {
    if (submission.fate == Submission::Fate::kAccepted && !is_known(submission.id))
      out.push_back("lost: " + to_string(submission.id) + " was accepted and is nowhere");
  }
  for (const Arrival& arrival : arrivals) {
    if (!is_known(arrival.id))
      out.push_back("phantom: " + to_string(arrival.id) + " was sent, but was never accepted");
  }
}

bool WebhookWorld::make_fine(const std::string& address) {
  HttpConnection connection;
  if (!load_.settle(address) || !connection.open(address)) return false;
  for (std::uint32_t site = 0; site < kSites; ++site) {
    receiver_.set_mood(site, Mood::kHealthy);
    const std::string path = "/v1/destinations/" + destination_of(site) + "/resume";
    const auto answer = connection.ask({.method = "POST", .path = path});
    if (!answer || answer->status / 100 != 2) return false;
  }
  return true;
}

void WebhookWorld::audit(const Ended& ended, Findings& out) {
  const Evidence evidence{.first_serial = journal_.first(),
                          .submissions = journal_.all(),
                          .arrivals = receiver_.arrivals(),
                          .ends = ended.ends,
                          .clean_lives = ended.clean_lives,
                          .id_key = ended.id_key};
  audit_arrivals(evidence, out);
  audit_order_of_ids(evidence, out);
  audit_ends(evidence, ended.counters, out);
}

void WebhookWorld::add_to(RoundsTotals& totals) const {
  std::unordered_map<PublicId, std::uint64_t> good;
  for (const Arrival& arrival : receiver_.arrivals()) {
    ++totals.arrivals;
    if (arrival.status / 100 == 2 && good[arrival.id]++ != 0) ++totals.duplicates;
  }
  totals.submitted += journal_.all().size();
  totals.unanswered += journal_.unknown();
}

void WebhookWorld::write_down(const std::string& directory) const {
  std::ofstream submissions(directory + "/submissions.txt");
  std::uint64_t serial = journal_.first();
  for (const Submission& it : journal_.all()) {
    submissions << serial++ << " client " << it.client << " site " << it.site << " lane "
                << int{it.lane} << (it.keyed ? " keyed" : "") << (it.unwanted ? " unwanted" : "")
                << (it.expires ? " expires" : "") << (it.repeated ? " repeated" : "") << " cancel "
                << static_cast<int>(it.cancel) << " fate " << static_cast<int>(it.fate) << " "
                << (it.id.is_set() ? to_string(it.id) : "-") << it.more << "\n";
  }
  std::ofstream arrivals(directory + "/arrivals.txt");
  for (const Arrival& it : receiver_.arrivals()) {
    arrivals << "life " << it.life << " site " << it.site << " " << to_string(it.id) << " "
             << it.serial << " " << it.status << (it.intact ? "" : " BROKEN") << "\n";
  }
}

}  // namespace

std::unique_ptr<World> make_webhook_world(const RoundsOptions& options, std::uint64_t seed,
                                          std::uint64_t& next_serial) {
  return std::make_unique<WebhookWorld>(options, seed, next_serial);
}

}  // namespace postrider::crash
