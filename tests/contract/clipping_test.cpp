// training.clip under every registered scheme. reference_check compares the clipped weights of every scheme with those of a second
// simulator.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/registry.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/variants.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<std::string> plain = {"training.optimizer={kind: sgd, learning_rate: 0.05}", "training.stop={updates: 12}",
                                        "training.evaluate={}", "workload.fuse=off"};

std::vector<std::string> with_clip(const std::string& clip, const std::string& at) {
  std::vector<std::string> sets = plain;
  sets.push_back("training.clip=" + clip);
  sets.push_back("training.clip_at=" + at);
  return sets;
}

double moved(const std::vector<float>& from, const std::vector<float>& to) {
  double sum = 0;
  for (std::size_t i = 0; i < from.size(); ++i) sum += std::pow(static_cast<double>(from[i]) - static_cast<double>(to[i]), 2);
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("a norm that no gradient reaches changes no bit and no time of any scheme; a small one bounds how far the weights get" *
          long_case) {
  // Each gradient that is computed moves some weights by lr c at most, wherever it is clipped. Corrections (SCAFFOLD's and FedDyn's
  // variates, delay compensation) are made of such gradients, and outer steps of SGD multiply what they step along: by less than 10.
  const double c = 1e-4, rate = 0.05;
  for (const SchemeVariant& each : all_scheme_variants()) {
    const Variant variant = on_cluster(each);
    CAPTURE(variant.scheme);
    const std::string yaml = uneven(variant);
    const std::optional<OptimizerChoice> outer = each.entry->outer_optimizer(each.parameters);
    const Result free = run(yaml, plain);
    const std::vector<float> start = run(yaml, with_clip("1e-30", "server")).weights;
    for (const std::string at : {"server", "worker"}) {
      CAPTURE(at);
      const Result never = run(yaml, with_clip("1e30", at));
      CHECK(never.weights == free.weights);
      CHECK(never.record.end == free.record.end);
      CHECK(never.sink.order == free.sink.order);
      if (sanitized) continue;
      const Result always = run(yaml, with_clip("1e-4", at));
      CHECK(moved(start, always.weights) > 0);
      if (outer && outer->kind != "sgd") continue;  // its steps have a length of their own
      double gradients = 0;
      for (const OrderRow& row : always.sink.order) gradients += row.steps;
      const double bound = 10 * rate * c * gradients;
      CHECK(moved(start, always.weights) < bound);
      CHECK(moved(start, free.weights) > 2 * bound);
    }
  }
}
