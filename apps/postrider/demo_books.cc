#include "apps/postrider/demo_books.h"

#include <array>
#include <fstream>
#include <sstream>

#include <openssl/evp.h>

#include "postrider/base/check.h"

namespace postrider {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  POSTRIDER_CHECK(
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

Result<DemoLog> read_demo_log(const std::string& path,
                              const std::unordered_map<std::string, const DemoMessage*>& ids) {
  std::ifstream file(path);
  if (!file) return fail(ErrorCode::kUnavailable, path + " cannot be read");
  DemoLog log;
  for (std::string line; std::getline(file, line);) {
    std::istringstream columns(line);
    std::string time;
    std::string id;
    std::string hash;
    std::string status;
    columns >> time >> id >> hash >> status;
    ++log.requests;
    const auto known = ids.find(id);
    if (known == ids.end()) {
      ++log.strangers;
      continue;
    }
    if (hash != sha256_hex(known->second->body)) ++log.broken;
    if (status.starts_with('2')) ++log.taken[id];
  }
  return log;
}

DemoVerdict judge_demo(const std::vector<DemoMessage>& messages, const std::vector<DemoLog>& logs,
                       const std::unordered_set<std::string>& living) {
  DemoVerdict out;
  for (const DemoLog& log : logs) {
    out.strangers += log.strangers;
    out.broken += log.broken;
  }
  for (const DemoMessage& message : messages) {
    if (message.id.empty()) continue;
    ++out.accepted;
    const auto& taken = logs[message.receiver].taken;
    const auto found = taken.find(message.id);
    if (found != taken.end()) {
      ++out.taken;
      out.again += found->second - 1;
    } else if (living.contains(message.id)) {
      ++out.live;
    } else {
      out.lost.push_back(message.id);
    }
  }
  return out;
}

}  // namespace postrider
