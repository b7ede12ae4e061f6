#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"
#include "postrider/core/inquiry/inquiry.h"

namespace postrider::core {
namespace {

// A cursor that is not ours must not lead anywhere else in the store.
Answer foreign_cursor(std::string_view what) {
  Answer invalid;
  invalid.code = AnswerCode::kInvalid;
  invalid.detail =
      "this is not a cursor of " + std::string(what) + "; ask without one, from the beginning";
  return invalid;
}

// A page of a space by bucket and sequence; what cannot be read goes into quarantine.
struct Listed {
  char space;
  std::string_view name;
  std::uint32_t limit;
  bool newest_first = false;
};
template <class Page, class Step, class Decode, class Take>
std::optional<Answer> list_by_sequence(Step& step, std::string_view cursor, const Listed& what,
                                       Decode decode, Take take) {
  if (!cursor.empty() && cursor[0] != what.space) return foreign_cursor(what.name);
  Scan scan{keys::space(what.space), keys::after_prefix(keys::space(what.space)), what.limit};
  scan.backward = what.newest_first;
  if (!cursor.empty()) (what.newest_first ? scan.last : scan.first) = cursor;
  const Rows* rows = step.scan(scan);
  if (rows == nullptr) return std::nullopt;
  Page page;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_bucketed(row.first);
    auto record = decode(row.second.view());
    if (!key || !record) {
      step.damaged.push_back(row);
      continue;
    }
    take(page, Sequence(key->high), std::move(*record));
  }
  if (!rows->complete) page.next = rows->next;
  Answer answer;
  answer.view = std::move(page);
  return answer;
}

Answer query_answer(AnswerCode code, std::string detail) {
  Answer answer;
  answer.code = code;
  answer.detail = std::move(detail);
  return answer;
}

Answer no_such_group(const std::string& name) {
  return query_answer(AnswerCode::kNotFound, "there is no group '" + name + "'");
}

}  // namespace

void Inquiry::on(Step& step, const Query& query) {
  std::optional<Answer> answer;
  switch (query.what) {
    case Query::What::kExplain: answer = explain(step, query.id); break;
    case Query::What::kStats: POSTRIDER_CHECK(false);  // the engine answers it
    case Query::What::kLog: answer = read_log(step, query); break;
    case Query::What::kDeadLetters: answer = list_dead(step, query); break;
    case Query::What::kDestination: answer = describe(step, query); break;
    case Query::What::kDestinations: answer = list_destinations(step, query); break;
    case Query::What::kMessages: answer = list_messages(step, query); break;
    case Query::What::kMessage: answer = show_message(step, query.id); break;
    case Query::What::kOperation: answer = look_up_operation(step, query.key); break;
    case Query::What::kArrivals: answer = list_arrivals(step, query); break;
    case Query::What::kShape: answer = shape(step, query); break;
    case Query::What::kQueues: answer = list_queues(step, query); break;
    case Query::What::kDeadGroups: answer = list_groups(step, query); break;
    case Query::What::kJobs:
    case Query::What::kJob: answer = jobs_.list_jobs(query); break;
    case Query::What::kAudit: answer = list_audit(step, query); break;
    case Query::What::kHolds: answer = holds_.list_holds(); break;
    case Query::What::kFanoutGroups: answer = list_fanout_groups(step, query); break;
    case Query::What::kFanoutGroup: answer = show_group(step, query); break;
    case Query::What::kRuns: answer = list_runs(step, query.id); break;
    case Query::What::kReadMailbox: answer = read_mailbox(step, query); break;
    case Query::What::kCard:
    case Query::What::kCards: answer = show_cards(step, query); break;
  }
  if (step.lacks()) return;
  POSTRIDER_CHECK(answer.has_value());
  step.reply(query.ticket, std::move(*answer));
}

