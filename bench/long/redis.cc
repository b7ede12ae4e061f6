#include "bench/long/redis.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace postrider {
namespace {

// $m message, $q its queue, $d its device, $i the server's item, $j the message as JSON, $e an
// event. One line is one command; the stages are those of the original: enqueue, distribute under
// the flood lock, in flight to the server, accepted, transmitted, the two halves, done.
constexpr std::string_view kWithoutEvents[] = {
    "SET message:$m $j",
    "HSET message:meta:$m status QUEUED retries 0 priority 5 queue $q",
    "SET correlation:$m $m EX 604800",
    "ZADD queue:$q 5 $m",
    "SADD queues:active $q",
    "SMEMBERS queues:none",
    "SET lock:distribute:$q 1 NX PX 2000",
    "ZREVRANGE queue:$q 0 0",
    "GET message:$m",
    "ZREM queue:$q $m",
    "ZCARD queue:$q",
    "SREM queues:active $q",
    "ZADD inflight:ns 1767225600000 $m",
    "HSET message:meta:$m status SENT_TO_NS at 1767225600000",
    "SET message:$m $j",
    "DEL lock:distribute:$q",
    "GET message:$m",
    "SET item:$i $m EX 604800",
    "HSET message:meta:$m item $i status DELIVERED_TO_NS",
    "ZREM inflight:ns $m",
    "ZADD inflight:gw 1767225600000 $m",
    "SET message:$m $j",
    "GET item:$i",
    "GET message:$m",
    "ZSCORE inflight:gw $m",
    "ZREM inflight:gw $m",
    "ZADD inflight:device 1767225600000 $m",
    "HSET message:meta:$m status SENT_TO_DEVICE",
    "SET message:$m $j",
    "GET item:$i",
    "SET half:ack:$i $m PX 10000",
    "GET half:up:$i",
    "SET half:up:$i $j PX 10000",
    "GET half:ack:$i",
    "GET message:$m",
    "ZREM inflight:device $m",
    "HSET message:meta:$m status DELIVERY_SUCCESSFUL",
    "DEL half:ack:$i",
    "DEL half:up:$i",
    "DEL item:$i",
    "DEL correlation:$m",
    "DEL message:$m message:meta:$m",
};
static_assert(std::size(kWithoutEvents) == 42);

// Two events, each: written, queued, leased, read, sent, removed, counted.
constexpr std::string_view kOneEvent[] = {
    "SET event:$e $j EX 604800",
    "HSET event:meta:$e attempts 0 message $m",
    "ZADD events:due 1767225600000 $e",
    "LPUSH events:wake $e",
    "RPOP events:wake",
    "ZRANGEBYSCORE events:due -inf 1767225600000 LIMIT 0 1",
    "SET lease:event:$e 1 NX PX 60000",
    "GET event:$e",
    "HINCRBY event:meta:$e attempts 1",
    "HSET event:meta:$e last 1767225600000",
    "ZREM events:due $e",
    "DEL lease:event:$e",
    "INCR events:delivered",
    "DEL event:$e event:meta:$e",
};
static_assert(std::size(kWithoutEvents) + 2 * std::size(kOneEvent) == 70);

class Redis {
 public:
  Result<void> open(std::string_view address) {
    const std::size_t colon = address.rfind(':');
    boost::system::error_code error;
    boost::asio::ip::tcp::resolver resolver(loop_);
    const auto found = resolver.resolve(std::string(address.substr(0, colon)),
                                        std::string(address.substr(colon + 1)), error);
    if (!error) boost::asio::connect(socket_, found, error);
    if (!error) socket_.set_option(boost::asio::ip::tcp::no_delay(true), error);
    if (error) return fail(ErrorCode::kUnavailable, "no Redis there: " + error.message());
    return {};
  }

  void add(std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t from = 0; from < line.size();) {
      const std::size_t space = std::min(line.find(' ', from), line.size());
      words.push_back(line.substr(from, space - from));
      from = space + 1;
    }
    out_.append("*").append(std::to_string(words.size())).append("\r\n");
    for (const std::string_view word : words) {
      out_.append("$").append(std::to_string(word.size())).append("\r\n");
      out_.append(word).append("\r\n");
    }
    ++waiting_;
  }

  // Sends what was added and waits for all answers; the last one is kept.
  Result<void> flush() {
    boost::system::error_code error;
    boost::asio::write(socket_, boost::asio::buffer(out_), error);
    out_.clear();
    for (; waiting_ > 0 && !error; --waiting_) {
      if (!read_answer(error)) return fail(ErrorCode::kUnavailable, "Redis says: " + last_);
    }
    if (error) return fail(ErrorCode::kUnavailable, "Redis went away: " + error.message());
    return {};
  }

  Result<std::string> ask(std::string_view line) {
    add(line);
    if (const auto good = flush(); !good) return tl::unexpected<Error>(good.error());
    return last_;
  }

