#include "sim/simulated/rebalancing.hpp"

#include <utility>

namespace straggler {

Rebalancing::Rebalancing(Algebra& algebra, Choices& choices, const TrainingPlan& plan, Rank first_pool)
    : algebra_(algebra),
      choices_(choices),
      plan_(plan),
      first_pool_(first_pool),
      batches_(plan.batches),
      clocks_(index_of(plan.workers)),
      due_(plan.rebalance_every) {
  algebra_.use(batches_);
}

/// A smaller batch at the end of a pass says little about a whole one.
void Rebalancing::computed(Rank worker, std::int64_t samples, Time span) {
  Clock& clock = clocks_[index_of(worker)];
  const Time loading = std::exchange(clock.loading, Time());
  if (samples != batches_.of(worker)) return;
  clock.seconds += (loading + span).seconds();
  ++clock.count;
}

void Rebalancing::published(std::uint64_t version) {
  if (version < due_) return;
  due_ = version + plan_.rebalance_every;
  std::vector<TimedBatch> workers;
  for (Rank worker = 0; worker < plan_.workers; ++worker) {
    const Clock& clock = clocks_[index_of(worker)];
    const double seconds = clock.count > 0 ? clock.seconds / static_cast<double>(clock.count) : 0;
    workers.push_back({batches_.of(worker), seconds, plan_.largest_batches[index_of(worker)]});
  }
  std::vector<std::uint32_t> batches = rebalanced(workers);
  for (Rank worker = 0; worker < plan_.workers; ++worker) {
    std::uint32_t& batch = batches[index_of(worker)];
    if (const std::int32_t forced = choices_.next(first_pool_ + worker); forced > 0) batch = static_cast<std::uint32_t>(forced);
    choices_.made(first_pool_ + worker, static_cast<std::int32_t>(batch));
  }
  batches_ = Batches::stated(std::move(batches));
  clocks_.assign(clocks_.size(), Clock());
}

}  // namespace straggler
