#include "scenarios/import/trace_companions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/readable.hpp"
#include "sim/collectives/buckets.hpp"

namespace straggler::import_companions {
namespace {

struct BucketSize {
  double elements = 0;
  std::optional<int> element_bytes;
};

/// Of buckets whose size the trace does not have. False: there are none, or they are not as many.
bool fill_sizes(TimedJob& job, const std::vector<BucketSize>& sizes, const std::string& says) {
  const auto unknown = [](const TimedBucket& bucket) { return !bucket.elements || !bucket.element_bytes; };
  if (sizes.empty() || std::ranges::none_of(job.buckets, unknown)) return false;
  if (sizes.size() != job.buckets.size()) {
    job.missing.push_back(
        fmt::format("bytes of all-reduces: {} {} of them in a step, and the trace {}", says, sizes.size(), job.buckets.size()));
    return false;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!unknown(job.buckets[i]) || sizes[i].elements < 1) continue;
    job.buckets[i].elements = sizes[i].elements;
    job.buckets[i].element_bytes = sizes[i].element_bytes;
  }
  return true;
}

bool same(double a, double b) { return std::abs(a - b) <= 0.01 * std::max(a, b); }
std::string counted(double numbers) { return readable_count(static_cast<std::uint64_t>(numbers)); }

/// By DistributedDataParallel's rule, in FP32.
std::vector<BucketSize> buckets_of(const CostTable& model) {
  std::vector<GradientTensor> tensors;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
    for (const TensorInfo& tensor : model.layers[layer].tensors)
      if (const std::size_t numbers = elements(tensor.shape); numbers > 0) tensors.push_back({numbers * sizeof(float), layer});
  constexpr double first_bucket = 1 << 20, bucket = 25 << 20;
  std::vector<BucketSize> sizes;
  for (const Bucket& each : make_buckets(tensors, std::vector<double>(model.layers.size(), 0), first_bucket, bucket))
    sizes.push_back({static_cast<double>(each.bytes) / sizeof(float), static_cast<int>(sizeof(float))});
  return sizes;
}

}  // namespace
}  // namespace straggler::import_companions

namespace straggler {

void refuse_unrelated(const Companions& companions, double gradients, const std::string& trace) {
  using namespace import_companions;
  if (!(gradients > 0)) return;
  const auto exchanged = [&] { return fmt::format("{} exchanges {} gradients in a step", trace, counted(gradients)); };
  if (const auto& execution = companions.execution) {
    double reduced = 0;
    for (const ExecutionTrace::Collective& each : execution->collectives)
      if (each.kind == TraceCollective::all_reduce) reduced += each.elements;
    // Micro-batches have a gradient each, and all-reduces may be of other numbers, too: one of the two is enough.
    const double theirs = execution->gradients > 0 ? execution->gradients : reduced;
    if (theirs > 0 && !same(theirs, gradients) && !same(reduced, gradients))
      throw DataError(fmt::format("{}: has {} gradients, and {}: they are of two jobs; leave one out", companions.execution_file,
                                  counted(theirs), exchanged()));
  }
  if (!companions.model) return;
  const double parameters = static_cast<double>(companions.model->parameters());
  if (!same(parameters, gradients))
    throw DataError(fmt::format("{}: has {} parameters, and {}: that is another model, or one that is trained in part; leave it out",
                                companions.model_file, counted(parameters), exchanged()));
}

void add_companions(TimedJob& job, const Companions& companions, bool buckets) {
  using namespace import_companions;
  if (const auto& execution = companions.execution) {
    if (execution->batch) job.batch = execution->batch;
    std::vector<BucketSize> sizes;
    for (const ExecutionTrace::Collective& each : execution->collectives)
      if (each.kind == TraceCollective::all_reduce) sizes.push_back({each.elements, each.element_bytes});
    if (buckets) fill_sizes(job, sizes, companions.execution_file + " has");
    job.facts["execution_trace"] = {{"file", companions.execution_file},
                                    {"parameters", static_cast<std::int64_t>(execution->gradients)},
                                    {"batch", json_or_null(execution->batch)}};
  }
  if (companions.model && !buckets)
    job.said.emplace_back(
        "model", fmt::format("{} is not used: it gives bytes of DistributedDataParallel's all-reduces alone", companions.model_file));
  if (!companions.model || !buckets) return;
  if (fill_sizes(job, buckets_of(*companions.model), fmt::format("{} makes, by DistributedDataParallel's rule,", companions.model_file)))
    job.assumed.push_back(fmt::format("bytes of all-reduces in FP32 from {}, in buckets of 25 MiB", companions.model_file));
}

}  // namespace straggler
