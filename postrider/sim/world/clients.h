// Clients: everybody who asks the process for something. Submitters with and without operation
// keys, who ask again when nobody answers, and sometimes with other content; operators; readers of
// the log and of the dead letters.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/model/event.h"
#include "postrider/sim/world/agenda.h"
#include "postrider/sim/world/field.h"
#include "postrider/sim/world/history.h"
#include "postrider/sim/world/options.h"
#include "postrider/sim/world/submit_draws.h"
#include "postrider/sim/world/trace.h"

namespace postrider::sim {

class Clients {
 public:
  struct Surroundings {
    Agenda& agenda;
    Trace& trace;
    Witness& witness;
    const SimOptions& options;
    const Fields& fields;
    const Field& field;  // of the world
    std::vector<DestinationConfig> destinations;
    std::function<Incarnation()> running;
    std::function<bool(Incarnation, Event)> post;
    std::function<Moment(Incarnation)> moment;
    std::function<Timestamp()> engine_now;
    std::function<void(MessageId)> rumour;
  };
  Clients(Surroundings around, Rng rng);
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  void begin();  // enters everything that will be asked
  // In a staged world only destinations are made; messages come when they are sent for.
  void begin_staged();
  void send(std::uint32_t destination, std::uint32_t count);
  void told(Incarnation process, Ticket ticket, const Answer& answer);
  void process_died(Incarnation process);
  void arrive(std::string text);  // news for the profile, repeated until it is acknowledged
  void bring(Arrived event, bool repeats);  // news from outside, as it came

  void maintain(std::uint32_t destination);  // pauses it for a while

  // The second phase: nothing new; everything is opened, and what is parked is revived.
  void calm();
  std::uint64_t accepted() const { return accepted_; }

 private:
  struct Wish {
    Event event;
    bool insists = false;  // asks again, as the same, when nobody answers
  };
  struct Waiting {
    std::uint64_t wish;
    Incarnation process;
  };

  std::uint64_t wish(Event event, bool insists);
  void ask(std::uint64_t number);
  void give_up(std::uint64_t number) { wishes_.erase(number); }
  Duration up_to(Duration most) { return Duration(rng_.between(0, most.count())); }
  void plan_submits();
  void plan_rushes();
  void rush(std::uint32_t destination);
  void burst(std::uint32_t destination, std::uint32_t count);
  void submit_told(const Submit& submit, const Answer& answer);
  void ask_same_again(const Submit& submit);
  void follow_up(const Submit& submit, MessageId id);

  // operators.cc
  void plan_operators();
  void operate();
  void operate_destination(const std::string& name);
  void operate_message(MessageId id);
  void change_settings(std::uint32_t destination);
  void read_log();
  void log_told(const LogPage& page);
  void list_dead();
  void dead_told(const DeadLetters& letters);
  void treat_letter(const DeadLetter& letter);
  void drain(std::uint32_t destination);
  void plan_jobs();
  void start_job();
  void hold_some();
  std::string some_tenant();
  void release(const std::string& name);
  JobFilter draw_filter(JobAction action);
  void plan_imports();
  void export_some();
  void export_told(const DeadLetters& letters);
  void job_told(const StartJob& start, const Answer& answer);
  void cancel_job(JobId id, bool insists);
  void stop_repeating();

  // fanouts.cc
  void plan_fanouts();
  void change_group(std::uint32_t number, bool first);
  void fan_out();
  void fanout_told(const FanOut& event, const Answer& answer);

  // readers.cc
  struct Reader {  // of one mailbox
    std::string destination;
    MessageId after = {};
    std::uint64_t wish = 0;
  };
  void plan_readers();
  void plan_reader(const std::string& destination);
  void read_mailbox(std::size_t reader);
  void wait_at_mailbox(std::size_t reader);
  bool reader_told(std::uint64_t number, const Wish& wanted, const Answer& answer);
  void page_told(std::size_t reader, const MailboxPage& page);
  void await_end(MessageId id);

  // templates.cc
  void plan_templates();
  std::string some_made();
  void put_template(const std::string& name, bool keeps);
  void operate_template();
  void operate_made();
  void send_list();
  void calm_templates();

  // questions.cc
  struct Listing {  // one who lists everything, page by page, again and again
    Query query;
    std::uint64_t wish = 0;
    std::uint32_t pages = 0;
  };
  void begin_listings();
  void list_messages();
  void list_destinations();
  bool listing_told(std::uint64_t number, const Answer& answer);
  void turn_page(Listing& listing, std::string next, void (Clients::*anew)());
  void ask_question();
  OperationKey any_key();
  void note_key(const OperationKey& key);
  Caller draw_caller();
  const DestinationConfig& any_destination() {
    return around_.destinations[rng_.below(around_.destinations.size())];
  }
  MessageId any_message();

  Surroundings around_;
  Rng rng_;
  SubmitDraws draws_;
  std::unique_ptr<Workload> workload_;
  Rng job_rng_;  // of its own, as those below, so that the other draws stay what they were
  Rng fan_rng_;
  Rng rush_rng_;
  Rng import_rng_;
  Rng read_rng_;
  Rng list_rng_;
  bool has_templates_ = false;
  std::map<std::string, DestinationConfig> templates_;
  std::vector<JobId> repeating_;
  bool bulk_ = false;  // jobs of this world touch live messages, too
  std::map<std::uint64_t, Wish> wishes_;
  std::map<std::uint64_t, Waiting> waiting_;  // by ticket
  std::uint64_t last_wish_ = 0;
  std::uint64_t last_ticket_ = 0;
  std::uint64_t last_news_ = 0;
  std::uint64_t last_fanout_ = 0;
  std::uint64_t accepted_ = 0;
  std::vector<MessageId> known_;  // the last few, as a ring
  std::size_t known_next_ = 0;
  LogPosition log_from_;
  std::uint64_t log_wish_ = 0;
  std::string dead_from_;
  std::uint64_t dead_wish_ = 0;
  std::uint64_t export_wish_ = 0;
  std::vector<Reader> readers_;
  Listing messages_;
  Listing destinations_;
  std::vector<OperationKey> used_keys_;  // the last few, as a ring
  std::size_t used_keys_next_ = 0;
  bool calm_ = false;
};

}  // namespace postrider::sim
