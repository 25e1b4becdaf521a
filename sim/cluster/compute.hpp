// How long a worker computes: the device's time for a batch, times its slowdown, times the jitter of that piece of work.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/base/random.hpp"
#include "sim/base/rank.hpp"
#include "sim/engine/time.hpp"

namespace straggler {

/// Seconds for one mini-batch before jitter, as launch-like overhead (paid per call) plus seconds per sample at that size.
class ComputeTime {
 public:
  virtual ~ComputeTime() = default;
  struct Split {
    double overhead = 0, per_sample = 0;  // time = overhead + samples · per_sample, in seconds
  };
  virtual Split at(std::int64_t samples) const = 0;
};
/// A batch in `micro_batches` nearly equal pieces, one after another, each with at least one sample: seconds of all, and samples of the
/// last.
double seconds_of(const ComputeTime& time, std::int64_t samples, std::int64_t micro_batches = 1);
std::int64_t last_micro_batch(std::int64_t samples, std::int64_t micro_batches);
/// overhead + b · per_sample, both in seconds, finite and not negative (std::invalid_argument otherwise).
std::unique_ptr<ComputeTime> affine_time(double overhead, double per_sample);
/// Piecewise linear through measured (batch size, seconds), never below `launch` seconds; overhead 0, per_sample = t(b) / b.
///  - below the first point: the line through the first two, but no less than in proportion to the first (where that line
///    would fall to 0 before b does);
///  - beyond the last: the line through the last two, but no less than the last (where measuring noise tilts it down);
///  - a single point: in proportion to b.
/// So t(b) > 0 everywhere. Throws std::invalid_argument unless sizes are at least 1 and ascend, and seconds are positive.
std::unique_ptr<ComputeTime> table_time(std::vector<std::pair<std::int64_t, double>> points, double launch);

/// launch + max(b · flops_per_sample / (peak · efficiency), (fixed_bytes + b · bytes_per_sample) / memory_bandwidth, issue), in seconds
/// (Williams, Waterman & Patterson, Roofline, 2009; `issue`, what the host needs to issue all operations, is a third roof); overhead is
/// launch plus the part that does not grow with b. FLOPs are of training (forward and backward). With `memory_efficiency` layers that
/// memory binds take turns with those that arithmetic binds: arithmetic + fixed_bytes / memory_bandwidth + b · bytes_per_sample /
/// (memory_bandwidth · memory_efficiency) in place of the first two roofs. Throws std::invalid_argument on values that are negative, not
/// finite, or no rate.
struct Roofline {
  double launch = 0, flops_per_sample = 0, peak = 0, efficiency = 1, fixed_bytes = 0, bytes_per_sample = 0, memory_bandwidth = 0;
  double issue = 0;
  double dense_flops_per_sample = 0;            // of flops_per_sample: linear layers and attention
  std::optional<double> dense_efficiency = {};  // of those; none: `efficiency`
  std::optional<double> memory_efficiency = {};
};
std::unique_ptr<ComputeTime> roofline_time(const Roofline& roofline);

/// One kind of jitter: the factor of quantum k, drawn from the worker's own stream. Mean 1 unless its parameters say otherwise.
class Jitter {
 public:
  virtual ~Jitter() = default;
  /// `stream`: RandomStream::stream_key of the worker. The same (stream, k) always gives the same factor. Positive, finite.
  virtual double factor(std::uint64_t stream, std::uint64_t quantum) = 0;
};

/// The owner of the jitter: a worker of a run with that seed.
struct JitterOwner {
  Rank worker = 0;
  std::uint64_t seed = 0;  // for draws that workers share
};

struct JitterEntry {
  std::string name, summary;
  DeclaredParameters parameters;
  /// One object per worker, which may keep a cache. Null: no jitter. Throws std::invalid_argument on values that exclude each other.
  std::function<std::unique_ptr<Jitter>(const Parameters&)> make;
  /// For kinds that depend on the worker; null: `make` serves all. `make` works for these kinds too, without a worker.
  std::function<std::unique_ptr<Jitter>(const Parameters&, JitterOwner)> make_for = {};
  /// Mean of the factors; null: 1 whatever the parameters.
  std::function<double(const Parameters&)> mean = {};
  double mean_of(const Parameters& parameters) const { return mean ? mean(parameters) : 1; }
  std::unique_ptr<Jitter> make_of(const Parameters& parameters, JitterOwner owner) const {
    return make_for ? make_for(parameters, owner) : make(parameters);
  }
};

/// The amount of work that shares one factor: a batch (quantum k is the worker's k-th), `samples` of the worker's own sequence (quantum k
/// is [k·samples, (k+1)·samples), wherever batches end), a `span` of simulated time (quantum k is [k·span, (k+1)·span): a process of
/// speeds, independent of the work), or one call (k is its number).
struct Quantum {
  enum class Unit : std::uint8_t { batch, samples, time, call } unit = Unit::batch;
  std::int64_t samples = 1;
  Time span;
};

/// Samples that are computed in one call.
struct WorkPiece {
  std::uint64_t first = 0;  // in the worker's own sequence of samples
  std::int64_t samples = 0;
  std::uint32_t batch = 0, offset = 0;  // number of the worker's batch with these samples, and the samples of it before them
};

/// The compute of one worker. Jitter belongs to work, not to calls: a batch takes as long in one piece as in many, to the tick
/// (but for the overhead, which is paid per call), and as long again when it is redone; so do `samples` that share a factor.
/// The overhead is multiplied by the mean factor of its call's samples. Draws come from the stream "worker/N/compute".
class WorkerCompute {
 public:
  /// `jitter` null: none, whatever the quantum. `time` outlives this. Throws std::invalid_argument unless slowdown and quantum
  /// are positive. A piece is computed in that number of micro-batches: nearly equal ones, each a call with its own overhead.
  WorkerCompute(const ComputeTime& time, double slowdown, std::unique_ptr<Jitter> jitter, Quantum quantum, std::uint64_t seed, Rank worker,
                std::int64_t micro_batches = 1);
  /// Duration of computing `piece`, the `call`-th computation, from `start` on. No samples take no time. With a quantum of time, a piece
  /// cut in two ends when the whole would have ended, up to the rounding of the cut to a tick. Throws TimeOverflow if it would end after
  /// Time::limit().
  Time duration(const WorkPiece& piece, std::uint64_t call, Time start);

 private:
  /// Work in ticks at factor 1, after the slowdown.
  struct Work {
    double overhead, per_sample;
    std::int64_t samples;
    double all() const { return overhead + static_cast<double>(samples) * per_sample; }
  };
  std::int64_t ticks_of(const WorkPiece& piece, std::uint64_t call, Time start);
  std::int64_t over_samples(const Work& work, const WorkPiece& piece);
  std::int64_t over_windows(const Work& work, Time start);
  double factor(std::uint64_t quantum);

  const ComputeTime* time_;
  double slowdown_;
  std::unique_ptr<Jitter> jitter_;
  std::int64_t quantum_;  // samples or ticks
  std::uint64_t stream_;
  Rank worker_;  // named in errors
  std::uint16_t micro_batches_;
  Quantum::Unit unit_;
};
static_assert(sizeof(WorkerCompute) <= 48, "a million workers must fit");

}  // namespace straggler
