// ArrivalSource: where something came from that arrived unasked. Stored with it, so that it can be
// read again.
#pragma once

#include <string>

namespace postrider {

struct ArrivalSource {
  std::string origin;  // the plugin, destination or peer that brought it
  std::string kind;    // what it is, in the far side's word; empty: the bytes say so
  std::string format;  // how the bytes are written; empty: there is one way only
  friend bool operator==(const ArrivalSource&, const ArrivalSource&) = default;
};

// For people and for fingerprints: "plugin up json".
inline std::string to_string(const ArrivalSource& source) {
  std::string out = source.origin;
  for (const std::string* word : {&source.kind, &source.format}) {
    if (!word->empty()) out.append(" ").append(*word);
  }
  return out;
}

}  // namespace postrider
