// Optimizers that need tensors, and training.clip: what scenarios with them run, write and refuse.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::optimizer_settings_test {
namespace {

const std::string muon = "training.optimizer={kind: muon, learning_rate: 0.02, adamw_learning_rate: 0.003}";
const std::string deep = "workload.model={kind: mlp, hidden: [16, 16]}";

std::string refusal(const std::vector<std::string>& sets) {
  return error_of<ScenarioErrors>([&] { run_timing(cluster(3), sets); });
}

}  // namespace

TEST_CASE("muon reaches the tensors of a network: its matrices move by nearly orthogonal ones, the others by adamw") {
  // 2-16-16-4. A first step of AdamW has the length of its rate in every number that has a gradient. The sides of X are 16 × 2 (times √8)
  // and 16 × 16; singular values are at most 1.2.
  const Result before = run(cluster(3), {deep, "training.stop.updates=1", "training.optimizer.learning_rate=1e-30"});
  const Result after = run(cluster(3), {deep, "training.stop.updates=1", muon});
  const std::vector<float>&from = before.weights, &to = after.weights;
  REQUIRE(to.size() == 32 + 16 + 256 + 16 + 64 + 4);
  const auto change = [&](std::size_t i) { return std::abs(static_cast<double>(to[i]) - static_cast<double>(from[i])); };
  const auto norm = [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += change(i) * change(i);
    return std::sqrt(sum);
  };
  CHECK(norm(0, 32) > 0.02 * std::sqrt(8.0) * 0.6);
  CHECK(norm(0, 32) < 0.02 * std::sqrt(8.0) * std::sqrt(2.0) * 1.2);
  CHECK(norm(48, 304) > 0.02);
  CHECK(norm(48, 304) < 0.02 * 4 * 1.2);
  for (std::size_t i = 32; i < to.size(); i = i == 47 ? 304 : i + 1)
    if (change(i) > 0) CHECK(change(i) == doctest::Approx(0.003).epsilon(0.01));
  CHECK(norm(304, 388) > 0.003 * 5);
}

TEST_CASE("muon, lion and clipping have the same bits under any number of threads") {
  for (const std::string& optimizer : {muon, std::string("training.optimizer={kind: lion, learning_rate: 0.003}")})
    for (const char* scheme : {"ssgd", "asgd", "{kind: local_sgd, steps: 3}"}) {
      CAPTURE(scheme);
      const std::vector<std::string> sets = {deep, optimizer, std::string("training.scheme=") + scheme, "training.clip=0.1"};
      RunOptions one, three;
      one.threads = 1;
      three.threads = 3;
      CHECK(run(cluster(3), sets, one).weights == run(cluster(3), sets, three).weights);
    }
}

TEST_CASE("muon is refused where several servers step, each on a piece of the weights; where workers step it is not") {
  const std::vector<std::string> servers = {"cluster.servers.count=2", muon};
  const auto with = [&](const std::string& scheme) {
    std::vector<std::string> sets = servers;
    sets.push_back("training.scheme=" + scheme);
    return sets;
  };
  for (const char* scheme : {"asgd", "{kind: ssgd, via: server}", "downpour"}) {
    CAPTURE(scheme);
    const std::string text = refusal(with(scheme));
    CHECK(has(text,
              "cluster.servers.count: is 2, and each server steps on an equal piece of the weights, which cuts tensors that muon "
              "needs whole; write 1, or use another optimizer, such as adamw"));
  }
  for (const char* scheme : {"fedavg", "ssgd", "easgd"}) CHECK(run_timing(cluster(3), with(scheme)).record.outcome == Outcome::completed);
}

TEST_CASE("clipping is written where it is set, reads back, and is refused where it is half or nothing") {
  const Scenario plain = read_scenario_text(cluster(3), "test.yaml");
  CHECK(!has(write_scenario(plain), "clip"));
  const Scenario scenario = read_scenario_text(cluster(3), "test.yaml", {"training.clip=0.5", "training.clip_at=worker"});
  const std::string written = write_scenario(scenario);
  CHECK(has(written, "clip: 0.5"));
  CHECK(has(written, "clip_at: worker"));
  CHECK(read_scenario_text(written, "written.yaml") == scenario);
  CHECK(has(write_scenario(read_scenario_text(cluster(3), "test.yaml", {"training.clip=2"})), "clip_at: server"));
  CHECK(has(refusal({"training.clip_at=worker"}), "training.clip_at: needs a norm to clip to, and there is none; add clip: 1.0"));
  CHECK(has(refusal({"training.clip=0"}), "training.clip"));
  CHECK(has(refusal({"training.max_grad_norm=1"}), "did you mean 'clip'"));
}

TEST_CASE("in 16 bits a norm that no gradient reaches changes no bit, and a small one slows the weights, overflows or not") {
  for (const std::string precision : {"fp16", "bf16", "mixed"})
    for (const std::string at : {"server", "worker"}) {
      CAPTURE(precision);
      CAPTURE(at);
      const auto weights = [&](const std::string& clip) {
        std::vector<std::string> sets = {"workload.precision=" + precision, "training.scheme=asgd"};
        if (precision == "mixed") sets.emplace_back("workload.loss_scale={initial: 4194304, growth_every: 3}");
        if (!clip.empty()) sets.insert(sets.end(), {"training.clip=" + clip, "training.clip_at=" + at});
        return run(cluster(3), sets).weights;
      };
      const std::vector<float> free = weights("");
      CHECK(weights("1e30") == free);
      CHECK(weights("0.01") != free);
    }
}

TEST_CASE("a worker alone that clips, at either place, steps along the clipped gradient") {
  // One update of plain SGD: w0 - lr g, and with half the norm of g w0 - lr g / 2.
  const std::vector<std::string> once = {"training.stop.updates=1", "training.scheme=sequential", "training.optimizer.learning_rate=1"};
  const auto weights = [&](std::vector<std::string> more) {
    more.insert(more.end(), once.begin(), once.end());
    return run(cluster(1), more).weights;
  };
  std::vector<float> start = run(cluster(1), {"training.stop.updates=1", "training.optimizer.learning_rate=1e-30"}).weights;
  const std::vector<float> whole = weights({});
  double norm = 0;
  for (std::size_t i = 0; i < start.size(); ++i) norm += std::pow(static_cast<double>(whole[i]) - static_cast<double>(start[i]), 2);
  norm = std::sqrt(norm);
  for (const char* at : {"server", "worker"}) {
    CAPTURE(at);
    const std::vector<float> half = weights({"training.clip=" + std::to_string(norm / 2), std::string("training.clip_at=") + at});
    double worst = 0;
    for (std::size_t i = 0; i < start.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(half[i]) - (static_cast<double>(start[i]) + static_cast<double>(whole[i])) / 2));
    CHECK(worst < 1e-5);  // the norm has six decimals
  }
}

}  // namespace straggler::test::optimizer_settings_test
