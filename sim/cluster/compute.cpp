#include "sim/cluster/compute.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/base/even_split.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/refusal.hpp"

namespace straggler {
namespace {

/// Rounding is cumulative over this many samples: enough to make its error vanish, few enough for sums to stay exact in a double.
constexpr std::uint64_t rounding_block = 65'536;
/// Most windows of simulated time that one call may cross; more is an error in the scenario, and would look like a hang.
constexpr std::int64_t most_windows = 10'000'000;

/// Nearest whole tick; a sum of durations beyond the limit is caught by the callers.
std::int64_t to_ticks(double ticks) {
  if (!(ticks <= static_cast<double>(Time::limit().ticks()))) throw TimeOverflow("a computation takes longer than 100 days");
  // std::llround for values that are not negative, without a call: the fraction is exact, halves go up.
  const auto whole = static_cast<std::int64_t>(ticks);
  return ticks >= 0 ? whole + (ticks - static_cast<double>(whole) >= 0.5) : std::llround(ticks);
}

std::int64_t add_ticks(std::int64_t a, std::int64_t b) {
  if (b > Time::limit().ticks() - a) throw TimeOverflow("a computation takes longer than 100 days");
  return a + b;
}

/// `sentence()` is only made where it is needed: a million workers are checked.
template <class Sentence>
void require(bool good, const Sentence& sentence) {
  if (!good) throw std::invalid_argument(sentence());
}

void require_samples(std::int64_t samples) {
  require(samples >= 1, [&] { return "a computation has " + std::to_string(samples) + " samples; it must have at least 1"; });
}

class AffineTime final : public ComputeTime {
 public:
  AffineTime(double overhead, double per_sample) : split_{overhead, per_sample} {
    require(std::isfinite(overhead) && overhead >= 0,
            [&] { return "affine: overhead is " + std::to_string(overhead) + " s; it must be at least 0"; });
    require(std::isfinite(per_sample) && per_sample >= 0,
            [&] { return "affine: per_sample is " + std::to_string(per_sample) + " s; it must be at least 0"; });
  }
  Split at(std::int64_t samples) const override {
    require_samples(samples);
    return split_;
  }

 private:
  Split split_;
};

class TableTime final : public ComputeTime {
 public:
  TableTime(std::vector<std::pair<std::int64_t, double>> points, double launch) : points_(std::move(points)), launch_(launch) {
    require(!points_.empty(), [] { return "table: there are no points; give at least one (batch size, seconds)"; });
    require(std::isfinite(launch) && launch >= 0,
            [&] { return "table: launch is " + std::to_string(launch) + " s; it must be at least 0"; });
    std::int64_t before = 0;
    for (const auto& [size, seconds] : points_) {
      const auto where = [of = size] { return "table: the point at batch size " + std::to_string(of); };
      require(size >= 1, [&] { return where() + ": sizes must be at least 1"; });
      require(size > before, [&] { return where() + " follows one at " + std::to_string(before) + "; sizes must ascend"; });
      require(std::isfinite(seconds) && seconds > 0,
              [&, given = seconds] { return where() + " has " + std::to_string(given) + " s; times must be above 0"; });
      before = size;
    }
  }

  Split at(std::int64_t samples) const override {
    require_samples(samples);
    const double size = static_cast<double>(samples), proportional = points_[0].second / static_cast<double>(points_[0].first);
    // Kept as a rate, so that pieces of any size add up to the tick.
    if (points_.size() == 1) return {0, std::max(proportional, launch_ / size)};
    double seconds = line(samples);
    if (samples < points_.front().first) seconds = std::max(seconds, proportional * size);
    if (samples > points_.back().first) seconds = std::max(seconds, points_.back().second);
    return {0, std::max(seconds, launch_) / size};
  }

 private:
  /// Through the two points around `samples`, or the two next to it where it is outside.
  double line(std::int64_t samples) const {
    auto right =
        std::lower_bound(points_.begin(), points_.end(), samples, [](const auto& point, std::int64_t size) { return point.first < size; });
    right = std::clamp(right, points_.begin() + 1, points_.end() - 1);
    const auto left = right - 1;
    const double along = static_cast<double>(samples - left->first) / static_cast<double>(right->first - left->first);
    return left->second * (1 - along) + right->second * along;  // exact at both points
  }

