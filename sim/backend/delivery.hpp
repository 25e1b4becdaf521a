// A message on its way through the simulated network.
#pragma once
#include <utility>

#include "sim/backend/simulated_backend.hpp"

namespace straggler {

/// From dispatch until it lies in the receiver's mailbox.
class SimulatedBackend::Delivery final : public InFlightMessage, public Arrival, public Event {
 public:
  Delivery(SimulatedBackend& backend, Rank sender, Rank receiver, Payload what)
      : InFlightMessage(sender, receiver, std::move(what)), backend_(backend) {}
  SendOperation* operation = nullptr;  // who waits for it to have left; null: nobody
  FlowId flow = 0;
  Time latency;
  /// handled: the sender's handling delays it; flowing: its bytes are leaving; travelling: the last one is on its way.
  enum class Stage : std::uint8_t { handled, flowing, travelling } stage = Stage::handled;

 private:
  void arrived() override { backend_.drained(*this); }
  void happen() override {
    if (stage == Stage::handled)
      backend_.transmit(*this);
    else
      backend_.delivered(*this);
  }
  SimulatedBackend& backend_;
};

}  // namespace straggler
