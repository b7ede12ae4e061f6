// Makes the calls that its standard input names, one per line, with the real transport, and prints
// what became of each. For tests with servers that others wrote; loopback only.
//
//   grpc_call [--together] [--streams N] [--trust FILE] < CALLS
//
// A call: URL TOKEN TIME_OUT_MS HEX ("-" for no token, no message). Its line in the answer:
// END STATUS HEX MESSAGE, and at the end how many connections were made.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "postrider/transports/grpc/grpc_transport.h"

namespace postrider {
namespace {

struct Options {
  bool together = false;
  std::uint32_t streams = 100;
  std::string trust;
};

int digit_of(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(digit_of(hex[i]) * 16 + digit_of(hex[i + 1])));
  return out;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto value = static_cast<unsigned char>(c);
    out.push_back(kDigits[value / 16]);
    out.push_back(kDigits[value % 16]);
  }
  return out.empty() ? "-" : out;
}

std::string_view name_of(WireEnd end) {
  switch (end) {
    case WireEnd::kAnswered: return "answered";
    case WireEnd::kRefused: return "refused";
    case WireEnd::kNoName: return "no-name";
    case WireEnd::kNoTls: return "no-tls";
    case WireEnd::kForbidden: return "forbidden";
    case WireEnd::kNoLogin: return "no-login";
    case WireEnd::kHeldBack: return "held-back";
    case WireEnd::kTimedOut: return "timed-out";
    case WireEnd::kReset: return "reset";
  }
  std::abort();
}

WireRequest read_call(const std::string& line, const Options& options) {
  std::istringstream words(line);
  WireRequest request;
  std::string token;
  std::string hex;
  std::int64_t time_out = 0;
  words >> request.target >> token >> time_out >> hex;
  request.verb = "POST";
  request.time_out = Duration(time_out);
  request.trust = options.trust;
  if (token != "-") request.headers.add("authorization", "Bearer " + token);
  request.owner = Blob::copy_of(hex == "-" ? "" : from_hex(hex));
  request.body = request.owner.view();
  return request;
}

void print(const WireReply& reply) {
  const std::string* message = find_text(reply.headers, "grpc-message");
  const bool answered = reply.end == WireEnd::kAnswered;
  std::cout << name_of(reply.end) << ' ' << reply.status << ' '
            << (answered ? to_hex(reply.body) : "-") << ' '
            << (message != nullptr ? *message
                : answered         ? ""
                                   : reply.body)
            << '\n';
}

int run(const Options& options) {
  std::vector<std::string> calls;
  for (std::string line; std::getline(std::cin, line);) calls.push_back(line);
  boost::asio::io_context loop(1);
  std::vector<WireReply> replies(calls.size());
  std::size_t ended = 0;
  GrpcTransportOptions settings;
  settings.allow = {"127.0.0.0/8"};
  settings.streams_max = options.streams;
  std::unique_ptr<GrpcTransport> transport;
  auto made = GrpcTransport::make(loop, settings, [&](AttemptId id, WireReply reply) {
    replies[id.value() - 1] = std::move(reply);
    ++ended;
    if (ended == calls.size()) return transport->close();
    if (!options.together) transport->start(AttemptId(ended + 1), read_call(calls[ended], options));
  });
  if (!made) {
    std::cerr << made.error().detail << '\n';
    return 1;
  }
  transport = std::move(*made);
  const std::size_t first =
      options.together ? calls.size() : std::min<std::size_t>(1, calls.size());
  for (std::size_t i = 0; i < first; ++i)
    transport->start(AttemptId(i + 1), read_call(calls[i], options));
  loop.run();
  for (const WireReply& reply : replies) print(reply);
  std::cout << "connections " << transport->counts().connects << '\n';
  return 0;
}

}  // namespace
}  // namespace postrider

int main(int count, char** values) {
  postrider::Options options;
  const std::vector<std::string> arguments(values + 1, values + count);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--together") {
      options.together = true;
    } else if (arguments[i] == "--streams" && i + 1 < arguments.size()) {
      options.streams = static_cast<std::uint32_t>(std::stoul(arguments[++i]));
    } else if (arguments[i] == "--trust" && i + 1 < arguments.size()) {
      std::ifstream file(arguments[++i]);
      options.trust.assign(std::istreambuf_iterator<char>(file), {});
    } else {
      std::cerr << "usage: grpc_call [--together] [--streams N] [--trust FILE] < CALLS\n";
      return 2;
    }
  }
  return postrider::run(options);
}
