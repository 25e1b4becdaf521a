// The longest chain of messages of a schedule, and its volume on each link, without running it.
#pragma once
#include <span>
#include <vector>

#include "sim/cluster/transport.hpp"
#include "sim/collectives/costs.hpp"
#include "sim/collectives/schedule.hpp"

namespace straggler {

/// Every rank has a clock: the length and composition of the longest chain of messages that it waited for. Round by round, a message begins
/// when both its ends are there; on a link it shares the capacity with the round's other messages (unless flows do not contend). Only the
/// first rounds of a long stretch are computed, until a round adds as much to the latest clock as the one before.
class CriticalPath {
 public:
  /// `ranks`: of the fabric, by rank in the schedule; empty: the same. Referred-to objects outlive it.
  CriticalPath(const CollectiveSchedule& schedule, const CollectiveCosts& costs, Transport& transport,
               std::span<const std::uint32_t> ranks);

  /// In seconds.
  struct Chain {
    double latency = 0, flowing = 0, arithmetic = 0;
    double bytes = 0;  // of its messages, on the wire
    double total() const { return latency + flowing + arithmetic; }
  };
  /// In the order of the schedule.
  void add(const Stretch& stretch);
  const Chain& longest() const;

  struct LinkLoad {
    LinkId link;
    double bytes;
    double rounding;  // number of rounds that the rounding of chunks may have added or left out
    double bytes_per_second;
  };
  /// Over all rounds; links that carry any bytes.
  std::vector<LinkLoad> loads() const;
  double weight() const { return weight_; }  // of the first message with bytes

 private:
  struct Link {
    double bytes_per_second = 0;             // 0: not looked up yet
    double all_bytes = 0, all_rounding = 0;  // over all rounds
    double bytes = 0, rounding = 0;          // of the round
    // Starts of the round's first and last messages on this link, their indices, and the bytes of those that start last.
    double first = 0, last = 0, last_bytes = 0;
    std::size_t first_message = 0, last_message = 0;
    bool seen = false;  // in this pass of the round
  };
  struct Message {
    CollectiveRank from, to;
    std::size_t first_hop, hops;
    double before, after, bytes, most_bytes_per_second;  // seconds of latency in front of its flow, and behind it
    double begin = 0;                                    // of its flow
    CollectiveRank waited_for = 0;
  };
  /// End of a flow that started at `begin`, together with the flow of the message `after`.
  struct End {
    double begin, flowing;
    const Message* after;
    double when() const { return begin + flowing; }
  };
  struct Participant {
    CollectiveRank rank;
    double receiving, arithmetic;  // seconds: of its processor and its library for all messages to it, and after them
  };

  std::uint32_t place(CollectiveRank rank) const { return ranks_.empty() ? rank : ranks_[rank]; }
  void collect(std::size_t round);
  void put_on_links(const Carriage& carriage, double payload);
  bool pass();
  void begin(std::size_t message);
  void come(Link& link, std::size_t message, double bytes);
  void finish(const Message& message);
  End end_on(const Message& message, const Link& link) const;
  Chain chain_to(const Message& message, double after) const;

  const CollectiveSchedule& schedule_;
  const CollectiveCosts& costs_;
  Transport& transport_;
  std::span<const std::uint32_t> ranks_;
  bool contention_;
  std::vector<Chain> clocks_, next_;  // [ranks]
  std::vector<double> sending_;       // [ranks] seconds of the processor for all messages of the round
  std::vector<Link> links_;
  std::vector<LinkId> used_;  // links with bytes, in the order of their first use
  double weight_ = 0;
  CollectiveRank longest_ = 0;
  // Of one round.
  std::vector<LinkId> of_round_, hops_;
  std::vector<double> hop_bytes_;
  std::vector<Message> messages_;
  std::vector<Participant> participants_;
  RoundPart part_;
  Carriage carriage_;
};

}  // namespace straggler
