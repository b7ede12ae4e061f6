// The routes of the device profile behind the real server: what they say to a head alone.
#include "postrider/api/wire_testing.h"
#include "postrider/doors/device/rig_testing.h"

namespace postrider::device_door {
namespace {

class DeviceWire : public api::WireRig<DeviceRig> {};

// req: device.lim.1
TEST_F(DeviceWire, RefusesAnEventThatNobodyWouldCollectInTheWordsOfItsRoute) {
  const auto client = wire.connect();
  const std::string head =
      "POST /ingress/lorawan?event=up HTTP/1.1\r\nhost: localhost\r\ncontent-type: "
      "application/json\r\n";
  const HttpReply reply = reply_to(*client, head + "content-length: 10000000\r\n\r\n");
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_EQ(reply.body, R"({"error":"an event has at most 256 KiB"})");
  const auto other = wire.connect();
  const HttpReply command = reply_to(
      *other,
      "POST /message/enqueue HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
      "content-length: 65537\r\n\r\n");
  EXPECT_EQ(command.status, 413);
  EXPECT_EQ(command.body, R"({"error":"the body is over 64 KiB"})");
}

// req: daemon.http.25
TEST_F(DeviceWire, JudgesTheHeadBeforeTheBody) {
  options.tokens = {{.name = "s", .tenant = "t", .secret = "token-submit", .may_submit = true}};
  reopen();
  const std::string json = "content-type: application/json\r\n";
  struct Case {
    std::string line;
    std::string length;
    int status;
  };
  const std::vector<Case> cases = {{"POST /ingress/nobody?event=up", "200000", 404},
                                   {"POST /ingress/lorawan?event=up", "200000", 401},
                                   {"POST /message/enqueue", "60000", 401}};
  for (const Case& one : cases) {
    const std::string head = one.line + " HTTP/1.1\r\nhost: localhost\r\n" + json +
                             "content-length: " + one.length + "\r\n";
    for (const std::string expect : {"expect: 100-continue\r\n", ""}) {
      const HttpReply reply = reply_to_head(head + expect + "\r\n");
      EXPECT_EQ(reply.status, one.status) << head;
      EXPECT_EQ(reply.header("connection"), "close");
    }
  }
}

}  // namespace
}  // namespace postrider::device_door
