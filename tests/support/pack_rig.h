// PackRig: a shard with the profile of packs, whose messages leave in batches.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "postrider/sim/fields/pack/profile.h"
#include "tests/support/task_rig.h"

namespace postrider {

class PackRig : public TaskRig {
 protected:
  PackRig() {
    static const std::array<const ProfileSpec*, 1> kProfiles = {&sim::pack_profile()};
    options.engine.profiles = kProfiles;
  }

  // A first message is on its way alone, and whatever comes then waits for the next batch.
  void make(NamedTexts settings = {}) {
    open();
    Configure event;
    event.caller.ticket = Ticket(++questions);
    event.config.name = "mill";
    event.config.profile = "pack";
    event.config.settings = std::move(settings);
    event.config.settings.emplace_back("peer", "peer-1");
    post(event);
  }
  MessageId send(std::uint8_t lane = 0, NamedTexts attributes = {}) {
    Submit event = submit(++questions, "mill");
    event.attributes = attributes.empty() ? std::string() : encode_texts(attributes);
    event.lane = lane;
    event.body = "body-" + std::to_string(questions);
    post(event);
    return id_of(questions);
  }
  std::vector<MessageId> send_many(std::size_t count, std::uint8_t lane = 0) {
    std::vector<MessageId> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(send(lane));
    return out;
  }
  void reply(int status) { post(answer(last_attempt(), status)); }
  std::string header(std::string_view name) const {
    return std::string(starts().back().request.headers.find(name));
  }
  // The members of the last attempt, the leader first.
  std::vector<MessageId> members() const {
    const StartAttempt start = starts().back();  // a copy, of which the names below are views
    std::vector<MessageId> out = {start.message};
    std::string_view rest = start.request.headers.find("pack-members");
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      out.push_back(parse_message_id(rest.substr(0, end)).value());
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
  }
  Route route() {
    Query question = ask(++questions, Query::What::kDestination);
    question.destination = "mill";
    post(question);
    return view_of<DestinationView>(questions).route;
  }
  std::vector<Phase> phases(const std::vector<MessageId>& ids) {
    std::vector<Phase> out;
    for (const MessageId one : ids) out.push_back(phase(one));
    return out;
  }
};

}  // namespace postrider
