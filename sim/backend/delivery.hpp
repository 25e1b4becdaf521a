// A message on its way through the simulated network.
#pragma once
#include <utility>

#include "sim/backend/simulated_backend.hpp"

namespace straggler {

/// From dispatch until it lies in the receiver's mailbox. The event is its departure, where the sender's handling delays it.
class SimulatedBackend::Delivery final : public InFlightMessage, public Arrival, public Event {
 public:
  Delivery(SimulatedBackend& backend, Rank sender, Rank receiver, Payload what)
      : InFlightMessage(sender, receiver, std::move(what)), backend_(backend) {}
  SendOperation* operation = nullptr;  // who waits for it to have left; null: nobody
  FlowId flow = 0;
  bool departed = false;

 private:
  void arrived() override { backend_.delivered(*this); }
  void happen() override { backend_.transmit(*this); }
  SimulatedBackend& backend_;
};

}  // namespace straggler
