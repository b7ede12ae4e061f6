// Linked into every test of mutants. With POSTRIDER_REACHED=FILE each test leaves a line there: its
// name, how long it took, and which mutants it came by; so that later only those tests are run for
// a mutant that can tell.
#include "runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <gtest/gtest.h>

namespace mutants {
namespace {

// Before everything else that is initialised at the start.
__attribute__((constructor(101))) void choose() {
  const char* const text = std::getenv("POSTRIDER_MUTANT");
  chosen = text == nullptr ? 0 : std::atoi(text);
}

class Recorder : public testing::EmptyTestEventListener {
 public:
  explicit Recorder(const char* path) : out_(std::fopen(path, "w")) { flush("", 0); }

  void OnTestStart(const testing::TestInfo& /*test*/) override {
    std::memset(reached, 0, POSTRIDER_MUTANTS + 1);
    began_ = std::clock();
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    const bool good = !test.result()->Failed() && !test.result()->Skipped();
    // Of the processor: a busy machine must not make a test look dear.
    flush(good ? name.c_str() : ("!" + name).c_str(),
          static_cast<long>((std::clock() - began_) / (CLOCKS_PER_SEC / 1000)));
  }

 private:
  void flush(const char* name, long elapsed) {
    std::fprintf(out_, "%s\t%ld\t", name, elapsed);
    for (int i = 1; i <= POSTRIDER_MUTANTS; ++i) {
      if (reached[i] != 0) std::fprintf(out_, "%d ", i);
    }
    std::fprintf(out_, "\n");
    std::fflush(out_);
  }
  std::FILE* out_;
  std::clock_t began_ = 0;
};

const bool recording = [] {
  const char* const path = std::getenv("POSTRIDER_REACHED");
  if (path != nullptr) testing::UnitTest::GetInstance()->listeners().Append(new Recorder(path));
  return path != nullptr;
}();

}  // namespace

unsigned char reached[POSTRIDER_MUTANTS + 1];
int chosen = 0;

}  // namespace mutants
