// DeviceQueues: keeps the queues in the store and the plugins of the configuration together. Each
// queue gets the settings of its plugin; one whose plugin is gone is paused, with its messages, and
// goes on when the plugin is back. Works by itself, page by page, until it has been through; a
// store that is being opened again only delays it. On the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "postrider/doors/device/plugins.h"
#include "postrider/model/event.h"
#include "postrider/runtime/host.h"

namespace postrider::device_door {

inline constexpr std::string_view kUnserved = "unserved";  // begins the reason of such a pause

class DeviceQueues : public std::enable_shared_from_this<DeviceQueues> {
 public:
  // Told to the operator, once for each.
  using Warn = std::function<void(std::string_view what, std::string_view queue)>;

  DeviceQueues(Host& host, const DevicePlugins& plugins, Warn warn);

  void begin();  // after a change of the plugins
  void tick();   // several times a second
  void close();  // nothing is asked any more
  bool settled() const { return !wanted_ && !running_; }

  // Whether the store has this queue, as far as is known. The number of names that are remembered
  // is bounded; a forgotten one only costs a look.
  bool has(std::string_view queue) const { return known_.contains(std::string(queue)); }
  void learn(const std::string& queue);
  void forget(const std::string& queue) { known_.erase(queue); }
  Configure configure(const std::string& queue, const DevicePlugin& plugin) const;

 private:
  void look();
  void take(const DestinationPage& page);
  void mend(const DestinationView& queue);
  void post(Event event, std::string queue);

  Host& host_;
  const DevicePlugins& plugins_;
  Warn warn_;
  std::unordered_set<std::string> known_;
  std::string cursor_;
  bool wanted_ = false;   // from the beginning, as soon as the door is open
  bool running_ = false;  // a page has been asked for
  bool failed_ = false;   // something of this round was not done
  bool closed_ = false;
};

}  // namespace postrider::device_door
