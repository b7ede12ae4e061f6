#include "tests/crash/device_client.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

namespace postrider::crash {
namespace {

constexpr std::size_t kMetersAtOnce = 8;
constexpr std::size_t kRecentMax = 60;
constexpr std::size_t kBulkMax = 8;
constexpr std::int64_t kPaceUsMax = 25'000;
constexpr std::uint64_t kMetersOfClient = 1'000'000;
constexpr std::uint64_t kFirstMeter = 47'000'000'000;

struct Kind {
  std::string_view type;
  RepeatClass repeat;
  std::string_view what;   // as the ledger calls it
  std::string_view token;  // its last digits
  std::string_view data;
};
// Tokens are told apart by their last four digits. Class never is by the daemon's configuration.
constexpr auto kKinds = std::to_array<Kind>({
    {"TURN_OFF", RepeatClass::kNever, "TURN_OFF", "", ""},
    {"TURN_ON", RepeatClass::kClosed, "TURN_ON", "", ""},
    {"SET_DATE", RepeatClass::kClosed, "SET_DATE 2026-08-12", "",
     R"({"payload":{"year":2026,"month":8,"day":12}})"},
    {"TOP_UP_KWH", RepeatClass::kClosed, "TOKEN …0001", "0001", ""},
    {"CLEAR_TAMPER", RepeatClass::kNever, "TOKEN …0002", "0002", ""},
    {"DELIVER_PREEXISTING_TOKEN", RepeatClass::kClosed, "TOKEN …0003", "0003", ""},
    {"READ_CREDIT", RepeatClass::kFree, "READ_CREDIT", "", ""},
    {"READ_VOLTAGE", RepeatClass::kFree, "READ_VOLTAGE", "", ""},
    {"READ_POWER", RepeatClass::kFree, "READ_POWER", "", ""},
    {"READ_DATE", RepeatClass::kFree, "READ_DATE", "", ""},
});

}  // namespace

DeviceClient::DeviceClient(std::uint32_t number, std::uint64_t seed, const FarSides& far_sides,
                           DeviceJournal& journal, std::function<void()> accepted)
    : number_(number),
      rng_(seed),
      far_sides_(far_sides),
      journal_(journal),
      accepted_(std::move(accepted)) {}

DeviceClient::Meter DeviceClient::new_meter() {
  Meter meter;
  meter.number = kFirstMeter + number_ * kMetersOfClient + ++last_meter_;
  meter.is_push = rng_.chance(1, 2);
  // A server holds the commands for such a meter until it speaks.
  if (meter.is_push && rng_.chance(1, 3) && !far_sides_.make_class_a(std::to_string(meter.number)))
    journal_.complain("start: the network server does not know meters");
  meter.place = static_cast<std::uint32_t>(rng_.below(meter.is_push ? kNetworks : kGateways));
  // A read whose reply was lost leaves an item that nobody knows. News of it make nobody sure of an
  // act at the same meter before the server must have forgotten it, which takes two minutes here.
  const bool reads = !meter.is_push || rng_.chance(1, 3);
  const bool acts = !meter.is_push || !reads;
  while (meter.left.empty()) {
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
      const bool wanted = kKinds[kind].repeat == RepeatClass::kFree ? reads : acts;
      if (wanted && rng_.chance(1, 2)) meter.left.push_back(kind);
    }
  }
  return meter;
}

std::size_t DeviceClient::draw() {
  while (meters_.size() < kMetersAtOnce) meters_.push_back(new_meter());
  Meter& meter = meters_[static_cast<std::size_t>(rng_.below(meters_.size()))];
  const auto at = static_cast<std::ptrdiff_t>(rng_.below(meter.left.size()));
  const std::size_t which = meter.left[static_cast<std::size_t>(at)];
  const Kind& kind = kKinds[which];
  DeviceCommand command;
  command.is_push = meter.is_push;
  command.repeat = kind.repeat;
  command.meter = std::to_string(meter.number);
  command.what = kind.what;
  command.correlation = "c" + command.meter + "-" + std::to_string(which);
  const std::string place = std::to_string(meter.place);
  std::string data(kind.data);
  if (!kind.token.empty())
    data = "{\"token\":\"12345" + command.meter + std::string(kind.token) + "\"}";
  command.body = "{\"commandType\":\"" + std::string(kind.type) +
                 "\",\"priority\":1,\"pluginId\":\"" + (meter.is_push ? "lorawan" : "calin") +
                 "\",\"networkId\":" + (meter.is_push ? place : "null") + ",\"correlationId\":\"" +
                 command.correlation + "\"" + (data.empty() ? "" : ",\"requestData\":" + data) +
                 R"(,"device":{"type":"ELECTRICITY_METER","externalReference":")" + command.meter +
                 "\"" +
                 (meter.is_push ? ""
                                : R"(,"relayNode":{"id":"gateway-)" + place +
                                      R"(","externalReference":"g)" + place + "\"}") +
                 "}}";
  meter.left.erase(meter.left.begin() + at);
  if (meter.left.empty()) meter = new_meter();
  return journal_.add(std::move(command));
}

