#include "sim/backend/all_reduce.hpp"

namespace straggler {

SimulatedBackend::AllReduce::AllReduce(SimulatedBackend& backend)
    : backend_(backend),
      joining_(static_cast<std::size_t>(backend.plan_.workers)),
      running_(static_cast<std::size_t>(backend.plan_.workers)) {}

bool SimulatedBackend::AllReduce::join(AllReduceOperationBase& operation) {
  if (joining_.size() == 1) return true;
  joining_[static_cast<std::size_t>(operation.node().self())] = &operation;
  if (++joined_ == joining_.size()) begin();
  return false;
}

void SimulatedBackend::AllReduce::cancel(AllReduceOperationBase& operation) noexcept {
  const auto rank = static_cast<std::size_t>(operation.node().self());
  if (joining_[rank] == &operation) {
    joining_[rank] = nullptr;
    --joined_;
  }
  if (running_[rank] == &operation) running_[rank] = nullptr;
}

template <class T>
void SimulatedBackend::AllReduce::average() {
  std::vector<T> parts;
  parts.reserve(running_.size());
  for (AllReduceOperationBase* operation : running_) parts.push_back(std::get<T>(std::move(operation->payload)));
  T mean = backend_.nodes_.front().mean(parts);
  if constexpr (std::is_same_v<T, Gradient>) {
    mean.at = Handle();
    mean.batches.clear();
  }
  T others = mean;
  others.made.clear();
  result_ = std::move(mean);
  result_of_others_ = std::move(others);
}

void SimulatedBackend::AllReduce::begin() {
  std::swap(joining_, running_);
  std::fill(joining_.begin(), joining_.end(), nullptr);
  joined_ = 0;
  const std::uint64_t bytes = backend_.bytes_of(running_.front()->payload);
  if (std::holds_alternative<Gradient>(running_.front()->payload))
    average<Gradient>();
  else
    average<Weights>();

  const SimulatedCluster& cluster = backend_.cluster_;
  run_ = std::make_unique<AllReduceRun>(backend_.simulation_, backend_.network_, *cluster.topology, running_.size(), bytes,
                                        cluster.reduce_seconds_per_byte);
  for (std::size_t rank = 0; rank < running_.size(); ++rank) {
    backend_.count_sent(static_cast<Rank>(rank), cluster.all_reduce->bytes_sent(bytes, running_.size(), rank));
    backend_.begin_flight(static_cast<Rank>(rank));
  }
  if (cluster.stepwise)
    begin_stepwise();
  else
    begin_fluid();
}

void SimulatedBackend::AllReduce::begin_fluid() {
  if (fluid_bytes_ != run_->bytes) {
    fluid_ = backend_.cluster_.all_reduce->fluid(*run_);
    fluid_bytes_ = run_->bytes;
  }
  backend_.network_.start(fluid_.links, fluid_.bytes, fluid_.latency, *this);
}

void SimulatedBackend::AllReduce::begin_stepwise() {
  run_->finished = [this](std::size_t rank) { finish(rank); };
  for (std::size_t rank = 0; rank < running_.size(); ++rank) backend_.simulation_.spawn(backend_.cluster_.all_reduce->rank(*run_, rank));
}

void SimulatedBackend::AllReduce::arrived() {
  if (fluid_.arithmetic > Time())
    backend_.simulation_.queue().after(fluid_.arithmetic, *this);
  else
    finish_all();
}

void SimulatedBackend::AllReduce::happen() { finish_all(); }

void SimulatedBackend::AllReduce::finish_all() {
  for (std::size_t rank = 0; rank < running_.size(); ++rank) finish(rank);
}

void SimulatedBackend::AllReduce::finish(std::size_t rank) {
  backend_.count_received(static_cast<Rank>(rank), backend_.cluster_.all_reduce->bytes_received(run_->bytes, running_.size(), rank));
  backend_.end_flight(static_cast<Rank>(rank));
  AllReduceOperationBase* operation = std::exchange(running_[rank], nullptr);
  if (!operation) return;
  operation->payload = rank == 0 ? result_ : result_of_others_;
  operation->complete();
}

void SimulatedBackend::AllReduce::describe_waiting(std::vector<std::string>& who) const {
  for (std::size_t rank = 0; rank < joining_.size(); ++rank)
    if (joining_[rank])
      who.push_back("worker " + std::to_string(rank) + " waits in an all-reduce for " + std::to_string(joining_.size() - joined_) +
                    " other workers");
}

}  // namespace straggler
