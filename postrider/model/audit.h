// Audit: what operators did, each action in the commit of its effect, kept for a time of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/ids.h"

namespace postrider {

struct AuditRecord {
  Timestamp at;
  std::string actor;   // the operator: the name of a token, or the way by which they came
  std::string action;  // "pause", "redrive", "job-start", …
  std::string target;  // a message, a destination, a job
  std::string reason;  // their words, when they gave any
  std::string effect;  // what we answered
  friend bool operator==(const AuditRecord&, const AuditRecord&) = default;
};
std::string encode_audit(const AuditRecord& audit);
Result<AuditRecord> decode_audit(std::string_view record);

struct AuditPage {
  struct Line {
    Sequence sequence;
    AuditRecord record;
  };
  std::vector<Line> lines;  // in the order that was asked for
  std::string next;         // ask from here; empty: that was all
};

}  // namespace postrider
