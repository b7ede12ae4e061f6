// DemoDaemon: a daemon as a child of the demo, to be killed and started again. It does not outlive
// the demo, whatever ends that. One thread: the one that starts it must stay.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>

#include "postrider/base/result.h"

namespace postrider {

class DemoDaemon {
 public:
  // `broken` is for serve --break. Its standard error goes to the log file in the directory.
  DemoDaemon(std::string directory, std::string broken);
  ~DemoDaemon();
  DemoDaemon(const DemoDaemon&) = delete;
  DemoDaemon& operator=(const DemoDaemon&) = delete;

  void set_config(std::string file) { config_ = std::move(file); }  // before start()
  // Fails with what the daemon said last.
  Result<void> start();
  void strike() const;  // kill -9, from any thread; kill() must follow
  void kill();          // the same, and waits until nothing of it is left
  // Asks it to stop; the exit code.
  int stop();
  const std::string& url() const { return url_; }

 private:
  int wait();
  std::string last_words() const;

  std::string directory_;
  std::string broken_;
  std::string config_;  // empty: none
  std::string url_;
  pid_t pid_ = -1;
};

}  // namespace postrider
