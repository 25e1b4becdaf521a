#include "scenarios/experiment/all_reduce_times.hpp"

#include <optional>
#include <set>

#include "scenarios/experiment/blueprint.hpp"
#include "sim/base/registry.hpp"
#include "sim/collectives/fluid.hpp"
#include "sim/collectives/message_run.hpp"
#include "sim/engine/simulation.hpp"

namespace straggler {

namespace {

/// One collective on a network of its own.
class Alone final : private Arrival, private CollectiveWatch {
 public:
  explicit Alone(const SimulatedCluster& cluster)
      : network_(simulation_.queue()),
        transport_(*cluster.fabric, network_, *cluster.sharing, cluster.protocol.segments, cluster.protocol.connection_bytes_per_second) {
    build_links(*cluster.fabric, network_);
    simulation_.attach(network_);
    for (const TokenBucket& bucket : cluster.token_buckets)
      network_.set_bucket(bucket.link, bucket.burst_bytes, bucket.peak_bytes_per_second);
    if (cluster.protocol.cores > 0) cores_.emplace(cluster.protocol.cores);
    costs_.reduce_seconds_per_byte = cluster.collective.reduce_seconds_per_byte;
    costs_.per_message = cluster.protocol.per_message;
    costs_.per_byte = cluster.protocol.seconds_per_byte;
    costs_.launch = cluster.collective.launch;
    costs_.cores = cores_ ? &*cores_ : nullptr;
  }

  Time stepwise(const CollectiveSchedule& schedule) {
    MessageRun run(simulation_, network_, transport_, costs_, MessageRun::Start::together, std::nullopt, *this);
    run.begin_all(run.open(schedule, {}));
    simulation_.run();
    return simulation_.now();
  }

  Time fluid(const CollectiveSchedule& schedule) {
    const FluidPlan plan = fluid_plan(schedule, costs_, transport_);
    network_.start(plan.flow(), *this);
    simulation_.run();
    return simulation_.now() + plan.arithmetic;
  }

 private:
  void arrived() override {}
  bool watches_messages() const override { return false; }
  void done(std::uint64_t, CollectiveRank) override {}

  Simulation simulation_;
  Network network_;
  Transport transport_;
  std::optional<CorePool> cores_;
  CollectiveCosts costs_;
};

}  // namespace

struct AllReduceTimes::Inside {
  explicit Inside(const Scenario& scenario) : blueprint(scenario, "auto"), cluster(blueprint.cluster(scenario)) {}
  Parameters parameters(const CollectiveEntry& entry) const {
    const bool named = cluster.collective.all_reduce->name == entry.name && !entry.parameters.all().empty();
    return complete(entry.parameters, named ? cluster.collective.parameters : Parameters());
  }
  Blueprint blueprint;
  SimulatedCluster cluster;
};

AllReduceTimes::AllReduceTimes(const Scenario& scenario) : inside_(std::make_unique<Inside>(scenario)) {}
AllReduceTimes::~AllReduceTimes() = default;

const CollectiveShape& AllReduceTimes::shape() const { return inside_->cluster.collective.shape; }
const UniformLinks& AllReduceTimes::links() const { return inside_->cluster.collective.uniform; }
bool AllReduceTimes::stepwise() const { return inside_->cluster.collective.stepwise || inside_->cluster.sharing->by_message(); }

std::size_t AllReduceTimes::hosts() const {
  const std::vector<std::uint32_t>& all = shape().host_of;
  return all.empty() ? shape().workers : std::set<std::uint32_t>(all.begin(), all.end()).size();
}

std::string AllReduceTimes::choice(const CollectiveEntry& entry, std::uint64_t bytes) const {
  if (!entry.choice) return {};
  return entry.choice(static_cast<double>(bytes), inside_->cluster.collective.shape, inside_->cluster.collective.uniform,
                      inside_->parameters(entry));
}

Time AllReduceTimes::time(const CollectiveEntry& entry, std::uint64_t bytes) const {
  const SimulatedCluster& cluster = inside_->cluster;
  const auto schedule = entry.make(bytes, cluster.collective.shape, cluster.collective.uniform, inside_->parameters(entry));
  Alone alone(cluster);
  return stepwise() ? alone.stepwise(*schedule) : alone.fluid(*schedule);
}

}  // namespace straggler
