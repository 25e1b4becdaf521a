// No data: for timing alone, which needs at most the number of samples per epoch.
#include "models/data/dataset.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::none {
namespace {

/// Without features: nothing can be learned. `train` is 0 if nothing needs the length of an epoch.
DataInfo inspect(const Parameters& parameters, const std::filesystem::path& /*base*/) {
  DataInfo info;
  if (parameters.has("samples")) info.train = static_cast<std::size_t>(parameters.count("samples"));
  info.synthetic = true;
  info.origin = "no data, for timing alone: no batch is cut short at the end of an epoch";
  return info;
}

Dataset load(const Parameters& /*parameters*/, const std::filesystem::path& /*base*/, std::uint64_t /*seed*/, unsigned /*threads*/) {
  throw DataError("none: has no samples to learn from; add --timing-only, or name a data set");
}

const Register<DataEntry> entry({"none",
                                 "no samples, for timing alone (--timing-only); needs workload.cost",
                                 {{.name = "samples",
                                   .type = ValueType::count,
                                   .meaning = "samples of an epoch; without it nothing can be counted in epochs",
                                   .range = Range::between(1, 1e15)}},
                                 inspect,
                                 load});

}  // namespace
}  // namespace straggler::data::none
