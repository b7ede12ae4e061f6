// LinkRounds: two real daemons with the drill station send each other messages over real lines, and
// one of them is killed in each round. What a client was told is accepted must lie in the far
// mailbox, once, and a confirmed message must not come back. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace postrider::crash {

enum class LinkWay : std::uint8_t { kTcp, kTls, kUdp };

struct LinkRoundsOptions {
  std::string daemon;     // tests/postrider_link
  std::string directory;  // of its own
  LinkWay way = LinkWay::kTcp;
  std::uint32_t rounds = 5;
  std::uint32_t messages = 8;  // of each side in a round
  std::uint64_t seed = 1;
  std::string certificate;  // kTls: a file with key and certificate …
  std::string peer_key;     // … and the hash of that key, in hexadecimal digits
};

struct LinkRoundsReport {
  std::vector<std::string> findings;
  std::uint64_t kills = 0;
  std::uint64_t accepted = 0;
  std::uint64_t confirmed = 0;
};

LinkRoundsReport run_link_rounds(const LinkRoundsOptions& options);

}  // namespace postrider::crash
