// Scenarios, --set and sweeps.
#include <algorithm>

#include "models/data/dataset.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"
#include "scenarios/sweep/sweep.hpp"
#include "tests/fuzz/target.hpp"

namespace straggler::fuzz {
namespace {

constexpr std::uint64_t memory = 16 << 20;  // of a run: 16,384 workers at most

constexpr const char* small_scenario = R"(straggler: 1
name: fuzz
devices: {node: {compute: {affine: {overhead: 2ms, per_sample: 0.35ms}}, jitter: {kind: lognormal, sigma: 0.2}}}
cluster:
  workers: [{count: 6, device: node}, {count: 2, device: node, slowdown: 3}]
  servers: {count: 1}
  network: {topology: {kind: star}, link: {bandwidth: 1Gbps, latency: 50us}}
workload: {model: {kind: softmax}, data: {kind: gaussian}}
training: {scheme: {kind: ssgd}, batch: {per_worker: 8}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 10}}
)";

ReadOptions options() {
  ReadOptions made;
  made.memory = memory;
  return made;
}

/// Everything that `straggler check` does short of a run. What is accepted is written and read again as the same.
void resolve(const Scenario& scenario) {
  const std::string written = write_scenario(scenario);
  std::string again;
  try {
    again = write_scenario(read_scenario_text(written, scenario.file, {}, options()));
  } catch (const ScenarioErrors& errors) {
    throw Find(std::string("a scenario that was accepted is refused once it is written: ") + errors.what() + "\n" + written);
  }
  if (again != written) throw Find("a scenario changes when it is read from what was written:\n" + written + "\n" + again);
  may_refuse<std::invalid_argument>(
      [&] { may_refuse<DataError>([&] { may_refuse<ScenarioErrors>([&] { Blueprint(scenario, "generic"); }); }); });
}

void scenario(std::string_view input) {
  may_refuse<ScenarioErrors>([&] { resolve(read_scenario_text(std::string(input), workplace() / "scenario.yaml", {}, options())); });
}
const AddTarget add_scenario("scenario", "a scenario, read, written, read again and resolved", scenario);

void set(std::string_view input) {
  static const ScenarioText text(small_scenario, workplace() / "scenario.yaml");
  std::vector<std::string> sets;
  for (std::size_t begin = 0; begin < input.size() && sets.size() < 8;) {
    const std::size_t end = std::min(input.find('\n', begin), input.size());
    sets.emplace_back(input.substr(begin, end - begin));
    begin = end + 1;
  }
  may_refuse<ScenarioErrors>([&] { resolve(text.read(sets, options())); });
}
const AddTarget add_set("set", "--set PATH=VALUE, one a line, on a small scenario", set);

void sweep(std::string_view input) {
  write_file("base.yaml", small_scenario);
  const std::string file = write_file("sweep.yaml", input);
  may_refuse<ScenarioErrors>([&] {
    const Sweep read = read_sweep(file);
    const std::vector<SweepGroup> groups = groups_of(read);
    const PointReader points(read, {});
    for (const std::size_t at : {std::size_t{0}, groups.size() - 1})
      if (at < groups.size()) may_refuse<ScenarioErrors>([&] { write_scenario(points.read(groups[at], 0)); });
  });
}
const AddTarget add_sweep("sweep", "a sweep and its first and last point; base.yaml lies beside it", sweep);

void population(std::string_view input) {
  static const ScenarioText text(small_scenario, workplace() / "scenario.yaml");
  const std::string file = write_file("population.csv", input);
  may_refuse<ScenarioErrors>([&] { resolve(text.read({"cluster.workers=[{device: node, population: '" + file + "'}]"}, options())); });
}
const AddTarget add_population("population", "a population file", population);

}  // namespace
}  // namespace straggler::fuzz
