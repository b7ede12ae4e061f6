// LoginTransport: requests that need a token, over a transport that does not know of tokens. Logs
// in when there is none or it ends soon, adds it to each request, and on a 401 logs in anew and
// repeats the request, once. Requests without a login pass through. On the loop's thread; owned by
// the same that owns the transport below, and destroyed before it.
//
// A login that failed ends all who wait for it with kNoLogin; the reply's body says why, in our
// words or those of LoginCall::read, so neither the password nor a token is ever in it. A login
// that was held back for want of a place of ours ends them with kHeldBack. Who waits
// does so for tries_max tries at most; it needs no timer of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/model/seams/clock.h"
#include "postrider/model/seams/transport.h"

namespace postrider {

struct LoginTransportOptions {
  Duration time_out{5'000};            // of one try
  std::uint32_t tries_max = 3;         // when there is no answer, or one of a broken peer
  Duration renew_before{1'000};        // before a token ends
  std::uint32_t accounts_max = 1'024;  // remembered beyond those in use
  std::uint32_t reply_bytes_max = 16 * 1024;
  std::uint32_t authorization_bytes_max = 8 * 1024;  // what servers take as one header
};

struct LoginTransportCounts {
  std::uint64_t tries = 0;    // logins sent
  std::uint64_t logins = 0;   // that gave a token
  std::uint64_t repeats = 0;  // requests sent again after a 401
};

class LoginTransport final : public Transport {
 public:
  // Never called from inside start() or abort(). It may start and abort, but not destroy us.
  using Ended = std::function<void(AttemptId, WireReply)>;

  LoginTransport(const Clock& clock, LoginTransportOptions options, Ended ended);
  ~LoginTransport() override;
  LoginTransport(const LoginTransport&) = delete;
  LoginTransport& operator=(const LoginTransport&) = delete;

  // The transport below, before the first start. It must tell all its ends to inner_ended().
  void over(Transport& inner) { inner_ = &inner; }
  void inner_ended(AttemptId attempt, WireReply reply);

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;  // passed on
  std::size_t connections() const override { return inner_->connections(); }
  LoginTransportCounts counts() const { return counts_; }

 private:
  struct Account;
  struct Request;
  struct Told {
    AttemptId attempt;
    WireReply reply;
  };
  using AccountRef = std::shared_ptr<Account>;  // of the table and of the requests that use it

  AccountRef account_of(const std::shared_ptr<const LoginCall>& call);
  void make_room();
  bool has_token(const Account& account) const;
  void proceed(AttemptId attempt, Request& request);
  void send(AttemptId attempt, Request& request);
  void try_login(const AccountRef& account);
  void login_ended(const AccountRef& account, const WireReply& reply);
  void release(Account& account, const std::optional<std::string>& problem,
               WireEnd end = WireEnd::kNoLogin);
  void refused(AttemptId attempt, Request& request, WireReply reply);
  void flush();

  const Clock& clock_;
  LoginTransportOptions options_;
  Ended ended_;
  Transport* inner_ = nullptr;
  LoginTransportCounts counts_;
  std::uint64_t next_login_ = 1;
  std::uint64_t uses_ = 0;
  std::unordered_map<std::string, AccountRef> accounts_;
  std::unordered_map<std::uint64_t, AccountRef> logins_;  // under way, by attempt
  // Those that need a login, waiting or sent: bounded by what was started.
  std::unordered_map<std::uint64_t, std::unique_ptr<Request>> requests_;
  std::deque<Told> told_;  // have ended without the transport below, and are not told yet
};

}  // namespace postrider
