#include "postrider/doors/matrix/inbound.h"

#include <utility>

#include "postrider/base/check.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix_door {

struct Inbound::Job {
  Mirrored request;
  matrix::XMatrix header;
  Done done;
};

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAlive: return "alive";
    case Verdict::kNotNeeded: return "not-needed";
    case Verdict::kMissing: return "missing";
    case Verdict::kMalformed: return "malformed";
    case Verdict::kElsewhere: return "elsewhere";
    case Verdict::kForged: return "forged";
    case Verdict::kUnknownKey: return "unknown-key";
    case Verdict::kNoKeys: return "no-keys";
    case Verdict::kBusy: return "busy";
  }
  POSTRIDER_CHECK(false);
}

int status_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAlive:
    case Verdict::kNotNeeded: return 204;
    case Verdict::kMalformed: return 400;
    case Verdict::kMissing:
    case Verdict::kElsewhere:
    case Verdict::kForged:
    case Verdict::kUnknownKey:
    case Verdict::kNoKeys: return 401;
    case Verdict::kBusy: return 503;
  }
  POSTRIDER_CHECK(false);
}

namespace {

Verdict verdict_of(matrix::Authentication authentication, bool has_keys) {
  switch (authentication) {
    case matrix::Authentication::kValid: return Verdict::kAlive;
    case matrix::Authentication::kMissing: return Verdict::kMissing;
    case matrix::Authentication::kMalformed: return Verdict::kMalformed;
    case matrix::Authentication::kWrongDestination: return Verdict::kElsewhere;
    case matrix::Authentication::kUnknownKey:
      return has_keys ? Verdict::kUnknownKey : Verdict::kNoKeys;
    case matrix::Authentication::kForged: return Verdict::kForged;
  }
  POSTRIDER_CHECK(false);
}

}  // namespace

Inbound::Inbound(InboundOptions options, KeyRing& keys)
    : options_(std::move(options)), keys_(keys) {}

void Inbound::told(Verdict verdict, const Done& done) {
  ++counts_[static_cast<std::size_t>(verdict)];
  done(verdict);
}

void Inbound::take(Mirrored request, Done done) {
  if (request.authorization.empty()) return told(Verdict::kMissing, done);
  auto header = matrix::parse_x_matrix(request.authorization);
  if (!header || !matrix::parse_server_name(header->origin) || !matrix::is_key_id(header->key))
    return told(Verdict::kMalformed, done);
  if (header->destination && *header->destination != options_.server_name)
    return told(Verdict::kElsewhere, done);
  if (waiting_ >= options_.waiting_max) return told(Verdict::kBusy, done);
  ++waiting_;
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  job->header = std::move(*header);
  job->done = std::move(done);
  options_.ask_closed(job->header.origin, [this, job, alive = std::weak_ptr(alive_)](bool closed) {
    if (alive.expired()) return;
    if (!closed) return finish(job, Verdict::kNotNeeded);
    verify(job);
  });
}

void Inbound::verify(const std::shared_ptr<Job>& job) {
  keys_.find(job->header.origin, job->header.key,
             [this, job, alive = std::weak_ptr(alive_)](std::span<const matrix::VerifyKey> keys) {
               if (alive.expired()) return;
               const matrix::RequestWords words{.method = job->request.method,
                                                .uri = job->request.uri,
                                                .origin = job->header.origin,
                                                .destination = options_.server_name};
               const auto how = matrix::authenticate(job->header, words, job->request.body, keys);
               finish(job, verdict_of(how, !keys.empty()));
             });
}

void Inbound::finish(const std::shared_ptr<Job>& job, Verdict verdict) {
  --waiting_;
  if (verdict == Verdict::kAlive) options_.seen(job->header.origin);
  told(verdict, job->done);
}

}  // namespace postrider::matrix_door
