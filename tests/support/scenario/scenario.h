// Scenarios: transcripts in tests/scenarios/<profile>/*.txt. A line that starts with "> " is a
// command; the lines below it are what clients, peers and operators saw until nothing more happened
// at that instant. The real shard runs over the memory store with a virtual clock and a scripted
// peer. docs/testing.md describes the commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace postrider::scenario {

// Runs the commands of `text` and returns the whole transcript as it should read. A command that
// makes no sense leaves a line that starts with "!!", so that the comparison fails and says why.
// `profile` is the one of destinations that name none.
std::string play(std::string_view text, std::string_view profile);

// The words of a command: separated by spaces, "in quotation marks" when they hold any.
std::vector<std::string> split_words(std::string_view line);

}  // namespace postrider::scenario
