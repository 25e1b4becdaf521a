// Device memory: what does not fit is refused, and the refusal names the largest batch that does. For every model there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "models/zoo/cost_model.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/run.hpp"

namespace device_memory_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Empty: it fits.
std::string refusal(const std::vector<std::string>& sets, double* used = nullptr) {
  RunOptions options;
  options.timing_only = true;
  try {
    const Experiment experiment(read_scenario_text(cluster(3), "test.yaml", sets), options);
    if (used) *used = experiment.explain().groups[0].held.total();
  } catch (const ScenarioErrors& errors) {
    return errors.lines().front();
  }
  return "";
}

using Sets = std::vector<std::string>;
Sets with(Sets sets, const std::string& one, const std::string& two = {}) {
  sets.push_back(one);
  if (!two.empty()) sets.push_back(two);
  return sets;
}

std::string memory(double bytes) { return "devices.node.memory=" + format_quantity(bytes, Dimension::bytes); }

void check_limit(const Sets& sets) {
  double at_ten = 0, at_twenty = 0;
  const std::string plenty = memory(1e18);
  REQUIRE(refusal(with(sets, "training.batch={per_worker: 10}", plenty), &at_ten).empty());
  REQUIRE(refusal(with(sets, "training.batch={per_worker: 20}", plenty), &at_twenty).empty());
  const double sample = (at_twenty - at_ten) / 10;
  CHECK(sample > 0);
  // Room for twelve samples and a half.
  const std::string tight = memory(std::floor(at_ten + 2.5 * sample));
  CHECK(refusal(with(sets, "training.batch={per_worker: 12}", tight)) == "");
  const std::string refused = refusal(with(sets, "training.batch={per_worker: 13}", tight));
  CHECK_MESSAGE(refused.find("a worker's batch may have 12 samples at most") != std::string::npos, refused);
  CHECK_MESSAGE(refused.find("training.batch.per_worker: training takes ") != std::string::npos, refused);
  const std::string global = refusal(with(sets, "training.batch={global: 39}", tight));
  CHECK_MESSAGE(global.find("a worker's batch may have 12 samples at most, all workers' together 36") != std::string::npos, global);
  CHECK(refusal(with(sets, "training.batch={global: 36}", tight)) == "");
  // Exactly as much as is needed will do; a byte less will not.
  CHECK(refusal(with(sets, "training.batch={per_worker: 10}", memory(at_ten))) == "");
  const std::string short_of_one = refusal(with(sets, "training.batch={per_worker: 10}", memory(at_ten - 1)));
  CHECK_MESSAGE(short_of_one.find("may have 9 samples at most") != std::string::npos, short_of_one);
  const std::string none = refusal(with(sets, "training.batch={per_worker: 1}", memory(std::floor(at_ten - 9.5 * sample))));
  CHECK_MESSAGE(none.find("not one sample fits") != std::string::npos, none);
}

/// What a model must be told, and data that it can learn from: the first that works.
const Sets data_sets = {"{kind: coordinates}", "{kind: fashion_mnist}", "{kind: synthetic_images, shape: [3, 32, 32]}",
                        "{kind: synthetic_images}", "{kind: cifar10}"};

}  // namespace

TEST_CASE("every model with costs of its own") {
  for (const ModelEntry& entry : Registry<ModelEntry>::instance().entries()) {
    const bool of_user = entry.name != "layers" && std::ranges::any_of(entry.cost_parameters, &Parameter::required);  // sizes and files
    if (!entry.has_own_cost() || of_user) continue;
    CAPTURE(entry.name);
    const std::string listed = "{kind: layers, input: [3, 32, 32], layers: [{conv: 8, window: 3}, relu, flatten, {linear: classes}]}";
    check_limit({"workload.cost={model: " + (entry.name == "layers" ? listed : entry.name) + "}"});
  }
}

TEST_CASE("every model that learns") {
  std::set<std::string> checked;
  for (const ModelEntry& entry : Registry<ModelEntry>::instance().entries()) {
    if (!entry.make) continue;
    CAPTURE(entry.name);
    const std::string extra = entry.name == "mlp"      ? ", hidden: [20]"
                              : entry.name == "layers" ? ", layers: [flatten, {linear: 20}, relu, {linear: classes}]"
                                                       : "";
    for (const std::string& data : data_sets) {
      const Sets sets = {"workload.model={kind: " + entry.name + extra + "}", "workload.data=" + data};
      if (!refusal(with(sets, "training.batch={per_worker: 10}")).empty()) continue;
      check_limit(sets);
      checked.insert(entry.name);
      break;
    }
    if (checked.count(entry.name) == 0) MESSAGE("no data here for " << entry.name);
  }
  for (const char* name : {"softmax", "mlp"}) CHECK(checked.count(name) == 1);
}

TEST_CASE("an optimizer with state leaves less room; a scheme that works in pieces needs memory for one of them") {
  double plain = 0, momentum = 0;
  const Sets model = {"workload.cost={model: resnet18}", memory(1e18)};
  REQUIRE(refusal(with(model, "training.optimizer={kind: sgd, learning_rate: 0.1}"), &plain).empty());
  REQUIRE(refusal(with(model, "training.optimizer={kind: sgd, learning_rate: 0.1, momentum: 0.9}"), &momentum).empty());
  CHECK(momentum - plain == 4.0 * 11'173'962);
  double piece = 0;
  REQUIRE(refusal(with(model, "training.scheme={kind: nonblocking, minibatch: 10}"), &piece).empty());
  CHECK(piece < plain);
  const Sets tight = {"workload.cost={model: resnet18}", memory(piece)};
  CHECK(refusal(with(tight, "training.scheme={kind: nonblocking, minibatch: 10}")) == "");
  const std::string refused = refusal(with(tight, "training.scheme={kind: nonblocking, minibatch: 11}"));
  CHECK_MESSAGE(refused.find("a worker's minibatch may have 10 samples at most") != std::string::npos, refused);
  CHECK_MESSAGE(refused.find("training.scheme") != std::string::npos, refused);
}

}  // namespace device_memory_test
