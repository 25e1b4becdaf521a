// The gradient noise scale against its closed form: of single samples' gradients, and of a noisy quadratic.
#include <doctest/doctest.h>

#include "scenarios/experiment/noise_scale.hpp"
#include "scenarios/results/summary.hpp"
#include "tests/support/run.hpp"

namespace noise_scale_test {

using namespace straggler;
using namespace straggler::test;

TEST_CASE("two batch sizes give the noise scale: |g|^2 of b samples has the mean |G|^2 + tr(S) / b") {
  constexpr double gradient = 3, noise = 600;  // |G|^2, tr(S)
  const auto of = [](double batch) { return gradient + noise / batch; };
  NoiseScale scale;
  CHECK(!scale.samples());
  scale.add(of(10), of(80), 10, 80);
  CHECK(*scale.samples() == doctest::Approx(noise / gradient));
  scale.add(of(10), of(80), 10, 80);
  CHECK(*scale.samples() == doctest::Approx(noise / gradient));
  NoiseScale none;
  none.add(1, 1, 10, 10);
  CHECK(!none.samples());
  none.add(1, 0.01, 10, 100);  // the mean gradient is smaller than noise alone would make it
  CHECK(!none.samples());
}

TEST_CASE("the noise scale of a noisy quadratic is its closed form, and is measured only where it is asked for") {
  // With curvature 1 in d dimensions, samples of variance 1 around 0 and weights all at s, G = s each: B = d / (d s^2) = 1 / s^2. The two
  // classes' clouds coincide.
  test::ScenarioText text;
  text.model = "{kind: quadratic, condition: 1, start: 0.1}";
  text.data = "{kind: gaussian, features: 64, separation: 0, samples: 20000, test_samples: 100}";
  text.batch = "{per_worker: 50}";
  text.workers = equal_workers(16);
  text.optimizer = "{kind: sgd, learning_rate: 1e-9}";  // the weights stay
  text.stop = "{updates: 20}";
  text.evaluate = "{every: {updates: 1}, noise_scale: true}";
  const Result asked = run(scenario_text(text));
  REQUIRE(asked.record.noise_scale);
  CHECK(*asked.record.noise_scale == doctest::Approx(100).epsilon(0.05));
  text.evaluate = "{every: {updates: 1}}";
  const Result plain = run(scenario_text(text));
  CHECK(!plain.record.noise_scale);
  CHECK(plain.weights == asked.weights);
  CHECK(plain.record.weights_key == asked.record.weights_key);
  CHECK(plain.record.final_test_loss == asked.record.final_test_loss);
}

}  // namespace noise_scale_test
