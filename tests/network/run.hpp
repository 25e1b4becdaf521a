// The main loop of a simulation with a queue and a network only, and a message that notes when it has arrived.
#pragma once
#include "sim/engine/event_queue.hpp"
#include "sim/network/network.hpp"

namespace straggler {

/// One step; false if nothing is left to happen.
inline bool step(EventQueue& queue, Network& network) {
  const auto next = [&] { return queue.next() < network.next() ? queue.next() : network.next(); };
  if (next() > queue.now() && network.unsettled()) network.settle();
  if (next() == Time::never()) return false;
  if (queue.next() <= network.next()) {
    queue.fire_next();
  } else {
    queue.advance(network.next());
    network.act();
  }
  return true;
}

inline void run(EventQueue& queue, Network& network) {
  while (step(queue, network)) {
  }
}

/// Steps until the clock would pass `until`, and moves it there.
inline void run_until(EventQueue& queue, Network& network, Time until) {
  for (;;) {
    if (network.unsettled()) network.settle();
    if (queue.next() > until && network.next() > until) break;
    step(queue, network);
  }
  queue.advance(until);
}

struct Note final : Arrival {
  explicit Note(const EventQueue& its_queue) : queue(&its_queue) {}
  void arrived() override {
    ++times;
    when = queue->now();
  }
  const EventQueue* queue;
  int times = 0;
  Time when = Time::never();
};

}  // namespace straggler