std::optional<Answer> Inquiry::read_log(Step& step, const Query& query) {
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.answer_rows_max);
  LogPage page;
  LogPosition from = query.from;
  const keys::Bucket oldest = receipts_.oldest(Kept::kLog);
  if (from.bucket != 0 && from.bucket < oldest) {
    page.fell_behind = receipts_.fell_behind(from);
    from = {oldest, from.page, from.index};
  }
  const Rows* rows = step.scan({keys::log(from.bucket, Sequence(from.page)),
                                keys::after_prefix(keys::space(keys::kLog)), limit});
  if (rows == nullptr) return std::nullopt;
  page.next = from;
  page.at_end = rows->complete;
  if (!rows->complete) {
    // Nothing but removed pages so far: go on behind them.
    const auto behind =
        keys::parse_bucketed(std::string_view(rows->next).substr(0, rows->next.size() - 1));
    if (behind) page.next = {behind->bucket, behind->high + 1, 0};
  }
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_bucketed(row.first);
    auto entries = key ? decode_log(row.second.view(), key->bucket, Sequence(key->high))
                       : Result<std::vector<LogEntry>>(fail(ErrorCode::kCorrupt, {}));
    if (!entries) {
      step.damaged.push_back(row);
      continue;
    }
    bool whole = true;
    for (LogEntry& entry : *entries) {
      if (entry.position < from) continue;
      whole = page.entries.size() < limit;
      if (!whole) break;
      page.next = {entry.position.bucket, entry.position.page, entry.position.index + 1};
      if (entry.id.is_set()) {
        entry.destination = destinations_.name_of_destination(step, entry.id.destination(),
                                                              Destinations::Removed::kKeepsItsName);
      }
      page.entries.push_back(std::move(entry));
    }
    if (!whole) {
      page.at_end = false;
      break;
    }
    // Nothing of this page is left, so a reader that waits behind it does not miss it when it goes.
    page.next = {key->bucket, key->high + 1, 0};
  }
  // A reader that has seen everything waits behind everything, so that retention never takes what
  // it has not read.
  if (page.at_end) page.next = {receipts_.running(Kept::kLog), sequences_.last() + 1, 0};
  if (step.lacks()) return std::nullopt;
  Answer answer;
  answer.view = std::move(page);
  return answer;
}

// Parked messages first, then the dead and expired; the cursor's first byte says which.
std::optional<Answer> Inquiry::list_dead(Step& step, const Query& query) {
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.answer_rows_max);
  DeadLetters out;
  std::string from = query.cursor;
  if (!from.empty() && from[0] != keys::kParked && from[0] != keys::kDead)
    return foreign_cursor("the dead letters");
  if (from.empty() || from[0] == keys::kParked) {
    if (!list_parked(step, query, limit, out)) return std::nullopt;
    from = keys::space(keys::kDead);
  }
  if (out.next.empty() && out.letters.size() < limit) {
    const auto left = static_cast<std::uint32_t>(limit - out.letters.size());
    const Rows* rows = step.scan({from, keys::after_prefix(keys::space(keys::kDead)), left});
    if (rows == nullptr) return std::nullopt;
    for (const Row& row : rows->rows) {
      auto dead = decode_dead(row.second.view());
      if (!dead) {
        step.damaged.push_back(row);
        continue;
      }
      Blob content;
      if (query.contents) {
        content = Blob::copy_of(dead->message);
        // Its reader has neither bodies nor dictionaries.
        const auto head = decode_message(content);
        if (head && (head->shared.id != 0 || head->dictionary != 0)) {
          const auto message = bodies_.message_of_letter(step, row.second.view());
          if (step.lacks()) continue;
          if (!message) step.damaged.push_back(row);
          if (!message) continue;
          content = encode_whole(*message);
        }
        dead->letter.rerun = reruns_.rerun_of_letter(step, dead->letter.id, content);
        out.contents.push_back(
            {destinations_.name_of_destination(step, dead->letter.id.destination()),
             std::move(content)});
      }
      out.letters.push_back(dead->letter);
    }
    if (!rows->complete) out.next = rows->next;
    if (step.lacks()) return std::nullopt;
  } else if (out.next.empty()) {
    out.next = from;
  }
  Answer answer;
  answer.view = std::move(out);
  return answer;
}

bool Inquiry::list_parked(Step& step, const Query& query, std::uint32_t limit, DeadLetters& out) {
  const std::string first = query.cursor.empty() ? keys::space(keys::kParked) : query.cursor;
  const Rows* rows = step.scan({first, keys::after_prefix(keys::space(keys::kParked)), limit});
  if (rows == nullptr) return false;
  for (const Row& row : rows->rows) {
    const auto id = keys::parse_parked(row.first);
    if (!id) continue;
    const auto* state = step.get(keys::cold(*id, keys::Part::kState));
    if (state == nullptr || !state->has_value()) continue;
    const auto decoded = decode_state((*state)->view());
    if (!decoded) continue;
    out.letters.push_back({.id = *id,
                           .phase = Phase::kParked,
                           .at = decoded->state.since,
                           .cause = decoded->state.failure,
                           .attempts = decoded->state.attempts,
                           .reason = decoded->reason});
    if (query.contents) out.contents.emplace_back();
  }
  if (!rows->complete) out.next = rows->next;
  return !step.lacks();
}