 private:
  std::string read_line(boost::system::error_code& error) {
    for (;;) {
      const std::size_t end = in_.find("\r\n", from_);
      if (end != std::string::npos) {
        std::string line = in_.substr(from_, end - from_);
        from_ = end + 2;
        return line;
      }
      read_more(error);
      if (error) return "";
    }
  }
  void read_more(boost::system::error_code& error) {
    in_.erase(0, from_);
    from_ = 0;
    std::array<char, 65536> piece{};
    const std::size_t size = socket_.read_some(boost::asio::buffer(piece), error);
    in_.append(piece.data(), size);
  }
  bool read_answer(boost::system::error_code& error) {
    const std::string line = read_line(error);
    if (error || line.empty()) return true;
    last_ = line.substr(1);
    if (line[0] == '-') return false;
    const bool counted = line[0] == '$' || line[0] == '*';
    const long size = counted ? std::stol(last_) : 0;
    if (line[0] == '*') {
      for (long i = 0; i < size; ++i) static_cast<void>(read_answer(error));
    } else if (line[0] == '$' && size >= 0) {
      while (in_.size() - from_ < static_cast<std::size_t>(size) + 2 && !error) read_more(error);
      if (error) return true;
      last_ = in_.substr(from_, static_cast<std::size_t>(size));
      from_ += static_cast<std::size_t>(size) + 2;
    }
    return true;
  }

  boost::asio::io_context loop_;
  boost::asio::ip::tcp::socket socket_{loop_};
  std::string out_;
  std::string in_;
  std::size_t from_ = 0;
  std::size_t waiting_ = 0;
  std::string last_;
};

struct Names {
  std::string message;
  std::string queue;
  std::string item;
  std::string json;
  std::string event;
};

std::string filled(std::string_view line, const Names& names) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '$' || i + 1 == line.size()) {
      out.push_back(line[i]);
      continue;
    }
    switch (line[++i]) {
      case 'm': out.append(names.message); break;
      case 'q': out.append(names.queue); break;
      case 'i': out.append(names.item); break;
      case 'j': out.append(names.json); break;
      case 'e': out.append(names.event); break;
      default: out.push_back(line[i]);
    }
  }
  return out;
}

double number_in(std::string_view info, std::string_view name) {
  const std::size_t at = info.find(name);
  return at == std::string_view::npos
             ? 0
             : std::strtod(std::string(info.substr(at + name.size(), 32)).c_str(), nullptr);
}

std::vector<std::string_view> commands_of(const BenchOptions& options) {
  std::vector<std::string_view> lines(std::begin(kWithoutEvents), std::end(kWithoutEvents));
  for (int event = 0; options.events && event < 2; ++event)
    lines.insert(lines.end(), std::begin(kOneEvent), std::end(kOneEvent));
  return lines;
}

}  // namespace

Result<RedisFigures> replay_on_redis(const BenchOptions& options) {
  Redis redis;
  if (const auto opened = redis.open(options.redis); !opened)
    return tl::unexpected<Error>(opened.error());
  POSTRIDER_TRY(policy, redis.ask("CONFIG GET appendfsync"));
  if (policy != "always")
    return fail(ErrorCode::kInvalid, "this Redis does not run with appendfsync always");
  const std::vector<std::string_view> lines = commands_of(options);
  POSTRIDER_TRY(before, redis.ask("INFO"));
  const Stopwatch watch;
  double lifecycles = 0;
  for (std::uint64_t round = 0; watch.wall() < options.seconds; ++round) {
    std::vector<Names> all(options.depth);
    for (std::uint32_t i = 0; i < options.depth; ++i) {
      const std::string number = std::to_string(round * options.depth + i);
      all[i] = {.message = "m" + number,
                .queue = "n" + std::to_string((round * options.depth + i) % options.destinations),
                .item = "item-" + number,
                .json = std::string(420, 'x'),
                .event = "e" + number};
    }
    for (const std::string_view line : lines) {
      for (const Names& names : all) redis.add(filled(line, names));
      if (const auto good = redis.flush(); !good) return tl::unexpected<Error>(good.error());
    }
    lifecycles += options.depth;
  }
  const double wall = watch.wall();
  POSTRIDER_TRY(after, redis.ask("INFO"));
  const auto grown = [&, b = before, a = after](std::string_view name) {
    return number_in(a, name) - number_in(b, name);
  };
  RedisFigures figures;
  figures.commands = static_cast<double>(lines.size());
  figures.rate = lifecycles / wall;
  figures.bytes_per_lifecycle = grown("aof_current_size:") / lifecycles;
  figures.cpu_us_per_lifecycle =
      (grown("used_cpu_user:") + grown("used_cpu_sys:")) * 1e6 / lifecycles;
  return figures;
}

}  // namespace postrider
