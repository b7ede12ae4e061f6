#include "postrider/model/wall_books.h"

#include "postrider/model/answer.h"

namespace postrider {

Timestamp WallBooks::meant(Timestamp stamp) const {
  for (const Leap& leap : leaps) {
    if (leap.from < stamp && stamp <= leap.until) return stamp + leap.by;
  }
  return stamp;
}

void WallBooks::believe(const Leap& leap) {
  if (leaps.size() == kLeapsMax) leaps.erase(leaps.begin());
  leaps.push_back(leap);
}

namespace {

// No engine reckons with times so far ahead that are not the wall's own, which is further ahead
// when it is in doubt.
constexpr Duration kNear{24h};

// Visits every stamp of an answer.
struct Shower {
  const WallBooks& books;
  Timestamp now;
  Duration doubt;

  void show(Timestamp& stamp) const {
    if (!stamp.is_set()) return;
    stamp = books.meant(stamp);
    if (books.made_in_doubt(stamp) && stamp <= now + kNear) stamp = stamp + doubt;
  }
  // The times that callers gave are as far from its acceptance as they were meant.
  void show(const Timestamp& accepted, Timestamp& given) const {
    Timestamp shown = accepted;
    show(shown);
    if (given.is_set()) given = given + (shown - accepted);
  }
  void show(AttemptList& list) const {
    for (AttemptNote& note : list.notes) show(note.at);
  }
  void show(Route& route) const {
    for (Timestamp* at :
         {&route.closed_until, &route.failing_since, &route.health_since, &route.seen_at,
          &route.held_since, &route.revive_at, &route.delivered_at, &route.sweep_until,
          &route.latest_until})
      show(*at);
  }

  void operator()(std::monostate& /*nothing*/) const {}
  void operator()(Explanation& it) const {
    show(it.accepted, it.expires);
    for (Timestamp* at : {&it.accepted, &it.since, &it.next_at}) show(*at);
    show(it.attempt_list);
  }
  void operator()(Stats& it) const { show(it.now); }
  void operator()(LogPage& it) const {
    for (LogEntry& entry : it.entries) {
      show(entry.at);
      show(entry.accepted);
    }
  }
  void operator()(DeadLetters& it) const {
    for (DeadLetter& letter : it.letters) show(letter.at);
  }
  void operator()(DestinationView& it) const {
    show(it.route);
    if (!it.activity) return;
    for (Timestamp* at : {&it.activity->since, &it.activity->failed_at, &it.activity->next_at})
      show(*at);
  }
  void operator()(DestinationPage& it) const {
    for (DestinationView& view : it.destinations) (*this)(view);
  }
  void operator()(MessagePage& it) const {
    for (Explanation& message : it.messages) (*this)(message);
  }
  void operator()(MessageView& it) const {
    show(it.explanation.accepted, it.not_before);
    (*this)(it.explanation);
    show(it.first_attempt);
    for (TrailStep& step : it.trail) show(step.at);
  }
  void operator()(ArrivalPage& it) const {
    for (Arrival& arrival : it.arrivals) show(arrival.at);
  }
  void operator()(ShapePage& it) const {
    for (ShapeRow& row : it.rows) {
      show(row.oldest);
      show(row.next_at);
    }
  }
  void operator()(QueuePage& it) const {
    for (QueueRow& row : it.rows) show(row.oldest);
  }
  void operator()(DeadGroupList& it) const {
    for (auto& group : it.groups) {
      show(group.first);
      show(group.last);
    }
  }
  void operator()(JobList& it) const {
    for (Job& job : it.jobs) {
      for (Timestamp* at : {&job.created, &job.finished, &job.round_at, &job.next_at}) show(*at);
    }
  }
  void operator()(DryRun& /*it*/) const {}
  void operator()(AuditPage& it) const {
    for (auto& line : it.lines) show(line.record.at);
  }
  void operator()(HoldList& it) const {
    for (Hold& hold : it.holds) show(hold.since);
  }
  void operator()(FanoutView& /*it*/) const {}
  void operator()(FanoutGroupPage& it) const {
    for (auto& group : it.groups) show(group.changed);
  }
  void operator()(MailboxPage& it) const {
    for (MailboxPage::Item& item : it.items) {
      show(item.accepted, item.expires);
      show(item.accepted);
    }
  }
  void operator()(Confirmed& /*it*/) const {}
  void operator()(EndView& it) const { show(it.at); }
  void operator()(CardPage& /*it*/) const {}  // for stations, which go by engine time
};

}  // namespace

void show_by_wall(const WallBooks& books, Timestamp now, Duration doubt, Answer& answer) {
  if (!books.plain()) std::visit(Shower{books, now, doubt}, answer.view);
}

}  // namespace postrider