  std::vector<std::pair<std::int64_t, double>> points_;
  double launch_;
};

}  // namespace

std::unique_ptr<ComputeTime> affine_time(double overhead, double per_sample) { return std::make_unique<AffineTime>(overhead, per_sample); }

double seconds_of(const ComputeTime& time, std::int64_t samples, std::int64_t micro_batches) {
  const auto once = [&time](std::int64_t size) {
    const ComputeTime::Split split = time.at(size);
    return split.overhead + split.per_sample * static_cast<double>(size);
  };
  if (micro_batches == 1) return once(samples);
  const auto pieces = EvenSplit<std::int64_t>::of(samples, std::min(samples, micro_batches));
  const std::int64_t count = std::min(samples, micro_batches);
  const double larger = pieces.larger > 0 ? static_cast<double>(pieces.larger) * once(pieces.least + 1) : 0;
  return larger + static_cast<double>(count - pieces.larger) * once(pieces.least);
}

std::int64_t last_micro_batch(std::int64_t samples, std::int64_t micro_batches) { return samples / std::min(samples, micro_batches); }

std::unique_ptr<ComputeTime> table_time(std::vector<std::pair<std::int64_t, double>> points, double launch) {
  return std::make_unique<TableTime>(std::move(points), launch);
}

WorkerCompute::WorkerCompute(const ComputeTime& time, double slowdown, std::unique_ptr<Jitter> jitter, Quantum quantum, std::uint64_t seed,
                             Rank worker, std::int64_t micro_batches)
    : time_(&time),
      slowdown_(slowdown),
      jitter_(std::move(jitter)),
      quantum_(quantum.unit == Quantum::Unit::time ? quantum.span.ticks() : quantum.samples),
      stream_(RandomStream::stream_key(seed, "worker/" + std::to_string(worker) + "/compute")),
      worker_(worker),
      micro_batches_(static_cast<std::uint16_t>(micro_batches)),
      unit_(quantum.unit) {
  const auto where = [&] { return "worker " + std::to_string(worker) + ": "; };
  require(micro_batches >= 1 && micro_batches <= 0xffff,
          [&] { return where() + std::to_string(micro_batches) + " micro-batches; give 1 to 65535"; });
  require(std::isfinite(slowdown) && slowdown > 0,
          [&] { return where() + "slowdown is " + std::to_string(slowdown) + "; it must be above 0"; });
  if (quantum.unit == Quantum::Unit::samples)
    require(quantum.samples >= 1,
            [&] { return where() + "jitter.every is " + std::to_string(quantum.samples) + " samples; it must be at least 1"; });
  if (quantum.unit == Quantum::Unit::time)
    require(quantum.span > Time() && quantum.span <= Time::limit(), [&] {
      return where() + "jitter.every is " + format_number(quantum.span.seconds()) + " s; it must be above 0, at most 100 days";
    });
}

double WorkerCompute::factor(std::uint64_t quantum) {
  if (!jitter_) return 1;
  const double drawn = jitter_->factor(stream_, quantum);
  if (!(drawn > 0 && std::isfinite(drawn)))
    throw std::logic_error("a jitter kind drew the factor " + std::to_string(drawn) + " for quantum " + std::to_string(quantum) +
                           " of worker " + std::to_string(worker_) + "; factors must be positive and finite");
  return drawn;
}

/// Within a block of a quantum the time of samples [a, b) is C(b) - C(a), C being the rounded time of all samples of the block
/// before it: pieces telescope, so the ticks of a stretch of samples do not depend on how it is cut.
std::int64_t WorkerCompute::over_samples(const Work& work, const WorkPiece& piece) {
  const std::uint64_t inside_block = piece.first % rounding_block;
  if (!jitter_ && inside_block + static_cast<std::uint64_t>(piece.samples) <= rounding_block) {  // most pieces: one turn of the loop below
    const std::int64_t before = to_ticks(static_cast<double>(inside_block) * work.per_sample);
    const std::int64_t after = to_ticks(static_cast<double>(inside_block + static_cast<std::uint64_t>(piece.samples)) * work.per_sample);
    return add_ticks(after - before, to_ticks(work.overhead));
  }
  const bool by_batch = jitter_ && unit_ == Quantum::Unit::batch;  // samples are counted from the batch's beginning, all in one quantum
  const std::uint64_t length = !jitter_ ? rounding_block : by_batch ? ~std::uint64_t{0} : static_cast<std::uint64_t>(quantum_);
  const std::uint64_t first = by_batch ? piece.offset : piece.first, end = first + static_cast<std::uint64_t>(piece.samples);
  std::int64_t ticks = 0;
  double factors = 0;  // summed over the samples
  for (std::uint64_t at = first; at < end;) {
    const std::uint64_t quantum = at / length, quantum_end = std::min(end, (quantum + 1) * length);
    const double drawn = factor(by_batch ? piece.batch : quantum), per_sample = work.per_sample * drawn;
    factors += drawn * static_cast<double>(quantum_end - at);
    while (at < quantum_end) {
      const std::uint64_t inside = at - quantum * length, block = at - inside % rounding_block;
      const std::uint64_t stop = std::min(quantum_end, block + rounding_block);
      ticks = add_ticks(ticks,
                        to_ticks(static_cast<double>(stop - block) * per_sample) - to_ticks(static_cast<double>(at - block) * per_sample));
      at = stop;
    }
  }
  return add_ticks(ticks, to_ticks(work.overhead * (factors / static_cast<double>(work.samples))));
}

/// Work flows at speed 1 / factor of the window that simulated time is in.
std::int64_t WorkerCompute::over_windows(const Work& work, Time start) {
  const std::int64_t span = quantum_;
  std::int64_t at = start.ticks();
  double left = work.all(), lost = 0;  // compensated (Kahan): thousands of windows must not add up to a tick
  for (std::int64_t crossed = 0; crossed < most_windows; ++crossed) {
    const double drawn = factor(static_cast<std::uint64_t>(at / span));
    const std::int64_t room = span - at % span;
    const double done = static_cast<double>(room) / drawn;
    if (left - lost <= done) return add_ticks(at, to_ticks(std::max(0.0, (left - lost) * drawn))) - start.ticks();
    const double change = -done - lost, next = left + change;
    lost = (next - left) - change;
    left = next;
    at = add_ticks(at, room);
  }
  throw CannotContinue("a computation of worker " + std::to_string(worker_) + " spans more than " + std::to_string(most_windows) +
                       " windows of jitter.every (" + std::to_string(span) + " ps); give it a longer time");
}

std::int64_t WorkerCompute::ticks_of(const WorkPiece& piece, std::uint64_t call, Time start) {
  const ComputeTime::Split split = time_->at(piece.samples);
  const double scale = slowdown_ * static_cast<double>(Time::ticks_per_second);
  const Work work{split.overhead * scale, split.per_sample * scale, piece.samples};
  if (jitter_ && unit_ == Quantum::Unit::call) return to_ticks(work.all() * factor(call));
  if (jitter_ && unit_ == Quantum::Unit::time) return over_windows(work, start);
  return over_samples(work, piece);
}

Time WorkerCompute::duration(const WorkPiece& piece, std::uint64_t call, Time start) {
  if (piece.samples == 0) return Time();
  const auto taken = [&]() -> std::int64_t {
    if (micro_batches_ == 1) return ticks_of(piece, call, start);
    const auto split = EvenSplit<std::int64_t>::of(piece.samples, micro_batches_);
    std::int64_t all = 0;
    for (std::int64_t j = 0; j < micro_batches_ && split.size(j) > 0; ++j) {
      WorkPiece part = piece;
      part.first += static_cast<std::uint64_t>(split.begin(j));
      part.offset += static_cast<std::uint32_t>(split.begin(j));
      part.samples = split.size(j);
      const std::uint64_t draw = call * micro_batches_ + static_cast<std::uint64_t>(j);
      all = add_ticks(all, ticks_of(part, draw, Time::from_ticks(add_ticks(start.ticks(), all))));
    }
    return all;
  };
  try {
    const std::int64_t ticks = taken();
    add_ticks(start.ticks(), ticks);
    return Time::from_ticks(ticks);
  } catch (const TimeOverflow&) {
    throw TimeOverflow("worker " + std::to_string(worker_) + " would compute " + std::to_string(piece.samples) + " samples from " +
                       format_number(start.seconds()) +
                       " s until after 100 simulated days; check its device's compute, slowdown and jitter");
  }
}

}  // namespace straggler