std::optional<Answer> Inquiry::describe(Step& step, const Query& query) {
  Answer answer;
  if (const auto* wide = destinations_.templates().find(query.destination)) {
    answer.view = view_of(*wide);
    return answer;
  }
  const Destinations::Destined destined = destinations_.find_destination(step, query.destination);
  if (!destined.known) return std::nullopt;
  if (destined.slot == kNoSlot) {
    answer.code = AnswerCode::kNotFound;
    answer.detail = "there is no destination '" + query.destination + "'";
    return answer;
  }
  answer.view = view_of(residents_[destined.slot], step.now);
  return answer;
}

DestinationView Inquiry::view_of(const Resident& resident, Timestamp now) {
  DestinationView view;
  view.id = resident.id;
  view.config = resident.config();
  view.config.profile = resident.bound->profile->name;
  view.config.settings = resident.bound->settings;
  view.route = resident.route;
  view.in_window = resident.in_memory;
  view.open_attempts = resident.open_attempts;
  for (const Lane& lane : resident.lanes) view.owed = view.owed || lane.head.is_set();
  view.activity = activity_of(resident, now);
  return view;
}

// It has no number, no route and no messages.
DestinationView Inquiry::view_of(const Templates::Template& wide) {
  DestinationView view;
  view.config = wide.config;
  return view;
}

// Templates first, by name, with the first page. Then by number, which follows from the name: no
// order that means anything, but a stable one.
std::optional<Answer> Inquiry::list_destinations(Step& step, const Query& query) {
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.answer_rows_max);
  const std::string space = keys::space(keys::kConfig);
  if (!query.cursor.empty() && !query.cursor.starts_with(space))
    return foreign_cursor("destinations");
  const Rows* rows =
      step.scan({query.cursor.empty() ? space : query.cursor, keys::after_prefix(space), limit});
  if (rows == nullptr) return std::nullopt;
  DestinationPage page;
  if (query.cursor.empty()) {
    for (const auto& [name, wide] : destinations_.templates().all())
      page.destinations.push_back(view_of(wide));
  }
  for (const Row& row : rows->rows) {
    const auto id = keys::parse_destination(row.first);
    const auto config = decode_config(row.second.view());
    if (!id || !config) {
      step.damaged.push_back(row);
      continue;
    }
    if (config->removed) continue;
    // Destinations that are not in memory stay outside: a list must not fill the cache.
    if (const Slot found = residents_.find(id->value()); found != kNoSlot) {
      page.destinations.push_back(view_of(residents_[found], step.now));
      continue;
    }
    const auto* route = step.get(keys::route(*id));
    const auto* owed = step.get(keys::owed(*id));
    if (route == nullptr || owed == nullptr) continue;
    DestinationView view;
    view.id = *id;
    view.config = destinations_.templates().in_full(*config);
    view.route = destinations_.peek_at_route(step, *id, *route);
    view.owed = owed->has_value() && decode_owed((*owed)->view()).value_or(Owed()).any();
    page.destinations.push_back(std::move(view));
  }
  if (!rows->complete) page.next = rows->next;
  if (step.lacks()) return std::nullopt;
  Answer answer;
  answer.view = std::move(page);
  return answer;
}

// First the cold space, by destination and order, then the hot one, by age.
std::optional<Answer> Inquiry::list_messages(Step& step, const Query& query) {
  std::optional<DestinationId> only;
  if (!query.destination.empty()) {
    const Destinations::Destined destined = destinations_.find_destination(step, query.destination);
    if (!destined.known) return std::nullopt;
    if (destined.slot == kNoSlot) {
      Answer none;
      none.code = AnswerCode::kNotFound;
      none.detail = "there is no destination '" + query.destination + "'";
      return none;
    }
    only = residents_[destined.slot].id;
  }
  std::string first = keys::space(keys::kCold);
  std::string last = keys::after_prefix(first);
  if (only) {
    first = keys::cold_lane(*only, 0);
    last = keys::after_prefix(keys::cold_lane(*only, kLanes - 1));
  }
  const std::string hot = keys::space(keys::kHot);
  if (query.cursor.starts_with(hot)) {
    first = query.cursor;
    last = keys::after_prefix(hot);
  } else if (!query.cursor.empty()) {
    if (query.cursor < first || query.cursor > last) return foreign_cursor("these messages");
    first = query.cursor;
  }
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.answer_rows_max);
  const Rows* rows = step.scan({first, last, 2 * limit + 1});
  if (rows == nullptr) return std::nullopt;
  MessagePage page;
  page.next = list_rows(step, *rows, only, limit, page);
  if (page.next.empty() && first[0] == keys::kCold) page.next = hot;
  if (step.lacks()) return std::nullopt;
  Answer answer;
  answer.view = std::move(page);
  return answer;
}

