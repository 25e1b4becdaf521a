// Independent and identically distributed parts: the training set is shuffled once by the seed and cut into equal slices.
#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "models/data/partition.hpp"
#include "models/data/permutation.hpp"
#include "models/data/sample_order.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

/// With N samples and p workers the first N mod p workers have one sample more.
StreamSizes sizes_of(const Parameters& /*parameters*/, const PartitionRequest& request) {
  check_sample_count(request.samples);
  if (request.workers == 0) throw std::invalid_argument("a partition among no workers; give at least one");
  if (request.workers > request.samples)
    throw std::invalid_argument(
        fmt::format("{} training samples cannot be divided among {} workers; take at most {} workers, or partition: {{kind: shared}}",
                    request.samples, request.workers, request.samples));
  StreamSizes sizes;
  sizes.total = request.samples;
  sizes.sizes.assign(request.workers, request.samples / request.workers);
  for (std::size_t i = 0; i < request.samples % request.workers; ++i) ++sizes.sizes[i];
  return sizes;
}

class Iid final : public Partition {
 public:
  Iid(const StreamSizes& sizes, const PartitionRequest& request)
      : sizes_(sizes),
        shuffled_(request.samples),
        order_(request.seed, request.reshuffle, request.samples, [this](std::uint32_t stream, std::vector<std::uint32_t>& out) {
          const std::uint64_t least = sizes_.total / sizes_.sizes.size(), more = sizes_.total % sizes_.sizes.size();
          const auto begin = shuffled_.begin() + static_cast<std::ptrdiff_t>(stream * least + std::min<std::uint64_t>(stream, more));
          out.assign(begin, begin + static_cast<std::ptrdiff_t>(sizes_.sizes[stream]));
        }) {
    std::iota(shuffled_.begin(), shuffled_.end(), 0u);
    shuffle(shuffled_, RandomStream(request.seed, "partition/iid"));
  }
  const StreamSizes& sizes() const override { return sizes_; }
  void samples(const Batch& batch, std::vector<std::uint32_t>& out) const override {
    if (batch.stream >= sizes_.sizes.size())
      throw std::logic_error(fmt::format("a batch of stream {}; there are {} streams", batch.stream, sizes_.sizes.size()));
    order_.samples(batch, sizes_.sizes[batch.stream], out);
  }

 private:
  const StreamSizes sizes_;
  std::vector<std::uint32_t> shuffled_;  // worker i's slice is contiguous
  const SampleOrder order_;
};

const Register<PartitionEntry> entry({"iid",
                                      "the training set is shuffled once and cut into one equal part per worker",
                                      {},
                                      false,
                                      sizes_of,
                                      [](const Parameters& parameters, const PartitionRequest& request) -> std::unique_ptr<Partition> {
                                        return std::make_unique<Iid>(sizes_of(parameters, request), request);
                                      }});

}  // namespace
}  // namespace straggler
