// Client: a client that submits, repeats, cancels and asks for webhooks. One thread, its own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "postrider/base/rng.h"
#include "tests/crash/actor.h"
#include "tests/crash/http.h"
#include "tests/crash/journal.h"

namespace postrider::crash {

class Client final : public Actor {
 public:
  // `accepted` is called for each message that was.
  Client(std::uint32_t number, std::uint64_t seed, Journal& journal,
         std::function<void()> accepted);

  bool connect(const std::string& address) override { return connection_.open(address); }
  bool is_connected() const override { return connection_.is_open(); }
  void disconnect() override { connection_.close(); }
  void act() override;
  bool repeat_unknown(bool all) override;  // what has a key

 private:
  Submission draw();
  std::string text_of(std::uint64_t serial, const Submission& submission, bool line) const;
  bool submit_one(std::uint64_t serial);
  bool send_one(std::uint64_t serial);
  bool read_one(std::uint64_t serial);
  void submit_some_at_once();
  void submit_lines();
  void take_line(const std::string& line, const std::vector<std::uint64_t>& serials);
  void take_refusal(std::uint64_t serial, int status, const std::string& body);
  void take_accepted(std::uint64_t serial, const std::string& id);
  void remember_unknown(std::uint64_t serial);
  void cancel_one();
  void ask_one(std::string_view verb);
  void repeat_one();
  void misuse_key();
  void operate();
  bool post(const std::string& path);
  std::uint64_t recent();

  const std::uint32_t number_;
  Rng rng_;
  Journal& journal_;
  std::function<void()> accepted_;
  HttpConnection connection_;
  std::deque<std::uint64_t> recent_;       // accepted lately
  std::vector<std::uint64_t> unanswered_;  // with a key
};

}  // namespace postrider::crash
