// A message on its way through the simulated network.
#pragma once
#include <utility>

#include "sim/backend/simulated_backend.hpp"

namespace straggler {

/// From dispatch until it lies in the receiver's mailbox. To and from a sharded server it is as many flows as there are servers, side
/// by side; it has arrived when the last of them has. Running statistics are a second message, which leaves when the last byte of what
/// they belong to has left; the two are handed over together.
class SimulatedBackend::Delivery final : public InFlightMessage, public Arrival, public Event {
 public:
  Delivery(SimulatedBackend& backend, Rank sender, Rank receiver, Payload what)
      : InFlightMessage(sender, receiver, std::move(what)), backend_(backend) {}
  ~Delivery() override {
    if (stage == Stage::flowing) {
      if (!sharded) backend_.network_.cancel(flow);
      for (std::size_t s = 0; sharded && s < backend_.cluster_.servers; ++s) backend_.network_.cancel(shards[s]);
    }
    if (sharded) delete[] shards;
  }
  /// handled: the sender's handling delays it; flowing: its bytes are leaving; between: the sender still handles the second message;
  /// travelling: the last byte is on its way.
  enum class Stage : std::uint8_t { handled, flowing, between, travelling } stage = Stage::handled;
  bool second : 1 = false;          // the running statistics have begun to leave
  bool state_transfer : 1 = false;  // what a worker needs to start from: not for its mailbox
  bool sharded : 1 = false;         // to or from several servers
  bool to_former_life : 1 = false;  // of its receiver: it is not sent
  std::uint32_t flows_left = 0;
  SendOperation* operation = nullptr;  // who waits for it to have left; null: nobody
  union {
    FlowId flow = 0;
    FlowId* shards;  // [servers], owned; if sharded
  };
  Time latency;         // after the last byte has left
  Time second_handled;  // when the sender has handled the second message
  Time first_arrival;   // of the first message, where there are two

 private:
  void arrived() override {
    if (--flows_left == 0) backend_.drained(*this);
  }
  void happen() override {
    if (stage == Stage::handled)
      backend_.transmit(*this);
    else if (stage == Stage::between)
      backend_.transmit_statistics(*this);
    else
      backend_.delivered(*this);
  }
  SimulatedBackend& backend_;
};

}  // namespace straggler
