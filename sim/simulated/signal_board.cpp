#include "sim/simulated/signal_board.hpp"

#include <map>

#include "sim/training/node.hpp"

namespace straggler {

/// A broadcast on its way to the workers that are equally far from its sender.
class SignalBoard::Wave final : public Event, public WaveHook {
 public:
  Wave(SignalBoard& board, Rank from, std::uint64_t number, std::vector<Rank> to)
      : board_(board), from_(from), number_(number), to_(std::move(to)) {}

 private:
  void happen() override {
    if (to_.empty())
      board_.arrive_at_all_but(from_, number_);
    else
      for (const Rank rank : to_) board_.arrive(rank, number_);
    delete this;
  }
  SignalBoard& board_;
  Rank from_;
  std::uint64_t number_;
  std::vector<Rank> to_;  // empty: everybody else
};

SignalBoard::SignalBoard(Simulation& simulation, const Fabric& fabric, Rank workers)
    : simulation_(simulation), fabric_(fabric), count_(workers) {}

SignalBoard::~SignalBoard() {
  while (!waves_.empty()) {
    Wave* wave = static_cast<Wave*>(&waves_.front());
    waves_.pop_front();
    delete wave;
  }
}

void SignalBoard::broadcast(Rank from, std::uint64_t number) {
  std::map<Time, std::vector<Rank>> by_latency;
  Route route;
  for (Rank rank = 0; rank < count_; ++rank) {
    if (rank == from) continue;
    fabric_.route(from, rank, route);
    by_latency[route.latency].push_back(rank);
  }
  for (auto& [latency, to] : by_latency) {
    if (by_latency.size() == 1) to = std::vector<Rank>();  // which gives the memory back: = {} would not
    auto* wave = new Wave(*this, from, number, std::move(to));
    waves_.push_back(*wave);
    simulation_.queue().after(latency, *wave);
  }
}

void SignalBoard::arrive_at_all_but(Rank from, std::uint64_t number) {
  if (known_.number && *known_.number >= number) {
    if (known_.except == anyone || known_.except == from) return;
    arrive(known_.except, number);
    if (number == *known_.number) known_.except = anyone;  // a late signal of an earlier round does not make up for this one
    return;
  }
  known_.number = number;
  known_.except = from;
  for (Rank rank = 0; rank < count_; ++rank)
    if (rank != from) arrive(rank, number);
}

bool SignalBoard::wait(SignalOperation& operation) { return worker(operation.node().self()).wait(operation); }

void SignalBoard::leave(SignalOperation& operation) noexcept {
  if (!workers_.empty()) worker(operation.node().self()).leave(operation);
}

void SignalBoard::describe_waiting(std::vector<std::string>& who) const {
  for (const ReceivedSignals& worker : workers_)
    if (worker.waiting()) who.push_back(worker.waiting()->describe());
}

}  // namespace straggler
