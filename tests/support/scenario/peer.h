// The far side of a scenario: what it does with an attempt, as the script said.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "postrider/base/time.h"
#include "postrider/model/seams/transport.h"
#include "tests/support/scenario/words.h"

namespace postrider::scenario {

struct Behaviour {
  bool silent = false;
  WireReply reply{.end = WireEnd::kAnswered, .status = 200, .headers = {}, .body = {}};
  Duration after{0};
  bool at_time_out = false;  // the transport itself gives up, when the request said
  bool regardless = false;   // the answer comes even if the attempt was aborted meanwhile
};

class Peer {
 public:
  // The words behind `peer`: [DESTINATION] [next] answers STATUS [retry-after X] [after T]
  // [regardless], refuses, silent, resets, times-out, no-name, no-tls, forbidden.
  void instruct(Words& words, const std::map<std::string, int>& destinations);
  Behaviour meet(const std::string& destination);
  bool shows_requests() const { return shows_requests_; }

  static std::string show(const WireReply& reply);

 private:
  static Behaviour parse(Words& words, const std::string& verb);

  Behaviour standing_;
  std::map<std::string, Behaviour> of_destination_;
  std::deque<Behaviour> next_;
  bool shows_requests_ = false;
};

}  // namespace postrider::scenario
