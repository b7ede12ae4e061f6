// What the benchmarks of `postrider bench` share: options, figures and a place on the disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/cli/options.h"

namespace postrider {

struct BenchOptions {
  std::string command;       // for complaints
  std::uint32_t depth = 64;  // messages under way, or connections
  double seconds = 5;
  std::uint32_t destinations = 10'000;
  std::uint32_t payload = 512;
  std::uint64_t messages = 1'000'000;  // of a backlog
  std::uint32_t rate = 10'000;         // of a job, per second
  bool json = false;
  bool events = false;  // device: with events to a consumer
  std::string redis;    // device: HOST:PORT of a server to compare with; empty: none
};

// A directory of its own that goes when it is done.
class BenchDirectory {
 public:
  BenchDirectory();
  ~BenchDirectory();
  BenchDirectory(const BenchDirectory&) = delete;
  BenchDirectory& operator=(const BenchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Wall and processor time since it was made.
class Stopwatch {
 public:
  Stopwatch();
  double wall() const;
  double cpu() const;

 private:
  std::chrono::steady_clock::time_point wall_;
  double cpu_;
};

double resident_mb();

// Microseconds that were waited; a percentile of them.
inline double since_us(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count();
}

class Latencies {
 public:
  void add(double us) { us_.push_back(static_cast<float>(us)); }
  double percentile(double percent);
  void clear() { us_.clear(); }

 private:
  std::vector<float> us_;
};

// Bodies that do not compress into nothing: pieces of a pool of random letters.
class SampleBodies {
 public:
  explicit SampleBodies(std::uint32_t size);
  std::string_view operator[](std::uint64_t number) const;

 private:
  std::string pool_;
  std::size_t size_;
};

// Figures in the order they were added, as JSON or as a table.
class Figures {
 public:
  void add(std::string name, double value, int digits = 0);
  void add(std::string name, std::string text);
  void print(bool json) const;

 private:
  std::vector<std::pair<std::string, std::string>> rows_;  // the value as JSON
};

// The options that most benchmarks know.
inline constexpr OptionRow kDepthOption{"--depth", "N", "messages under way, or connections (64)"};
inline constexpr OptionRow kSecondsOption{"--seconds", "S", "how long to measure (5)"};
inline constexpr OptionRow kDestinationsOption{"--destinations", "M",
                                               "different destinations (10000)"};
inline constexpr OptionRow kPayloadOption{"--payload", "B", "bytes of a message's body (512)"};
inline constexpr OptionRow kJsonOption{"--json", "", "one JSON object"};

// Of the options that a benchmark knows; defaults for the others.
Result<BenchOptions> bench_options(const Parsed& parsed);

// A benchmark as a command.
template <int (*Bench)(const BenchOptions&)>
int run_one(const Parsed& parsed) {
  const auto options = bench_options(parsed);
  return options ? Bench(*options) : complain(parsed, options.error());
}

template <int (*Bench)(const BenchOptions&)>
constexpr Command benchmark(std::string_view name, std::string_view summary,
                            std::span<const OptionRow> options) {
  return {.name = name,
          .operands = {},
          .summary = summary,
          .options = options,
          .asks_daemon = false,
          .run = run_one<Bench>};
}

// The exit code.
int print_or_complain(const Result<Figures>& figures, const BenchOptions& options);

int bench_lifecycle(const BenchOptions& options);
int bench_http(const BenchOptions& options);
int bench_webhook(const BenchOptions& options);

}  // namespace postrider
