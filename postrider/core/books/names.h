// Names: what far sides call messages, and the news that waits for its name. A name, the news that
// waits for it and the message that has it are records; which of them came first does not matter.
//
// Invariants
//   - Every name given is a record; `recent_names_` holds a part of them and is never newer.
//   - News that waits and names are not dropped by age until all claims from before the start
//     have been looked at: a stop may have lasted longer than they are kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/core/books/receipts.h"
#include "postrider/core/books/recent_names.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/model/answer.h"
#include "postrider/model/profile.h"
#include "postrider/model/records/records.h"

namespace postrider::core {

class Names {
 public:
  struct Waiting {  // news of one name
    keys::Bucket bucket = 0;
    std::string key = {};  // empty: there is none
    PendingNews entry = {};
  };
  Names(const EngineLimits& limits, Tallies& tallies, Receipts& receipts, Timestamp now)
      : limits_(limits),
        tallies_(tallies),
        receipts_(receipts),
        recent_(limits.recent_names_max, now) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  static std::string supersede_scope(DestinationId destination);
  NameEntry find_name(Step& step, std::string_view tail, Duration window = Duration(0));
  NameEntry find_named(Step& step, std::string_view scope, std::string_view name);
  void put_name(Step& step, std::string_view scope, std::string_view name, const NameEntry& entry);
  Waiting find_pending_news(Step& step, std::string_view tail);
  void keep_pending_news(Step& step, const std::string& tail, const Subject& subject);
  void restore_pending_news(Step& step, const Chore& chore);
  void give_names(Step& step, const ProfileSpec& profile, NameEntry::Holder holder,
                  const std::vector<ExternalName>& names, Timestamp at);

  // Where a name stands behind the bucket in keys, and in the cursor of a claim.
  static std::string tail_of(const ProfileSpec& profile, const ExternalName& name);
  // A claim of news from before the start has been looked at.
  void old_claim_seen() {
    if (--old_claims_ == 0 && all_old_claims_known_) receipts_.hold_news(false);
  }

 private:
  static std::string tail_in(std::string_view key);

  const EngineLimits& limits_;
  Tallies& tallies_;
  Receipts& receipts_;
  RecentNames recent_;
  std::uint32_t old_claims_ = 0;  // of news from before the start, not looked at yet
  bool all_old_claims_known_ = false;
};

}  // namespace postrider::core
