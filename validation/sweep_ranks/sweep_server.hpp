// Rank 0 of a sweep: hands its points to the other ranks, and is the only one that writes.
//
// Invariants:
//  - As far as rank 0 has heard, one rank at a time has a point. When a rank has been silent for `lost_after`, its points are handed
//    out again. If it speaks after all it takes part again; results that it brings late are ignored.
//  - A failure of the files ends the sweep; the ranks always get notice of the end.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/ranks/rank_identity.hpp"
#include "scenarios/sweep/point_pool.hpp"
#include "validation/mpi/channel.hpp"
#include "validation/mpi/patience.hpp"
#include "validation/sweep_ranks/sweep_messages.hpp"

namespace straggler {

class SweepServer final : private ChannelUser {
 public:
  static constexpr std::chrono::seconds alive_every{1}, lost_after{10};

  struct Options {
    RankIdentity identity;
    std::function<void()> interrupt;               // another rank was interrupted
    std::function<void(const std::string&)> warn;  // one line
  };
  SweepServer(const Mpi& mpi, Options options);

  /// Serves the pool until it is done. The first call sends the ranks their settings, and throws Refusal if one cannot use them.
  void serve(PointPool& pool, const RankSetup& setup);
  /// Nothing more will come: every rank ends with this code. Waits until all have stopped to work or are lost, and tells them to leave.
  /// True: none is lost.
  bool close(int code);

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    bool ready = false, gone = false, lost = false, told_to_stop = false;
    std::string problem;  // why it cannot take part
    Clock::time_point heard;
    std::set<std::uint64_t> tickets;
  };
  struct Waiting {
    Rank rank = 0;
    std::uint64_t number = 0;  // of its request
  };

  void set_up(const RankSetup& setup);
  void step();
  void rest();
  void arrived(Rank from, MessageKind kind, Bytes bytes) override;
  void left(Operation& /*operation*/) override {}
  void note_ready(Rank from, Unpacker& message);
  void answer_find(Rank from, Unpacker& message);
  void answer_promise(Rank from, Unpacker& message);
  void keep(Unpacker& message);
  void end_point(Rank from, Talk how, Unpacker& message);
  bool hand_out();
  void tell_stop();
  void look_after_ranks();
  void lose(Rank rank);
  void send_close(Rank to);
  void send(Rank to, Packer message);
  template <class Body>
  bool guarded(const Body& body);
  Peer& peer(Rank rank) { return peers_[index_of(rank)]; }

  const Options options_;
  Channel channel_;
  std::vector<Peer> peers_;  // [ranks]; the first is this one
  std::deque<Waiting> waiting_;
  PointPool* pool_ = nullptr;  // while it is served
  bool set_up_ = false;
  std::optional<int> closed_;  // with which code
  Patience patience_;
  std::uint64_t looked_at_ = 0;  // changes of the pool when it had nothing to hand out
  Clock::time_point look_again_, looked_, told_alive_;
};

}  // namespace straggler
