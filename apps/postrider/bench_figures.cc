// What every benchmark uses: figures, a place on the disk, clocks and bodies.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is not in the C++ one

#include "apps/postrider/bench.h"
#include "postrider/base/rng.h"
#include "postrider/cli/output.h"

namespace postrider {
namespace {

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string number(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

}  // namespace

Result<BenchOptions> bench_options(const Parsed& parsed) {
  BenchOptions options;
  options.command = parsed.command;
  POSTRIDER_TRY(depth, parsed.number("--depth", 64, 1, 4096));
  POSTRIDER_TRY(seconds, parsed.number("--seconds", 5, 1, 3600));
  POSTRIDER_TRY(destinations, parsed.number("--destinations", 10'000, 1, 1'000'000));
  POSTRIDER_TRY(payload, parsed.number("--payload", 512, 0, 256 * 1024));
  POSTRIDER_TRY(rate, parsed.number("--rate", 10'000, 1, 100'000));
  POSTRIDER_TRY(messages, parsed.number("--messages", 1'000'000, 1, 100'000'000));
  options.depth = static_cast<std::uint32_t>(depth);
  options.seconds = static_cast<double>(seconds);
  options.destinations = static_cast<std::uint32_t>(destinations);
  options.payload = static_cast<std::uint32_t>(payload);
  options.messages = messages;
  options.rate = static_cast<std::uint32_t>(rate);
  options.json = parsed.has("--json");
  options.events = parsed.has("--events");
  options.redis = parsed.text("--redis", "");
  return options;
}

int print_or_complain(const Result<Figures>& figures, const BenchOptions& options) {
  if (!figures) {
    complain(options.command, figures.error().detail);
    return kExitFailure;
  }
  figures->print(options.json);
  return kExitOk;
}

BenchDirectory::BenchDirectory() {
  std::error_code error;
  std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) base = "/tmp";
  std::string path = (base / "postrider-bench-XXXXXX").string();
  if (::mkdtemp(path.data()) != nullptr) path_ = path;
}
BenchDirectory::~BenchDirectory() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

Stopwatch::Stopwatch() : wall_(std::chrono::steady_clock::now()), cpu_(cpu_seconds()) {}
double Stopwatch::wall() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_).count();
}
double Stopwatch::cpu() const { return cpu_seconds() - cpu_; }

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

double Latencies::percentile(double percent) {
  if (us_.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(us_.size() - 1) * percent / 100);
  std::nth_element(us_.begin(), us_.begin() + at, us_.end());
  return us_[static_cast<std::size_t>(at)];
}

SampleBodies::SampleBodies(std::uint32_t size) : pool_((8U << 20) + size, ' '), size_(size) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  Rng rng(1);
  for (char& letter : pool_) letter = kLetters[rng.below(kLetters.size())];
}
std::string_view SampleBodies::operator[](std::uint64_t number) const {
  const std::size_t places = pool_.size() - size_ + 1;
  return std::string_view(pool_).substr(number * 7919 * 512 % places, size_);
}

void Figures::add(std::string name, double value, int digits) {
  rows_.emplace_back(std::move(name), number(value, digits));
}
void Figures::add(std::string name, std::string text) {
  rows_.emplace_back(std::move(name), '"' + std::move(text) + '"');
}
void Figures::print(bool json) const {
  if (json) std::puts("{");
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto& [name, value] = rows_[i];
    if (json) {
      std::printf("  \"%s\": %s%s\n", name.c_str(), value.c_str(), i + 1 < rows_.size() ? "," : "");
    } else {
      std::printf("  %-26s %s\n", name.c_str(), value.c_str());
    }
  }
  if (json) std::puts("}");
}

}  // namespace postrider
