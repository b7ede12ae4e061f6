#include <charconv>

#include "postrider/base/check.h"
#include "postrider/json/json_writer.h"
#include "postrider/protocols/calin/calin.h"
#include "postrider/protocols/calin/words.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::calin {
namespace {

using device::Command;
using device::MeterPhase;
using device::PollReply;
using device::PollVerdict;
using device::Request;
using device::Response;
using device::SendReply;
using device::SendVerdict;

constexpr int kUnauthorized = 401;
constexpr std::string_view kRelayName = "Relay On/Off";
constexpr std::string_view kRelayOn = "Connected";

auto invalid(const char* why) { return fail(ErrorCode::kInvalid, why); }

struct Item {
  int protocol = 0;
  std::string_view name;  // of the row in the answer to a poll
};

// Nothing for a command that the vendor does not have.
std::optional<Item> item_of(Command command) {
  switch (command) {
    case Command::kReadCredit: return Item{39, "Current Credit Balance"};
    case Command::kReadVoltage: return Item{5, "Phase-A Voltage"};
    case Command::kReadPower: return Item{11, "Power"};
    case Command::kReadCurrent: return Item{8, "Phase-A Current(A)"};
    case Command::kReadPowerLimit: return Item{46, "Maximum power threshold"};
    case Command::kReadVersion: return Item{45, "Meter Firmware Version"};
    case Command::kReadDate: return Item{29, "Clock(time)"};
    case Command::kTurnOn: return Item{20000, kRelayName};
    case Command::kTurnOff: return Item{20001, kRelayName};
    case Command::kSetDate: return Item{10000, "Clock(time)"};
    case Command::kClearCredit:
    case Command::kClearTamper:
    case Command::kSetPowerLimit:
    case Command::kTopUpKwh:
    case Command::kDeliverPreexistingToken: return Item{30000, "Token"};
    case Command::kReadTime:
    case Command::kSetTime:
    case Command::kReadReport:
    case Command::kJoinNetwork: return std::nullopt;
  }
  POSTRIDER_CHECK(false);
}

std::string_view kind_of(Command command) {
  if (device::is_token(command)) return "Token";
  if (device::is_read(command)) return "Reading";
  return command == Command::kSetDate ? "Setting" : "Control";
}

std::string path_of(std::string_view verb, Command command) {
  return std::string("/API/RemoteMeterTask/").append(verb).append(kind_of(command)).append("Task");
}

std::string date_data(const device::Date& date) {  // YYYY-MM-DD 00:00:00
  const auto two = [](int number) {
    return std::string{static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
  };
  return std::to_string(date.year) + "-" + two(date.month) + "-" + two(date.day) + " 00:00:00";
}

// "YYYY-MM-DD …".
Response read_date(std::string_view data) {
  const std::string_view text = trimmed(data).substr(0, 10);
  int numbers[3] = {};
  const std::size_t places[3] = {0, 5, 8};
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return undecodable(Command::kReadDate);
  for (std::size_t i = 0; i < 3; ++i) {
    const char* const begin = text.data() + places[i];
    const char* const end = begin + (i == 0 ? 4 : 2);
    const auto [rest, error] = std::from_chars(begin, end, numbers[i]);
    if (error != std::errc() || rest != end) return undecodable(Command::kReadDate);
  }
  const device::Date date{numbers[0], numbers[1], numbers[2]};
  if (!device::is_possible(date)) return undecodable(Command::kReadDate);
  Response response = device::executed(Command::kReadDate);
  response.date = date;
  return response;
}

Response read_data(Command command, std::string_view data) {
  if (command == Command::kTurnOn || command == Command::kTurnOff) {
    const bool is_on = trimmed(data) == kRelayOn;
    const bool wanted_on = command == Command::kTurnOn;
    if (is_on != wanted_on)
      return device::not_executed(command, "the relay is in the other position");
    Response response = device::executed(command);
    response.relay_on = is_on;
    return response;
  }
  if (!device::is_read(command)) return device::executed(command);
  if (command == Command::kReadDate) return read_date(data);
  if (command == Command::kReadVersion) return read_version(data);
  return read_number(command, data);
}

// The first row of a list of objects, or null.
const json::Tree* first_row(const json::Tree* list) {
  if (list == nullptr || !list->is_list() || list->items.empty()) return nullptr;
  return list->items.front().is_object() ? &list->items.front() : nullptr;
}

std::optional<std::int64_t> code_of(const json::Tree& object) {
  const json::Tree* const value = json::find(object, "code");
  return value == nullptr ? std::nullopt : json::integer_of(*value);
}

std::string created_task(const json::Tree& object) {
  const json::Tree* const row = first_row(json::find(object, "result"));
  if (row == nullptr) return {};
  const json::Tree* const id = json::find(*row, "id");
  const std::optional<std::int64_t> number = id == nullptr ? std::nullopt : json::integer_of(*id);
  return number && *number > 0 ? std::to_string(*number) : std::string();
}

PollReply read_row(const Request& request, const json::Tree& row) {
  const json::Tree* const status = json::find(row, "status");
  const std::optional<std::int64_t> code =
      status == nullptr ? std::nullopt : json::integer_of(*status);
  if (!code || *code < 0 || *code > 3)
    return poll_reply(PollVerdict::kError, "a row with a status that nobody knows");
  if (*code == 0) return poll_reply(PollVerdict::kPending, "");
  const std::string name(trimmed(json::text_of(row, "name").value_or("?")));
  const std::optional<Item> item = item_of(request.command);
  // A failed task may leave its row without a name; a value without one is worth nothing.
  const bool nameless_failure = name.empty() && *code != 1;
  if (!item || (name != item->name && !nameless_failure))
    return poll_reply(PollVerdict::kMismatched, "the answer is about another item");
  if (*code == 2) return answered(device::not_executed(request.command, device::kRefusedByMeter));
  if (*code == 3) return answered(device::not_executed(request.command, device::kTokenRejected));
  const json::Tree* const data = json::find(row, "data");
  return answered(
      read_data(request.command, data == nullptr ? "" : json::word_of(*data).value_or("")));
}

}  // namespace

Call login_call_v2(const CredentialsV2& credentials) {
  std::string text;
  json::JsonWriter body(text);
  body.open_object().field("userId", credentials.user).field("password", credentials.password);
  body.field("company", credentials.company).close_object();
  return {"/API/User/Login", std::move(text)};
}

Result<Login> read_login_v2(const HttpAnswer& answer) {
  const auto refused = [](const std::string& why) {
    return fail(ErrorCode::kUnavailable, "the vendor did not log us in: " + why);
  };
  const Result<json::Tree> object = read_object(answer);
  if (!object) return refused(object.error().detail);
  const Result<const json::Tree*> result = json::object_of(*object, "result");
  if (!result || *result == nullptr) return refused("no result");
  const Result<std::string> jwt = json::text_of(**result, "token");
  // It goes into a header, so nothing may be smuggled in with it.
  if (!jwt || jwt->empty() || jwt->size() > kJwtBytesMax || !is_header_value(*jwt))
    return refused("no token");
  return Login{.jwt = *jwt, .expires_at = jwt_expiry(*jwt)};
}

Result<Call> create_call_v2(const CredentialsV2& credentials, const Request& request) {
  if (const Result<void> good = device::check_request(request); !good)
    return tl::unexpected(good.error());
  const std::optional<Item> item = item_of(request.command);
  if (!item) return invalid("the vendor has no such command");
  const bool other_phase = request.phase == MeterPhase::kB || request.phase == MeterPhase::kC;
  if (device::is_read(request.command) && other_phase)
    return invalid("the vendor reads phase A only");
  std::string text;
  json::JsonWriter body(text);
  body.open_array().open_object().field("meterId", request.meter);
  body.name("protocolId").integer(item->protocol);
  if (request.command == Command::kSetDate) body.field("data", date_data(*request.date));
  if (device::is_token(request.command)) body.field("data", request.token);
  body.field("customerId", credentials.customer).field("company", credentials.company);
  body.close_object().close_array();
  return Call{path_of("Create", request.command), std::move(text)};
}

Result<Call> poll_call_v2(const CredentialsV2& credentials, const Request& request,
                          std::string_view task) {
  std::int64_t id = 0;
  const char* const end = task.data() + task.size();
  const auto [rest, error] = std::from_chars(task.data(), end, id);
  if (error != std::errc() || rest != end) return invalid("a task is a number");
  std::string text;
  json::JsonWriter body(text);
  body.open_object().name("id").integer(id).field("lang", "en");
  body.field("company", credentials.company).close_object();
  return Call{path_of("Get", request.command), std::move(text)};
}

SendReply read_create_v2(const HttpAnswer& answer) {
  if (answer.status == kUnauthorized)
    return send_reply(SendVerdict::kLoginNeeded, "the login has ended");
  if (const std::optional<SendReply> judged = judge_status(answer)) return *judged;
  const Result<json::Tree> object = read_object(answer);
  if (!object) return send_reply(SendVerdict::kUnknown, object.error().detail);
  const std::optional<std::int64_t> code = code_of(*object);
  const std::string task = created_task(*object);
  if (!code) return send_reply(SendVerdict::kUnknown, "an answer without a code");
  if (*code != 0) {
    const std::string reason =
        reason_of(*object, "reason", "refused with code " + std::to_string(*code));
    // A task although it failed: that is no proof that nothing will run.
    return send_reply(task.empty() ? SendVerdict::kFailed : SendVerdict::kUnknown, reason);
  }
  if (task.empty()) return send_reply(SendVerdict::kUnknown, "accepted without a task");
  return {.verdict = SendVerdict::kAccepted, .item = task, .reason = ""};
}

PollReply read_poll_v2(const Request& request, const HttpAnswer& answer) {
  if (answer.status == kUnauthorized)
    return poll_reply(PollVerdict::kLoginNeeded, "the login has ended");
  const Result<json::Tree> object = read_object(answer);
  if (!object) return poll_reply(PollVerdict::kError, object.error().detail);
  if (code_of(*object) != 0)
    return poll_reply(PollVerdict::kError, reason_of(*object, "reason", "an answer with an error"));
  const Result<const json::Tree*> result = json::object_of(*object, "result");
  if (!result || *result == nullptr)
    return poll_reply(PollVerdict::kError, "an answer without a result");
  const json::Tree* const row = first_row(json::find(**result, "data"));
  if (row == nullptr) return poll_reply(PollVerdict::kError, "an answer without a row");
  return read_row(request, *row);
}

}  // namespace postrider::calin
