// The versions of a run whose workers publish weights of their own (Versions::lockstep and Versions::free_running): which versions there
// are, what went into each, and from what a worker starts that comes later.
//
// Lockstep. Version n is the mean, in rank order, of the n-th weights of all workers, and is published at the moment at which nobody who
// is in has yet to publish its n-th. Where workers go and come:
//  - What a worker published before it went still counts.
//  - A worker that comes (back) takes part from a number on that no worker has reached yet: everybody knows at that number that it is in,
//    and nobody has passed it. Its weights are those of the first member at that moment, under that number.
//  - A number that nobody published is left out: versions count on without a gap.
// Free-running. Each publication of any worker makes the next version. Its value is the mean of the latest weights of the workers that are
// in, and is made only where somebody looks.
//
// A contribution to version n of a lockstep run was computed from version n - 1; in a free run, from the version that its worker published
// before.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "sim/engine/time.hpp"
#include "sim/training/payload.hpp"
#include "sim/training/versions.hpp"

namespace straggler {

class OwnVersions {
 public:
  struct Version {
    Weights weights;  // without a value: version and progress are those of the run
    Contributions made;
    std::uint64_t number = 0;    // among the publications of its workers
    std::vector<Weights> parts;  // published: lockstep: whose mean it is; free-running: by one worker
    Time when;                   // the latest of its publications
  };

  /// `rule` is not Versions::shared. All workers are in, and hold `initial`.
  OwnVersions(Versions rule, Rank workers, const Weights& initial);

  /// The worker's next weights: a PublishOperation's.
  void publish(Rank worker, const Weights& weights, const Contributions& made, Time when);
  /// It is in no more.
  void went(Rank worker);
  /// It is in again, from `weights`. Returns them under the number at which it takes part.
  Weights comes(Rank worker, Weights weights);
  /// The next version that is complete; to be asked until there is none.
  std::optional<Version> next();

  /// A worker's latest weights.
  const Weights& current(Rank worker) const { return of(worker).current; }
  /// The latest weights of all that are in, in rank order; of all that were, if nobody is in.
  std::vector<Weights> current() const;
  /// The number of the weights with which its present life began.
  std::uint64_t first(Rank worker) const { return of(worker).first; }

 private:
  struct Publication {
    Weights weights;
    Contributions made;
    Time when;
  };
  struct Worker {
    Weights current;
    std::uint64_t first = 0, published = 0;  // numbers: at which its life began, and of its latest weights
    std::uint64_t counted = 0;               // the version of the run that its latest counted publication made
    bool in = true;
    std::vector<Publication> waiting;  // that are in no version yet
  };
  const Worker& of(Rank worker) const { return workers_[static_cast<std::size_t>(worker)]; }
  Worker& of(Rank worker) { return workers_[static_cast<std::size_t>(worker)]; }
  bool is_missing(const Worker& worker) const { return worker.in && worker.published <= number_; }
  void count_missing();
  std::optional<Version> next_in_lockstep();
  std::optional<Version> next_free();
  void add(Version& version, Worker& from);

  Versions rule_;
  std::vector<Worker> workers_;
  Weights latest_;             // of the run
  std::uint64_t number_ = 0;   // lockstep: of the latest version, among publications
  std::uint64_t highest_ = 0;  // that anybody has reached
  std::size_t missing_;        // lockstep: workers that have yet to publish number_ + 1
  std::deque<Rank> order_;     // free-running: of publications that are in no version yet
};

}  // namespace straggler
