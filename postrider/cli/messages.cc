#include "postrider/cli/messages.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "postrider/cli/output.h"
#include "postrider/protocols/web/base64.h"

namespace postrider {
namespace {

constexpr Duration kFirstPause{20};
constexpr Duration kLongestPause{1000};
constexpr Duration kPatience{2000};  // before it is told why a message has not ended

bool is_over(std::string_view phase) {
  constexpr auto kEnds = std::to_array<std::string_view>(
      {"delivered", "dead", "expired", "cancelled", "indeterminate", "parked"});
  return std::find(kEnds.begin(), kEnds.end(), phase) != kEnds.end();
}

std::string attempts_text(const Json& message) {
  const std::string count = message.at("attempts");
  return count == "1" ? "1 attempt" : (count.empty() ? "0" : count) + " attempts";
}

std::string last_text(const Json& message) {
  const std::string failure = shown(message.at("last_failure"));
  std::string outcome = shown(message.at("last_outcome"));
  if (failure.empty()) return outcome;
  return outcome.empty() ? failure : failure + ": " + outcome;
}

std::string next_text(const Json& message, Timestamp now) {
  const std::string next = shown(message.at("next"));
  const std::string at = message.at("next_at");
  return at.empty() ? next : next + " " + moment_text(at, now);
}

std::string took_text(const Json& attempt) {
  const std::string ms = attempt.at("took_ms");
  if (ms.empty()) return "";
  const long long count = std::strtoll(ms.c_str(), nullptr, 10);
  return count < 10'000 ? ms + " ms" : distance(Duration(count));
}

// One line for each attempt that is kept; empty: there is none.
std::string attempt_lines(const Json& message, Timestamp now) {
  const std::vector<Json>& attempts = message.list("last_attempts");
  if (attempts.empty()) return "";
  const long long earlier = std::strtoll(message.at("earlier_attempts").c_str(), nullptr, 10);
  Table table({"ATTEMPT", "BEGAN", "TOOK", "OUTCOME", "REASON"});
  long long number = earlier;
  for (const Json& attempt : attempts) {
    const std::string failure = shown(attempt.at("failure"));
    const std::string reason = shown(attempt.at("reason"));
    table.add({{std::to_string(++number)},
               {moment_long(attempt.at("at"), now)},
               {took_text(attempt)},
               {shown(attempt.at("outcome"))},
               {failure + (failure.empty() || reason.empty() ? "" : ": ") + reason}});
  }
  return "\n" + table.text();
}

}  // namespace

std::string message_path(std::string_view id, std::string_view verb) {
  std::string path = "/v1/messages/" + percent_encode(id);
  if (!verb.empty()) path.append("/").append(verb);
  return path;
}

std::string describe_message(const Json& message, Timestamp now) {
  FactList facts;
  facts.add("id", shown(message.at("id")), Colour::kStrong);
  facts.add("destination", shown(message.at("destination")));
  const std::string phase = shown(message.at("phase"));
  facts.add("phase", phase, colour_of_phase(phase));
  facts.add("state", shown(message.at("state")));
  facts.add("place", shown(message.at("place")));
  facts.add("why", shown(message.at("why")));
  facts.add("next", next_text(message, now));
  facts.add("attempts", message.at("attempts"));
  facts.add("last outcome", last_text(message));
  facts.add("accepted", moment_long(message.at("accepted_at"), now));
  facts.add("first attempt", moment_long(message.at("first_attempt_at"), now));
  facts.add("not before", moment_long(message.at("not_before"), now));
  facts.add("in this state", moment_long(message.at("since"), now));
  facts.add("expires", moment_long(message.at("expires_at"), now));
  facts.add("lane", message.at("lane"));
  facts.add("priority", message.at("priority"));
  facts.add("order key", shown(message.at("order_key")));
  facts.add("event id", shown(message.at("event_id")));
  facts.add("content type", shown(message.at("content_type")));
  if (const Json* headers = message.find("headers")) {
    for (std::size_t i = 0; i < headers->names.size(); ++i)
      facts.add("header " + shown(headers->names[i]), shown(headers->items[i].text));
  }
  facts.add("body", message.at("has_body") == "false"
                        ? "not kept"
                        : message.at("body_bytes") +
                              (message.at("body_bytes") == "1" ? " byte" : " bytes"));
  facts.add("redrives", shown(message.at("redrives")));
  return facts.text() + attempt_lines(message, now);
}

// Its name is the one that the far side knows.
std::string batch_text(const Json& batch) {
  std::string out = shown(batch.at("leader")) + "-" + shown(batch.at("number")) + ", ";
  out += attempts_text(batch) + ", of";
  const Json* members = batch.find("members");
  if (members == nullptr) return out;
  for (const Json& member : members->items) out += " " + shown(member.text);
  return out;
}

std::string explain_message(const Json& message, Timestamp now) {
  const std::string phase = shown(message.at("phase"));
  std::string out = "Message " + shown(message.at("id"));
  const std::string destination = shown(message.at("destination"));
  if (!destination.empty()) out += " to " + destination;
  out += " is " + coloured(phase, colour_of_phase(phase)) + ".\n";
  FactList facts;
  const std::string since = message.at("since");
  facts.add("  where", shown(message.at("place")) +
                           (since.empty() ? "" : ", since " + moment_long(since, now)));
  facts.add("  why", shown(message.at("why")));
  facts.add("  next", next_text(message, now));
  facts.add("  order key", shown(message.at("order_key")));
  const std::string last = last_text(message);
  facts.add("  so far", attempts_text(message) + (last.empty() ? "" : ", the last: " + last));
  facts.add("  accepted", moment_long(message.at("accepted_at"), now));
  facts.add("  expires", moment_long(message.at("expires_at"), now));
  const std::string health = shown(message.at("health"));
  if (health != "normal") facts.add("  route", health, colour_of_health(health));
  if (message.at("cancel_wanted") == "true") facts.add("  cancel", "asked for");
  facts.add("  redrives", shown(message.at("redrives")));
  facts.add("  gap", shown(message.at("gap")));
  if (const Json* batch = message.find("batch")) facts.add("  batch", batch_text(*batch));
  return out + facts.text() + attempt_lines(message, now);
}

int print_body(const Session& session, const Json& message) {
  if (const Json* body = message.find("body")) {
    print(body->text);
    return kExitOk;
  }
  const auto bytes = base64_decode(message.at("body_base64"));
  if (message.find("body_base64") == nullptr || !bytes) {
    session.complain("the body is not kept any more");
    return kExitFailure;
  }
  print(*bytes);
  return kExitOk;
}

int wait_for_end(const Session& session, const std::string& id, Duration time_out) {
  ClientRequest request;
  request.path = message_path(id);
  const auto begin = std::chrono::steady_clock::now();
  Duration pause = kFirstPause;
  std::string said;
  while (true) {
    const std::optional<Json> message = session.ask(request, false);
    if (!message) return kExitFailure;
    const std::string phase = message->at("phase");
    if (is_over(phase)) {
      if (session.json())
        return session.ask(request) && phase == "delivered" ? kExitOk : kExitFailure;
      print(explain_message(*message, wall_now()));
      return phase == "delivered" ? kExitOk : kExitFailure;
    }
    if (time_out.count() > 0 && std::chrono::steady_clock::now() - begin >= time_out) {
      session.complain("the message has not ended yet");
      if (!session.json()) print(explain_message(*message, wall_now()));
      return kExitFailure;
    }
    // Nobody should have to guess what it waits for; each reason is told once.
    if (const std::string why = message->at("why");
        !session.json() && why != said && std::chrono::steady_clock::now() - begin >= kPatience) {
      const std::string last = message->at("last_outcome");
      session.complain("not ended yet: " + shown(why) +
                       (last.empty() ? "" : "; the last attempt: " + shown(last)));
      said = why;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

std::string answer_words(const Json& answer) {
  if (!answer.at("redrives").empty()) return "redriven as " + shown(answer.at("id"));
  if (!answer.at("resends").empty()) return "sent again as " + shown(answer.at("id"));
  std::string words = shown(answer.at("answer"));
  if (words == "nothing") words = "nothing to do";
  const std::string detail = shown(answer.at("detail"));
  return detail.empty() ? words : words + ": " + detail;
}

int command_each(const Parsed& parsed, std::string_view method, std::string_view path,
                 std::string_view verb) {
  if (parsed.operands.size() > 1 && parsed.has("--idempotency-key"))
    return usage_error(parsed.command, "one key stands for one operation: give one id");
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  for (const std::string& id : parsed.operands) {
    ClientRequest request;
    request.method = method;
    request.path = std::string(path) + percent_encode(id);
    if (!verb.empty()) request.path.append("/").append(verb);
    add_key(parsed, request);
    const std::optional<Json> answer = session->ask(request);
    if (!answer) code = kExitFailure;
    if (answer && !session->json()) print(id + ": " + answer_words(*answer) + "\n");
  }
  return code;
}

}  // namespace postrider
