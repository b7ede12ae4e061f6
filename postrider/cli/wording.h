// Words of the command line for what was said in others: the daemon's refusals speak of headers,
// parameters and paths, and people who come from elsewhere type the verbs that they know.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace postrider {

// A refusal of the API with options and commands in place of parameters, headers and paths.
std::string in_command_words(std::string detail);

// ", did you mean 'put'?" for a typing error, or for a word that means the same; else nothing.
std::string did_you_mean_verb(std::string_view word, std::span<const std::string_view> verbs);

}  // namespace postrider
