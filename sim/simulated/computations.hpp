// Computations and their ends: batches that must be loaded first, shared cores, slow spells and pauses.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/cluster/compute_plan.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/max_min.hpp"
#include "sim/record/time_accounts.hpp"
#include "sim/simulated/flight_watch.hpp"
#include "sim/simulated/rebalancing.hpp"
#include "sim/simulated/shared_loader.hpp"
#include "sim/simulated/world.hpp"
#include "sim/training/node.hpp"

namespace straggler {

/// Processor sharing (Kleinrock 1967): if more workers want cores than there are, each gets an equal share of them. In addition, active
/// neighbours on a host may slow each other, and computations share the bandwidth of its memory: a computation moves its bytes evenly over
/// its work, and if all at their own speeds would move more than the memory does, they have max-min fair shares of it.
///
/// A worker's computation is `span` of work. Its event comes at each milestone, a share of that work; the last one is at 1 (an averaged
/// gradient has one per bucket, others have just the end). With constant speed the end is start + span. Otherwise (hosts are shared, or
/// speeds_change) the work done is updated at every change of speed.
class Computations final : public FlightWatch, private SharedLoader::Customers {
 public:
  /// `world` and `times` outlive this. Takes `world.cluster.compute`.
  Computations(World& world, TimeAccounts& times);

  /// Batches follow the times that it gets from here. Outlives this.
  void tell(Rebalancing& rebalancing) { rebalancing_ = &rebalancing; }
  /// An averaged gradient slows while its buckets are in flight (ComputePlan::interference).
  bool slows_in_flight() const { return plan_.interference > 0; }
  void flight(Rank worker, bool begins) override;
  /// The operation's event comes when the batch is loaded, if that takes time, and at each milestone.
  void start(ComputeOperation& operation, std::uint64_t call);
  /// Of a batch that has begun: up to its next point.
  void go_on(SliceOperation& operation);
  /// Its event has come. Returns the number of milestones passed now; all of them: it is done.
  std::size_t due(ComputeOperation& operation);
  /// It is cancelled: its computing is wasted.
  void stop(ComputeOperation& operation) noexcept;
  /// False: it waits for its batch.
  bool computes(const ComputeOperation& operation) const { return operation.milestone() != loading; }

  /// True: the samples are there.
  bool load(LoadOperation& operation);
  void loaded_or_given_up(const LoadOperation& operation) noexcept { stop_loading(operation.node().self()); }
  /// True: the host's process is done already.
  bool start_host_work(HostOperation& operation);

  std::span<const double> milestones(const ComputeOperation& operation) const;
  /// The share of the operation's time at which it passes that milestone: a bucket is there, and encoded if that takes time.
  double share_until(const ComputeOperation& operation, std::size_t milestone) const;
  std::size_t class_number(Rank worker) const { return plan_.class_of[index_of(worker)]; }
  /// A slow spell begins or ends; the argument is the slowdown factor of all spells together.
  void set_slowness(Rank worker, double times_slower);
  /// It is down (its cores are free, its loader restarts), or up again.
  void set_down(Rank worker, bool down);
  /// What its loader has prepared is lost.
  void start_loader_again(Rank worker);
  /// The longest time that a worker waited for the first batch of processes that had just started, all their starts together.
  Time longest_loader_start() const;
  /// All computing stops from now on; computations in progress continue afterwards.
  void pause();
  void resume();

 private:
  static constexpr std::uint16_t loading = 0xFFFF;  // no milestone
  struct Job {
    ComputeOperation* operation = nullptr;  // computing, not loading
    double done = 0;                        // ticks of work, at `since`
    double rate = 1;                        // work per tick
    double slowness = 1;
    double traffic = 0;                                            // bytes per tick of work
    double memory_rate = std::numeric_limits<double>::infinity();  // work per tick that its share of the memory allows
    Time since;
    std::uint32_t host = ~0u;
    std::uint32_t flights = 0;  // messages in flight, where these slow it
    bool down = false;
  };
  /// Loader processes take turns. Batch k waits for the process that prepared batch k - loaders, and for room: batch k - loaders · prefetch
  /// must have been taken.
  struct Loader {
    std::vector<Time> ready, taken;  // rings: [loaders], [loaders · prefetch]
    std::uint64_t batches = 0;
    std::uint64_t work = ~std::uint64_t{0};  // the batch loaded last: one that was interrupted is neither loaded nor copied twice
    Time last_ready;                         // when that was on the device
    Time stood;                              // `ready` and `taken` lag the clock by this: the time for which it stood still
    std::uint64_t epoch = 0;                 // for which its processes were started
    Time starting;                           // from each start of its processes to their first batch, added up
  };

