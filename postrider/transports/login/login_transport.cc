#include "postrider/transports/login/login_transport.h"

#include <algorithm>
#include <utility>

#include "postrider/base/check.h"

namespace postrider {
namespace {

// Attempts of the engine count from 1, so these are ours.
constexpr std::uint64_t kLoginBit = 1ULL << 63;
constexpr int kUnauthorized = 401;
constexpr int kServerErrors = 500;

bool is_header_value(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < 127;
  });
}

std::string_view content_type_of(const WireReply& reply) {
  const std::string* found = find_text(reply.headers, "content-type");
  return found == nullptr ? std::string_view() : std::string_view(*found);
}

WireReply not_sent(WireEnd end, const std::string& why) {
  WireReply reply;
  reply.end = end;
  reply.body = why;
  return reply;
}

}  // namespace

// One login: who and where. The token is replaced, never changed.
struct LoginTransport::Account {
  std::shared_ptr<const LoginCall> call;
  std::optional<LoginToken> token;
  std::uint64_t version = 0;  // of the token
  bool logging_in = false;
  std::uint32_t tries = 0;
  std::uint64_t used = 0;
  std::string trust;               // of the request that asked first
  std::vector<AttemptId> waiting;  // in order
};

struct LoginTransport::Request {
  AccountRef account;
  WireRequest request;
  Timestamp due;              // boot time; of the whole exchange, the wait for a login included
  std::uint64_t version = 0;  // of the token that it was sent with
  bool repeated = false;
};

LoginTransport::LoginTransport(const Clock& clock, LoginTransportOptions options, Ended ended)
    : clock_(clock), options_(options), ended_(std::move(ended)) {}
LoginTransport::~LoginTransport() = default;

// Other credentials for the same key are another account: a token of the old ones is not used.
LoginTransport::AccountRef LoginTransport::account_of(
    const std::shared_ptr<const LoginCall>& call) {
  std::string key = call->key;
  key.append("\n").append(call->target).append("\n").append(call->body);
  auto& account = accounts_[key];
  if (account == nullptr) {
    account = std::make_shared<Account>();
    account->call = call;
  }
  account->used = ++uses_;
  const AccountRef out = account;
  if (accounts_.size() > options_.accounts_max) make_room();
  return out;
}

// Forgets the one that was not used for longest. Requests under way keep theirs.
void LoginTransport::make_room() {
  auto oldest = accounts_.end();
  for (auto it = accounts_.begin(); it != accounts_.end(); ++it) {
    const bool in_use = it->second->logging_in || it->second->used == uses_;
    if (in_use) continue;
    if (oldest == accounts_.end() || it->second->used < oldest->second->used) oldest = it;
  }
  if (oldest != accounts_.end()) accounts_.erase(oldest);
}

bool LoginTransport::has_token(const Account& account) const {
  if (!account.token) return false;
  return !account.token->expires_at ||
         clock_.read().wall + options_.renew_before < *account.token->expires_at;
}

void LoginTransport::start(AttemptId attempt, WireRequest request) {
  if (request.login == nullptr) return inner_->start(attempt, std::move(request));
  POSTRIDER_CHECK((attempt.value() & kLoginBit) == 0);
  auto fresh = std::make_unique<Request>();
  fresh->account = account_of(request.login);
  const Duration given = request.time_out;
  fresh->due = given.count() > 0 ? clock_.read().boot + given : Timestamp::never();
  fresh->request = std::move(request);
  fresh->request.login = nullptr;
  const auto [place, is_new] = requests_.try_emplace(attempt.value(), std::move(fresh));
  POSTRIDER_CHECK(is_new);  // an attempt starts once
  proceed(attempt, *place->second);
}

void LoginTransport::proceed(AttemptId attempt, Request& request) {
  const AccountRef account = request.account;
  if (!account->logging_in && has_token(*account)) return send(attempt, request);
  account->waiting.push_back(attempt);
  if (account->logging_in) return;
  account->tries = 0;
  account->trust = request.request.trust;
  try_login(account);
}

void LoginTransport::send(AttemptId attempt, Request& request) {
  WireRequest out = request.request;
  out.headers.add("authorization", request.account->token->authorization);
  if (request.due != Timestamp::never())
    out.time_out = std::max(request.due - clock_.read().boot, Duration(1));
  request.version = request.account->version;
  inner_->start(attempt, std::move(out));
}

