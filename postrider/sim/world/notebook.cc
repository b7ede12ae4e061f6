#include "postrider/sim/world/notebook.h"

#include "postrider/base/codec.h"
#include "postrider/base/hash.h"
#include "postrider/sim/world/plan.h"

namespace postrider::sim {
namespace {

bool is_put(Write::Kind kind) { return kind == Write::Kind::kPut || kind == Write::Kind::kPutOnce; }

std::optional<MessageId> letter_in(std::string_view key) {
  const auto parsed = keys::parse_bucketed(key);
  if (!parsed || key[0] != keys::kDead) return std::nullopt;
  return MessageId{parsed->high, parsed->low};
}

}  // namespace

keys::Bucket bucket_in(std::string_view key) {
  keys::Bucket number = 0;
  for (std::size_t i = 1; i < 5 && i < key.size(); ++i)
    number = (number << 8) | static_cast<unsigned char>(key[i]);
  return number;
}

MessageNote* Notebook::find(Sequence sequence) {
  const auto at = messages_.find(sequence.value());
  return at == messages_.end() ? nullptr : &at->second;
}

MessageNote* Notebook::find(MessageId id) {
  MessageNote* note = find(id.sequence());
  return note != nullptr && note->id == id ? note : nullptr;
}

DestinationNote* Notebook::find(DestinationId id) {
  const auto at = destinations_.find(id.value());
  return at == destinations_.end() ? nullptr : at->second.get();
}

const LetterNote* Notebook::letter(MessageId id) const {
  const auto at = letters_.find(id);
  return at == letters_.end() ? nullptr : &at->second;
}

const DestinationNote* Notebook::find(std::string_view name) const {
  for (const auto& [number, note] : destinations_) {
    if (note->config.name == name && !note->config.removed) return note.get();
  }
  return nullptr;
}

MessageNote* Notebook::owner_of(std::string_view key) {
  const auto hot = keys::parse_hot(key);
  if (hot) return find(hot->sequence);
  const auto cold = keys::parse_cold(key);
  return cold ? find(cold->id) : nullptr;
}

void Notebook::left(const Left& /*left*/) {
  ++attempts_;
  visit(Phase::kInFlight);
}

void Notebook::damage(MessageNote& note) {
  if (!note.damaged && note.live()) --live_;
  note.damaged = true;
  const auto letter = letters_.find(note.id);
  if (letter != letters_.end()) letter->second.bodiless = true;
}

void Notebook::damaged(std::string_view key) {
  if (MessageNote* note = owner_of(key)) damage(*note);
  const auto part = keys::parse_body(key);
  if (part && part->part == keys::BodyPart::kBytes) {
    SharedNote& body = bodies_.at(part->id);
    body.damaged = true;
    for (const std::uint64_t sequence : body.sharers) damage(messages_.at(sequence));
  }
  if (key[0] == keys::kRoute) {
    const auto id = keys::parse_destination(key);
    DestinationNote* note = id ? find(*id) : nullptr;
    if (note != nullptr) note->damaged = true;
  }
  if (const auto id = letter_in(key)) {
    const auto at = letters_.find(*id);
    if (at != letters_.end()) at->second.damaged = true;
  }
}

Batch Notebook::read(const Durable& durable, std::vector<std::string>& faults) {
  ++batches_;
  Batch batch{.when = durable.when, .applied = durable.applied};
  batch.meta_before = meta_;
  Reading reading{batch, faults};
  for (const Write& write : durable.applied.batch.writes()) {
    if (is_put(write.kind)) {
      read_put(reading, write);
    } else if (write.kind != Write::Kind::kRemoveRange) {
      read_remove(reading, write.key, write.kind == Write::Kind::kRemoveOnce);
    } else if (write.key[0] == keys::kDead) {
      remove_letters(write);
    } else if (write.key[0] == keys::kHistory) {
      std::erase_if(history_, [&write](const auto& item) {
        const std::string key = keys::history(item.second, item.first);
        return key >= write.key && key < write.last;
      });
    } else if (write.key[0] == keys::kGroup) {
      std::erase_if(groups_, [&write](const auto& item) {
        const std::string key = group_key(item.first);
        return key >= write.key && key < write.last;
      });
    }
  }
  for (const EndRecord& end : batch.ends) {
    MessageNote* note = find(end.id);
    if (note == nullptr) {
      faults.push_back("an end of a message that was never accepted: " + to_string(end.id));
      continue;
    }
    if (note->end) faults.push_back("a second end of message " + to_string(end.id));
    note->end = end;
    visit(end.phase);
    if (note->destination == nullptr) continue;
    EndTally& tally = note->destination->tally;
    ++tally.ends[static_cast<std::size_t>(end.phase)];
    if (end.phase != Phase::kDelivered) continue;
    const Timestamp wanted = std::max(note->accepted, note->not_before);
    tally.worst_delay = std::max(tally.worst_delay, end.at - wanted);
  }
  return batch;
}

namespace {

// Scope and name of a key, as the profile gave them.
std::string tail_in(std::string_view key) {
  Reader reader(key.substr(5));
  const std::string_view scope = reader.text();
  std::string tail;
  Writer(tail).text(scope).raw(keys::long_name(reader.rest()));
  return tail;
}

}  // namespace

void Notebook::read_put(Reading& reading, const Write& write) {
  switch (write.key[0]) {
    case keys::kHot:
    case keys::kCold:
      if (static_cast<keys::Part>(write.key.back()) == keys::Part::kMessage)
        return read_message(reading, write);
      return read_state(reading, write);
    case keys::kParked:
      if (const auto id = keys::parse_parked(write.key)) {
        MessageNote* note = find(*id);
        if (note == nullptr) return;
        if (!note->parked) ++parked_[id->destination().value()];
        note->parked = note->was_parked = true;
        note->reach_from = keys::parse_parked_for_reach(write.value.view());
        note->gap = keys::parse_parked_as_gap(write.value.view());
        if (note->gap) reading.batch.gaps.push_back(note);
      }
      return;
    case keys::kDue:
      if (const auto due = keys::parse_due(write.key)) {
        MessageNote* note = find(due->id);
        if (note != nullptr) ++note->writes, ++note->due_writes;
      }
      return;
    case keys::kConfig: return read_config(reading, write);
    case keys::kTemplate: return read_template(reading, write);
    case keys::kRoute: return read_route(reading, write);
    case keys::kLedger: ++reading.batch.ledger_puts; return;
    case keys::kName:
      if (auto entry = decode_name(write.value.view()))
        reading.batch.names.push_back({tail_in(write.key), std::move(*entry)});
      return;
    case keys::kArrival:
      if (auto arrival = decode_arrival(write.value.view(), dictionaries_))
        reading.batch.arrivals.push_back(std::move(*arrival));
      return;
    case keys::kNested:
      if (auto nested = decode_nested(write.value.view(), dictionaries_))
        reading.batch.nested.push_back(std::move(*nested));
      return;
    case keys::kSession: ++reading.batch.session_puts; return;
    case keys::kDead: return read_letter(reading, write);
    case keys::kHistory: return read_history(reading, write);
    case keys::kBody:
      if (const auto body = keys::parse_body(write.key);
          body && body->part == keys::BodyPart::kBytes)
        bodies_[body->id].record = write.value;
      return;
    case keys::kGroup: return read_group(reading, write);
    case keys::kJob: return read_job(reading, write);
    case keys::kAudit:
      if (auto audit = decode_audit(write.value.view()))
        reading.batch.audits.push_back(std::move(*audit));
      return;
    case keys::kQuarantine: return read_quarantine(reading, write);
    case keys::kMeta:
    case keys::kLog:
    case keys::kEnd: return read_books(reading, write);
    default: return;
  }
}

void Notebook::share(MessageNote& note) {
  const auto body = bodies_.find(note.shared);
  if (body == bodies_.end()) return;  // told already
  body->second.sharers.push_back(note.id.sequence().value());
  if (body->second.damaged) damage(note);
}

void Notebook::read_message(Reading& reading, const Write& write) {
  auto message = decode_message(write.value, dictionaries_);
  if (!message || message->is_closed()) {
    reading.faults.push_back("a message was written that cannot be read");
    return;
  }
  const std::size_t own_body = message->body.size();
  if (message->shared.id != 0) {
    const auto body = bodies_.find(message->shared.id);
    if (body == bodies_.end() || !attach_body(*message, body->second.record))
      reading.faults.push_back("a message refers to a body that is not there");
  }
  auto [at, is_new] = messages_.try_emplace(message->id.sequence().value());
  MessageNote& note = at->second;
  const bool hot = write.key[0] == keys::kHot;
  ++note.writes;
  if (is_new) {
    note.id = message->id;
    note.accepted = message->accepted;
    note.not_before = message->not_before;
    note.expires = message->expires;
    note.origin = message->origin;
    note.method = message->method;
    note.gates = message->gates;
    note.lasting = message->lasting;
    note.key = message->key();
    note.operation = digits_after(message->body, "\"operation\":");
    note.body_hash = hash64(message->body);
    note.shared = message->shared.id;
    // A packed body may be smaller than the body itself.
    const std::size_t content = own_body + message->attributes.size();
    note.overhead =
        static_cast<std::uint32_t>(write.value.size() - std::min(write.value.size(), content));
    note.destination = find(message->id.destination());
    read_own(note, *message);
    note.hot = hot;
    note.cold = !hot;
    note.was_cold = !hot;
    ++live_;
    ++records_;
    visit(Phase::kQueued);
    if (note.shared != 0) share(note);
    reading.batch.entered.push_back(&note);
    return;
  }
  if (note.id != message->id)
    reading.faults.push_back("two messages have the sequence of " + to_string(message->id));
  if (hot)
    reading.faults.push_back("a message came back into the hot space: " + to_string(message->id));
  ++records_;
  note.cold = true;
  note.was_cold = true;
  reading.batch.moved.push_back(&note);
}

void Notebook::read_own(MessageNote& note, const Message& message) const {
  const auto texts = decode_texts(message.attributes);
  const NamedTexts attributes = texts ? *texts : NamedTexts();
  const Field* its = note.destination == nullptr ? nullptr : note.destination->field;
  if (its != nullptr && its != &field_) its->read_message(message, attributes, note);
  field_.read_message(message, attributes, note);
}

void Notebook::read_state(Reading& reading, const Write& write) {
  MessageNote* note = owner_of(write.key);
  const auto stored = decode_state(write.value.view());
  if (note == nullptr || !stored) {
    reading.faults.push_back("a state record of nobody, or one that cannot be read");
    return;
  }
  ++note->writes;
  ++note->state_writes;
  const ProfileSpec* profile = note->destination == nullptr ? nullptr : note->destination->profile;
  const bool revived = profile != nullptr && note->state &&
                       profile->states[note->state->state].revives &&
                       !profile->states[stored->state.state].revives;
  reading.batch.steps.emplace_back(note, stored->state);
  // Later writes of a batch win, so only the last one counts.
  if (note->last_batch == batches_) {
    reading.batch.states[note->place_in_batch].state = stored->state;
    reading.batch.states[note->place_in_batch].notes = stored->notes;
    reading.batch.states[note->place_in_batch].past = stored->past;
    reading.batch.states[note->place_in_batch].reason = stored->reason;
  } else {
    note->last_batch = batches_;
    note->place_in_batch = static_cast<std::uint32_t>(reading.batch.states.size());
    reading.batch.states.push_back(
        {note, stored->state, note->state, stored->notes, stored->past, stored->reason});
  }
  Batch::StatePut& put = reading.batch.states[note->place_in_batch];
  if (revived) ++put.revived;
  note->state = note->last_state = stored->state;
  if (profile == nullptr) return;
  const Phase phase = profile->states[stored->state.state].phase;
  put.awaited = put.awaited || phase == Phase::kAwaiting;
  visit(phase);
}

void Notebook::read_remove(Reading& reading, std::string_view key, bool once) {
  if (const auto letter = letter_in(key)) {
    ++reading.batch.dead_removes;
    reading.batch.exhumed.push_back(*letter);
    if (letters_.erase(*letter) == 0)
      reading.faults.push_back("a dead letter was removed that was not there");
    return;
  }
  if (key[0] == keys::kHistory) {
    if (const auto kept = keys::parse_bucketed(key)) history_.erase({kept->high, kept->low});
    return;
  }
  if (const auto name = parse_group_key(key)) {
    groups_.erase(*name);
    reading.batch.regrouped.push_back(*name);
    return;
  }
  if (key[0] == keys::kJob) {
    std::erase_if(jobs_, [key](const auto& item) { return keys::job(item.first) == key; });
    return;
  }
  if (key[0] == keys::kTemplate) {
    const std::string name(key.substr(1));
    templates_.erase(name);
    for (const auto& [number, note] : destinations_) {
      if (!note->config.removed && note->config.like == name)
        reading.faults.push_back("a template was removed that is in use: " + name);
    }
    return;
  }
  if (key[0] == keys::kParked) {
    const auto id = keys::parse_parked(key);
    MessageNote* note = id ? find(*id) : nullptr;
    if (note != nullptr && note->parked) --parked_[id->destination().value()];
    if (note != nullptr) note->parked = false, note->reach_from.reset(), note->gap.reset();
    return;
  }
  MessageNote* note = key[0] == keys::kHot || key[0] == keys::kCold ? owner_of(key) : nullptr;
  if (note == nullptr) return;
  ++note->writes;
  if (!once) {
    // Moving removes the record of the hot space after the cold one was put; that state is not
    // lost.
    const bool here = key[0] == keys::kHot ? note->hot : note->cold;
    if (here) note->state.reset();
    return;
  }
  --records_;
  (key[0] == keys::kHot ? note->hot : note->cold) = false;
  if (note->live()) return;
  if (!note->damaged) --live_;
  reading.batch.left.push_back(note);
}

void Notebook::read_config(Reading& reading, const Write& write) {
  const auto id = keys::parse_destination(write.key);
  auto config = decode_config(write.value.view());
  if (!id || !config) {
    reading.faults.push_back("a configuration that cannot be read");
    return;
  }
  auto& place = destinations_[id->value()];
  if (place == nullptr) place = std::make_unique<DestinationNote>();
  place->is_new = place->config.name.empty() || place->config.removed;
  place->id = *id;
  place->config = *config;
  place->own = config->settings;
  if (config->removed) {
    place->configured = reading.batch.when.engine;
    reading.batch.configured.push_back(place.get());
    place->route.reset();
    return;
  }
  settle_config(reading, *place);
}

// By its own settings, and by those of the template that it is like.
void Notebook::settle_config(Reading& reading, DestinationNote& note) {
  note.configured = reading.batch.when.engine;
  reading.batch.configured.push_back(&note);
  if (!note.config.like.empty()) {
    const auto wide = templates_.find(note.config.like);
    if (wide == templates_.end()) {
      reading.faults.push_back("a destination is like a template that is not there");
      return;
    }
    note.config.profile = wide->second.profile;
    note.config.settings = merged(wide->second.settings, note.own);
  }
  note.field = fields_.find(note.config.profile);
  note.profile = note.field == nullptr ? nullptr : &note.field->profile();
  if (note.profile == nullptr) {
    reading.faults.push_back("a destination with an unknown profile");
    return;
  }
  const auto policy = note.profile->settings.configure(note.config.settings);
  if (!policy) {
    reading.faults.push_back("a destination with settings that make no sense");
    return;
  }
  note.policy = *policy;
  spans_ = {std::max(spans_.wait, longest_wait(*policy)), std::max(spans_.life, policy->life_max)};
}

void Notebook::read_template(Reading& reading, const Write& write) {
  auto config = decode_config(write.value.view());
  if (!config || write.key != keys::template_of(config->name)) {
    reading.faults.push_back("a template that cannot be read");
    return;
  }
  const std::string name = config->name;
  templates_[name] = std::move(*config);
  for (const auto& [number, note] : destinations_) {
    if (!note->config.removed && note->config.like == name) settle_config(reading, *note);
  }
}

void Notebook::read_route(Reading& reading, const Write& write) {
  const auto id = keys::parse_destination(write.key);
  DestinationNote* note = id ? find(*id) : nullptr;
  const auto route = decode_route(write.value.view());
  if (note == nullptr || !route) {
    reading.faults.push_back("a route of nobody, or one that cannot be read");
    return;
  }
  reading.batch.routes.push_back({note, *route, note->route});
  note->route = *route;
}

void Notebook::read_quarantine(Reading& reading, const Write& write) {
  ++reading.batch.quarantined;
  const std::string_view key = std::string_view(write.key).substr(1);
  if (const auto id = letter_in(key)) {
    ++reading.batch.letters_lost;
    ++letters_lost_;
    const LetterNote* lost = letter(*id);
    if (lost == nullptr || (!lost->damaged && !lost->bodiless))
      reading.faults.push_back("a good dead letter went into quarantine: " + to_string(*id));
    return;
  }
  MessageNote* note = owner_of(key);
  if (note == nullptr) return;
  if (!note->damaged)
    reading.faults.push_back("a good record went into quarantine: " + to_string(note->id));
  if (static_cast<keys::Part>(key.back()) != keys::Part::kMessage) return;
  note->quarantined = true;
  ++lost_;
}

void Notebook::read_letter(Reading& reading, const Write& write) {
  ++reading.batch.dead_puts;
  const auto id = letter_in(write.key);
  const auto dead = decode_dead(write.value.view());
  if (!id || !dead || dead->letter.id != *id ||
      !letters_
           .emplace(*id,
                    LetterNote{
                        .bucket = bucket_in(write.key), .letter = dead->letter, .batch = batches_})
           .second)
    return reading.faults.push_back("a dead letter of nobody, or a second one");
  const auto body = bodies_.find(shares_body(dead->message).id);
  if (body != bodies_.end()) letters_.at(*id).bodiless = body->second.damaged;
  reading.batch.buried.push_back(*id);
}

void Notebook::read_history(Reading& reading, const Write& write) {
  const auto dead = decode_dead(write.value.view());
  const auto message = dead ? decode_message(Blob::copy_of(dead->message), dictionaries_)
                            : Result<Message>(fail(ErrorCode::kCorrupt, {}));
  if (!message || dead->letter.id != message->id)
    return reading.faults.push_back("history that cannot be read");
  reading.batch.kept.push_back({dead->letter, bucket_in(write.key), hash64(message->body)});
  history_[message->id] = bucket_in(write.key);
}

void Notebook::read_group(Reading& reading, const Write& write) {
  const auto name = parse_group_key(write.key);
  auto group = decode_group(write.value.view());
  if (!name || !group) return reading.faults.push_back("a group that cannot be read");
  groups_[*name] = std::move(*group);
  reading.batch.regrouped.push_back(*name);
}

void Notebook::read_job(Reading& reading, const Write& write) {
  auto job = decode_job(write.value.view());
  if (!job || write.key != keys::job(job->id.value()))
    return reading.faults.push_back("a job that cannot be read");
  const auto at = jobs_.find(job->id.value());
  std::optional<Job> before;
  if (at != jobs_.end()) before = at->second;
  jobs_[job->id.value()] = *job;
  reading.batch.jobs.push_back({std::move(*job), std::move(before)});
}

void Notebook::remove_letters(const Write& range) {
  std::erase_if(letters_,
                [first = bucket_in(range.key), last = bucket_in(range.last)](const auto& item) {
                  return item.second.bucket >= first && item.second.bucket < last;
                });
}

void Notebook::read_books(Reading& reading, const Write& write) {
  const auto key = keys::parse_bucketed(write.key);
  if (write.key[0] == keys::kMeta) {
    const auto meta = decode_meta(write.value.view());
    ++reading.batch.meta_puts;
    if (meta) reading.batch.meta = meta_ = *meta;
    if (!meta) reading.faults.push_back("a meta record that cannot be read");
  } else if (write.key[0] == keys::kLog) {
    ++reading.batch.log_puts;
    auto entries = key ? decode_log(write.value.view(), key->bucket, Sequence(key->high))
                       : Result<std::vector<LogEntry>>(fail(ErrorCode::kCorrupt, "key"));
    if (!entries) return reading.faults.push_back("a log page that cannot be read");
    for (LogEntry& entry : *entries) reading.batch.log.push_back(std::move(entry));
  } else {
    const auto end = decode_end(write.value.view());
    if (!end) return reading.faults.push_back("an end record that cannot be read");
    reading.batch.ends.push_back(*end);
    if (MessageNote* note = find(end->id)) ++note->writes;
  }
}

}  // namespace postrider::sim
