// A rank of a sweep other than the first: works on the points that rank 0 hands out. Its threads compute; the thread that made it calls
// MPI.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "scenarios/sweep/point_worker.hpp"
#include "validation/mpi/channel.hpp"
#include "validation/mpi/patience.hpp"
#include "validation/sweep_ranks/sweep_messages.hpp"
#include "validation/sweep_ranks/sweep_server.hpp"

namespace straggler {

class SweepRank final : public PointDesk, private TrajectoryStore, private ChannelUser {
 public:
  /// Rank 0 counts as lost if it has been silent for this long after it began to hand out points.
  static constexpr std::chrono::minutes lost_after{5};

  struct Options {
    RankIdentity identity;
    unsigned cores = 1;
    std::function<bool()> interrupted;  // this rank; rank 0 then ends the sweep
  };
  SweepRank(const Mpi& mpi, Options options);
  ~SweepRank() override;

  /// Works until rank 0 ends the sweep, and returns rank 0's exit code. None: rank 0 is lost.
  std::optional<int> run();
  /// After it: whether all ranks were there when rank 0 told them to leave.
  bool all_there() const { return left_.value_or(false); }

  // For the workers of this rank.
  std::optional<PointWork> next() override;
  TrajectoryStore* store() override { return setup_.store ? this : nullptr; }
  bool promise(std::uint64_t ticket, const std::vector<Key>& missing) override;
  void finish(std::uint64_t ticket, FinishedPoint point, AskedEvaluations asked) override;
  void fail(std::uint64_t ticket, const std::string& what) override;
  void give_up(std::uint64_t ticket) override;
  bool ended() override { return ended_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Evaluation> find(const Key& evaluation) override;
  void keep(const Key& evaluation, const Evaluation& value) override;

  void arrived(Rank from, MessageKind kind, Bytes bytes) override;
  void left(Operation& /*operation*/) override {}
  void set_up(Unpacker& message);
  void work();
  void post(Packer message);
  /// Rank 0's answer; empty if the sweep has ended.
  Bytes ask(Talk what, const std::function<void(Packer&)>& rest);
  void send_all();
  void tell_rank_0();
  void rest();
  bool deserted() const;
  void wait_to_leave();

  const Options options_;
  Channel channel_;
  RankSetup setup_;
  DataCache data_;
  std::vector<std::thread> threads_;
  std::atomic<unsigned> working_ = 0;
  std::atomic<bool> ended_ = false;
  Patience patience_;
  Clock::time_point heard_, looked_, told_alive_;
  bool told_interrupt_ = false;

  // All below: under mutex_.
  std::mutex mutex_;
  std::condition_variable outgoing_, answered_;
  std::deque<Bytes> outbox_;
  std::map<std::uint64_t, Bytes> asked_;  // by number; the answer, empty until it is there
  std::uint64_t next_number_ = 1;
  std::unordered_map<Key, Evaluation, KeyHash> known_;  // found or made by this rank
  std::optional<int> closed_;

  std::optional<bool> left_;  // told to leave: whether all ranks were there
};

}  // namespace straggler
