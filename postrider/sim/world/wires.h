// Wires: carries lines between the machines of a world. Streams are cut anywhere, delayed, reset,
// clogged, dead one way and half-open after a crash; datagrams are lost, doubled and reordered;
// openings are slow or refused. An address is "tcp://MACHINE:PORT" or "udp://MACHINE:PORT".
//
// A crash loses all lines of a process. The far side is not told; it learns by a reset when it
// writes, or never.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "postrider/base/rng.h"
#include "postrider/model/seams/station.h"
#include "postrider/model/seams/wire.h"
#include "postrider/sim/world/agenda.h"

namespace postrider::sim {

// How often something goes wrong, in 1,000 opportunities.
struct WireFaults {
  std::uint32_t refused = 0;    // of openings
  std::uint32_t slow_open = 0;  // of openings: up to 20 s
  std::uint32_t reset = 0;      // of pieces that arrive
  std::uint32_t dead = 0;       // of pieces that leave: nothing comes through this way any more
  std::uint32_t clogged = 0;    // of pieces that leave: nothing moves for up to a minute
  std::uint32_t lost = 0;       // of datagrams
  std::uint32_t doubled = 0;    // of datagrams
  std::uint32_t late = 0;       // of datagrams and pieces: up to 5 s
};
WireFaults draw_wire_faults(Rng& rng);

class SimWire;

class Wires {
 public:
  struct Counts {
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;
    std::uint64_t pieces = 0;
    std::uint64_t resets = 0;
    std::uint64_t dead = 0;
    std::uint64_t clogs = 0;
    std::uint64_t datagrams = 0;
    std::uint64_t lost = 0;
    std::uint64_t doubled = 0;
    std::uint64_t overflows = 0;
    std::uint64_t half_open = 0;
  };
  struct Surroundings {
    Agenda& agenda;
    // What leaves a machine, as it leaves: for checkers that read frames.
    std::function<void(const std::string& machine, LineId line, std::string_view bytes)> leaves;
    std::function<void(std::string)> violation;
  };
  Wires(Surroundings around, LineLimits limits, WireFaults faults, Rng rng);

  void set_faults(const WireFaults& faults) { faults_ = faults; }
  void heal() { faults_ = {}; }  // what is dead stays so
  const Counts& counts() const { return counts_; }

 private:
  friend class SimWire;
  struct Way {
    std::string bytes;  // that have left and not arrived
    bool scheduled = false;
    bool dead = false;
    bool waited = false;   // the writer is told when it is drained
    bool closing = false;  // the writer has closed: the end follows the last byte
    Timestamp clogged_until;
  };
  struct Stream {
    SimWire* wires[2] = {nullptr, nullptr};  // null: closed, or its process is gone
    LineId lines[2];
    Way ways[2];           // by the writer's side
    bool crashed = false;  // a process of it died: the other side is half-open
    bool open = false;
    bool over = false;
  };
  using StreamRef = std::shared_ptr<Stream>;
  struct Place {  // where a listener or a datagram line is found
    SimWire* wire = nullptr;
    LineId line;
  };

  bool strikes(std::uint32_t rate) { return rate > 0 && rng_.below(1000) < rate; }
  Duration travel();
  void connect(SimWire& wire, LineId line, const std::string& address);
  void arrive(const StreamRef& stream, const std::string& address);
  void move(const StreamRef& stream, int side);
  void deliver(const StreamRef& stream, int side);
  void reset(const StreamRef& stream);
  void end_line(const StreamRef& stream, int side, LineEnd end, Duration after);
  void send(SimWire& wire, const std::string& from, const std::string& to, std::string bytes);

  Surroundings around_;
  LineLimits limits_;
  WireFaults faults_;
  Rng rng_;
  Counts counts_;
  std::map<std::string, Place> places_;
  std::uint64_t last_port_ = 0;
};

// The wire of one process. When it is gone, so are its lines.
class SimWire final : public Wire {
 public:
  using Tell = std::function<void(const station::Happened&)>;
  // `wrote`: after each write, which is a crash point.
  SimWire(Wires& wires, std::string machine, Tell tell, std::function<void()> wrote);
  ~SimWire() override;
  SimWire(const SimWire&) = delete;
  SimWire& operator=(const SimWire&) = delete;

  void open(LineId line, LineOrder order) override;
  void write(LineId line, std::string bytes, std::string_view to) override;
  void hold(LineId line, bool held) override;
  void close(LineId line) override;

  void die();  // the process is no more: nothing leaves and nothing is told

 private:
  friend class Wires;
  struct Entry {
    Wires::StreamRef stream;  // null: a listener or a datagram line
    int side = 0;
    std::string address;  // of a listener or a datagram line: its own
    std::string to;       // of a connected datagram line
    bool datagrams = false;
    bool held = false;
  };
  Entry* find(LineId line);
  void later(Duration after, LineId line, std::function<void()> thing);
  void listen(LineId line, Entry entry);
  void tell_closed(LineId line, LineEnd end, std::string detail);

  Wires& wires_;
  const std::string machine_;
  Tell tell_;
  std::function<void()> wrote_;
  std::map<std::uint64_t, Entry> lines_;
  std::uint64_t last_accepted_ = 0;
  bool dead_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // watched by what is on the agenda
};

}  // namespace postrider::sim
