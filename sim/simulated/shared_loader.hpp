// Loader processes of a host's workers, on cores that these share.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "sim/cluster/compute_plan.hpp"
#include "sim/engine/event_queue.hpp"

namespace straggler {

/// Processor sharing, as of processes that a fair scheduler runs: while n of them prepare a batch, each has cores / n of a core, at most
/// one. Processes take turns and have room as those of a worker alone (Computations::Loader).
class SharedLoader final : public Event {
 public:
  class Customers {
   public:
    /// The batch for which that worker waits is there, now.
    virtual void prepared(Rank worker) = 0;

   protected:
    ~Customers() = default;
  };
  /// What a worker asks for. Batches that are prepared ahead have the same size, except that the last one of a pass ends with it.
  struct Wanted {
    std::int64_t samples = 0;
    std::int64_t left = 0, pass = 0;  // samples of its pass after this batch, and of a whole pass; a pass of 0: no batch is cut
    std::uint64_t epoch = 0;
  };

  /// `queue`, `customers` and `classes` outlive this.
  SharedLoader(EventQueue& queue, Customers& customers, double cores) : queue_(queue), customers_(customers), cores_(cores) {}
  /// Returns the worker's number here.
  std::uint32_t add(Rank worker, const ComputeClass& own);
  /// The worker's next batch. False: it is not there yet, and prepared() will be called.
  bool take(std::uint32_t number, const Wanted& wanted);
  /// What has been prepared for it is lost, and nobody waits for it.
  void start_again(std::uint32_t number);
  /// Nothing is prepared for the next `span`.
  void stand(Time span);
  /// The longest time that a worker waited for the first batches of processes that had just started.
  Time longest_start() const;
  void happen() override;

 private:
  struct Process {
    std::uint64_t next = 0;  // batch that it prepares now or next
    bool works = false;
  };
  struct Customer {
    Rank rank = 0;
    const ComputeClass* own = nullptr;
    std::vector<Process> processes;
    std::uint64_t asked = 0, taken = 0;  // batches; `asked` is one more while the worker waits
    Wanted last;
    std::int64_t usual = 0;  // size of a batch that no pass has cut
    bool runs = false;       // its processes have been started
    bool starts = false;     // they are starting
    Time since, starting;    // when they were; from each start to the first batch, added up
  };
  struct Job {
    double end;  // in work that each process has done since somebody works
    std::uint64_t order;
    std::uint32_t customer, process;  // a process of `starting`: all of them start
    auto operator<=>(const Job&) const = default;
  };
  static constexpr std::uint32_t starting = ~0u;

  void begin(std::uint32_t number, std::uint32_t process, Time work) {
    jobs_.insert({done_ + static_cast<double>(work.ticks()), order_++, number, process});
  }
  void begin_where_room_is(std::uint32_t number);
  void end(const Job& job);
  std::int64_t size_of(const Customer& customer, std::uint64_t batch) const;
  double rate() const;
  void settle();
  void reschedule();

  EventQueue& queue_;
  Customers& customers_;
  double cores_;
  std::vector<Customer> all_;
  std::set<Job> jobs_;
  double done_ = 0;  // ticks of work, of each process, at `since_`
  Time since_, stands_until_;
  std::uint64_t order_ = 0;
};

}  // namespace straggler
