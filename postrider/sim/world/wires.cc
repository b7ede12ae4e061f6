#include "postrider/sim/world/wires.h"

#include <algorithm>
#include <utility>

#include "postrider/base/check.h"

namespace postrider::sim {
namespace {

constexpr std::size_t kWireAtOnce = 64 * 1024;  // more than that waits, and its end is told

}  // namespace

WireFaults draw_wire_faults(Rng& rng) {
  const auto rate = [&rng](std::int64_t most) {
    return rng.chance(1, 3) ? 0U : static_cast<std::uint32_t>(rng.between(1, most));
  };
  return {.refused = rate(200),
          .slow_open = rate(200),
          .reset = rate(30),
          .dead = rate(10),
          .clogged = rate(20),
          .lost = rate(300),
          .doubled = rate(200),
          .late = rate(200)};
}

Wires::Wires(Surroundings around, LineLimits limits, WireFaults faults, Rng rng)
    : around_(std::move(around)), limits_(limits), faults_(faults), rng_(rng) {}

Duration Wires::travel() {
  return Duration(strikes(faults_.late) ? rng_.between(100, 5'000) : rng_.between(1, 40));
}

// The opener waits for the answer of a machine that may be down: then nothing comes for a while.
void Wires::connect(SimWire& wire, LineId line, const std::string& address) {
  auto stream = std::make_shared<Stream>();
  stream->wires[0] = &wire;
  stream->lines[0] = line;
  wire.lines_[line.value()] = {.stream = stream, .side = 0};
  if (strikes(faults_.refused)) {
    ++counts_.refused;
    return end_line(stream, 0, LineEnd::kRefused, travel());
  }
  const Duration slow(strikes(faults_.slow_open) ? rng_.between(1'000, 20'000) : 0);
  around_.agenda.after(travel() + slow, [this, stream, address] { arrive(stream, address); });
}

void Wires::arrive(const StreamRef& stream, const std::string& address) {
  SimWire* const opener = stream->wires[0];
  if (stream->over || opener == nullptr) return;  // it has given up
  const auto place = places_.find(address);
  const bool down = place == places_.end();
  if (down || place->second.wire->find(place->second.line)->held) {
    ++counts_.refused;
    const Duration silence(rng_.chance(1, 2) ? rng_.between(1, 50) : 10'000);
    return end_line(stream, 0, LineEnd::kRefused, silence);
  }
  ++counts_.opened;
  SimWire& acceptor = *place->second.wire;
  const LineId line(kAcceptedLine | ++acceptor.last_accepted_);
  stream->wires[1] = &acceptor;
  stream->lines[1] = line;
  acceptor.lines_[line.value()] = {.stream = stream, .side = 1};
  around_.agenda.after(travel(), [this, stream] {
    if (stream->over) return;
    if (stream->wires[0] == nullptr) return reset(stream);  // it has given up meanwhile
    stream->open = true;
    stream->wires[0]->tell_(station::LineOpened{stream->lines[0], {}, "far"});
    move(stream, 0);
    move(stream, 1);
  });
  acceptor.tell_(station::LineOpened{line, place->second.line, "far"});
}

void Wires::move(const StreamRef& stream, int side) {
  Way& way = stream->ways[side];
  if (stream->over || !stream->open || way.scheduled || (way.bytes.empty() && !way.closing)) return;
  if (!way.dead && strikes(faults_.dead)) {
    way.dead = true;
    ++counts_.dead;
  }
  if (strikes(faults_.clogged)) {
    way.clogged_until = around_.agenda.now() + Duration(rng_.between(1'000, 60'000));
    ++counts_.clogs;
  }
  way.scheduled = true;
  const Timestamp at = std::max(around_.agenda.now() + travel(), way.clogged_until);
  around_.agenda.at(at, [this, stream, side] {
    stream->ways[side].scheduled = false;
    deliver(stream, side);
  });
}

void Wires::deliver(const StreamRef& stream, int side) {
  Way& way = stream->ways[side];
  if (stream->over) return;
  if (way.dead) {
    way.bytes.clear();
    return;
  }
  if (strikes(faults_.reset)) return reset(stream);
  const int other = 1 - side;
  SimWire* const receiver = stream->wires[other];
  if (receiver == nullptr) {  // closed there, or gone
    way.bytes.clear();
    if (stream->crashed && rng_.chance(1, 2)) {
      ++counts_.half_open;
      return;
    }
    return reset(stream);
  }
  if (receiver->find(stream->lines[other])->held) return;  // goes on when it is free
  if (way.bytes.empty()) {
    if (way.closing) end_line(stream, other, LineEnd::kLost, Duration(0));
    return;
  }
  const std::size_t size = rng_.chance(1, 2) ? way.bytes.size() : 1 + rng_.below(way.bytes.size());
  const std::string piece = way.bytes.substr(0, size);
  way.bytes.erase(0, size);
  ++counts_.pieces;
  const bool drained = way.bytes.empty() && std::exchange(way.waited, false);
  receiver->tell_(station::LineTook{stream->lines[other], piece, {}});
  if (stream->over) return;
  if (drained && stream->wires[side] != nullptr && !way.closing)
    stream->wires[side]->tell_(station::LineDrained{stream->lines[side]});
  move(stream, side);
}

void Wires::reset(const StreamRef& stream) {
  ++counts_.resets;
  for (int side = 0; side < 2; ++side) {
    stream->ways[side].bytes.clear();
    end_line(stream, side, LineEnd::kLost, travel());
  }
  stream->over = true;
}

// Nothing more moves on it; its owner hears of that a little later.
void Wires::end_line(const StreamRef& stream, int side, LineEnd end, Duration after) {
  SimWire* const wire = std::exchange(stream->wires[side], nullptr);
  if (wire == nullptr) return;
  const LineId line = stream->lines[side];
  wire->later(after, line, [wire, line, end] { wire->tell_closed(line, end, "simulated"); });
}

void Wires::send(SimWire& wire, const std::string& from, const std::string& to, std::string bytes) {
  ++counts_.datagrams;
  if (bytes.size() > limits_.datagram_bytes_max || strikes(faults_.lost)) {
    ++counts_.lost;
    return;
  }
  const int copies = strikes(faults_.doubled) ? 2 : 1;
  if (copies == 2) ++counts_.doubled;
  static_cast<void>(wire);
  for (int i = 0; i < copies; ++i) {
    around_.agenda.after(travel(), [this, from, to, bytes] {
      const auto place = places_.find(to);
      if (place == places_.end()) return;
      SimWire& receiver = *place->second.wire;
      const SimWire::Entry& entry = *receiver.find(place->second.line);
      if (entry.held || !entry.datagrams) return;
      receiver.tell_(station::LineTook{place->second.line, bytes, from});
    });
  }
}

SimWire::SimWire(Wires& wires, std::string machine, Tell tell, std::function<void()> wrote)
    : wires_(wires),
      machine_(std::move(machine)),
      tell_(std::move(tell)),
      wrote_(std::move(wrote)) {}
SimWire::~SimWire() { die(); }

void SimWire::die() {
  if (std::exchange(dead_, true)) return;
  *alive_ = false;
  alive_.reset();
  for (auto& [number, entry] : lines_) {
    if (entry.stream == nullptr) {
      wires_.places_.erase(entry.address);
      continue;
    }
    entry.stream->wires[entry.side] = nullptr;
    entry.stream->crashed = true;
  }
  lines_.clear();
}

SimWire::Entry* SimWire::find(LineId line) {
  const auto found = lines_.find(line.value());
  return found == lines_.end() ? nullptr : &found->second;
}

// Unless the line, or the process, is gone by then.
void SimWire::later(Duration after, LineId line, std::function<void()> thing) {
  wires_.around_.agenda.after(
      after, [this, alive = std::weak_ptr<bool>(alive_), line, thing = std::move(thing)] {
        if (!alive.expired() && find(line) != nullptr) thing();
      });
}

void SimWire::tell_closed(LineId line, LineEnd end, std::string detail) {
  lines_.erase(line.value());
  tell_(station::LineClosed{line, end, std::move(detail)});
}

void SimWire::open(LineId line, LineOrder order) {
  if (dead_) return;
  const bool datagrams = order.address.starts_with("udp://");
  Entry entry{.address = order.address, .datagrams = datagrams};
  if (order.listens) return listen(line, std::move(entry));
  if (!datagrams) return wires_.connect(*this, line, order.address);
  entry.to = order.address;
  entry.address = "udp://" + machine_ + ":e" + std::to_string(++wires_.last_port_);
  listen(line, std::move(entry));
}

void SimWire::listen(LineId line, Entry entry) {
  const std::string address = entry.address;
  const bool free = wires_.places_.find(address) == wires_.places_.end();
  if (free) wires_.places_[address] = {this, line};
  if (!free) entry.address.clear();
  lines_[line.value()] = std::move(entry);
  later(Duration(0), line, [this, line, free, address] {
    if (!free) return tell_closed(line, LineEnd::kRefused, "the address is taken");
    tell_(station::LineOpened{line, {}, address});
  });
}

void SimWire::write(LineId line, std::string bytes, std::string_view to) {
  if (dead_) return;
  Entry* const entry = find(line);
  if (entry == nullptr) return wires_.around_.violation("a line was written to after its end");
  wires_.around_.leaves(machine_, line, bytes);
  if (entry->datagrams) {
    wires_.send(*this, entry->address, entry->to.empty() ? std::string(to) : entry->to,
                std::move(bytes));
  } else if (entry->stream != nullptr && entry->stream->wires[entry->side] == this) {
    Wires::Way& way = entry->stream->ways[entry->side];
    way.waited = way.waited || way.bytes.size() + bytes.size() > kWireAtOnce;
    way.bytes += bytes;
    if (way.bytes.size() > wires_.limits_.unsent_bytes_max) {
      ++wires_.counts_.overflows;
      const Wires::StreamRef stream = entry->stream;
      wires_.end_line(stream, entry->side, LineEnd::kOverflow, Duration(0));
      wires_.reset(stream);
    } else {
      wires_.move(entry->stream, entry->side);
    }
  }
  wrote_();
}

void SimWire::hold(LineId line, bool held) {
  Entry* const entry = dead_ ? nullptr : find(line);
  if (entry == nullptr) return;
  entry->held = held;
  if (!held && entry->stream != nullptr) wires_.move(entry->stream, 1 - entry->side);
}

void SimWire::close(LineId line) {
  Entry* const entry = dead_ ? nullptr : find(line);
  if (entry == nullptr) return;
  if (entry->stream == nullptr) {
    wires_.places_.erase(entry->address);
  } else if (entry->stream->wires[entry->side] == this) {
    const Wires::StreamRef stream = entry->stream;
    stream->wires[entry->side] = nullptr;
    stream->ways[entry->side].closing = true;
    stream->ways[1 - entry->side].bytes.clear();
    wires_.move(stream, entry->side);
  }
  lines_.erase(line.value());
}

}  // namespace postrider::sim
