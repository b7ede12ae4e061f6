// unity: alone, its names are those of v2.cc
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

constexpr std::string_view kSuccessCode = "00";
constexpr std::string_view kOtherErrorCode = "99";

auto invalid(const char* why) { return fail(ErrorCode::kInvalid, why); }

struct Service {
  std::string_view create;
  std::string_view poll;
};
constexpr Service kReading{"/COMM_RemoteReading", "/COMM_RemoteReadingTask"};
constexpr Service kControl{"/COMM_RemoteControl", "/COMM_RemoteControlTask"};
constexpr Service kWriting{"/COMM_RemoteWrite", "/COMM_RemoteWriteTask"};
constexpr Service kToken{"/COMM_RemoteToken", "/COMM_RemoteTokenTask"};

Service service_of(Command command) {
  if (device::is_token(command)) return kToken;
  if (device::is_read(command)) return kReading;
  return command == Command::kSetDate ? kWriting : kControl;
}

// Nothing for a command or a phase that the vendor does not have. Tokens have no item.
std::optional<std::string> item_of(const Request& request) {
  const bool is_phased =
      request.command == Command::kReadVoltage || request.command == Command::kReadCurrent;
  const bool other_phase = request.phase == MeterPhase::kB || request.phase == MeterPhase::kC;
  if (device::is_read(request.command) && other_phase && !is_phased) return std::nullopt;
  const auto phased = [&](std::string_view name) {
    return std::string(name).append(device::name_of(request.phase));
  };
  switch (request.command) {
    case Command::kReadCredit: return "Current Credit Register";
    case Command::kReadVoltage: return phased("Voltage");
    case Command::kReadCurrent: return phased("Current");
    case Command::kReadPower: return "Power";
    case Command::kReadPowerLimit: return "Maximum power threshold";
    case Command::kReadVersion: return "Version";
    case Command::kReadDate:
    case Command::kSetDate: return "Date";
    case Command::kTurnOn: return "Switch On";
    case Command::kTurnOff: return "Switch Off";
    case Command::kClearCredit:
    case Command::kClearTamper:
    case Command::kSetPowerLimit:
    case Command::kTopUpKwh:
    case Command::kDeliverPreexistingToken: return "";
    case Command::kReadTime:
    case Command::kSetTime:
    case Command::kReadReport:
    case Command::kJoinNetwork: return std::nullopt;
  }
  POSTRIDER_CHECK(false);
}

void append_two(std::string& out, int number) {
  out.push_back(static_cast<char>('0' + number / 10 % 10));
  out.push_back(static_cast<char>('0' + number % 10));
}

std::string date_data(const device::Date& date) {  // yymmddww
  std::string data;
  for (const int number : {date.year % 100, date.month, date.day, device::weekday_of(date)})
    append_two(data, number);
  return data;
}

// The beginning of a body, without its end.
void write_credentials(json::JsonWriter& body, const CredentialsV1& credentials) {
  body.open_object().field("CompanyName", credentials.company);
  body.field("UserName", credentials.user).field("Password", credentials.password);
}

// "99", also when it comes as a number; empty when there is none.
std::string code_of(const json::Tree& object) {
  const json::Tree* const value = json::find(object, "ResultCode");
  if (value == nullptr) return {};
  std::string code = json::word_of(*value).value_or("");
  if (json::is_integer(*value) && code.size() == 1) code.insert(0, 1, '0');
  return code;
}

std::string task_of(const json::Tree& object) {
  const Result<const json::Tree*> result = json::object_of(object, "Result");
  if (!result || *result == nullptr) return {};
  const json::Tree* const task = json::find(**result, "TaskNo");
  return task == nullptr ? std::string() : json::word_of(*task).value_or("");
}

// "yy-mm-dd weekday".
Response read_date(std::string_view data) {
  const std::string_view text = trimmed(data);
  const std::string_view digits = text.substr(0, text.find(' '));
  if (digits.size() != 8 || digits[2] != '-' || digits[5] != '-')
    return undecodable(Command::kReadDate);
  const auto number = [&](std::size_t at) {
    const bool good =
        digits[at] >= '0' && digits[at] <= '9' && digits[at + 1] >= '0' && digits[at + 1] <= '9';
    return good ? (digits[at] - '0') * 10 + (digits[at + 1] - '0') : -device::kYearMin;
  };
  const device::Date date{device::kYearMin + number(0), number(3), number(6)};
  if (!device::is_possible(date)) return undecodable(Command::kReadDate);
  Response response = device::executed(Command::kReadDate);
  response.date = date;
  return response;
}

// "<kWh>,<ON|OFF>".
Response read_credit(std::string_view data) {
  const std::size_t comma = data.find(',');
  Response response = read_number(Command::kReadCredit, data.substr(0, comma));
  if (!response.executed || comma == std::string_view::npos) return response;
  const std::string_view relay = trimmed(data.substr(comma + 1));
  if (relay == "ON" || relay == "OFF") response.relay_on = relay == "ON";
  return response;
}

