// The time that an optimizer step takes, on a worker or on the servers.
#pragma once
#include "sim/simulated/books.hpp"
#include "sim/simulated/computations.hpp"
#include "sim/simulated/processors.hpp"

namespace straggler {

class Updates {
 public:
  /// All outlive this.
  Updates(World& world, Books& books, Processors& processors, const Computations& computations)
      : world_(world), books_(books), processors_(processors), computations_(computations) {}

  /// True: it takes no time.
  bool start(StepOperation& operation);
  void due(StepOperation& operation);
  void cancel(StepOperation& operation) noexcept;

 private:
  World& world_;
  Books& books_;
  Processors& processors_;
  const Computations& computations_;
};

}  // namespace straggler
