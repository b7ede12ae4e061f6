// Checkers 52 and 53: what readers of mailboxes see, and what callers that wait are told.
#pragma once

#include <memory>

#include "postrider/sim/world/checkers.h"

namespace postrider::sim {

std::unique_ptr<Checker> make_mailbox_checker(const CheckerContext& context, Notebook& notebook);
std::unique_ptr<Checker> make_await_checker(const CheckerContext& context, Notebook& notebook);

}  // namespace postrider::sim
