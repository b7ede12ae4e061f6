// Secrets: the key files of the configuration, by name. An input of the engine, handed to `encode`
// by the facts; the bytes are in no record, trace, log or answer, and a destination's settings hold
// the name only. Wiped when the last owner lets go. Never changed once it is shared: a reload makes
// a new one.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

inline constexpr std::size_t kSecretsMax = 256;
inline constexpr std::size_t kSecretBytesMax = 64 * 1024;  // of one: a key with its certificates
inline constexpr std::size_t kSecretNameBytesMax = 64;

// Letters, digits, '.', '_' and '-'.
bool is_secrets_name(std::string_view name);

class Secrets {
 public:
  Secrets() = default;
  ~Secrets();
  Secrets(const Secrets&) = delete;
  Secrets& operator=(const Secrets&) = delete;

  void put(const std::string& name, std::string bytes);
  std::string_view find(std::string_view name) const;  // empty: there is none
  std::vector<std::string_view> names() const;
  std::size_t size() const { return all_.size(); }

 private:
  std::map<std::string, std::string, std::less<>> all_;
};

}  // namespace postrider
