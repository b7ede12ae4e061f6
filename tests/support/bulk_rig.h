// BulkRig: a shard with dead letters, and the words of jobs, groups and the audit.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/shard_rig.h"

namespace postrider {

class Bulk : public ShardRig {
 protected:
  void open_with(const std::vector<std::string>& names, const NamedTexts& settings = {}) {
    open();
    for (const std::string& name : names) post(configure(next(), name, settings));
  }
  std::uint64_t next() { return ++ticket_; }

  // The open attempts end with this status, oldest first; each message was accepted before the one
  // behind it.
  std::vector<MessageId> kill(const std::string& destination, std::size_t count, int status = 400) {
    std::vector<MessageId> ids;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t ticket = next();
      Submit event = submit(ticket, destination);
      event.body = destination + " " + std::to_string(i);
      post(std::move(event));
      ids.push_back(id_of(ticket));
      post(answer(last_attempt(), status));
      advance(1s);
    }
    return ids;
  }

  DeadGroupList groups(const std::string& destination = {}) {
    Query event = ask(next(), Query::What::kDeadGroups);
    event.destination = destination;
    post(event);
    return view_of<DeadGroupList>(ticket_);
  }
  StartJob order(JobAction action, const std::string& destination = {}) {
    StartJob start;
    start.caller.ticket = Ticket(next());
    start.caller.actor = "ops";
    start.order.action = action;
    start.order.filter.destination = destination;
    start.order.rate = 1000;
    return start;
  }
  JobId start(const StartJob& event) {
    post(event);
    EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
    return JobId(id_of(ticket_).low);
  }
  Job job(JobId id) {
    Query event = ask(next(), Query::What::kJob);
    event.job = id;
    post(event);
    const JobList list = view_of<JobList>(ticket_);
    return list.jobs.empty() ? Job() : list.jobs.front();
  }
  std::vector<Job> jobs() {
    post(ask(next(), Query::What::kJobs));
    return view_of<JobList>(ticket_).jobs;
  }
  std::vector<AuditRecord> audit() {
    post(ask(next(), Query::What::kAudit));
    std::vector<AuditRecord> out;
    for (const AuditPage::Line& line : view_of<AuditPage>(ticket_).lines)
      out.push_back(line.record);
    return out;
  }
  Counters counters() {
    post(ask(next(), Query::What::kStats));
    return view_of<Stats>(ticket_).counters;
  }
  std::vector<std::string> bodies_started() const {
    std::vector<std::string> out;
    for (const StartAttempt& start : starts())
      out.emplace_back(start.request.body.data(), start.request.body.size());
    return out;
  }

  std::uint64_t ticket_ = 0;
};

}  // namespace postrider