// Returns where the next page begins; empty: the rows were all.
std::string Inquiry::list_rows(Step& step, const Rows& rows, std::optional<DestinationId> only,
                               std::uint32_t limit, MessagePage& page) {
  for (std::size_t next = 0; next < rows.rows.size();) {
    const Row& row = rows.rows[next];
    if (page.messages.size() == limit)
      return planted(Bug::kListSkipsBoundary) ? keys::after_prefix(row.first) : row.first;
    const bool has_state =
        next + 1 < rows.rows.size() && lookup_.is_state_of(rows.rows[next + 1].first, row.first);
    // Its state may be on the next page; a page of one message always has both.
    if (!has_state && !lookup_.is_whole(rows, row.first)) return row.first;
    const Row* state = has_state ? &rows.rows[next + 1] : nullptr;
    next += has_state ? 2 : 1;
    const auto message = decode_message(row.second);
    if (!message || (only && message->id.destination() != *only)) continue;
    if (auto explanation = explain_row(step, row, state)) page.messages.push_back(*explanation);
  }
  return rows.complete ? std::string() : rows.next;
}

std::optional<Explanation> Inquiry::explain_row(Step& step, const Row& row, const Row* state) {
  auto message = decode_message(row.second);
  if (!message) return std::nullopt;
  if (const Slot found = window_.find(message->id); found != kNoSlot)
    return explain_entry(step, window_[found]);
  const Destinations::Destined destined =
      destinations_.find_destination(step, message->id.destination());
  if (!destined.known || destined.slot == kNoSlot) return std::nullopt;
  std::optional<StoredState> stored;
  message = lookup_.decode_row(step, destined.slot, row, state, stored).value_or(Message());
  if (!message->id.is_set()) return std::nullopt;
  Entry entry;
  entry.destination = destined.slot;
  entry.space = row.first[0] == keys::kHot ? Space::kHot : Space::kCold;
  entry.state.method = message->method;
  entry.state.state = residents_[destined.slot].bound->profile->methods[message->method].initial;
  entry.message = std::move(*message);
  entry.waits = Waits::kVisiting;
  records_.adopt_state(entry, stored);
  return explain_entry(step, entry);
}

std::optional<Answer> Inquiry::show_message(Step& step, MessageId id) {
  std::optional<Answer> answer = explain(step, id);
  if (!answer || !std::holds_alternative<Explanation>(answer->view)) return answer;
  MessageView view;
  view.explanation = std::get<Explanation>(std::move(answer->view));
  view.lane = id.lane();
  view.priority = id.priority();
  const auto show = [&view](const Message& message) {
    view.not_before = message.not_before;
    view.attributes = message.attributes;
    view.body = message.body;
    view.has_body = true;
  };
  if (const Slot found = window_.find(id); found != kNoSlot) {
    const Entry& entry = window_[found];
    view.first_attempt = entry.state.first_attempt;
    view.notes = entry.notes();
    if (entry.details) view.trail = entry.details->past.trail;
    show(entry.message);
  } else {
    const Letters::Buried buried = letters_.find_content(step, id);
    if (!buried.known) return std::nullopt;
    if (buried.end) {
      view.notes = buried.end->notes;
      view.trail = attempt_history_of(*buried.end).trail;
    }
    if (buried.letter) {
      const auto message = bodies_.message_of_letter(step, buried.letter->view());
      if (step.lacks()) return std::nullopt;
      if (message) show(*message);
    }
  }
  answer->view = std::move(view);
  return answer;
}

std::optional<Answer> Inquiry::list_arrivals(Step& step, const Query& query) {
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.answer_rows_max);
  return list_by_sequence<ArrivalPage>(
      step, query.cursor, {keys::kArrival, "arrivals", limit},
      [this](std::string_view record) { return decode_arrival(record, dictionaries_); },
      [](ArrivalPage& page, Sequence sequence, ArrivalRecord&& it) {
        page.arrivals.push_back(
            {sequence, it.at, std::move(it.profile), std::move(it.source), std::move(it.bytes)});
      });
}

