// The table of the device profile's routes: who may use them, and that they are described.
#include "postrider/doors/device/routes.h"

#include "postrider/doors/device/rig_testing.h"

namespace postrider::device_door {
namespace {

class DeviceTable : public DeviceRig {};

// What the contract says, apart from the table that runs.
std::string scopes_wanted(const api::RouteRow& row) {
  if (row.pattern == "/healthz") return "open";
  if (row.pattern == "/ingress/{plugin}") return "open";  // its secret is the plugin's affair
  if (row.pattern == "/ingress/{plugin}/replay") return "operate";
  if (row.pattern == "/token/generate") return "submit";
  if (row.pattern.starts_with("/message")) return row.method == "POST" ? "submit" : "read";
  return {};
}

// req: api.auth.1
TEST_F(DeviceTable, EachRouteNeedsItsScope) {
  options.tokens = api::rig_tokens();
  open();
  expect_scopes(scopes_wanted, [](const api::RouteRow& row) {
    return row.pattern == "/healthz" ? 200 : 404;  // there is no plugin of that name
  });
  for (const api::RouteRow& row : routes->routes()) EXPECT_NE(scopes_wanted(row), "");
}

// req: api.openapi.1
TEST_F(DeviceTable, IsDescribedAndDocumented) {
  expect_described();
  expect_documented();
}

// req: api.openapi.3
TEST_F(DeviceTable, APathThatIsSpelledOutIsNeverACapture) {
  const auto rows = routes->routes();
  const auto allowed = [&](std::string_view method, std::string_view path) {
    const auto found = find_route(rows, method, path);
    return found ? std::string(rows[found->route].pattern) : found.error().allow;
  };
  EXPECT_EQ(allowed("GET", "/message/cancel"), "POST");
  EXPECT_EQ(allowed("GET", "/message/0123"), "/message/{id}");
}

}  // namespace
}  // namespace postrider::device_door
