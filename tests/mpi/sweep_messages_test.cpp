// What the ranks of a sweep say arrives as it was said.
#include "validation/sweep_ranks/sweep_messages.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <limits>

#include "scenarios/schema/reader.hpp"
#include "tests/support/scenarios.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::string scenario =
    scenario_text({.name = "small",
                   .seed = ~std::uint64_t{0},
                   .node = "{compute: {affine: {per_sample: 0.1ms, overhead: 3us}}, jitter: {kind: lognormal, sigma: 0.3}}",
                   .workers = "[{count: 3, device: node}, {count: 2, device: node, slowdown: 1.7}]",
                   .network = "{link: {bandwidth: 333Mbps, latency: 50us}}",
                   .model = "{kind: mlp, hidden: [8]}",
                   .data = "{kind: coordinates, samples: 600, test_samples: 100}",
                   .scheme = "{kind: asgd}",
                   .batch = "{per_worker: 20}",
                   .stop = "{updates: 20}"});

}  // namespace

TEST_CASE("a point to be run arrives as the scenario that it is, without the places of a text that the rank does not have") {
  PointWork work{42, read_scenario_text(scenario, "/somewhere/small.yaml"), true};
  Packer packer;
  put_work(packer, work);
  const Bytes bytes = packer.take();
  Unpacker unpacker(bytes);
  const PointWork there = get_work(unpacker);
  CHECK(unpacker.done());
  CHECK(there.ticket == 42);
  CHECK(there.timing_only);
  CHECK(there.scenario == work.scenario);
  CHECK(there.scenario.file == "/somewhere/small.yaml");
  CHECK(there.scenario.places == nullptr);
}

TEST_CASE("a finished point, evaluations and keys arrive to the bit") {
  const FinishedPoint point{{{"scheme", Scalar("asgd, \"damped\"\n")},
                             {"time_to_target_s", Scalar()},
                             {"seed", Scalar(~std::uint64_t{0})},
                             {"final_test_loss", Scalar(5e-324)},
                             {"simulated_seconds", Scalar(Time::from_ticks(8'640'000'000'000'000'001))}},
                            0.1,
                            "{\"curve\":[]}"};
  const std::vector<Evaluation> evaluations{{std::numeric_limits<double>::quiet_NaN(), -0.0}, {5e-324, 1.0 / 3}};
  const std::vector<Key> keys{{1, 2}, {~std::uint64_t{0}, 0}};
  const RankSetup setup{3, 0, "generic", true};
  Packer packer;
  put_point(packer, point);
  for (const Evaluation& each : evaluations) put_evaluation(packer, each);
  put_keys(packer, keys);
  put_keys(packer, {});
  put_setup(packer, setup);
  const Bytes bytes = packer.take();
  Unpacker unpacker(bytes);
  const FinishedPoint there = get_point(unpacker);
  CHECK(there.fields == point.fields);
  CHECK(there.wall_seconds == point.wall_seconds);
  CHECK(there.sketch == point.sketch);
  for (const Evaluation& each : evaluations) {
    const Evaluation value = get_evaluation(unpacker);
    CHECK(std::bit_cast<std::uint64_t>(value.loss) == std::bit_cast<std::uint64_t>(each.loss));
    CHECK(std::bit_cast<std::uint64_t>(value.accuracy) == std::bit_cast<std::uint64_t>(each.accuracy));
  }
  CHECK(get_keys(unpacker) == keys);
  CHECK(get_keys(unpacker).empty());
  const RankSetup same = get_setup(unpacker);
  CHECK(same.jobs == 3);
  CHECK(same.threads == 0);
  CHECK(same.kernels == "generic");
  CHECK(same.store);
  CHECK(unpacker.done());
}

TEST_CASE("a message that was cut off is an error") {
  Packer packer;
  packer.put_text("a text of some length");
  Bytes bytes = packer.take();
  bytes.pop_back();
  Unpacker unpacker(bytes);
  CHECK_THROWS_AS(unpacker.get_text(), std::logic_error);
}
