// Points of the plane on four interleaved spiral arms, one class per arm, blurred by Gaussian noise. No line separates them. A small
// network learns them well but not at once (2-128-4, SGD at rate 0.1 and batch 64: about 86 % after one epoch of 40,000 points, 96 % after
// four; the best possible classifier has 98 %).
//
// Sample i belongs to class i mod 4 and lies at radius 2 sqrt(u), u uniform in [0, 1), which fills a disc evenly, at angle 2 pi (class / 4
// + turns * radius / 2), plus noise of standard deviation 2 * `noise` in both coordinates.
#include <cmath>
#include <numbers>

#include "models/data/dataset.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::coordinates {
namespace {

constexpr std::size_t classes = 4;

DataInfo inspect(const Parameters& parameters, const std::filesystem::path& /*base*/) {
  DataInfo info;
  info.features = 2;
  info.shape = {2};
  info.classes = classes;
  info.train = static_cast<std::size_t>(parameters.count("samples"));
  info.test = static_cast<std::size_t>(parameters.count("test_samples"));
  info.synthetic = true;
  info.origin = "generated from the seed: four noisy spiral arms in the plane";
  return info;
}

DataSplit generate(std::size_t count, double turns, double noise, std::uint64_t stream) {
  constexpr double full = 2 * std::numbers::pi;
  SampleFloats inputs;
  std::vector<std::int32_t> labels;
  inputs.reserve(2 * count);
  labels.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    RandomStream random(stream, i);
    const std::size_t label = i % classes;
    const double radius = std::sqrt(random.uniform());
    const double angle = full * (static_cast<double>(label) / classes + turns * radius);
    // Box and Muller 1958: two normal deviates; 1 - u is above 0.
    const double spread = noise * std::sqrt(-2 * std::log(1 - random.uniform())), direction = full * random.uniform();
    inputs.push_back(static_cast<float>(2 * (radius * std::cos(angle) + spread * std::cos(direction))));
    inputs.push_back(static_cast<float>(2 * (radius * std::sin(angle) + spread * std::sin(direction))));
    labels.push_back(static_cast<std::int32_t>(label));
  }
  return {SampleInputs(std::move(inputs), 2), std::move(labels)};
}

Dataset load(const Parameters& parameters, const std::filesystem::path& base, std::uint64_t seed, unsigned /*threads*/) {
  const double turns = parameters.number("turns"), noise = parameters.number("noise");
  Dataset data;
  data.info = inspect(parameters, base);
  data.train = generate(data.info.train, turns, noise, RandomStream::stream_key(seed, "data/coordinates/train"));
  data.test = generate(data.info.test, turns, noise, RandomStream::stream_key(seed, "data/coordinates/test"));
  return data;
}

std::vector<Parameter> declare() {
  std::vector<Parameter> all(4);
  all[0].name = "samples";
  all[0].type = ValueType::count;
  all[0].fallback = "40000";
  all[0].range = Range::between(classes, 1e8);
  all[0].meaning = "number of training samples";
  all[1].name = "test_samples";
  all[1].type = ValueType::count;
  all[1].fallback = "10000";
  all[1].range = Range::between(classes, 1e8);
  all[1].meaning = "number of test samples";
  all[2].name = "turns";
  all[2].fallback = "0.75";
  all[2].range = Range::between(0, 10);
  all[2].meaning = "turns of each arm from the centre to the rim; more is harder";
  all[3].name = "noise";
  all[3].fallback = "0.06";
  all[3].range = Range::between(0, 10);
  all[3].meaning = "standard deviation of the noise, as a share of the outer radius";
  return all;
}

const Register<DataEntry> entry({"coordinates", "synthetic points of the plane in 4 classes, on noisy spiral arms", declare(), inspect,
                                 load});

}  // namespace
}  // namespace straggler::data::coordinates
