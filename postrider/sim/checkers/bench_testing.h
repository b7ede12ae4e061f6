// A bench on which a checker is shown hand-made histories: good ones, which it must let pass, and
// bad ones, which it must not. It writes records as the engine would and keeps the counters, unless
// a test falsifies them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "postrider/sim/checkers/all.h"
#include "postrider/sim/fields/all.h"

namespace postrider::sim {

class CheckerBench {
 public:
  explicit CheckerBench(CheckerMaker* maker, NamedTexts settings = {{"peer", "peer-0"}}) {
    shard.engine.profiles = {};
    context =
        std::make_unique<CheckerContext>(CheckerContext{verdicts, shard, destinations, clock});
    checker = maker(*context, notebook);
    begin(1);
    configure(std::move(settings));
  }

  void begin(Incarnation number) {
    incarnation = number;
    checker->began(moment(), Epoch(number));
  }

  void configure(NamedTexts settings) {
    WriteBatch batch;
    batch.put(keys::config(destination),
              encode_config({"destination-0", "drill", std::move(settings), false}));
    commit(std::move(batch));
    pass(10s);
  }

  void pass(Duration time) {
    now = now + time;
    agenda.at(now, [] {});
    agenda.run_next();
  }

  Timestamp engine_now() const { return now - behind; }
  Moment moment() const { return {now, engine_now(), incarnation}; }

  // With the counters and the clock, as every commit has them.
  void commit(WriteBatch batch, bool with_meta = true) {
    Meta meta;
    meta.counters = counters;
    meta.clock_floor = now;
    if (with_meta) batch.put(keys::meta(), encode_meta(meta));
    const Applied applied{Epoch(incarnation), batch, std::exchange(ranges, {})};
    std::vector<std::string> faults;
    const Batch read = notebook.read({moment(), applied}, faults);
    for (std::string& fault : faults) verdicts.violation(1, std::move(fault));
    checker->batch(read);
  }

  Message message(std::uint64_t number, std::uint8_t method = 1, std::uint8_t lane = 0) {
    Message fields;
    fields.id = MessageId::make(destination, lane, 0,
                                Sequence((std::uint64_t{incarnation} << kCounterBits) + number));
    fields.accepted = now;
    fields.method = method;
    return fields;
  }

  Message put(WriteBatch& batch, const Message& fields, std::uint64_t operation = 0) {
    const std::string body =
        "{\"operation\":" + std::to_string(operation != 0 ? operation : fields.id.low) + "}";
    Message whole = encode_message(fields, {}, body);
    batch.put_once(keys::hot(whole.id.sequence(), keys::Part::kMessage), whole.record);
    ++counters.accepted;
    return whole;
  }

  Message accept(const Message& fields, std::uint64_t operation = 0) {
    WriteBatch batch;
    Message whole = put(batch, fields, operation);
    commit(std::move(batch));
    return whole;
  }

  EndRecord end_of(const Message& message, Phase phase) const {
    EndRecord end;
    end.id = message.id;
    end.phase = phase;
    end.attempts = 1;
    end.accepted = message.accepted;
    end.at = now;
    return end;
  }

  void put_end(WriteBatch& batch, const EndRecord& end, bool logged = true) {
    batch.remove_once(keys::hot(end.id.sequence(), keys::Part::kMessage));
    batch.put(keys::end(1, end.id.sequence()), encode_end(end));
    if (end.phase == Phase::kDead || end.phase == Phase::kExpired) {
      DeadLetter letter;
      letter.id = end.id;
      letter.phase = end.phase;
      letter.at = end.at;
      batch.put(keys::dead(1, end.id), encode_dead(letter, "letter"));
    }
    LogEntry entry;
    entry.at = end.at;
    entry.id = end.id;
    entry.phase = end.phase;
    if (logged) batch.put(keys::log(1, Sequence(++pages)), encode_log({entry}));
    if (end.phase == Phase::kDelivered) ++counters.delivered;
    if (end.phase == Phase::kDead) ++counters.dead;
    if (end.phase == Phase::kExpired) ++counters.expired;
    if (end.phase == Phase::kCancelled) ++counters.cancelled;
  }

  void end(const Message& message, Phase phase) {
    WriteBatch batch;
    put_end(batch, end_of(message, phase));
    commit(std::move(batch));
  }

  void store_state(const Message& message, const State& state) {
    WriteBatch batch;
    batch.put(keys::hot(message.id.sequence(), keys::Part::kState), encode_state(state, ""));
    commit(std::move(batch));
  }

  AttemptId leave(const Message& message, std::string verb = "SEND") {
    StartAttempt start;
    start.attempt = AttemptId(++attempts);
    start.message = message.id;
    start.request.verb = std::move(verb);
    start.request.target = "drill:peer-0";
    start.request.headers = {{"drill-id", to_string(message.id)},
                             {"drill-now", std::to_string(engine_now().ms())}};
    start.request.owner = message.record;
    start.request.body = message.body;
    const Call call = all_fields().read_call(start.request, IdCodec(IdKey()));
    checker->left({moment(), engine_now() - Duration(1), start, call});
    return start.attempt;
  }

  void outcome(AttemptId attempt, int status, NamedTexts headers = {}) {
    WireReply reply;
    reply.status = status;
    reply.headers = std::move(headers);
    checker->outcome({moment(), attempt, reply});
  }

  Ticket ask(Event event) {
    const Ticket ticket(++tickets);
    checker->asked({moment(), ticket, event, ticket.value()});
    return ticket;
  }
  void tell(Ticket ticket, const Answer& answer) { checker->told({moment(), ticket, answer}); }

  // The numbers of the checkers that complained.
  bool complained() const { return verdicts.size() > 0; }
  std::string text() const {
    return verdicts.list().empty() ? std::string() : verdicts.list().front();
  }

  Agenda agenda{Timestamp(1'700'000'000'000)};
  SimClock clock{agenda};
  Verdicts verdicts{agenda};
  ShardOptions shard;
  std::vector<DestinationConfig> destinations;
  Notebook notebook{all_fields(), *all_fields().find("drill")};
  std::unique_ptr<CheckerContext> context;
  std::unique_ptr<Checker> checker;
  DestinationId destination = destination_id("destination-0", "destination-0", 0);
  Timestamp now{1'700'000'000'000};  // true time
  Duration behind{0};                // of the engine, whose wall was set back
  Incarnation incarnation = 1;
  Counters counters;
  std::vector<Applied::Range> ranges;
  std::uint64_t attempts = 0;
  std::uint64_t tickets = 0;
  std::uint64_t pages = 0;
};

}  // namespace postrider::sim
