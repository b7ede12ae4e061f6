#include "tests/crash/client.h"

#include <algorithm>
#include <utility>

#include "tests/crash/load.h"
#include "tests/crash/receiver.h"

namespace postrider::crash {
namespace {

constexpr std::size_t kRecentMax = 200;
constexpr std::int64_t kLinesMax = 40;

std::string key_of(std::uint64_t serial) { return "key-" + std::to_string(serial); }
std::string key_header(std::uint64_t serial) {
  return "idempotency-key: " + key_of(serial) + "\r\n";
}

// Whether a refusal leaves open what happened.
bool is_open_question(const std::string& problem) {
  return problem.find("problem:interrupted") != std::string::npos;
}

bool is_ordinary_refusal(int status) { return status == 503 || status == 429; }

}  // namespace

std::string destination_of(std::uint32_t site) { return "site-" + std::to_string(site); }

Client::Client(std::uint32_t number, std::uint64_t seed, Journal& journal,
               std::function<void()> accepted)
    : number_(number), rng_(seed), journal_(journal), accepted_(std::move(accepted)) {}

Submission Client::draw() {
  Submission out;
  out.client = number_;
  out.site = static_cast<std::uint32_t>(rng_.below(kSites));
  out.lane = static_cast<std::uint8_t>(rng_.chance(1, 4) ? 1 : 0);
  out.keyed = rng_.chance(1, 2);
  out.unwanted = rng_.chance(1, 15);
  if (out.lane != 0) out.more.append(",\"lane\":").append(std::to_string(out.lane));
  if (rng_.chance(1, 10)) {
    out.expires = true;
    out.more.append(",\"expires_in\":\"").append(std::to_string(rng_.between(5, 1500)));
    out.more.append("ms\"");
  }
  if (is_fifo(out.site)) return out;
  if (rng_.chance(1, 8))
    out.more.append(",\"delay\":\"").append(std::to_string(rng_.between(1, 800))).append("ms\"");
  if (rng_.chance(1, 8))
    out.more.append(",\"priority\":").append(std::to_string(rng_.between(1, 9)));
  return out;
}

std::string Client::text_of(std::uint64_t serial, const Submission& submission, bool line) const {
  std::string out = "{\"destination\":\"" + destination_of(submission.site) + "\",\"body\":\"" +
                    body_of(serial, submission.unwanted) + "\"" + submission.more;
  if (line && submission.keyed) out.append(",\"idempotency_key\":\"" + key_of(serial) + "\"");
  return out.append("}");
}

void Client::act() {
  const std::uint64_t what = rng_.below(100);
  if (what < 45) {
    static_cast<void>(submit_one(journal_.add(draw())));
  } else if (what < 65) {
    submit_lines();
  } else if (what < 73) {
    submit_some_at_once();
  } else if (what < 83) {
    cancel_one();
  } else if (what < 88) {
    repeat_one();
  } else if (what < 90) {
    misuse_key();
  } else if (what < 94) {
    ask_one("explain");
  } else if (what < 96) {
    ask_one("retry");
  } else {
    operate();
  }
}

bool Client::send_one(std::uint64_t serial) {
  const Submission submission = journal_.get(serial);
  const std::string body = text_of(serial, submission, false);
  const std::string key = submission.keyed ? key_header(serial) : "";
  return connection_.send({.method = "POST", .path = "/v1/messages", .body = body, .headers = key});
}

bool Client::read_one(std::uint64_t serial) {
  const auto answer = connection_.read();
  if (!answer) return false;
  if (answer->status == 202) {
    take_accepted(serial, member(answer->body, "id"));
  } else {
    take_refusal(serial, answer->status, answer->body);
  }
  return true;
}

bool Client::submit_one(std::uint64_t serial) {
  if (send_one(serial) && read_one(serial)) return true;
  remember_unknown(serial);
  return false;
}

// Without waiting for the answers in between.
void Client::submit_some_at_once() {
  std::vector<std::uint64_t> serials;
  const std::int64_t count = rng_.between(2, 8);
  bool open = true;
  for (std::int64_t i = 0; i < count && open; ++i) {
    serials.push_back(journal_.add(draw()));
    open = send_one(serials.back());
  }
  for (const std::uint64_t serial : serials) {
    open = open && read_one(serial);
    if (!open) remember_unknown(serial);
  }
}

void Client::submit_lines() {
  std::vector<std::uint64_t> serials;
  std::string body;
  const std::int64_t count = rng_.between(1, kLinesMax);
  for (std::int64_t i = 0; i < count; ++i) {
    serials.push_back(journal_.add(draw()));
    body.append(text_of(serials.back(), journal_.get(serials.back()), true)).append("\n");
  }
  const bool sent = connection_.send({.method = "POST",
                                      .path = "/v1/messages",
                                      .body = body,
                                      .content_type = "application/x-ndjson"});
  const auto head = sent ? connection_.read_head() : std::nullopt;
  std::string text;
  std::size_t lines = 0;
  const auto take_lines = [&] {
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
      take_line(text.substr(0, end), serials);
      text.erase(0, end + 1);
      ++lines;
    }
  };
  while (head && connection_.read_piece(text)) {
    if (head->status == 200) take_lines();
  }
  const bool whole = head && connection_.was_whole();
  if (!whole) connection_.close();
  if (whole && head->status != 200) {
    for (const std::uint64_t serial : serials) take_refusal(serial, head->status, text);
  } else if (whole && lines != serials.size()) {
    journal_.complain("answer: " + std::to_string(serials.size()) + " lines were answered with " +
                      std::to_string(lines));
  }
  for (const std::uint64_t serial : serials) {
    if (journal_.get(serial).fate == Submission::Fate::kUnknown) remember_unknown(serial);
  }
}

