// Whole runs on the quadratic model, whose outcome theory knows.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "tests/support/run.hpp"
#include "tests/support/scenarios.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

std::string bowl(int workers, const std::string& scheme, double rate, int updates) {
  return scenario_text({.name = "bowl",
                        .workers = equal_workers(workers),
                        .model = "{kind: quadratic, condition: 1, start: 1000}",
                        .data = "{kind: gaussian, features: 3, classes: 1, samples: 40, test_samples: 10}",
                        .scheme = scheme,
                        .batch = "{per_worker: " + std::to_string(40 / workers) + "}",
                        .optimizer = "{kind: sgd, learning_rate: " + std::to_string(rate) + "}",
                        .stop = "{updates: " + std::to_string(updates) + "}"});
}

double largest(const std::vector<float>& weights) {
  double most = 0;
  for (const float weight : weights) most = std::max(most, std::abs(static_cast<double>(weight)));
  return most;
}

}  // namespace

TEST_CASE("asynchronous SGD of p equal workers has staleness p - 1: stable up to lr = 2 sin(π / (4 p - 2)) and not beyond") {
  for (const int workers : {1, 2, 4, 8})
    for (const double of_bound : {0.9, 1.1}) {
      CAPTURE(workers);
      CAPTURE(of_bound);
      const double rate = of_bound * 2 * std::sin(std::numbers::pi / (4 * workers - 2));
      const Result result = run(bowl(workers, "asgd", rate, 400));
      CHECK(result.record.staleness.back().first == static_cast<std::uint64_t>(workers - 1));
      // The parts have means of size 1 / √5 or so, which drive it forever; it began 1000 off.
      if (of_bound < 1)
        CHECK(largest(result.weights) < 20);
      else
        CHECK(largest(result.weights) > 1000);
    }
}

TEST_CASE("synchronous SGD on a quadratic contracts by 1 - lr, however many workers share the batch; accuracy is 0") {
  for (const int workers : {1, 4}) {
    CAPTURE(workers);
    const Result result = run(bowl(workers, "ssgd", 0.5, 9));
    // (1 - 0.5)^9 of 1000, beside the mean of 40 standard normal numbers.
    CHECK(std::abs(largest(result.weights) - 1000.0 / 512) < 5 / std::sqrt(40.0));
    CHECK(result.record.final_test_accuracy == 0.0);
  }
}

TEST_CASE("augmentation changes the keys of values, and needs images") {
  const std::string images = scenario_text({.name = "images",
                                            .workers = equal_workers(2),
                                            .servers = "",
                                            .network = "{link: {bandwidth: 1GB/s, latency: 0s}}",
                                            .model = "softmax",
                                            .data = "{kind: synthetic_images, height: 8, width: 8, samples: 100, test_samples: 20}",
                                            .scheme = "ssgd",
                                            .batch = "{per_worker: 10}",
                                            .stop = "{updates: 5}"});
  const Result plain = run(images), off = run(images, {"workload.data.augment.crop=0"}),
               flipped = run(images, {"workload.data.augment.flip=true"}), cropped = run(images, {"workload.data.augment={crop: 2}"});
  CHECK(off.weights == plain.weights);
  CHECK(off.record.weights_key == plain.record.weights_key);
  CHECK(flipped.weights != plain.weights);
  CHECK(flipped.record.weights_key != plain.record.weights_key);
  CHECK(cropped.record.weights_key != flipped.record.weights_key);
  RunOptions one, three;
  one.threads = 1;
  three.threads = 3;
  const std::vector<std::string> both = {"workload.data.augment={crop: 2, flip: true}"};
  CHECK(run(images, both, one).weights == run(images, both, three).weights);
  const auto refused = [&](const std::vector<std::string>& sets) {
    try {
      run(images, sets);
    } catch (const ScenarioErrors& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  CHECK(refused({"workload.data.augment.crop=8"}).find("workload.data.augment: a crop by up to 8 pixels could miss an image of 8 x 8") !=
        std::string::npos);
  CHECK(refused({"workload.data={kind: coordinates, augment: {flip: true}}"}).find("are not images") != std::string::npos);
  CHECK(refused({"workload.data.augment.krop=1"}).find("did you mean 'crop'") != std::string::npos);
  CHECK(refused({"workload.data.augment.crop=-1"}).find("workload.data.augment.crop") != std::string::npos);
}