  /// Of a worker at its host's shared loader.
  struct Seat {
    std::uint32_t host = ~0u, number = 0;
    bool prepares = false;         // the worker's latest batch
    std::int64_t samples = 0;      // of that
    Operation* waiting = nullptr;  // for it
    std::uint64_t call = 0;        // of a computation that waits
    Time asked;
  };

  const ComputeClass& class_of(Rank worker) const { return plan_.classes[class_number(worker)]; }
  static bool loads(const ComputeClass& each) { return each.load_seconds_per_sample > 0 || each.copy_seconds_per_sample > 0; }
  /// When the batch lies on the device; nothing: prepared() will be called.
  std::optional<Time> loaded(ComputeOperation& operation);
  std::optional<Time> fetched(Operation& operation, const DrawnBatch& first, std::int64_t count);
  Time taken_from_process(const ComputeClass& own, Loader& loader, std::uint64_t epoch, Time preparing);
  Time copied(Rank worker, Time taken, std::int64_t samples);
  void wait_for_shared(Operation& operation);
  void prepared(Rank worker) override;
  SharedLoader* shared_loader(Rank worker) {
    const bool shares = !seats_.empty() && seats_[index_of(worker)].host != ~0u;
    return shares ? shared_loaders_[seats_[index_of(worker)].host].get() : nullptr;
  }
  void stop_loading(Rank worker) noexcept;
  /// Of a batch that the worker has asked for and that is on the device at `there`.
  void start_at(ComputeOperation& operation, std::uint64_t call, Time asked, Time there);
  void begin(ComputeOperation& operation);
  /// Where computations are seen: the backward passes of the one that ends now, if they show when something leaves or is needed.
  void trace_backward(const ComputeOperation& operation) const;
  /// When the batch in progress is there, at full speed, from its beginning.
  Time time_until(const SliceOperation& operation) const;
  void schedule_next(ComputeOperation& operation);
  void settle(Job& job);
  void reschedule(Job& job);
  /// Requires: the job is of a shared host. All jobs there get new speeds.
  void change_host(const Job& job);
  /// It computes no longer.
  void leave_host(const Job& job);
  /// Its own speed has changed.
  void change(Job& job);
  void share_memory(const SharedHost& host);
  bool shares_memory(const Job& job) const { return job.host != ~0u && plan_.hosts[job.host].memory_bytes_per_tick > 0; }
  double traffic_of(const ComputeOperation& operation) const;
  /// With as much memory as it wants.
  double own_rate(const Job& job) const;
  /// Its links inside its host have only a share of their bandwidth while it computes, and of those of a level its part has.
  void set_computing(Rank worker, bool computes) {
    if (world_.cluster.share_while_computing != 1) share_inside_links(worker, computes);
  }
  void share_inside_links(Rank worker, bool computes);
  /// The worker's loader prepares nothing for the next `span`.
  void stall_loader(Rank worker, Time span);
  Time now() const { return simulation_.now(); }

  World& world_;
  Simulation& simulation_;
  TimeAccounts& times_;
  ComputePlan plan_;
  Rebalancing* rebalancing_ = nullptr;  // null: batches stay
  bool managed_;                        // speeds are not always 1
  bool paused_ = false;
  Time host_free_;                        // when the process that drives all workers finished the work that they last waited for
  std::vector<Job> jobs_;                 // [workers]; empty if not managed
  std::vector<double> active_;            // [hosts]: workers that want a core
  std::vector<bool> on_levels_;           // [workers]: it counts in `computing_`; empty without ComputePlan's share
  std::vector<std::uint32_t> computing_;  // [links]: of a level in a host: workers below it that compute
  std::vector<Loader> loaders_;           // [workers]: empty if no worker loads
  std::vector<Time> begun_;               // [workers]: the computation in progress; empty if nobody sees it
  std::vector<std::unique_ptr<SharedLoader>> shared_loaders_;  // [ComputePlan::loader_hosts]
  std::vector<Seat> seats_;                                    // [workers]; empty if none of those
  fluid::MaxMinProblem memory_;                                // of one host, while its shares are found
  fluid::MaxMinSolver solver_;
};

}  // namespace straggler
