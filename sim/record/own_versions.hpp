// The versions of a run whose workers publish weights of their own (Versions::lockstep and Versions::free_running): the versions, their
// contributions, and the starting weights of a worker that comes later.
//
// Lockstep. Version n is the mean, in rank order, of the n-th weights of all workers, and is published when every member has published its
// n-th. Where workers go and come:
//  - What a worker published before it went still counts.
//  - A worker that joins or comes back takes part from a number that no worker has reached yet, so that all know it as a member at that
//    number. Its weights are those of the first member at that moment, under that number.
//  - A number that nobody published is skipped: versions have no gap.
// Free-running. Each publication of any worker makes the next version. Its value is the mean of the members' weights, computed only on
// demand: the weights that each published last, changed by the averages with others since then (Node::averaged_with):
//  - An average counts from the next version that either of the two makes, with all earlier averages of the same worker. It counts for both
//    at once, so that it keeps the mean.
//  - So the order in which workers have made versions defines every version. A replay forces it.
//  - Reports that come out of order count in order: a publication waits for the averages in it, and these wait for the publications that
//    they averaged.
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
#include "sim/training/gaps.hpp"
#include "sim/training/versions.hpp"

namespace straggler {

class OwnVersions {
 public:
  struct Version {
    Weights weights;  // without a value: version and progress are those of the run
    Contributions made;
    std::uint64_t number = 0;    // among the publications of its workers
    std::vector<Weights> parts;  // published: lockstep: the inputs of the mean; free-running: by one worker
    Time when;                   // the latest of its publications
  };

  /// `rule` is not Versions::shared. All workers are in, and hold `initial`.
  OwnVersions(Versions rule, Rank workers, const Weights& initial);

  /// Free-running: the worker of each version, in order; free once it is used up, or when the next of them is out.
  void force_order(std::vector<Rank> workers) { forced_.assign(workers.begin(), workers.end()); }

  /// Free-running: one of two workers reports that they have averaged their weights.
  void averaged(Rank teller, const Averaging& averaging);
  /// The worker's next weights: a PublishOperation's.
  void publish(Rank worker, const Weights& weights, const Contributions& made, Time when);
  /// It is no longer a member.
  void remove(Rank worker);
  /// Lockstep: the others do without it from the first number that nobody has reached, or from the beginning.
  void is_out(Rank worker) { gaps_.begin(worker, highest_ + 1); }
  void is_out_from_the_beginning(Rank worker) { gaps_.begin(worker, 0); }
  /// It is a member again, from `weights`. Returns them under the number at which it takes part.
  Weights readmit(Rank worker, Weights weights);
  /// The next complete version; call until there is none.
  std::optional<Version> next();

  /// A worker's latest weights.
  const Weights& current(Rank worker) const { return of(worker).current; }
  /// One input of a version's mean, and the worker that certainly has it.
  struct Part {
    Weights weights;
    Rank holder;
  };
  /// For the latest free-running version, in rank order: of all members; if there is none, of the last ones to leave.
  std::vector<Part> parts() const;
  /// The same without the holders.
  std::vector<Weights> counted() const;
  /// Publications of the worker that are in no version yet.
  std::size_t waiting(Rank worker) const { return of(worker).waiting.size(); }
  /// Lockstep: it takes part at that number. Where that number has been reached, the answer does not change.
  bool is_in(Rank worker, std::uint64_t number) const { return !gaps_.hold(worker, number); }
  /// The number of the weights with which its present life began.
  std::uint64_t first(Rank worker) const { return of(worker).first; }

 private:
  static constexpr Rank nobody = -1;
  struct Publication {
    Weights weights;
    Contributions made;
    Time when;
    // Free-running:
    bool average = false;      // false: a publication; true: an average that this worker made with another
    Rank other = nobody;       // the other worker of the average; of a publication: the worker that averaged with it since its last one
    std::uint64_t number = 0;  // of the weights brought to that average: the other worker's; of a publication: this worker's
  };
  struct Worker {
    Weights current;
    // Free-running:
    Weights counted;                         // in the latest version
    Rank holder = nobody;                    // has those
    Rank averager = nobody;                  // has averaged its latest weights, with that number
    std::uint64_t brought = 0;               // that number
    std::optional<std::uint64_t> mixed;      // number of its latest weights whose average counts
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
  /// Index of the average in its log of the weights that `with` brought; waiting.size(): it is not there.
  static std::size_t average_in(const Worker& worker, Rank with, std::uint64_t number);
  /// Drops the averages in its log, and its side of those in the others' logs.
  void forget_averages(Rank worker);
  /// All log entries before that index count: only averages.
  void count_averages(Worker& worker, std::size_t count);
  void add(Version& version, Worker& from);

  Versions rule_;
  std::vector<Worker> workers_;
  Gaps gaps_;                  // lockstep
  Weights latest_;             // of the run
  std::uint64_t number_ = 0;   // lockstep: of the latest version, among publications
  std::uint64_t highest_ = 0;  // the highest number that any worker has reached
  std::size_t missing_;        // lockstep: workers that have not published number_ + 1 yet
  std::deque<Rank> order_;     // free-running: of publications that are in no version yet
  std::deque<Rank> forced_;    // of versions to come
  Time last_;                  // time of the latest version
};

}  // namespace straggler
