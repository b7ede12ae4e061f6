#include "postrider/transports/net/srv_resolver.h"

#include <algorithm>

#include <ares.h>

namespace postrider {
namespace {

constexpr int kClassInternet = 1;
constexpr int kTypeSrv = 33;
constexpr int kHeadBytes = 12;

// The answers of a message in the form of RFC 1035 §4, which c-ares does not tell the times of.
class AnswerTimes {
 public:
  AnswerTimes(const unsigned char* bytes, int size) : bytes_(bytes), size_(size) {}

  // The shortest; nothing when the message is none.
  std::optional<Duration> shortest() {
    if (size_ < kHeadBytes) return std::nullopt;
    const std::uint32_t questions = number(4, 2);
    const std::uint32_t answers = number(6, 2);
    int at = kHeadBytes;
    for (std::uint32_t i = 0; i < questions; ++i) {
      if (!skip_name(at)) return std::nullopt;
      at += 4;
    }
    std::optional<Duration> least;
    for (std::uint32_t i = 0; i < answers; ++i) {
      if (!skip_name(at) || at + 10 > size_) return least;
      const Duration ttl = std::chrono::seconds(number(at + 4, 4) & 0x7FFFFFFFU);
      least = std::min(least.value_or(ttl), ttl);
      at += 10 + static_cast<int>(number(at + 8, 2));
    }
    return least;
  }

 private:
  std::uint32_t number(int at, int bytes) const {
    std::uint32_t value = 0;
    for (int i = 0; i < bytes; ++i) value = (value << 8) | bytes_[at + i];
    return value;
  }
  bool skip_name(int& at) const {
    while (at < size_) {
      const int length = bytes_[at];
      if (length >= 0xC0) {  // the rest stands elsewhere
        at += 2;
        return at <= size_;
      }
      at += length + 1;
      if (length == 0) return at <= size_;
    }
    return false;
  }

  const unsigned char* bytes_;
  int size_;
};

std::vector<SrvTarget> read_records(const unsigned char* reply, int size, std::size_t most) {
  std::vector<SrvTarget> targets;
  ares_srv_reply* records = nullptr;
  if (ares_parse_srv_reply(reply, size, &records) != ARES_SUCCESS) return targets;
  for (const ares_srv_reply* record = records; record != nullptr && targets.size() < most;
       record = record->next) {
    std::string host = record->host == nullptr ? "" : record->host;
    while (host.size() > 1 && host.ends_with('.')) host.pop_back();
    targets.push_back({.host = host.empty() ? "." : std::move(host),
                       .port = record->port,
                       .priority = record->priority,
                       .weight = record->weight});
  }
  ares_free_data(records);
  return targets;
}

}  // namespace

struct SrvResolver::Entry {
  explicit Entry(std::string_view key) : name(key) {}
  std::string name;
  SrvFound found;
  Timestamp expires;
  bool asked = false;  // and not answered yet
  std::vector<Token> waiting;
  std::list<Entry*>::iterator place;  // in rest_, unless it is asked for
};

struct SrvResolver::Question {
  SrvResolver* resolver;
  Entry* entry;
};

SrvResolver::SrvResolver(const SrvResolverOptions& options, std::function<Timestamp()> now,
                         Answered answered)
    : options_(options), now_(std::move(now)), answered_(std::move(answered)) {}

Result<std::unique_ptr<SrvResolver>> SrvResolver::make(boost::asio::io_context& loop,
                                                       const SrvResolverOptions& options,
                                                       std::function<Timestamp()> now,
                                                       Answered answered) {
  std::unique_ptr<SrvResolver> resolver(
      new SrvResolver(options, std::move(now), std::move(answered)));
  POSTRIDER_TRY(channel,
                AresChannel::make(loop, options.ares, [it = resolver.get()] { it->tell(); }));
  resolver->channel_ = std::move(channel);
  return resolver;
}

SrvResolver::~SrvResolver() { close(); }

void SrvResolver::close() {
  closed_ = true;
  if (channel_ != nullptr) channel_->close();
}

std::optional<SrvFound> SrvResolver::ask(const std::string& name, Token token) {
  const auto [found, fresh] = names_.try_emplace(name, name);
  Entry& entry = found->second;
  if (!entry.asked) {
    if (!fresh && now_() < entry.expires) return entry.found;
    if (asking_ >= options_.asking_max) {
      if (fresh) names_.erase(found);
      return SrvFound{.how = SrvFound::How::kHeldBack, .targets = {}};
    }
    if (!fresh) rest_.erase(entry.place);
    entry.asked = true;
    ++asking_;
    // c-ares calls back exactly once, at the latest when the channel is destroyed.
    auto question = std::make_unique<Question>(Question{this, &entry});
    ares_query(
        channel_->raw(), name.c_str(), kClassInternet, kTypeSrv,
        [](void* argument, int status, int, unsigned char* reply, int size) {
          const std::unique_ptr<Question> asked(static_cast<Question*>(argument));
          asked->resolver->take(*asked->entry, status, reply, size);
        },
        question.release());
    if (!entry.asked) return entry.found;  // refused at once: no such name can be asked for
  }
  entry.waiting.push_back(token);
  return std::nullopt;
}

void SrvResolver::take(Entry& entry, int status, const unsigned char* reply, int size) {
  if (closed_) return;
  --asking_;
  entry.asked = false;
  const Timestamp now = now_();
  const bool none = status == ARES_ENOTFOUND || status == ARES_ENODATA || status == ARES_EBADNAME;
  entry.found = {};
  if (status == ARES_SUCCESS) entry.found.targets = read_records(reply, size, options_.records_max);
  if (!entry.found.targets.empty()) {
    const Duration ttl = AnswerTimes(reply, size).shortest().value_or(Duration(0));
    entry.found.how = SrvFound::How::kRecords;
    entry.expires = now + std::min(ttl, options_.ttl_max);
  } else if (none || status == ARES_SUCCESS) {
    entry.found.how = SrvFound::How::kNone;
    entry.expires = now + options_.negative_ttl;
  } else {
    entry.found.how = SrvFound::How::kSilent;
    entry.expires = now + options_.silence;
  }
  if (!entry.waiting.empty()) answers_.emplace_back(std::exchange(entry.waiting, {}), entry.found);
  remember(entry);
}

void SrvResolver::remember(Entry& entry) {
  while (rest_.size() >= std::max(options_.names_max, 1U)) {
    const std::string name = rest_.front()->name;  // the map frees the original while it looks
    rest_.pop_front();
    names_.erase(name);
  }
  entry.place = rest_.insert(rest_.end(), &entry);
}

void SrvResolver::tell() {
  while (!answers_.empty() && !closed_) {
    const auto answer = std::move(answers_.back());
    answers_.pop_back();
    for (const Token token : answer.first) answered_(token, answer.second);
  }
}

void SrvResolver::sweep() {
  if (busy() && !closed_) channel_->sweep();
}

}  // namespace postrider
