#include "postrider/sim/fields/device/peers/vendor_texts.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "postrider/json/json_writer.h"
#include "postrider/protocols/json_value.h"
#include "postrider/protocols/web/base64.h"

namespace postrider::sim {
namespace {

using device::Command;
using device::MeterPhase;
using device::Request;
using device::Response;
using json::JsonWriter;

auto invalid(std::string why) { return fail(ErrorCode::kInvalid, std::move(why)); }

struct Item {
  Command command;
  MeterPhase phase;
  std::string_view name_v1;
  std::int64_t protocol_v2;  // 0: version 2 does not have it
  std::string_view name_v2;
};
constexpr auto kItems = std::to_array<Item>({
    {Command::kReadCredit, MeterPhase::kNone, "Current Credit Register", 39,
     "Current Credit Balance"},
    {Command::kReadVoltage, MeterPhase::kNone, "Voltage", 5, "Phase-A Voltage"},
    {Command::kReadVoltage, MeterPhase::kA, "VoltageA", 0, ""},
    {Command::kReadVoltage, MeterPhase::kB, "VoltageB", 0, ""},
    {Command::kReadVoltage, MeterPhase::kC, "VoltageC", 0, ""},
    {Command::kReadCurrent, MeterPhase::kNone, "Current", 8, "Phase-A Current(A)"},
    {Command::kReadCurrent, MeterPhase::kA, "CurrentA", 0, ""},
    {Command::kReadCurrent, MeterPhase::kB, "CurrentB", 0, ""},
    {Command::kReadCurrent, MeterPhase::kC, "CurrentC", 0, ""},
    {Command::kReadPower, MeterPhase::kNone, "Power", 11, "Power"},
    {Command::kReadPowerLimit, MeterPhase::kNone, "Maximum power threshold", 46,
     "Maximum power threshold"},
    {Command::kReadVersion, MeterPhase::kNone, "Version", 45, "Meter Firmware Version"},
    {Command::kReadDate, MeterPhase::kNone, "Date", 29, "Clock(time)"},
    {Command::kTurnOn, MeterPhase::kNone, "Switch On", 20000, "Relay On/Off"},
    {Command::kTurnOff, MeterPhase::kNone, "Switch Off", 20001, "Relay On/Off"},
    {Command::kSetDate, MeterPhase::kNone, "Date", 10000, "Clock(time)"},
    {Command::kDeliverPreexistingToken, MeterPhase::kNone, "", 30000, "Token"},
});

// The commands of one service: all reads, all tokens, the relay, or what is written.
bool same_service(Command a, Command b) {
  const auto service = [](Command command) {
    if (device::is_read(command)) return 0;
    if (device::is_token(command)) return 1;
    return command == Command::kSetDate ? 2 : 3;
  };
  return service(a) == service(b);
}

const Item& item_of(const Request& request) {
  const bool token = device::is_token(request.command);
  for (const Item& item : kItems) {
    const bool same = token ? device::is_token(item.command) : item.command == request.command;
    if (same && item.phase == request.phase) return item;
  }
  return kItems.back();
}

struct Service {
  std::string_view name_v1;
  std::string_view name_v2;
  Command command;
};
constexpr auto kServices = std::to_array<Service>({
    {"Reading", "Reading", Command::kReadCredit},
    {"Control", "Control", Command::kTurnOn},
    {"Write", "Setting", Command::kSetDate},
    {"Token", "Token", Command::kDeliverPreexistingToken},
});

struct Generator {
  Command command;
  std::string_view path_v1;
  std::string_view path_v2;
};
constexpr auto kGenerators = std::to_array<Generator>({
    {Command::kTopUpKwh, "/POS_Purchase", "/API/Token/CreditToken/Generate"},
    {Command::kClearCredit, "/Maintenance_ClearCredit", "/API/Token/ClearCreditToken/Generate"},
    {Command::kClearTamper, "/Maintenance_ClearTamper", "/API/Token/ClearTamperToken/Generate"},
    {Command::kSetPowerLimit, "/Maintenance_SetMaxPower",
     "/API/Token/SetMaximumPowerLimitToken/Generate"},
});

std::string two(int number) {
  return {static_cast<char>('0' + number / 10 % 10), static_cast<char>('0' + number % 10)};
}

std::optional<int> digits_at(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  if (text.size() < at + count) return std::nullopt;
  const char* const begin = text.data() + at;
  const auto [rest, error] = std::from_chars(begin, begin + count, number);
  if (error != std::errc() || rest != begin + count) return std::nullopt;
  return number;
}

Result<Request> with_date(Request request, std::optional<int> year, std::optional<int> month,
                          std::optional<int> day) {
  if (!year || !month || !day) return invalid("the date is no date");
  request.date = device::Date{*year, *month, *day};
  if (!device::is_possible(*request.date)) return invalid("the date is impossible");
  return request;
}

std::string data_v1(const Response& response) {
  if (response.date) {
    const device::Date& date = *response.date;
    return two(date.year % 100) + "-" + two(date.month) + "-" + two(date.day) + " 0" +
           std::to_string(device::weekday_of(date));
  }
  if (!response.version.empty()) return response.version;
  if (!response.value) return "";
  std::string text = device::to_text(*response.value);
  if (response.command == Command::kReadCredit)
    return text.append(response.relay_on.value_or(true) ? ",ON" : ",OFF");
  return text.append(response.command == Command::kReadVoltage ? " V" : " ");
}

std::string data_v2(const Response& response) {
  if (response.date) {
    const device::Date& date = *response.date;
    return std::to_string(date.year) + "-" + two(date.month) + "-" + two(date.day) + " 00:00:00";
  }
  if (!response.version.empty()) return response.version;
  if (response.value) return device::to_text(*response.value);
  if (response.relay_on) return *response.relay_on ? "Connected" : "Disconnected";
  return "";
}

std::string to_url_alphabet(std::string text) {
  for (char& c : text) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  text.erase(std::min(text.find('='), text.size()));
  return text;
}

std::string encode_text(std::string_view text) {
  return to_url_alphabet(
      base64_encode({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

}  // namespace

VendorPath read_path_v1(std::string_view path) {
  constexpr std::string_view kFront = "/COMM_Remote";
  for (const Generator& generator : kGenerators) {
    if (path == generator.path_v1) return {VendorCallKind::kMint, generator.command};
  }
  if (!path.starts_with(kFront)) return {};
  path.remove_prefix(kFront.size());
  for (const Service& service : kServices) {
    if (path == service.name_v1) return {VendorCallKind::kCreate, service.command};
    if (path == std::string(service.name_v1) + "Task")
      return {VendorCallKind::kPoll, service.command};
  }
  return {};
}

VendorPath read_path_v2(std::string_view path) {
  constexpr std::string_view kFront = "/API/RemoteMeterTask/";
  if (path == "/API/User/Login") return {VendorCallKind::kLogin, Command::kReadCredit};
  for (const Generator& generator : kGenerators) {
    if (path == generator.path_v2) return {VendorCallKind::kMint, generator.command};
  }
  if (!path.starts_with(kFront)) return {};
  path.remove_prefix(kFront.size());
  for (const Service& service : kServices) {
    const std::string task = std::string(service.name_v2) + "Task";
    if (path == "Create" + task) return {VendorCallKind::kCreate, service.command};
    if (path == "Get" + task) return {VendorCallKind::kPoll, service.command};
  }
  return {};
}

Result<VendorMint> read_mint_body_v1(std::string_view body) {
  POSTRIDER_TRY(object, json::parse_object(body));
  POSTRIDER_TRY(company, json::text_of(object, "company_name"));
  POSTRIDER_TRY(user, json::text_of(object, "user_name"));
  POSTRIDER_TRY(password, json::text_of(object, "password"));
  POSTRIDER_TRY(meter, json::text_of(object, "meter_number"));
  if (meter.empty()) return invalid("there is no meter");
  return VendorMint{{company, user, password}, meter};
}

Result<VendorMint> read_mint_body_v2(std::string_view body) {
  POSTRIDER_TRY(object, json::parse_object(body));
  POSTRIDER_TRY(meter, json::text_of(object, "meterId"));
  if (meter.empty()) return invalid("there is no meter");
  return VendorMint{{}, meter};
}

std::string mint_answer_v1(std::string_view token) {
  return R"({"result_code":0,"reason":"OK","result":{"token":")" + std::string(token) + R"("}})";
}

// Reasons are ours, and plain.
std::string mint_refusal_v1(std::int64_t code, std::string_view reason) {
  return R"({"result_code":)" + std::to_string(code) + R"(,"reason":")" + std::string(reason) +
         R"("})";
}

std::string mint_answer_v2(std::string_view token) {
  return R"({"code":0,"reason":"success","result":{"token":")" + std::string(token) + R"("}})";
}

Result<VendorCredentials> read_credentials_v1(std::string_view body) {
  POSTRIDER_TRY(object, json::parse_object(body));
  POSTRIDER_TRY(company, json::text_of(object, "CompanyName"));
  POSTRIDER_TRY(user, json::text_of(object, "UserName"));
  POSTRIDER_TRY(password, json::text_of(object, "Password"));
  return VendorCredentials{company, user, password};
}

Result<Request> read_create_body_v1(Command kind, std::string_view body) {
  POSTRIDER_TRY(object, json::parse_object(body));
  POSTRIDER_TRY(meter, json::text_of(object, "MeterNo"));
  POSTRIDER_TRY(name, json::text_of(object, "DataItem"));
  POSTRIDER_TRY(data, json::text_of(object, "Data"));
  POSTRIDER_TRY(token, json::text_of(object, "Token"));
  Request request;
  request.meter = meter;
  if (meter.empty()) return invalid("there is no meter");
  if (device::is_token(kind)) {
    request.command = kind;
    request.token = token;
    if (token.empty()) return invalid("there is no token");
    return request;
  }
  for (const Item& item : kItems) {
    if (item.name_v1 != name || !same_service(item.command, kind)) continue;
    request.command = item.command;
    request.phase = item.phase;
    if (kind != Command::kSetDate) return request;
    const std::optional<int> year = digits_at(data, 0, 2);
    return with_date(std::move(request), year ? std::optional(2000 + *year) : year,
                     digits_at(data, 2, 2), digits_at(data, 4, 2));
  }
  return invalid("there is no such data item");
}

Result<std::string> read_poll_body_v1(std::string_view body) {
  POSTRIDER_TRY(object, json::parse_object(body));
  return json::text_of(object, "TaskNo");
}

std::string create_answer_v1(std::string_view task) {
  std::string text;
  JsonWriter answer(text);
  answer.open_object().name("Result").open_object().field("TaskNo", task);
  answer.name("Status").raw("null").close_object();
  answer.field("ResultCode", "00").field("Reason", "OK").close_object();
  return text;
}

std::string error_answer_v1(std::string_view code, std::string_view reason) {
  std::string text;
  JsonWriter answer(text);
  answer.open_object().name("Result").raw("null");
  answer.field("ResultCode", code).field("Reason", reason).close_object();
  return text;
}

std::string poll_answer_v1(std::string_view task, const Request& request, const Response* response,
                           std::uint64_t pending_word) {
  if (response != nullptr && response->reason == device::kTokenRejected)
    return error_answer_v1("99", "other error");
  std::string text;
  JsonWriter answer(text);
  answer.open_object().name("Result").open_object().field("TaskNo", task).name("Status");
  if (response == nullptr) {
    constexpr std::array<std::string_view, 2> kWords = {"", "unknown"};
    if (pending_word % 3 == 2) {
      answer.raw("null");
    } else {
      answer.text(kWords[pending_word % 3]);
    }
  } else {
    answer.text(response->executed ? "True" : "False");
    if (response->executed) answer.field("Data", data_v1(*response));
  }
  answer.field("DataItem", item_of(request).name_v1).close_object().field("ResultCode", "00");
  answer.field("Reason", response != nullptr && !response->executed
                             ? std::string_view(response->reason)
                             : std::string_view("OK"));
  answer.close_object();
  return text;
}

Result<VendorCredentials> read_login_body_v2(std::string_view body) {
  POSTRIDER_TRY(object, json::parse_object(body));
  POSTRIDER_TRY(company, json::text_of(object, "company"));
  POSTRIDER_TRY(user, json::text_of(object, "userId"));
  POSTRIDER_TRY(password, json::text_of(object, "password"));
  return VendorCredentials{company, user, password};
}

std::string login_answer_v2(Timestamp expires_at, std::uint64_t serial, std::string& jwt) {
  std::string claims;
  JsonWriter writer(claims);
  writer.open_object().name("exp").integer(expires_at.ms() / 1000);
  writer.field("jti", std::to_string(serial)).close_object();
  jwt = encode_text(R"({"alg":"HS256","typ":"JWT"})") + "." + encode_text(claims) + ".c2lnbmF0dXJl";
  std::string text;
  JsonWriter answer(text);
  answer.open_object().count("code", 0).field("reason", "success");
  answer.name("result").open_object().field("token", jwt).close_object().close_object();
  return text;
}

Result<Request> read_create_body_v2(Command kind, std::string_view body) {
  POSTRIDER_TRY(value, json::parse(body));
  if (!value.is_list() || value.items.size() != 1 || !value.items.front().is_object())
    return invalid("the body is a list of one task");
  const json::Tree& object = value.items.front();
  POSTRIDER_TRY(meter, json::text_of(object, "meterId"));
  POSTRIDER_TRY(protocol, json::integer_of(object, "protocolId"));
  POSTRIDER_TRY(data, json::text_of(object, "data"));
  Request request;
  request.meter = meter;
  if (meter.empty()) return invalid("there is no meter");
  for (const Item& item : kItems) {
    if (protocol == 0 || item.protocol_v2 != protocol || !same_service(item.command, kind))
      continue;
    request.command = item.command;
    if (device::is_token(kind)) {
      request.token = data;
      if (data.empty()) return invalid("there is no token");
    }
    if (kind != Command::kSetDate) return request;
    return with_date(std::move(request), digits_at(data, 0, 4), digits_at(data, 5, 2),
                     digits_at(data, 8, 2));
  }
  return invalid("there is no such protocol");
}

Result<std::string> read_poll_body_v2(std::string_view body) {
  POSTRIDER_TRY(object, json::parse_object(body));
  POSTRIDER_TRY(id, json::integer_of(object, "id"));
  return std::to_string(id);
}

std::string create_answer_v2(std::string_view task) {
  std::int64_t id = 0;
  std::from_chars(task.data(), task.data() + task.size(), id);
  std::string text;
  JsonWriter answer(text);
  answer.open_object().count("code", 0).field("reason", "success");
  answer.name("result").open_array().open_object();
  if (!task.empty()) answer.name("id").integer(id);
  answer.close_object().close_array().close_object();
  return text;
}

std::string error_answer_v2(std::int64_t code, std::string_view reason) {
  std::string text;
  JsonWriter answer(text);
  answer.open_object().name("code").integer(code).field("reason", reason);
  answer.name("result").raw("null").close_object();
  return text;
}

std::string poll_answer_v2(const Request& request, const Response* response) {
  std::uint64_t status = 0;
  if (response != nullptr) {
    const bool rejected = response->reason == device::kTokenRejected;
    status = response->executed ? 1 : (rejected ? 3 : 2);
  }
  std::string text;
  JsonWriter answer(text);
  answer.open_object().count("code", 0).field("reason", "success");
  answer.name("result").open_object().name("data").open_array().open_object();
  answer.field("name", item_of(request).name_v2).count("status", status);
  answer.field("data", status == 1 ? data_v2(*response) : std::string());
  answer.close_object().close_array().close_object().close_object();
  return text;
}

Request another_request(const Request& request) {
  Request other = request;
  other.phase = MeterPhase::kNone;
  other.command =
      request.command == Command::kReadPower ? Command::kReadCredit : Command::kReadPower;
  return other;
}

}  // namespace postrider::sim
