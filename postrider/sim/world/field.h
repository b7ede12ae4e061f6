// Field: what one profile brings to simulated worlds. How its destinations and messages are drawn,
// which far sides it has, what the notebook reads in its messages, which laws it adds, and what it
// excuses from the laws of all. The world knows fields by this header only; sim/fields/all.cc lists
// them. A field is stateless and outlives every world; what belongs to one world is made by it:
// far sides, applications of peers, a workload and checkers. A field whose profile keeps links open
// will bring further machines to its world in the same way.
//
// A world has one field, that of SimOptions::profile, and may have destinations of other profiles:
// consumers of events, for example. Chance comes from the generators that are handed in, and the
// order of draws is part of what a seed means.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/rng.h"
#include "postrider/model/answer.h"
#include "postrider/model/destination.h"
#include "postrider/model/event.h"
#include "postrider/model/message.h"
#include "postrider/model/profile.h"
#include "postrider/model/records/records.h"
#include "postrider/model/secrets.h"
#include "postrider/sim/world/agenda.h"
#include "postrider/sim/world/options.h"
#include "postrider/sim/world/peer.h"

namespace postrider::sim {

class Checker;
class Notebook;
class SubmitDraws;
struct CheckerContext;
struct MessageNote;
using CheckerList = std::vector<std::unique_ptr<Checker>>;

// What the clients of every world do, as far as the field's messages allow it, and what its
// destinations are known for.
struct Customs {
  bool rushes = true;    // many urgent messages at once, in a lane of their own
  bool fans_out = true;  // one message to all members of a group
  bool imports = true;   // dead letters are carried out and in again
  bool reads = false;    // destinations are mailboxes: they are read, confirmed and waited at
  // What is parked for want of reach comes back by itself when all is well, and no operator helps.
  bool parked_return = false;
  // An answer proves that a destination works, and a plain message waits for its turn only.
  bool answers_prove = false;
};

// The size of the worlds in which tests try the field.
struct Trials {
  struct Size {
    Duration span{0};
    std::uint32_t destinations = 0;
    std::uint32_t messages = 0;
  };
  Size standard = {30 * 24h, 50, 2000};  // worlds that together use every row that can be reached
  std::uint64_t standard_seeds = 20;
  Size fresh = {10 * 24h, 8, 300};  // worlds whose seeds follow from the commit
  std::uint64_t fresh_seeds = 100;
  Size crash = {12h, 4, 24};  // worlds that are run once for each of their crash points
  // 0: every point of one world that visits everything, which is looked for from this seed on.
  // Otherwise a sample of so many points, over as many worlds as it takes.
  std::uint64_t crash_points = 0;
  std::uint64_t crash_from_seed = 1;
};

// A destination of a staged world, in words that fit any profile; zero and empty: the default.
struct StagedDestination {
  std::string name;
  std::uint32_t peer = 0;
  std::string tenant = {};
  std::uint64_t tenant_weight = 0;
  std::uint32_t in_flight_max = 0;
  Duration wait{0};      // between attempts, and after the first failures of the destination
  Duration wait_max{0};  // after many failures of the destination
};

// The messages that the clients of one world submit.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual Submit draw_submit(std::uint32_t destination) = 0;
  // The same key is used again for something else.
  virtual void draw_other_content(Submit& again) = 0;
  virtual std::string rush_attributes() { return {}; }
  virtual std::string fanout_attributes(Rng& /*rng*/) { return {}; }
  // What a peer told is brought once more than needed.
  virtual bool repeats_news() { return false; }
};

// The far sides of one world, for fields whose requests go to more than a peer that answers. They
// stand behind the network: requests that came through are given to them, and their answers go
// back through it. Call::to_field says which requests are theirs.
class FarSides {
 public:
  struct Surroundings {
    Agenda& agenda;
    // An answer to a request, by its ticket; a second time when the far side repeats itself.
    std::function<void(std::uint64_t ticket, WireReply reply)> answer;
    // News from outside; what repeats is brought until it is acknowledged.
    std::function<void(Arrived event, bool repeats)> arrive;
  };
  virtual ~FarSides() = default;
  // `tag` tells the requests of one message from all others.
  virtual void request(std::uint64_t ticket, std::uint64_t tag, std::uint32_t peer,
                       const WireRequest& request) = 0;
  virtual void set_mood(std::uint32_t peer, Mood mood) = 0;
  virtual void heal() = 0;  // nothing goes wrong any more
  // Laws about what the far sides really saw.
  virtual void add_checkers(const CheckerContext& /*context*/, Notebook& /*notebook*/,
                            CheckerList& /*list*/) const {}
};

