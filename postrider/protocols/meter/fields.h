// The fields inside a meter frame: binary coded decimals, dates, the data of each read, and the
// DLMS exchange for the power limit. Used by meter_frame only. All of them come last byte first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/device/command.h"
#include "postrider/protocols/device/reply.h"

namespace postrider::device {

// At most 9 bytes. Nothing when a digit is above 9.
std::optional<std::int64_t> read_bcd(std::string_view bytes);
std::optional<std::string> read_digits(std::string_view bytes);
std::string bcd_bytes(std::string_view digits);    // an even number of them
std::int64_t read_little(std::string_view bytes);  // at most 7 bytes
// A float32 that is an amount, to two places. Nothing for what no meter can have counted.
std::optional<Decimal> read_float(std::string_view bytes);

std::optional<Date> read_date(std::string_view bytes);       // weekday, day, month, year
std::optional<TimeOfDay> read_time(std::string_view bytes);  // second, minute, hour
std::string date_bytes(const Date& date);
std::string time_bytes(const TimeOfDay& time);

// The data of a read that went well, without its identifier. What cannot be decoded is a response
// that was not executed, with the reason kUndecodable.
Response read_data(Command command, std::string_view data);
// For models of a meter; nothing when the response lacks the value or it does not fit.
std::optional<std::string> data_bytes(Command command, const Response& response);

// GET of the limiter's threshold: class 71, 0-0:17.0.0.255, attribute 3.
inline constexpr std::string_view kDlmsRequest{
    "\x00\x01\x00\x66\x00\x01\x00\x0D\xC0\x01\xC1\x00\x47\x00\x00\x11\x00\x00\xFF\x03\x00", 21};
// kCorrupt unless it is a whole answer to that request with a number of 32 bits, or an access error
// (not executed then).
Result<Response> read_dlms_answer(std::string_view bytes);
Result<std::string> encode_dlms_answer(const Response& response);

}  // namespace postrider::device
