// What training holds on a device, in closed form: N parameters, by stage of sharding, among p workers or those of a host.
#include <doctest/doctest.h>

#include "scenarios/experiment/memory_parts.hpp"

namespace memory_parts_test {

using namespace straggler;

namespace {

constexpr double n = 1'000'000;

TrainingStates states(double number_bytes, double state_vectors) {
  return {.parameters = n, .number_bytes = number_bytes, .optimizer_bytes = 4 * state_vectors * n};
}

double bytes(const TrainingStates& held, std::int64_t stage, double ways) {
  return states_on_device(held, {.stage = stage, .ways = ways}).total();
}

}  // namespace

TEST_CASE("states of Adam, by stage and number of workers") {
  const TrainingStates whole = states(4, 2), narrow = states(2, 2);
  for (const double p : {2.0, 4.0, 5.0, 8.0}) {
    CAPTURE(p);
    CHECK(bytes(whole, 0, p) == 16 * n);
    CHECK(bytes(whole, 1, p) == doctest::Approx(8 * n + 8 * n / p).epsilon(1e-15));
    CHECK(bytes(whole, 2, p) == doctest::Approx(4 * n + 12 * n / p).epsilon(1e-15));
    CHECK(bytes(whole, 3, p) == doctest::Approx(16 * n / p).epsilon(1e-15));
    CHECK(bytes(narrow, 0, p) == 16 * n);
    CHECK(bytes(narrow, 1, p) == doctest::Approx(4 * n + 12 * n / p).epsilon(1e-15));
    CHECK(bytes(narrow, 2, p) == doctest::Approx(2 * n + 14 * n / p).epsilon(1e-15));
    CHECK(bytes(narrow, 3, p) == doctest::Approx(16 * n / p).epsilon(1e-15));
  }
  CHECK(bytes(states(4, 0), 0, 1) == 8 * n);   // SGD
  CHECK(bytes(states(4, 1), 0, 1) == 12 * n);  // with momentum
}

TEST_CASE("stage 3 gathers the largest units, and holds one unit's whole gradient") {
  const std::vector<double> units = {100'000, 400'000, 200'000, 300'000};
  const auto gathered = [&](StateShares shares) {
    shares.stage = 3;
    shares.ways = 8;
    shares.units = units;
    return states_on_device(states(2, 2), shares).gathered;
  };
  CHECK(gathered({.prefetch = 0}) == 2 * (400'000 + 400'000));
  CHECK(gathered({.prefetch = 1}) == 2 * (400'000 + 300'000 + 400'000));
  CHECK(gathered({.prefetch = 2}) == 2 * (400'000 + 300'000 + 200'000 + 400'000));
  CHECK(gathered({.prefetch = 9}) == 2 * (n + 400'000));  // there are no more
  CHECK(gathered({.keeps_gathered = true}) == 2 * (n + 400'000));
  // A second copy of the weights in the host, N g / h.
  CHECK(gathered({.prefetch = 1, .secondary_ways = 4, .secondary_bytes = 2}) == 2 * (400'000 + 300'000 + 400'000) + 2 * n / 4);
  // Gradients that wait for the last micro-batch are whole, the unit's among them.
  const StateShares last{.stage = 3, .ways = 8, .whole_gradients = true, .prefetch = 1, .units = units};
  const DeviceMemory held = states_on_device(states(2, 2), last);
  CHECK(held.gradients == 2 * n);
  CHECK(held.gathered == 2 * (400'000 + 300'000));
  CHECK(states_on_device(states(2, 2), {.stage = 2, .ways = 8, .whole_gradients = true}).gradients == 2 * n);
  // Stages 1 and 2 gather nothing.
  CHECK(states_on_device(states(2, 2), {.stage = 2, .ways = 8, .units = units}).gathered == 0);
}

TEST_CASE("whole matrices: the largest share of the optimizer's state binds; scratch is everybody's") {
  TrainingStates held = states(4, 1);
  held.scratch_bytes = 5'000;
  const DeviceMemory memory = states_on_device(held, {.stage = 1, .ways = 4, .padding = 1.2});
  CHECK(memory.optimizer == doctest::Approx(4 * n / 4 * 1.2 + 5'000));
  CHECK(memory.weights == 4 * n);
}

}  // namespace memory_parts_test
