// What the egress says, in the form that homeservers use among each other. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "postrider/servers/http/http_server.h"

namespace postrider::matrix_door {

// {"errcode":"M_FORBIDDEN","error":"…"}
HttpResponse matrix_error(int status, std::string_view errcode, std::string_view text);
// The same for a status that the server finds by itself.
HttpResponse matrix_error(int status, std::string_view text);
// "We cannot now": 503 with Retry-After.
HttpResponse not_now(std::string_view text);
// To a request that could not be relayed. Never another status: a 4xx would make the homeserver
// give up what it may still get from other servers.
HttpResponse not_relayed(std::string_view text);

}  // namespace postrider::matrix_door
