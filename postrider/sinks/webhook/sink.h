// Sink: a receiver of webhooks that can be healthy, slow, flaky, dead, or dead for a while; for
// `postrider sink`, the demo, the crash tests and benchmarks. It does not trust the engine: it
// reads HTTP by itself and keeps its own log. One thread, whoever calls run(); stop() and counts()
// may come from others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace postrider {

struct SinkOptions {
  std::string listen = "127.0.0.1:0";  // an IPv4 address and a port, 0 for any
  int status = 200;                    // of a good answer
  Duration slow{0};                    // an answer waits so long
  std::uint32_t fail_percent = 0;      // so many are answered with fail_status
  int fail_status = 500;
  std::uint32_t duplicate_percent = 0;  // so many are taken and then cut off without an answer, so
                                        // that a good sender sends them again
  bool dead = false;                    // refuses connections, though the port is ours …
  Duration back_after{0};               // … and is back after so long; 0: never
  bool hang = false;                    // takes requests and never answers
  std::uint32_t members_max = 0;        // a JSON array of more is answered with 413; 0: any
  std::string refuse;                   // a body with this text in it is answered with 422
  std::string log_file;                 // appended to; "-": the standard output; empty: none
  std::string verify;                   // whsec_ secrets; a wrong signature is answered with 401
  std::uint64_t seed = 1;               // of who fails
  std::uint32_t connections_max = 20'000;
  std::uint32_t head_bytes_max = 64 * 1024;
  std::uint32_t body_bytes_max = 16 * 1024 * 1024;
  std::uint32_t unsent_bytes_max = 1024 * 1024;  // of one connection; a slower reader waits
};

struct SinkCounts {
  std::uint64_t connections = 0;  // so far
  std::uint64_t requests = 0;     // taken whole
  std::uint64_t good = 0;         // answered with 2xx
  std::uint64_t failed = 0;       // answered with something else
  std::uint64_t cut = 0;          // taken and cut off
  std::uint64_t forged = 0;       // with a wrong signature or none, when it is verified
  std::uint64_t garbage = 0;      // connections with something that is no request
};

// The log has one line per request, in columns with one space between:
//   2026-11-15T23:40:55.123Z WEBHOOK-ID SHA256-OF-BODY STATUS SIGNATURE PATH
// STATUS is a number, or "cut", or "none" when it hangs; SIGNATURE is good, bad or "-" when it is
// not verified; a missing id is "-". The line is written before the answer leaves, so that whoever
// got an answer is in the log; a slow answer is logged when the request came.
class Sink {
 public:
  // An Error names the option that is wrong, or why the port cannot be had.
  static Result<std::unique_ptr<Sink>> open(SinkOptions options);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  std::string address() const;  // "127.0.0.1:PORT"
  // Until stop(). Fails when the log cannot be written: a sink that forgets is no witness.
  Result<void> run();
  void stop();  // any thread, or a signal handler
  SinkCounts counts() const;

 private:
  class Impl;
  explicit Sink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A sink with a thread of its own; stops when it is destroyed.
class SinkThread {
 public:
  static Result<std::unique_ptr<SinkThread>> start(SinkOptions options);
  ~SinkThread();
  SinkThread(const SinkThread&) = delete;
  SinkThread& operator=(const SinkThread&) = delete;

  std::string address() const { return sink_->address(); }
  SinkCounts counts() const { return sink_->counts(); }

 private:
  explicit SinkThread(std::unique_ptr<Sink> sink);
  std::unique_ptr<Sink> sink_;
  std::thread thread_;
};

}  // namespace postrider