// What a field notes of a message for its own checkers.
struct FieldNote {
  virtual ~FieldNote() = default;
};

class Field {
 public:
  virtual ~Field() = default;
  // Its name is the name of the field.
  virtual const ProfileSpec& profile() const = 0;
  virtual Customs customs() const { return {}; }
  virtual Trials trials() const { return {}; }

  // The plan.
  virtual DestinationConfig draw_destination(const SimOptions& options, std::uint32_t number,
                                             Rng& rng) const = 0;
  // Settings for destinations that messages make; none: the worlds of this field have no templates
  // and no lists of destinations.
  virtual std::optional<NamedTexts> draw_template(const SimOptions& /*options*/,
                                                  Rng& /*rng*/) const {
    return std::nullopt;
  }
  // Key files that its destinations need, beside those of every world.
  virtual void add_secrets(Secrets& /*secrets*/) const {}
  // The profile whose field draws this destination of a world of this field.
  virtual std::string_view profile_of(std::uint32_t /*number*/) const { return profile().name; }
  // A destination of a real configuration as a world can have it: its settings, with a peer of
  // ours for an address and nothing in it that is secret.
  virtual Result<DestinationConfig> rehearse(DestinationConfig real, std::uint32_t peer) const;
  virtual std::optional<DestinationConfig> stage(const StagedDestination& /*wanted*/) const {
    return std::nullopt;
  }

  // The parts of one world. `rng` of the workload and of an application is a copy of the generator
  // that clients and peer go on with: forks of it are streams of their own.
  virtual std::unique_ptr<Workload> make_workload(SubmitDraws& draws, Rng rng) const = 0;
  // Null: peers answer by their mood alone.
  virtual std::unique_ptr<Application> make_application(Rng /*rng*/) const { return nullptr; }
  // Null: peers are all there is. `world` is forked only by fields that have far sides.
  virtual std::unique_ptr<FarSides> make_far_sides(FarSides::Surroundings around,
                                                   const SimOptions& options, Rng& world) const;
  virtual void add_checkers(const CheckerContext& /*context*/, Notebook& /*notebook*/,
                            CheckerList& /*list*/) const {}

  // What a receiver reads in a request. All fields are asked in turn, and each adds what it knows
  // to what every request tells.
  virtual void read_call(const WireRequest& /*request*/, const IdCodec& /*ids*/,
                         Call& /*call*/) const {}
  // What the notebook reads in a message, when it is accepted: the field of its destination is
  // asked first, then that of the world, if it is another one.
  virtual void read_message(const Message& /*message*/, const NamedTexts& /*attributes*/,
                            MessageNote& /*note*/) const {}

  // Excuses. What a general law would not expect of the messages of this field.
  struct Expired {
    const EndRecord& end;
    Timestamp accepted;  // by the time that is right now
    Timestamp wall_max;  // what the wall may have said at most
  };
  virtual bool may_expire_early(const MessageNote& /*note*/, const Expired& /*expired*/) const {
    return false;
  }
  // A restored engine, whose gates are free, may end at once what the running one has still queued.
  virtual bool may_end_unsent(const MessageNote& /*note*/, const Explanation& /*restored*/) const {
    return false;
  }
  // Why no world can use this row; empty: one must.
  virtual std::string_view unreachable(const RowUse& /*row*/) const { return {}; }
  // A row of one method is proven by the same row of the other.
  virtual bool rows_alike(std::string_view /*method*/, std::string_view /*other*/) const {
    return false;
  }
};

// Fields: all that a world may meet. A world that names no profile has the first.
class Fields {
 public:
  explicit Fields(std::vector<const Field*> list) : list_(std::move(list)) {}

  std::span<const Field* const> list() const { return list_; }
  const Field* find(std::string_view profile) const;
  const Field& of(const SimOptions& options) const;  // it must be one of them
  std::vector<const ProfileSpec*> profiles() const;
  Call read_call(const WireRequest& request, const IdCodec& ids) const;

 private:
  std::vector<const Field*> list_;
};

}  // namespace postrider::sim
