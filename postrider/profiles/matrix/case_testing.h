// MatrixCase: items for one server, and a leader with followers, as the functions of the profile
// see them. For tests.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/profiles/matrix/profile.h"
#include "postrider/profiles/matrix/table.h"
#include "postrider/profiles/matrix/types.h"
#include "postrider/profiles/matrix/wire.h"
#include "postrider/protocols/matrix/vectors_testing.h"

namespace postrider::matrix {

inline constexpr const char* kCaseServer = "them.example";
inline constexpr Timestamp kCaseNow(1'000'000);
inline constexpr Timestamp kCaseWall(1'700'000'000'000);

std::string event_in(std::string_view room, std::string_view text);
std::string to_device_unit(std::string_view text);
std::string presence_unit(std::string_view user);
std::string receipt_unit(std::string_view room, std::string_view user);
std::string typing_unit(std::string_view room, std::string_view user);

class MatrixCase {
 public:
  explicit MatrixCase(NamedTexts more_settings = {});

  // Items in the order of acceptance; returns the place of the new one. Not after `facts`.
  std::size_t add(std::uint8_t lane, std::string body, NamedTexts attributes = {});
  std::size_t add_event(std::string_view room, std::string_view text) {
    return add(kEventLane, event_in(room, text));
  }
  postrider::Facts facts(std::size_t item) const;
  // With the others as followers, in this order.
  postrider::Facts leading(std::size_t leader, const std::vector<std::size_t>& followers,
                           std::uint32_t claim = 1);
  // The places of what `compose` chooses among all others.
  std::vector<std::size_t> composed(std::size_t leader, std::uint32_t members_max = 512) const;
  Reading reading(const postrider::Facts& leader, int status, std::string body,
                  NamedTexts headers = {}) const;
  Judgement judged(std::size_t item) const { return kMatrix.wire.judge(facts(item)); }

  NamedTexts settings;
  std::string destination = "matrix:" + std::string(kCaseServer);
  Policy policy;
  Route route;
  Timestamp now = kCaseNow;
  std::shared_ptr<Secrets> secrets = std::make_shared<Secrets>();

  struct Held {
    Message message;
    State state;
    std::string notes;
    Intent intent;
    std::unique_ptr<const Opaque> parsed;
  };
  std::deque<Held> items;

 private:
  std::shared_ptr<const Opaque> prepared_;
  std::unique_ptr<IdCodec> codec_;
  std::vector<postrider::Facts> followers_;
  Batch batch_;
};

}  // namespace postrider::matrix
