// Ring all-reduce: reduce-scatter, then all-gather, each in p-1 steps that pass one chunk of n/p to the next rank.
//   T = 2(p-1) α + 2((p-1)/p) n β + ((p-1)/p) n γ
// Patarasuk & Yuan, Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations, 2009.
#include <algorithm>

#include "sim/collectives/collective.hpp"

namespace straggler {
namespace {

/// Chunk c of p covers bytes [n c / p, n (c+1) / p).
std::uint64_t chunk_bytes(std::uint64_t bytes, std::size_t ranks, std::size_t chunk) {
  __extension__ typedef unsigned __int128 Wide;
  const auto edge = [&](std::size_t c) { return static_cast<std::uint64_t>(static_cast<Wide>(bytes) * c / ranks); };
  return edge(chunk + 1) - edge(chunk);
}

/// In step s of the reduce-scatter rank r passes on chunk r - s; in the all-gather chunk r + 1 - s.
std::size_t chunk_sent(std::size_t ranks, std::size_t rank, std::size_t step) {
  const bool gathering = step >= ranks - 1;
  const std::size_t s = gathering ? step - (ranks - 1) : step;
  return (rank + (gathering ? 1 : 0) + ranks - s) % ranks;
}

/// All chunks but one in each half: rank r never sends chunk r+1 while reducing, nor chunk r+2 while gathering.
std::uint64_t bytes_sent(std::uint64_t bytes, std::size_t ranks, std::size_t rank) {
  if (ranks < 2) return 0;
  return 2 * bytes - chunk_bytes(bytes, ranks, (rank + 1) % ranks) - chunk_bytes(bytes, ranks, (rank + 2) % ranks);
}

std::uint64_t bytes_received(std::uint64_t bytes, std::size_t ranks, std::size_t rank) {
  return bytes_sent(bytes, ranks, (rank + ranks - 1) % ranks);
}

double seconds(double bytes, std::size_t ranks, double alpha, double beta, double gamma) {
  const double p = static_cast<double>(ranks);
  return 2 * (p - 1) * alpha + 2 * ((p - 1) / p) * bytes * beta + ((p - 1) / p) * bytes * gamma;
}

/// One flow over every link of the ring: the slowest governs. Each link carries 2((p-1)/p) n, one flow at a time, as stepwise.
FluidCollective fluid(const AllReduceRun& run) {
  FluidCollective flow;
  const std::size_t p = run.ranks;
  const double rounds = 2.0 * static_cast<double>(p - 1);
  flow.bytes = rounds / static_cast<double>(p) * static_cast<double>(run.bytes);
  flow.arithmetic = Time::from_seconds(flow.bytes / 2 * run.reduce_seconds_per_byte);
  Time slowest;
  Route route;
  for (std::size_t rank = 0; rank < p; ++rank) {
    run.topology.route(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>((rank + 1) % p), route);
    slowest = std::max(slowest, route.latency);
    flow.links.insert(flow.links.end(), route.links.begin(), route.links.end());
  }
  std::sort(flow.links.begin(), flow.links.end());
  flow.links.erase(std::unique(flow.links.begin(), flow.links.end()), flow.links.end());
  flow.latency = Time::from_ticks(slowest.ticks() * 2 * static_cast<std::int64_t>(p - 1));
  return flow;
}

/// A chunk on its way: it lands in the receiver's inbox and tells the sender.
class ChunkTransfer final : public Arrival {
 public:
  ChunkTransfer(AllReduceRun& run, std::size_t to, Signal& sent) : run_(run), to_(to), sent_(sent) {}
  ChunkTransfer(const ChunkTransfer&) = delete;
  ChunkTransfer& operator=(const ChunkTransfer&) = delete;
  ~ChunkTransfer() { run_.network.cancel(flow_); }
  void start(const Route& route, std::uint64_t bytes) {
    bytes_ = bytes;
    flow_ = run_.network.start(route.links, static_cast<double>(bytes), route.latency, *this);
  }

 private:
  void arrived() override {
    run_.inbox[to_].put(bytes_);
    sent_.raise(sent_.value() + 1);
  }
  AllReduceRun& run_;
  std::size_t to_;
  Signal& sent_;
  std::uint64_t bytes_ = 0;
  FlowId flow_ = 0;
};

Process ring_rank(AllReduceRun& run, std::size_t rank) {
  const std::size_t p = run.ranks, next = (rank + 1) % p;
  Route route;
  run.topology.route(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(next), route);
  Signal sent(run.simulation, "chunk sent by rank " + std::to_string(rank));
  ChunkTransfer transfer(run, next, sent);
  for (std::size_t step = 0; step < 2 * (p - 1); ++step) {
    transfer.start(route, chunk_bytes(run.bytes, p, chunk_sent(p, rank, step)));
    const std::uint64_t received = co_await run.inbox[rank].take(run.simulation);
    co_await sent.reach(step + 1);
    if (step < p - 1 && run.reduce_seconds_per_byte > 0) {
      const Time arithmetic = Time::from_seconds(static_cast<double>(received) * run.reduce_seconds_per_byte);
      co_await run.simulation.delay(arithmetic);
    }
  }
  run.finished(rank);
}

CollectiveEntry entry() {
  CollectiveEntry ring;
  ring.name = "ring";
  ring.summary = "ring all-reduce: 2(p-1) steps of n/p bytes to the next rank";
  ring.seconds = seconds;
  ring.bytes_sent = bytes_sent;
  ring.bytes_received = bytes_received;
  ring.fluid = fluid;
  ring.rank = ring_rank;
  return ring;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler
