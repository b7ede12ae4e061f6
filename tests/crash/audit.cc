#include "tests/crash/audit.h"

#include <map>
#include <tuple>

#include "postrider/model/id_codec.h"
#include "tests/crash/load.h"

namespace postrider::crash {
namespace {

bool is_good(int status) { return status / 100 == 2; }

std::string name_of(const Arrival& arrival) {
  return to_string(arrival.id) + " (submission " + std::to_string(arrival.serial) + ")";
}

// What the receivers know of one message.
struct Seen {
  std::uint64_t serial = 0;
  std::uint32_t site = 0;
  std::uint64_t good = 0;
  std::uint64_t rejected = 0;
};

std::unordered_map<PublicId, Seen> gather(const std::vector<Arrival>& arrivals) {
  std::unordered_map<PublicId, Seen> out;
  for (const Arrival& arrival : arrivals) {
    Seen& seen = out[arrival.id];
    seen.serial = arrival.serial;
    seen.site = arrival.site;
    if (is_good(arrival.status)) ++seen.good;
    if (arrival.status == 404) ++seen.rejected;
  }
  return out;
}

// One message each: a number has one id, an id one number.
void audit_names(const Evidence& evidence, Findings& out) {
  std::unordered_map<std::uint64_t, PublicId> ids;
  std::unordered_map<PublicId, std::uint64_t> serials;
  const std::uint64_t end = evidence.first_serial + evidence.submissions.size();
  for (const Arrival& arrival : evidence.arrivals) {
    if (!arrival.intact || arrival.serial < evidence.first_serial || arrival.serial >= end) {
      out.push_back("body: " + name_of(arrival) + " is not what was submitted");
      continue;
    }
    const Submission& submission = evidence.submissions[arrival.serial - evidence.first_serial];
    if (submission.site != arrival.site)
      out.push_back("place: " + name_of(arrival) + " is not for site " +
                    std::to_string(arrival.site));
    if (submission.fate == Submission::Fate::kRefused)
      out.push_back("phantom: " + name_of(arrival) + " was refused and came all the same");
    if (submission.fate == Submission::Fate::kAccepted && submission.id != arrival.id)
      out.push_back("key: " + name_of(arrival) + " was accepted as " + to_string(submission.id));
    if (ids.emplace(arrival.serial, arrival.id).first->second != arrival.id)
      out.push_back("key: " + name_of(arrival) + " came with another id before");
    if (serials.emplace(arrival.id, arrival.serial).first->second != arrival.serial)
      out.push_back("body: " + name_of(arrival) + " came with another body before");
  }
}

void audit_fifo(const Evidence& evidence, Findings& out) {
  const IdCodec ids(evidence.id_key);
  std::map<std::pair<std::uint32_t, std::uint8_t>, MessageId> last;
  for (const Arrival& arrival : evidence.arrivals) {
    if (!is_fifo(arrival.site)) continue;
    const MessageId id = ids.inside(arrival.id);
    MessageId& before = last[{arrival.site, id.lane()}];
    if (id < before)
      out.push_back("order: " + name_of(arrival) + " came after " + ids.text(before));
    before = id;
  }
}

}  // namespace

void audit_arrivals(const Evidence& evidence, Findings& out) {
  audit_names(evidence, out);
  audit_fifo(evidence, out);
  std::unordered_map<PublicId, std::uint32_t> good_in;  // the last life in which it was taken well
  for (std::size_t i = 0; i < evidence.arrivals.size(); ++i) {
    const Arrival& arrival = evidence.arrivals[i];
    const auto ended = evidence.ends.find(arrival.id);
    if (ended != evidence.ends.end() && i >= ended->second.arrivals) {
      out.push_back("changed: " + name_of(arrival) + " came again after it was told as " +
                    ended->second.phase);
    }
    const auto good = good_in.find(arrival.id);
    if (good != good_in.end() && good->second == arrival.life)
      out.push_back("duplicate: " + name_of(arrival) + " came again without a kill, in life " +
                    std::to_string(arrival.life));
    if (good != good_in.end() && evidence.clean_lives.contains(good->second))
      out.push_back("duplicate: " + name_of(arrival) +
                    " came again, though the daemon stopped in " + "good order after life " +
                    std::to_string(good->second));
    if (is_good(arrival.status)) good_in[arrival.id] = arrival.life;
  }
}

void audit_order_of_ids(const Evidence& evidence, Findings& out) {
  const IdCodec ids(evidence.id_key);
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint8_t>, MessageId> last;
  for (const Submission& submission : evidence.submissions) {
    if (submission.fate != Submission::Fate::kAccepted || submission.repeated ||
        !is_fifo(submission.site))
      continue;
    const MessageId id = ids.inside(submission.id);
    MessageId& before = last[{submission.client, submission.site, submission.lane}];
    if (id <= before)
      out.push_back("order: " + to_string(submission.id) + " was submitted after " +
                    ids.text(before) + " and stands before it");
    before = id;
  }
}

namespace {

// What is wrong with the end of a message whose submission is known; empty: nothing.
std::string complaint(const Submission& it, const End& end, const Seen& seen) {
  const std::string& phase = end.phase;
  if (phase == "delivered") {
    if (it.unwanted) return "is delivered, though it was always answered with 404";
    if (seen.good == 0) return "is delivered, but no receiver has taken it";
  } else if (phase == "dead") {
    if (!it.unwanted || seen.rejected == 0) return "is dead, but no receiver has rejected it";
    if (end.cause != "rejected") return "is dead because of '" + end.cause + "'";
  } else if (phase == "expired") {
    if (!it.expires) return "is expired, but nobody said when";
  } else if (phase == "cancelled") {
    if (it.cancel == Submission::Cancel::kNone) return "is cancelled, but nobody asked for it";
  } else {
    return "ended as '" + phase + "', which cannot be here";
  }
  // An open attempt is forgotten by a kill; what it may have done must not be.
  const bool bare = end.reason == "stopped on request" || end.reason == "nobody wants it any more";
  if ((phase == "cancelled" || phase == "expired") && seen.good > 0 && bare)
    return "is " + phase + ", '" + end.reason + "', though a receiver has taken it";
  if (it.cancel == Submission::Cancel::kDone && phase != "cancelled")
    return "was cancelled, we were told, but is " + phase;
  return {};
}

}  // namespace

void audit_ends(const Evidence& evidence, const Counters& counters, Findings& out) {
  std::unordered_map<PublicId, Seen> seen = gather(evidence.arrivals);
  std::unordered_set<PublicId> known;
  Counters told;
  told.accepted = evidence.ends.size();
  for (const auto& [id, end] : evidence.ends) {
    if (end.phase == "delivered") ++told.delivered;
    if (end.phase == "dead") ++told.dead;
    if (end.phase == "expired") ++told.expired;
    if (end.phase == "cancelled") ++told.cancelled;
  }
  if (told.accepted != counters.accepted || told.delivered != counters.delivered ||
      told.dead != counters.dead || told.expired != counters.expired ||
      told.cancelled != counters.cancelled) {
    out.push_back("conservation: the outcome log has " + to_text(told) + ", the counters " +
                  to_text(counters));
  }
  std::uint64_t unknown_expiring = 0;  // unseen ones of these may have expired
  for (const Submission& submission : evidence.submissions) {
    if (submission.fate == Submission::Fate::kUnknown && submission.expires) ++unknown_expiring;
    if (submission.fate != Submission::Fate::kAccepted) continue;
    known.insert(submission.id);
    const auto end = evidence.ends.find(submission.id);
    const std::string what = end == evidence.ends.end()
                                 ? "has no end"
                                 : complaint(submission, end->second, seen[submission.id]);
    if (!what.empty())
      out.push_back((end == evidence.ends.end() ? "lost: " : "end: ") + to_string(submission.id) +
                    " " + what);
  }
  for (const auto& [id, end] : evidence.ends) {
    if (known.contains(id)) continue;
    const auto found = seen.find(id);
    if (found == seen.end()) {
      if (end.phase != "expired" || unknown_expiring-- == 0)
        out.push_back("phantom: nobody submitted " + to_string(id) + ", which is " + end.phase);
      if (unknown_expiring == UINT64_MAX) unknown_expiring = 0;
      continue;
    }
    const std::uint64_t index = found->second.serial - evidence.first_serial;
    if (index >= evidence.submissions.size()) continue;  // told by the bodies
    const std::string what = complaint(evidence.submissions[index], end, found->second);
    if (!what.empty()) out.push_back("end: " + to_string(id) + " " + what);
  }
  for (const auto& [id, it] : seen) {
    if (!evidence.ends.contains(id))
      out.push_back("phantom: " + to_string(id) + " was sent, but was never accepted");
  }
}

void audit_counters(const Counters& before, const Counters& now, Bounds accepted,
                    const std::string& who, Findings& out) {
  if (now.accepted < accepted.low || now.accepted > accepted.high) {
    out.push_back("lost: between " + std::to_string(accepted.low) + " and " +
                  std::to_string(accepted.high) + " messages were accepted, but " + who + " has " +
                  to_text(now));
  }
  if (now.accepted < before.accepted || now.delivered < before.delivered ||
      now.dead < before.dead || now.expired < before.expired || now.cancelled < before.cancelled ||
      now.indeterminate < before.indeterminate || now.ended() > now.accepted) {
    out.push_back("conservation: " + who + " has " + to_text(now) + " after " + to_text(before));
  }
}

}  // namespace postrider::crash
