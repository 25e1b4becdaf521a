// One pool for all workers: each request takes the next batch of the whole training set, so fast workers do more.
#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "models/data/partition.hpp"
#include "models/data/sample_order.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::partition_shared {
namespace {

StreamSizes sizes_of(const Parameters& /*parameters*/, const PartitionRequest& request) {
  check_sample_count(request.samples);
  StreamSizes sizes;
  sizes.shared = true;
  sizes.total = request.samples;
  return sizes;
}

class Shared final : public Partition {
 public:
  Shared(const StreamSizes& sizes, const PartitionRequest& request)
      : sizes_(sizes),
        order_(request.seed, request.reshuffle, request.samples, [total = sizes.total](std::uint32_t, std::vector<std::uint32_t>& out) {
          out.resize(total);
          std::iota(out.begin(), out.end(), 0u);
        }) {}
  const StreamSizes& sizes() const override { return sizes_; }
  void samples(const Batch& batch, std::vector<std::uint32_t>& out) const override {
    if (batch.stream != shared_stream)
      throw std::logic_error(fmt::format("a batch of stream {}; a shared pool has one stream for all", batch.stream));
    order_.samples(batch, sizes_.total, out);
  }

 private:
  const StreamSizes sizes_;
  const SampleOrder order_;
};

const Register<PartitionEntry> entry({"shared",
                                      "all workers draw from one pool, so fast workers draw more; simulated only",
                                      {},
                                      true,
                                      sizes_of,
                                      [](const Parameters& parameters, const PartitionRequest& request) -> std::unique_ptr<Partition> {
                                        return std::make_unique<Shared>(sizes_of(parameters, request), request);
                                      }});

}  // namespace
}  // namespace straggler::data::partition_shared