void LoginTransport::try_login(const AccountRef& account) {
  const LoginCall& call = *account->call;
  const AttemptId attempt(kLoginBit | next_login_++);
  account->logging_in = true;
  ++account->tries;
  ++counts_.tries;
  logins_.emplace(attempt.value(), account);
  WireRequest request;
  request.verb = "POST";
  request.target = call.target;
  request.headers.add("content-type", call.content_type);
  request.owner = Blob::copy_of(call.body);
  request.body = request.owner.view();
  request.time_out = options_.time_out;
  request.trust = account->trust;
  request.reply_bytes = options_.reply_bytes_max;
  inner_->start(attempt, std::move(request));
}

void LoginTransport::inner_ended(AttemptId attempt, WireReply reply) {
  if ((attempt.value() & kLoginBit) != 0) {
    const auto login = logins_.extract(attempt.value());
    if (!login.empty()) login_ended(login.mapped(), reply);
    return;
  }
  const auto found = requests_.empty() ? requests_.end() : requests_.find(attempt.value());
  if (found == requests_.end()) return ended_(attempt, std::move(reply));
  Request& request = *found->second;
  const bool unauthorized = reply.end == WireEnd::kAnswered && reply.status == kUnauthorized;
  if (unauthorized && !request.repeated) return refused(attempt, request, std::move(reply));
  requests_.erase(found);
  ended_(attempt, std::move(reply));
}

// The peer has done nothing of it, so it may be repeated, whatever it is.
void LoginTransport::refused(AttemptId attempt, Request& request, WireReply reply) {
  Account& account = *request.account;
  if (account.version == request.version) account.token.reset();  // else there is a newer one
  if (request.due <= clock_.read().boot) {
    requests_.erase(attempt.value());
    return ended_(attempt, std::move(reply));
  }
  request.repeated = true;
  ++counts_.repeats;
  proceed(attempt, request);
}

// A peer that has judged the login is not asked the same again at once: it might lock us out.
void LoginTransport::login_ended(const AccountRef& account, const WireReply& reply) {
  // Nobody was asked, so nobody has failed: those who wait are held back like the login itself.
  if (reply.end == WireEnd::kHeldBack) {
    account->logging_in = false;
    return release(*account, "login: held back by our own limits", WireEnd::kHeldBack);
  }
  const bool answered = reply.end == WireEnd::kAnswered;
  const bool broken = !answered || reply.status >= kServerErrors;
  if (broken && account->tries < options_.tries_max) return try_login(account);
  account->logging_in = false;
  if (!answered) return release(*account, "login: no answer");
  if (broken) return release(*account, "login: status " + std::to_string(reply.status));
  auto token = account->call->read(reply.status, content_type_of(reply), reply.body);
  if (!token) return release(*account, "login: " + token.error().detail);
  const bool fits = token->authorization.size() <= options_.authorization_bytes_max;
  if (!fits || !is_header_value(token->authorization))
    return release(*account, "login: the token cannot be sent");
  ++counts_.logins;
  ++account->version;
  account->token = std::move(*token);
  release(*account, std::nullopt);
}

// All who waited go on together.
void LoginTransport::release(Account& account, const std::optional<std::string>& problem,
                             WireEnd end) {
  const Timestamp now = clock_.read().boot;
  for (const AttemptId attempt : std::exchange(account.waiting, {})) {
    const auto found = requests_.find(attempt.value());
    const bool late = found->second->due <= now;
    // A token that ends at once is still the newest there is.
    if (!problem && !late) {
      send(attempt, *found->second);
      continue;
    }
    requests_.erase(found);
    told_.push_back({attempt, not_sent(end, problem.value_or("login: it took too long"))});
  }
  flush();
}

// Outside of everything else: whoever is told may start and abort others.
void LoginTransport::flush() {
  while (!told_.empty()) {
    Told told = std::move(told_.front());
    told_.pop_front();
    ended_(told.attempt, std::move(told.reply));
  }
}

void LoginTransport::abort(AttemptId attempt) {
  const auto found = requests_.find(attempt.value());
  if (found != requests_.end()) {
    std::erase(found->second->account->waiting, attempt);
    requests_.erase(found);
  }
  std::erase_if(told_, [&](const Told& told) { return told.attempt == attempt; });
  inner_->abort(attempt);
}

}  // namespace postrider