void Client::take_line(const std::string& line, const std::vector<std::uint64_t>& serials) {
  const std::uint64_t number = number_member(line, "line");
  if (number == 0 || number > serials.size())
    return journal_.complain("answer: this is about no line of ours: " + line);
  const std::uint64_t serial = serials[number - 1];
  const std::string id = member(line, "id");
  if (!id.empty()) return take_accepted(serial, id);
  take_refusal(serial, static_cast<int>(number_member(line, "status")), line);
}

void Client::take_accepted(std::uint64_t serial, const std::string& id) {
  const auto parsed = parse_public_id(id);
  if (!parsed) return journal_.complain("answer: '" + id + "' is no id");
  journal_.set_accepted(serial, *parsed);
  recent_.push_back(serial);
  if (recent_.size() > kRecentMax) recent_.pop_front();
  accepted_();
}

void Client::take_refusal(std::uint64_t serial, int status, const std::string& body) {
  if (is_open_question(body)) return remember_unknown(serial);
  if (is_ordinary_refusal(status)) return journal_.set_refused(serial, false);
  if (status == 400 && body.find("expired already") != std::string::npos &&
      journal_.get(serial).expires)
    return journal_.set_refused(serial, true);
  journal_.complain("answer: submission " + std::to_string(serial) + " was answered with " +
                    std::to_string(status) + ": " + body);
}

void Client::remember_unknown(std::uint64_t serial) {
  if (journal_.get(serial).keyed &&
      std::find(unanswered_.begin(), unanswered_.end(), serial) == unanswered_.end())
    unanswered_.push_back(serial);
}

bool Client::repeat_unknown(bool all) {
  std::vector<std::uint64_t> serials;
  serials.swap(unanswered_);
  bool open = true;
  for (const std::uint64_t serial : serials) {
    if (!open || (!all && rng_.chance(1, 4))) {
      remember_unknown(serial);
      continue;
    }
    journal_.set_repeated(serial);
    open = submit_one(serial);
    if (open && journal_.get(serial).fate == Submission::Fate::kUnknown) remember_unknown(serial);
  }
  return open && (!all || unanswered_.empty());
}

std::uint64_t Client::recent() {
  return recent_.empty() ? UINT64_MAX : recent_[rng_.below(recent_.size())];
}

void Client::cancel_one() {
  const std::uint64_t serial = recent();
  if (serial == UINT64_MAX) return;
  journal_.set_cancel(serial, Submission::Cancel::kAsked);
  const std::string path = "/v1/messages/" + to_string(journal_.get(serial).id) + "/cancel";
  const auto answer = connection_.ask({.method = "POST", .path = path});
  if (!answer) return;
  if (answer->status == 404)
    return journal_.complain("lost: " + to_string(journal_.get(serial).id) +
                             " cannot be cancelled, "
                             "because nobody knows it");
  if (answer->status / 100 == 2 && member(answer->body, "answer") == "done")
    journal_.set_cancel(serial, Submission::Cancel::kDone);
}

void Client::ask_one(std::string_view verb) {
  const std::uint64_t serial = recent();
  if (serial == UINT64_MAX) return;
  const std::string id = to_string(journal_.get(serial).id);
  const std::string path = "/v1/messages/" + id + "/" + std::string(verb);
  const auto answer = connection_.ask({.method = verb == "explain" ? "GET" : "POST", .path = path});
  if (answer && answer->status == 404)
    journal_.complain("lost: " + id + " was accepted and nobody knows it");
}

void Client::repeat_one() {
  const std::uint64_t serial = recent();
  if (serial == UINT64_MAX || !journal_.get(serial).keyed) return;
  journal_.set_repeated(serial);
  if (!send_one(serial)) return;
  const auto answer = connection_.read();
  if (!answer || is_ordinary_refusal(answer->status)) return;
  if (answer->status != 202 ||
      answer->head.find("\r\nidempotency-replayed: true") == std::string::npos) {
    return journal_.complain("key: a repeat of submission " + std::to_string(serial) +
                             " was answered with " + std::to_string(answer->status) + ": " +
                             answer->body);
  }
  journal_.set_accepted(serial, parse_public_id(member(answer->body, "id")).value_or(PublicId()));
}

void Client::misuse_key() {
  const std::uint64_t serial = recent();
  if (serial == UINT64_MAX || !journal_.get(serial).keyed) return;
  const std::string key = key_header(serial);
  const std::string body = "{\"destination\":\"" + destination_of(0) + "\",\"body\":\"other\"}";
  const auto answer =
      connection_.ask({.method = "POST", .path = "/v1/messages", .body = body, .headers = key});
  if (answer && answer->status != 422 && !is_ordinary_refusal(answer->status)) {
    journal_.complain("key: other content with the key of submission " + std::to_string(serial) +
                      " was answered with " + std::to_string(answer->status));
  }
}

bool Client::post(const std::string& path) {
  const auto answer = connection_.ask({.method = "POST", .path = path});
  if (answer && answer->status / 100 != 2 && !is_ordinary_refusal(answer->status))
    journal_.complain("answer: " + path + " was answered with " + std::to_string(answer->status));
  return answer.has_value();
}

void Client::operate() {
  const std::string path =
      "/v1/destinations/" + destination_of(static_cast<std::uint32_t>(rng_.below(kSites)));
  const std::uint64_t what = rng_.below(4);
  static_cast<void>(post(path + (what == 0 ? "/pause" : what == 1 ? "/wake" : "/resume")));
}

}  // namespace postrider::crash