Response read_data(Command command, std::string_view data) {
  if (!device::is_read(command)) return device::executed(command);
  if (command == Command::kReadCredit) return read_credit(data);
  if (command == Command::kReadDate) return read_date(data);
  if (command == Command::kReadVersion) return read_version(data);
  return read_number(command, data);
}

// Whether the vendor calls something else by this name.
bool names_another(std::string_view item) {
  for (std::size_t i = 0; i < device::kSubmitCommands; ++i) {
    Request other;
    other.command = static_cast<Command>(i);
    if (device::is_token(other.command)) continue;
    for (const device::MeterPhase phase : {device::MeterPhase::kNone, device::MeterPhase::kA,
                                           device::MeterPhase::kB, device::MeterPhase::kC}) {
      other.phase = phase;
      if (item_of(other) == item) return true;
    }
  }
  return false;
}

bool fits(const Request& request, std::string_view task, const json::Tree& result) {
  const json::Tree* const number = json::find(result, "TaskNo");
  if (number != nullptr) {
    const std::string named = json::word_of(*number).value_or("?");
    if (!named.empty() && named != task) return false;
  }
  // An item that is left out contradicts nothing. What a token's is called nobody has told us; only
  // that it is none of the others.
  const std::string item(trimmed(json::text_of(result, "DataItem").value_or("?")));
  if (device::is_token(request.command)) return !names_another(item);
  return item.empty() || item == item_of(request);
}

}  // namespace

Result<Call> create_call_v1(const CredentialsV1& credentials, const Request& request) {
  if (const Result<void> good = device::check_request(request); !good)
    return tl::unexpected(good.error());
  const std::optional<std::string> item = item_of(request);
  if (!item) return invalid("the vendor has no such command for this phase");
  std::string text;
  json::JsonWriter body(text);
  write_credentials(body, credentials);
  body.field("MeterNo", request.meter);
  if (!item->empty()) body.field("DataItem", *item);
  if (request.command == Command::kSetDate) body.field("Data", date_data(*request.date));
  if (device::is_token(request.command)) body.field("Token", request.token);
  body.close_object();
  return Call{std::string(service_of(request.command).create), std::move(text)};
}

Result<Call> poll_call_v1(const CredentialsV1& credentials, const Request& request,
                          std::string_view task) {
  if (!item_of(request)) return invalid("the vendor has no such command for this phase");
  std::string text;
  json::JsonWriter body(text);
  write_credentials(body, credentials);
  body.field("TaskNo", task).close_object();
  return Call{std::string(service_of(request.command).poll), std::move(text)};
}

SendReply read_create_v1(const Request& request, const HttpAnswer& answer) {
  if (const std::optional<SendReply> judged = judge_status(answer)) return *judged;
  const Result<json::Tree> object = read_object(answer);
  if (!object) return send_reply(SendVerdict::kUnknown, object.error().detail);
  const std::string code = code_of(*object);
  const std::string task = task_of(*object);
  if (code.empty()) return send_reply(SendVerdict::kUnknown, "an answer without a code");
  if (code == kOtherErrorCode && device::is_token(request.command))
    return send_reply(SendVerdict::kRejected, reason_of(*object, "Reason", "token rejected"));
  if (code != kSuccessCode) {
    const std::string reason = reason_of(*object, "Reason", "refused with code " + code);
    // A task although it failed: that is no proof that nothing will run.
    return send_reply(task.empty() ? SendVerdict::kFailed : SendVerdict::kUnknown, reason);
  }
  if (task.empty()) return send_reply(SendVerdict::kUnknown, "accepted without a task number");
  if (task.size() > kTaskBytesMax)
    return send_reply(SendVerdict::kUnknown, "a task number that is too long");
  return {.verdict = SendVerdict::kAccepted, .item = task, .reason = ""};
}

PollReply read_poll_v1(const Request& request, std::string_view task, const HttpAnswer& answer) {
  const Result<json::Tree> object = read_object(answer);
  if (!object) return poll_reply(PollVerdict::kError, object.error().detail);
  const Result<const json::Tree*> found = json::object_of(*object, "Result");
  if (!found || *found == nullptr) {
    const std::string reason = reason_of(*object, "Reason", "an answer without a result");
    const bool rejected = found && code_of(*object) == kOtherErrorCode;
    return poll_reply(rejected ? PollVerdict::kRejected : PollVerdict::kError, reason);
  }
  const json::Tree& result = **found;
  const json::Tree* const value = json::find(result, "Status");
  const std::string status = value == nullptr ? "" : json::word_of(*value).value_or("?");
  if (status != "True" && status != "False") {
    PollReply reply = poll_reply(PollVerdict::kPending, "");
    reply.odd = !status.empty() && status != "unknown";
    return reply;
  }
  if (!fits(request, task, result))
    return poll_reply(PollVerdict::kMismatched, "the answer is about another task or item");
  if (status == "False") {
    const std::string reason = reason_of(*object, "Reason", device::kRefusedByMeter);
    return answered(
        device::not_executed(request.command, marked_excerpt(reason, device::kReasonBytesMax)));
  }
  const json::Tree* const data = json::find(result, "Data");
  return answered(
      read_data(request.command, data == nullptr ? "" : json::word_of(*data).value_or("")));
}

}  // namespace postrider::calin