// False: it was not accepted, and the client has complained.
bool DeviceClient::take_answer(std::size_t number, int status, std::string_view message) {
  const PublicId id = parse_contract_id(member(message, "id"));
  if ((status != 201 && status != 200) || !id.is_set()) {
    journal_.complain("answer: " + journal_.get(number).correlation + " is answered with " +
                      std::to_string(status) + ": " + std::string(message));
    return false;
  }
  if (!journal_.set_accepted(number, id)) return true;
  recent_.push_back(number);
  if (recent_.size() > kRecentMax) recent_.pop_front();
  accepted_();
  return true;
}

// A daemon that stops answers with 503: that is no answer to the command.
bool DeviceClient::send_one(std::size_t number) {
  const DeviceCommand command = journal_.get(number);
  const auto answer =
      connection_.ask({.method = "POST", .path = "/message/enqueue", .body = command.body});
  if (!answer || answer->status == 503) {
    connection_.close();
    return false;
  }
  take_answer(number, answer->status, answer->body);
  return true;
}

void DeviceClient::send_many() {
  std::vector<std::size_t> numbers;
  std::string body = "{\"messages\":[";
  const std::size_t count = 2 + static_cast<std::size_t>(rng_.below(kBulkMax - 1));
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(draw());
    body.append(i == 0 ? "" : ",").append(journal_.get(numbers.back()).body);
  }
  body += "]}";
  const auto answer =
      connection_.ask({.method = "POST", .path = "/messages/enqueue", .body = body});
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    constexpr std::string_view kStatus = "{\"status\":";
    at = answer && answer->status == 200 ? answer->body.find(kStatus, at) : std::string::npos;
    const std::string_view rest =
        at == std::string::npos ? std::string_view() : std::string_view(answer->body).substr(at);
    const int status = static_cast<int>(number_member(rest, "status"));
    if (rest.empty() || status == 503) {
      unanswered_.push_back(numbers[i]);
    } else {
      take_answer(numbers[i], status, rest);
    }
    if (at != std::string::npos) ++at;
  }
  if (!unanswered_.empty()) connection_.close();
}

void DeviceClient::cancel_one() {
  if (recent_.empty()) return;
  const std::size_t number = recent_[static_cast<std::size_t>(rng_.below(recent_.size()))];
  journal_.set_cancel(number, DeviceCommand::Cancel::kAsked);
  const std::string body = "{\"correlationId\":\"" + journal_.get(number).correlation + "\"}";
  const auto answer = connection_.ask({.method = "POST", .path = "/message/cancel", .body = body});
  if (answer && answer->status == 200 && member(answer->body, "result") == "CANCELLED")
    journal_.set_cancel(number, DeviceCommand::Cancel::kDone);
}

void DeviceClient::ask_one() {
  if (recent_.empty()) return;
  const std::size_t number = recent_[static_cast<std::size_t>(rng_.below(recent_.size()))];
  const DeviceCommand command = journal_.get(number);
  const std::string path = "/message/" + command.correlation + "/history";
  const auto answer = connection_.ask({.method = "GET", .path = path});
  if (!answer || answer->status == 503) return;
  if (answer->status != 200 || parse_contract_id(member(answer->body, "id")) != command.id)
    journal_.complain("lost: " + command.correlation + " was accepted, and its history is " +
                      std::to_string(answer->status) + ": " + answer->body);
}

void DeviceClient::act() {
  // Meters are slow; what is commanded faster than they are only makes a heap.
  std::this_thread::sleep_for(std::chrono::microseconds(rng_.between(0, kPaceUsMax)));
  const std::uint64_t luck = rng_.below(100);
  if (luck < 12) return send_many();
  if (luck < 20) return cancel_one();
  if (luck < 26) return ask_one();
  if (luck < 34 && !recent_.empty()) {
    static_cast<void>(send_one(recent_[static_cast<std::size_t>(rng_.below(recent_.size()))]));
    return;
  }
  const std::size_t number = draw();
  if (!send_one(number)) unanswered_.push_back(number);
}

bool DeviceClient::repeat_unknown(bool /*all*/) {
  while (!unanswered_.empty()) {
    if (!send_one(unanswered_.front())) return false;
    unanswered_.erase(unanswered_.begin());
  }
  return true;
}

}  // namespace postrider::crash
