#include "scenarios/experiment/stored_trajectory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace straggler {
namespace {

// Rough costs on a current core (measured: 7e-12 s an operation in a fused batch of an MLP, 5e-9 s a byte that goes through SQLite to a
// file): only ratios matter, and those within a factor of a few.
constexpr double node_seconds = 1e-6, flop_seconds = 6e-12, value_seconds = 2e-5, byte_seconds = 6e-9;
/// Bound on all saves of a run, as a multiple of one save's share.
constexpr double end_share = 2;
/// Unevaluated nodes of some 300 bytes each that a run may gather on its way to values that are known.
constexpr std::size_t most_pending = 300'000;

LossScale from_kept(const Evaluation& kept) { return {kept.loss, static_cast<std::uint64_t>(kept.accuracy)}; }

}  // namespace

StoredValues::StoredValues(TrajectoryStore& store, const Lineage& lineage)
    : store_(store), root_(value_root(lineage.root(), math_stamp())) {
  const std::vector<Key> kept = store_.values(root_);
  known_.insert(kept.begin(), kept.end());
}

bool StoredValues::read(const Key& key, std::span<float> to) {
  if (store_.find_value(root_, key, to)) return true;
  known_.erase(key);
  return false;
}

void StoredValues::keep(const Key& key, std::span<const float> floats) {
  store_.keep_value(root_, key, floats);
  known_.insert(key);
}

void StoredValues::forget(const Key& key) {
  store_.forget_value(root_, key);
  known_.erase(key);
}

Evaluation KnownEvaluations::evaluate(const Handle& weights, EvaluationSet set) {
  return find(evaluation_key(weights.key(), set, train_subset_, stamp_));
}

std::optional<LossScale> KnownEvaluations::loss_scale(const Handle& weights) {
  return dynamic_ ? std::optional(from_kept(find(loss_scale_key(weights.key(), stamp_)))) : std::nullopt;
}

Evaluation KnownEvaluations::find(const Key& key) {
  if (const auto known = store_.find(key)) {
    ++found_;
    return *known;
  }
  missing_.push_back(key);
  return {};
}

SavePoints::SavePoints(Executor& executor, Lineage& lineage, StoredValues& values, const SavingRule& rule, double sample_flops,
                       std::uint64_t from)
    : executor_(executor),
      lineage_(lineage),
      values_(values),
      rule_(rule),
      sample_flops_(sample_flops),
      initial_(lineage.initial().key()),
      from_(from),
      next_version_(from + 1) {}

double SavePoints::seconds_of_math() const {
  const ExecutorStatistics done = executor_.statistics();
  const double so_far =
      static_cast<double>(done.nodes) * node_seconds + static_cast<double>(done.gradient_samples) * sample_flops_ * flop_seconds;
  const double each = done.nodes > 0 ? so_far / static_cast<double>(done.nodes) : node_seconds;
  return so_far + each * static_cast<double>(lineage_.pending());  // pending nodes will most likely be computed
}

double SavePoints::seconds_of_saving(std::size_t values) const {
  return static_cast<double>(values) * (value_seconds + static_cast<double>(executor_.length() * sizeof(float)) * byte_seconds);
}

void SavePoints::published(const Handle& weights, std::uint64_t version) {
  if (version < next_version_) return;
  if (rule_.share * (seconds_of_math() - saved_at_) < seconds_of_saving(executor_.statistics().values)) {
    next_version_ = version + 1 + version / 16;
    return;
  }
  save(weights, version, std::numeric_limits<double>::infinity());
  saved_at_ = seconds_of_math();
  next_version_ = std::max(version + 1, static_cast<std::uint64_t>(std::ceil(static_cast<double>(version) * rule_.growth)));
}

void SavePoints::stopped(const Handle& weights, std::uint64_t version) {
  if (save(weights, version, end_share * rule_.share * seconds_of_math())) return;
  const std::span<const float> floats = executor_.value(weights);
  const std::uint64_t bytes = floats.size_bytes();
  // Weights alone, to look at; a few of them are always kept.
  if (!values_.knows(weights.key()) && !(weights.key() == initial_) && bytes <= 4 * values_.budget()) values_.keep(weights.key(), floats);
}

/// False: there is more of it than a run may keep, or than can be written in this many seconds.
bool SavePoints::save(const Handle& weights, std::uint64_t version, double seconds) {
  executor_.force(weights);
  Point point{version, {}};
  std::vector<Executor::LiveValue> live = executor_.live_values();
  std::erase_if(live, [this](const Executor::LiveValue& each) { return !each.values || each.key == initial_; });
  const std::uint64_t each_bytes = executor_.length() * sizeof(float);
  if (live.size() * each_bytes > values_.budget() || seconds_of_saving(live.size()) > seconds) return false;
  for (const Executor::LiveValue& each : live) {
    point.keys.push_back(each.key);
    ++needed_[each.key];
    if (values_.knows(each.key)) continue;
    values_.keep(each.key, {each.values, executor_.length()});
    own_.insert(each.key);
  }
  points_.push_back(std::move(point));
  thin_out();
  return true;
}

/// Where the points are too many for the budget, the point goes whose loss costs a run that diverges later the least recomputation
/// anywhere, at early versions and late ones alike (on a logarithmic scale); the last one stays.
void SavePoints::thin_out() {
  while (points_.size() > 1 && own_.size() * executor_.length() * sizeof(float) > values_.budget()) {
    std::size_t least = 0;
    double least_loss = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < points_.size(); ++i) {
      const auto before = static_cast<double>(i > 0 ? points_[i - 1].version : from_), at = static_cast<double>(points_[i].version),
                 after = static_cast<double>(points_[i + 1].version);
      const double loss = (at - before) * std::log(after / at);
      if (loss < least_loss) {
        least = i;
        least_loss = loss;
      }
    }
    forget(least);
  }
}

void SavePoints::forget(std::size_t point) {
  for (const Key& key : points_[point].keys) {
    const auto at = needed_.find(key);
    if (--at->second > 0) continue;
    needed_.erase(at);
    if (own_.erase(key) > 0) values_.forget(key);
  }
  points_.erase(points_.begin() + static_cast<std::ptrdiff_t>(point));
}

Evaluation StoringEvaluator::evaluate(const Handle& weights, EvaluationSet set) {
  const Key key = evaluation_key(weights.key(), set, train_subset_, stamp_);
  if (const auto known = store_.find(key)) return *known;
  const Evaluation value = math_.evaluate(weights, set);
  store_.keep(key, value);
  return value;
}

std::optional<LossScale> StoringEvaluator::loss_scale(const Handle& weights) {
  const std::optional<LossScale> scale = math_.loss_scale(weights);
  if (scale) store_.keep(loss_scale_key(weights.key(), stamp_), {scale->scale, static_cast<double>(scale->skipped)});
  return scale;
}

void StoringEvaluator::force(const Handle& value) {
  if (version_ + 1 < known_version_ && lineage_.pending() < most_pending) return;
  math_.force(value);
}

void StoringEvaluator::published(const Handle& weights, std::uint64_t version) {
  version_ = version;
  if (version < known_version_) return;
  if (version == known_version_) {
    math_.force(weights);
    math_.take_known();
    return;
  }
  points_.published(weights, version);
}

void StoringEvaluator::stopped(const Handle& weights, std::uint64_t version) { points_.stopped(weights, version); }

}  // namespace straggler
