#include "postrider/transports/net/ares_channel.h"

#include <utility>

#include <ares.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace postrider {
namespace {

// c-ares wants its global part initialised once per process.
int init_library() {
  static const int kStatus = ares_library_init(ARES_LIB_INIT_ALL);
  return kStatus;
}

}  // namespace

struct AresChannel::Watch {
  explicit Watch(boost::asio::io_context& loop) : descriptor(loop) {}
  boost::asio::posix::stream_descriptor descriptor;
  bool open = true;
  bool wants_read = false;
  bool wants_write = false;
  bool reading = false;
  bool writing = false;
};

AresChannel::AresChannel(boost::asio::io_context& loop, std::function<void()> processed)
    : loop_(loop), processed_(std::move(processed)) {}

AresChannel::~AresChannel() { close(); }

Result<std::unique_ptr<AresChannel>> AresChannel::make(boost::asio::io_context& loop,
                                                       const AresOptions& options,
                                                       std::function<void()> processed) {
  std::unique_ptr<AresChannel> channel(new AresChannel(loop, std::move(processed)));
  if (const auto opened = channel->open(options); !opened) return tl::unexpected(opened.error());
  return channel;
}

Result<void> AresChannel::open(const AresOptions& options) {
  ares_options settings{};
  settings.timeout = static_cast<int>(options.ask_time_out.count());
  settings.tries = static_cast<int>(options.asks_max);
  settings.sock_state_cb_data = this;
  settings.sock_state_cb = [](void* self, ares_socket_t socket, int readable, int writable) {
    static_cast<AresChannel*>(self)->watch(socket, readable != 0, writable != 0);
  };
  const int wanted = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
  if (init_library() != ARES_SUCCESS || ares_init_options(&channel_, &settings, wanted) != 0)
    return fail(ErrorCode::kUnavailable, "the name resolver cannot be set up");
  std::string servers;
  for (const std::string& server : options.servers)
    servers.append(servers.empty() ? "" : ",").append(server);
  if (!servers.empty() && ares_set_servers_ports_csv(channel_, servers.c_str()) != ARES_SUCCESS)
    return fail(ErrorCode::kInvalid, "name_servers: '" + servers + "' are no addresses of servers");
  return {};
}

void AresChannel::close() {
  // Ends all questions and closes all sockets.
  if (channel_ != nullptr) ares_destroy(std::exchange(channel_, nullptr));
}

void AresChannel::process(int readable, int writable) {
  if (channel_ == nullptr) return;
  ares_process_fd(channel_, readable, writable);
  processed_();
}

void AresChannel::sweep() { process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); }

void AresChannel::watch(int socket, bool readable, bool writable) {
  auto found = watches_.find(socket);
  if (!readable && !writable) {
    if (found == watches_.end()) return;
    // c-ares closes the socket behind this; only the loop must let go of it.
    found->second->open = false;
    found->second->descriptor.release();
    watches_.erase(found);
    return;
  }
  if (found == watches_.end()) {
    auto fresh = std::make_shared<Watch>(loop_);
    boost::system::error_code error;
    fresh->descriptor.assign(socket, error);
    if (error) return;  // nobody will hear the answer, so the question times out
    found = watches_.emplace(socket, std::move(fresh)).first;
  }
  found->second->wants_read = readable;
  found->second->wants_write = writable;
  arm(found->second);
}

void AresChannel::arm(const std::shared_ptr<Watch>& watch) {
  using Descriptor = boost::asio::posix::stream_descriptor;
  const auto wait = [this, &watch](Descriptor::wait_type what, bool Watch::*under_way, bool write) {
    if ((*watch).*under_way) return;
    (*watch).*under_way = true;
    watch->descriptor.async_wait(what, [this, watch, under_way, write](boost::system::error_code) {
      (*watch).*under_way = false;
      if (!watch->open) return;  // and this channel may be gone
      const int socket = watch->descriptor.native_handle();
      process(write ? ARES_SOCKET_BAD : socket, write ? socket : ARES_SOCKET_BAD);
      if (watch->open) arm(watch);
    });
  };
  if (watch->wants_read) wait(Descriptor::wait_read, &Watch::reading, false);
  if (watch->wants_write) wait(Descriptor::wait_write, &Watch::writing, true);
}

}  // namespace postrider
