// Stage: a directory, a receiver and one daemon, for tests that look at one thing. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/crash/books.h"
#include "tests/crash/daemon_process.h"
#include "tests/crash/http.h"
#include "tests/crash/receiver.h"

namespace postrider::crash {

class Stage {
 public:
  // `store`: where the daemon keeps messages; empty: in the directory of the stage.
  explicit Stage(std::string program, std::string store = {});
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  const std::string& store() const { return store_; }

  // Starts a life; `before` stands before the program's name, `more` behind `serve`. False: it does
  // not listen.
  bool start(const std::vector<std::string>& more = {},
             const std::vector<std::string>& settings = {},
             const std::vector<std::string>& before = {});
  DaemonProcess& daemon() { return *daemon_; }
  const std::string& address() const { return address_; }
  std::string log() const;  // what all its lives wrote on the standard error

  // Destination "site" leads to the receiver.
  bool put_destination();
  // Number by number; the body follows from it, and is as much longer as is asked for.
  std::optional<HttpAnswer> submit(std::uint64_t serial, std::size_t longer = 0);
  std::optional<HttpAnswer> ask(const HttpQuestion& question);
  // Asks until nothing lives any more. False: it does not come to that.
  bool wait_all_ended();

  Receiver receiver;
  Books books;

 private:
  std::string program_;
  std::string directory_;
  std::string store_;
  std::string address_;
  std::unique_ptr<DaemonProcess> daemon_;
  HttpConnection connection_;
};

}  // namespace postrider::crash
