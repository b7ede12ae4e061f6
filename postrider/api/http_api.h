// HttpApi: the /v1 interface over HTTP. Reads requests, asks the host, writes answers; decides
// nothing about messages. On the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "postrider/api/door.h"
#include "postrider/model/profile.h"
#include "postrider/model/seams/clock.h"
#include "postrider/runtime/committer.h"
#include "postrider/runtime/host.h"
#include "postrider/servers/http/http_server.h"

namespace postrider {

// Numbers that the host does not know; for /metrics and /v1/stats.
struct ProcessFigures {
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t cpu_ms = 0;
  std::uint64_t started_ms = 0;  // wall time since 1970
  std::uint64_t threads = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t open_files_max = 0;
  std::uint64_t connections_in = 0;
  std::uint64_t connections_out = 0;
  std::uint64_t held_bytes = 0;  // by the server for its clients
  CommitCounters store;
};

struct HttpApiOptions {
  std::vector<AccessToken> tokens;  // none: everybody who reaches us may do everything …
  std::vector<std::string> names;   // … by one of these names, beside localhost and its addresses
  std::span<const ProfileSpec* const> profiles;
  std::uint32_t body_bytes_max = 256 * 1024;  // of one message
  std::uint32_t list_part_max = 1000;         // destinations of a list that are one commit
  std::uint32_t json_depth_max = 32;
  std::uint32_t json_values_max = 100'000;       // in one JSON text, names included
  std::uint32_t line_bytes_max = 512 * 1024;     // of one NDJSON line
  std::uint32_t lines_waiting_max = 1024;        // of one NDJSON request, not answered yet
  std::uint32_t tails_max = 100;                 // clients of /v1/events
  std::uint32_t metrics_destinations_max = 100;  // with rows of their own in /metrics
  // What the profiles add. The API keeps them for as long as it exists, and nothing else may keep
  // one longer: a door that outlives its desk would answer at a desk that has gone.
  std::vector<std::shared_ptr<api::HttpDoor>> doors;
  std::string version;
  std::function<ProcessFigures()> figures;
};

class HttpApi {
 public:
  class Impl;
  HttpApi(HttpApiOptions options, Host& host, const Clock& clock);
  ~HttpApi();
  HttpApi(const HttpApi&) = delete;
  HttpApi& operator=(const HttpApi&) = delete;

  HttpHandler handler();
  void set_tokens(const std::vector<AccessToken>& tokens);  // on reload
  std::span<const api::RouteRow> routes() const;            // its own, then those of the doors
  void tick();  // several times a second: feeds /v1/events

 private:
  std::shared_ptr<Impl> impl_;  // shared with answers that come after the end, and only look
};

}  // namespace postrider