std::optional<Answer> Inquiry::list_audit(Step& step, const Query& query) {
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.answer_rows_max);
  return list_by_sequence<AuditPage>(
      step, query.cursor, {keys::kAudit, "the audit", limit, query.newest_first}, decode_audit,
      [](AuditPage& page, Sequence sequence, AuditRecord&& it) {
        page.lines.push_back({sequence, std::move(it)});
      });
}

// All buckets together, the largest first.
std::optional<Answer> Inquiry::list_groups(Step& step, const Query& query) {
  std::optional<DestinationId> only;
  if (!query.destination.empty()) {
    const Destinations::Destined destined = destinations_.find_destination(step, query.destination);
    if (!destined.known) return std::nullopt;
    if (destined.slot == kNoSlot) {
      Answer none;
      none.code = AnswerCode::kNotFound;
      none.detail = "there is no destination '" + query.destination + "'";
      return none;
    }
    only = residents_[destined.slot].id;
  }
  Answer answer;
  DeadGroupList list = receipts_.cause_counts().list(only);
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.answer_rows_max);
  if (list.groups.size() > limit) {
    list.unlisted = list.groups.size() - limit;
    list.groups.resize(limit);
  }
  for (DeadGroup& group : list.groups)
    group.destination = destinations_.name_of_destination(step, group.id);
  if (step.lacks()) return std::nullopt;
  answer.view = std::move(list);
  return answer;
}

// Judged with the fingerprint that it was used with: a key that was used answers as it did then.
std::optional<Answer> Inquiry::look_up_operation(Step& step, const OperationKey& key) {
  Operations::Remembered remembered = operations_.recall(step, key);
  if (step.lacks()) return std::nullopt;
  const LedgerVerdict verdict =
      judge_key(key, remembered.entry ? remembered.entry->fingerprint : Fingerprint(),
                remembered.entry, remembered.session, operations_.ledger_rule(step), step.now);
  if (verdict.kind == LedgerVerdict::Kind::kReplay) return verdict.answer;
  Answer answer;
  answer.code = AnswerCode::kNotFound;
  answer.detail = "nothing was done under this key, or it is forgotten";
  if (verdict.kind == LedgerVerdict::Kind::kExpired || remembered.damaged) {
    answer.code = AnswerCode::kKeyExpired;
    answer.detail = "this operation key is too old to tell whether it was used";
  }
  return answer;
}

// In the order of acceptance. One whose end is forgotten is told by its id alone.
std::optional<Answer> Inquiry::list_runs(Step& step, MessageId first) {
  const std::vector<MessageId> ids = reruns_.runs_of(step, first);
  if (step.lacks()) return std::nullopt;
  MessagePage page;
  for (const MessageId id : ids) {
    const std::optional<Answer> told = explain(step, id);
    if (!told) continue;
    const auto* explained = std::get_if<Explanation>(&told->view);
    page.messages.push_back(explained != nullptr ? *explained : Explanation());
    page.messages.back().id = id;
  }
  if (step.lacks()) return std::nullopt;
  Answer answer;
  answer.id = first;
  answer.view = std::move(page);
  return answer;
}

std::optional<Answer> Inquiry::show_group(Step& step, const Query& query) {
  auto group = fanouts_.find_group(step, query.group);
  if (step.lacks()) return std::nullopt;
  if (!group) return no_such_group(query.group);
  Answer answer;
  answer.view = FanoutGroupPage{{std::move(*group)}, {}};
  return answer;
}

std::optional<Answer> Inquiry::list_fanout_groups(Step& step, const Query& query) {
  const std::string first = query.cursor.empty() ? keys::space(keys::kFanout) : query.cursor;
  if (first[0] != keys::kFanout)
    return query_answer(AnswerCode::kInvalid, "this cursor does not belong to groups");
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.answer_rows_max);
  const Rows* rows = step.scan({first, keys::after_prefix(keys::space(keys::kFanout)), limit});
  if (rows == nullptr) return std::nullopt;
  FanoutGroupPage page;
  for (const Row& row : rows->rows) {
    auto group = decode_fanout_group(row.second.view());
    if (group && row.first == keys::fanout_group(group->name)) {
      page.groups.push_back(std::move(*group));
    } else {
      step.damaged.push_back(row);
    }
  }
  if (!rows->complete) page.next = rows->next;
  Answer answer;
  answer.view = std::move(page);
  return answer;
}

}  // namespace postrider::core
