// Normally distributed points around one centre per class, for theory. The noise at every point is standard normal in every direction. The
// centres are normal themselves, with a root mean square distance of `separation` between any two. The best possible classifier of two
// classes errs with probability Φ(-distance / 2).
#include <cmath>
#include <numbers>

#include "models/data/dataset.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::gaussian {
namespace {

DataInfo inspect(const Parameters& parameters, const std::filesystem::path& /*base*/) {
  DataInfo info;
  info.features = static_cast<std::size_t>(parameters.count("features"));
  info.shape = {info.features};
  info.classes = static_cast<std::size_t>(parameters.count("classes"));
  info.train = static_cast<std::size_t>(parameters.count("samples"));
  info.test = static_cast<std::size_t>(parameters.count("test_samples"));
  info.synthetic = true;
  info.origin = "generated from the seed: normally distributed points around a centre for each class";
  return info;
}

/// Box and Muller 1958; 1 - u is above 0.
double normal(RandomStream& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

DataSplit generate(const DataInfo& info, std::size_t count, const std::vector<double>& centres, std::uint64_t stream) {
  SampleFloats inputs;
  std::vector<std::int32_t> labels;
  inputs.reserve(count * info.features);
  labels.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    RandomStream random(stream, i);
    const std::size_t label = i % info.classes;
    for (std::size_t j = 0; j < info.features; ++j)
      inputs.push_back(static_cast<float>(centres[label * info.features + j] + normal(random)));
    labels.push_back(static_cast<std::int32_t>(label));
  }
  return {SampleInputs(std::move(inputs), info.features), std::move(labels)};
}

Dataset load(const Parameters& parameters, const std::filesystem::path& base, std::uint64_t seed, unsigned /*threads*/) {
  Dataset data;
  data.info = inspect(parameters, base);
  RandomStream random(seed, "data/gaussian/centres");
  std::vector<double> centres(data.info.classes * data.info.features);
  const double spread = parameters.number("separation") / std::sqrt(2 * static_cast<double>(data.info.features));
  for (double& coordinate : centres) coordinate = spread * normal(random);
  data.train = generate(data.info, data.info.train, centres, RandomStream::stream_key(seed, "data/gaussian/train"));
  data.test = generate(data.info, data.info.test, centres, RandomStream::stream_key(seed, "data/gaussian/test"));
  return data;
}

const Register<DataEntry> entry({"gaussian",
                                 "synthetic points in any number of dimensions: a normal cloud for each class, for theory",
                                 {{"features", ValueType::count, "10", false, "dimensions", Range::between(1, 1e5), {}},
                                  {"classes", ValueType::count, "2", false, "number of classes", Range::between(1, 1000), {}},
                                  {"samples", ValueType::count, "40000", false, "number of training samples", Range::between(1, 1e8), {}},
                                  {"test_samples", ValueType::count, "10000", false, "number of test samples", Range::between(1, 1e8), {}},
                                  {"separation",
                                   ValueType::number,
                                   "3",
                                   false,
                                   "root mean square distance between two centres, in standard deviations of the points",
                                   Range::between(0, 1e3),
                                   {}}},
                                 inspect,
                                 load});

}  // namespace
}  // namespace straggler::data::gaussian
