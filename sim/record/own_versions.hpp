// The versions of a run whose workers publish weights of their own (Versions::lockstep and Versions::free_running): which versions there
// are, what went into each, and from what a worker starts that comes later.
//
// Lockstep. Version n is the mean, in rank order, of the n-th weights of all workers, and is published at the moment at which every
// member has published its n-th. Where workers go and come:
//  - What a worker published before it went still counts.
//  - A worker that joins or comes back takes part from a number on that no worker has reached yet, so that all know it as a member at that
//    number. Its weights are those of the first member at that moment, under that number.
//  - A number that nobody published is skipped: versions have no gap.
// Free-running. Each publication of any worker makes the next version. Its value is the mean of the members' weights, and is computed only
// on demand. These weights are those that each has published last, changed by the averages with others since then (Node::averaged_with):
//  - An average counts from the next version that either of the two makes on, with all averages of the same worker before it. It counts for
//    both at once, so that it keeps the mean.
//  - So the order in which workers have made versions says what every version is. A replay forces it.
//  - Reports that come out of order count in order: a publication waits for the averages that went into it, and these wait for the
//    publications that they averaged.
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
#include "sim/training/backend.hpp"
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

  /// Free-running: who makes the versions, in this order; free once it is used up, or when the next of them is out.
  void force_order(std::vector<Rank> workers) { forced_.assign(workers.begin(), workers.end()); }

  /// Free-running: two workers have averaged their weights, says one of them.
  void averaged(Rank teller, const Averaging& averaging);
  /// The worker's next weights: a PublishOperation's.
  void publish(Rank worker, const Weights& weights, const Contributions& made, Time when);
  /// It is no longer a member.
  void went(Rank worker);
  /// It is in again, from `weights`. Returns them under the number at which it takes part.
  Weights comes(Rank worker, Weights weights);
  /// The next version that is complete; to be asked until there is none.
  std::optional<Version> next();

  /// A worker's latest weights.
  const Weights& current(Rank worker) const { return of(worker).current; }
  /// One of those whose mean a version is, and the worker that has them for certain.
  struct Part {
    Weights weights;
    Rank holder;
  };
  /// Of the latest free-running version, in rank order: of all workers that are in; of all that were, if nobody is in.
  std::vector<Part> parts() const;
  /// The same without the holders.
  std::vector<Weights> counted() const;
  /// Publications of the worker that are in no version yet.
  std::size_t waiting(Rank worker) const { return of(worker).waiting.size(); }
  /// The number of the weights with which its present life began.
  std::uint64_t first(Rank worker) const { return of(worker).first; }

 private:
  static constexpr Rank nobody = -1;
  struct Publication {
    Weights weights;
    Contributions made;
    Time when;
    // Free-running:
    bool average = false;      // it is none, but an average that this worker made with another
    Rank other = nobody;       // with whom; of a publication, by whom an average of these weights was made since the one before
    std::uint64_t number = 0;  // of the weights that the other one, or this one, brought to that
  };
  struct Worker {
    Weights current;
    // Free-running:
    Weights counted;                         // in the latest version
    Rank holder = nobody;                    // has those
    Rank averager = nobody;                  // has averaged its latest weights, with that number
    std::uint64_t brought = 0;               // that number
    std::optional<std::uint64_t> mixed;      // the latest of its numbers of which an average counts
    std::uint64_t counted_version = 0;       // of the run, that its latest counted publication made
    std::uint64_t first = 0, published = 0;  // numbers: at which its life began, and of its latest weights
    bool in = true;
    std::vector<Publication> waiting;  // that are in no version yet
  };
  const Worker& of(Rank worker) const { return workers_[static_cast<std::size_t>(worker)]; }
  Worker& of(Rank worker) { return workers_[static_cast<std::size_t>(worker)]; }
  bool is_missing(const Worker& worker) const { return worker.in && worker.published <= number_; }
  void count_missing();
  std::optional<Version> next_in_lockstep();
  std::optional<Version> next_free();
  std::optional<Rank> next_maker();
  bool ready(const Worker& maker) const;
  /// Of the average in its log of what `with` brought; waiting.size(): it is not there.
  static std::size_t average_in(const Worker& worker, Rank with, std::uint64_t number);
  /// Averages that nothing has counted yet are without effect.
  void forget_averages(Rank worker);
  /// All before that place of the log counts: averages alone.
  void count_averages(Worker& worker, std::size_t count);
  void add(Version& version, Worker& from);

  Versions rule_;
  std::vector<Worker> workers_;
  Weights latest_;             // of the run
  std::uint64_t number_ = 0;   // lockstep: of the latest version, among publications
  std::uint64_t highest_ = 0;  // that anybody has reached
  std::size_t missing_;        // lockstep: workers that have yet to publish number_ + 1
  std::deque<Rank> order_;     // free-running: of publications that are in no version yet
  std::deque<Rank> forced_;    // of versions to come
  Time last_;                  // when the latest version was there
};

}  // namespace straggler
