// Parameter server: every worker sends each of S servers its shard of n/S bytes; each server adds them up and sends everyone the sum.
//   T = 2 (max(n β, p ⌈n/S⌉ β) + α) + (p-1) ⌈n/S⌉ γ
// Li et al., Scaling Distributed Machine Learning with the Parameter Server, 2014.
#include <algorithm>
#include <cmath>

#include "sim/base/registry.hpp"
#include "sim/collectives/chunks.hpp"
#include "sim/collectives/collective.hpp"

namespace straggler::collectives::parameter_server {
namespace {

class ParameterServer final : public CollectiveSchedule {
 public:
  ParameterServer(std::uint64_t bytes, std::size_t workers, std::size_t servers) : workers_(workers), shards_(bytes, servers) {}
  std::size_t ranks() const override { return workers_ + shards_.count(); }
  std::size_t rounds() const override { return 2; }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    const bool worker = rank < workers_;
    const bool sends = worker == (round == 0);
    if (worker && sends) {
      for (std::size_t s = 0; s < shards_.count(); ++s) out.sends.push_back({static_cast<CollectiveRank>(workers_ + s), shards_.size(s)});
    } else if (worker) {
      out.receives = static_cast<std::uint32_t>(shards_.count());
      out.received_bytes = shards_.bytes();
    } else if (sends) {
      for (std::size_t w = 0; w < workers_; ++w) out.sends.push_back({static_cast<CollectiveRank>(w), shard(rank)});
    } else {
      out.receives = static_cast<std::uint32_t>(workers_);
      out.received_bytes = workers_ * shard(rank);
      out.reduced_bytes = (workers_ - 1) * shard(rank);
    }
  }

  std::vector<Stretch> stretches() const override { return {{0, 1}, {1, 1}}; }
  std::uint64_t bytes_sent(CollectiveRank rank) const override { return rank < workers_ ? shards_.bytes() : workers_ * shard(rank); }
  std::uint64_t bytes_received(CollectiveRank rank) const override { return bytes_sent(rank); }

 private:
  std::uint64_t shard(CollectiveRank server) const { return shards_.size(server - workers_); }
  std::size_t workers_;
  Chunks shards_;
};

double seconds(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
  const double p = static_cast<double>(shape.workers), shard = std::ceil(bytes / static_cast<double>(shape.servers));
  return 2 * (std::max(bytes, p * shard) * links.beta + links.alpha) + (p - 1) * shard * links.gamma;
}

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "parameter_server";
  made.summary = "each of S servers receives a shard of n/S from every rank and sends every rank the sum";
  made.reference = "Li et al. 2014";
  made.seconds = seconds;
  made.unfit = [](const CollectiveShape& shape) -> std::string {
    return shape.servers > 0 ? "" : "needs a parameter server; add cluster.servers: {count: 1}";
  };
  made.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                 const Parameters&) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<ParameterServer>(bytes, shape.workers, shape.servers);
  };
  return made;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::parameter_server
