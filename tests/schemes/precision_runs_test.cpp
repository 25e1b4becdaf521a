// Precision and optimizers in whole runs: bytes, memory, learning, and that results depend on nothing but the scenario.
#include <doctest/doctest.h>

#include <cmath>

#include "models/kernels/precision.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/device_memory.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;

const Sets schemes = {"{kind: ssgd, via: all_reduce}",
                      "{kind: ssgd, via: server}",
                      "{kind: asgd}",
                      "{kind: local_sgd, steps: 3}",
                      "{kind: local_sgd, steps: 3, via: server}",
                      "{kind: fedavg, fraction: 0.5}",
                      "{kind: nonblocking, minibatch: 25}",
                      "{kind: nonblocking, minibatch: 25, exchange: gradients}"};

Sets both(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

Sets learning(const std::string& scheme) {
  return {"training.scheme=" + scheme, "workload.data={kind: coordinates, samples: 2000, test_samples: 400}", "training.stop={epochs: 3}",
          "training.optimizer={kind: sgd, learning_rate: 0.1, momentum: 0.9}"};
}

bool all_fp16(const std::vector<float>& weights) {
  for (const float w : weights)
    if (from_fp16(to_fp16(w)) != w) return false;
  return true;
}

}  // namespace

TEST_CASE("fp16, bf16 and mixed halve the bytes of every scheme and train about as well as fp32") {
  for (const std::string& scheme : schemes) {
    CAPTURE(scheme);
    const Result whole = run(cluster(4), learning(scheme));
    for (const char* precision : {"fp16", "bf16", "mixed"}) {
      CAPTURE(std::string(precision));
      const Result half = run(cluster(4), both(learning(scheme), {std::string("workload.precision=") + precision}));
      CHECK(half.record.updates == whole.record.updates);
      CHECK(2 * half.record.bytes_sent == whole.record.bytes_sent);
      CHECK(*half.record.final_train_loss == doctest::Approx(*whole.record.final_train_loss).epsilon(0.05));
      CHECK(half.weights != whole.weights);
      CHECK(half.weights.size() == whole.weights.size());
      // A version is what workers were sent, or what whoever publishes it has in FP32: only a mean by all-reduce was sent to all.
      if (precision != std::string("bf16")) CHECK(all_fp16(half.weights) == (scheme == "{kind: local_sgd, steps: 3}"));
    }
  }
}

TEST_CASE("weights are rounded when they are sent, by whichever way: one worker through a server") {
  // The server's mean of one part is that part, as it was sent.
  const Sets half = {"workload.precision=fp16", "training.stop={updates: 6}"};
  std::vector<Result> results;
  for (const char* scheme : {"{kind: local_sgd, steps: 3, via: server}", "{kind: fedavg}", "{kind: nonblocking, minibatch: 100}",
                             "{kind: nonblocking, minibatch: 100, average: by_samples}"}) {
    CAPTURE(std::string(scheme));
    results.push_back(run(cluster(1), both(learning(scheme), half)));
    CHECK(all_fp16(results.back().weights));
  }
  CHECK(results[2].weights == results[3].weights);
  CHECK(results[2].record.weights_key == results[3].record.weights_key);
  // One worker reduces with nobody, and keeps its weights in FP32.
  CHECK_FALSE(all_fp16(run(cluster(1), both(learning("{kind: local_sgd, steps: 3}"), half)).weights));
}

TEST_CASE("weights are rounded when they are sent: an all-reduce gives the weights that a server would send") {
  // Workers round what they contribute, the mean is taken in FP32, and they go on with the rounded mean: w_(t+1) = r(mean_i r(w_i)).
  // The server keeps mean_i r(w_i); with the same starting points and sums both ways go together, version by version.
  for (const int updates : {1, 2, 7}) {
    CAPTURE(updates);
    const Sets sets = {"workload.precision=fp16", "training.stop={updates: " + std::to_string(updates) + "}"};
    const Result reduced = run(cluster(3), both(learning("{kind: local_sgd, steps: 3}"), sets));
    const Result served = run(cluster(3), both(learning("{kind: local_sgd, steps: 3, via: server}"), sets));
    REQUIRE(reduced.weights.size() == served.weights.size());
    std::vector<float> sent;
    for (const float w : served.weights) sent.push_back(from_fp16(to_fp16(w)));
    CHECK(reduced.weights == sent);
    CHECK(served.weights != sent);
  }
}

TEST_CASE("weights are rounded when they are sent: a worker steps from the rounded weights that it received") {
  // Non-blocking with gradients: the server steps in FP32. One worker, one mini-batch a round and no momentum: it computes at the rounded
  // weights either way, so that the server's way is that of asynchronous SGD.
  const Sets sets = {"workload.precision=fp16", "training.optimizer={kind: sgd, learning_rate: 0.1}", "training.stop={updates: 9}"};
  const Result rounds = run(cluster(1), both(learning("{kind: nonblocking, minibatch: 100, exchange: gradients}"), sets));
  CHECK(rounds.weights == run(cluster(1), both(learning("{kind: asgd}"), sets)).weights);
}

TEST_CASE("state that is averaged travels in fp32: n halves of weights and two floats for Adam's moments") {
  const Sets sets = {"training.scheme={kind: local_sgd, steps: 2, via: server, momentum_at_sync: average}",
                     "training.optimizer={kind: adam, learning_rate: 0.01}", "training.stop={updates: 5}"};
  constexpr std::uint64_t parameters = 2 * 16 + 16 + 16 * 4 + 4;
  constexpr std::uint64_t messages = 3 * (5 + 4);  // the last average is not fetched
  CHECK(run_timing(cluster(3), sets).record.bytes_sent == messages * parameters * (4 + 8));
  CHECK(run_timing(cluster(3), both(sets, {"workload.precision=mixed"})).record.bytes_sent == messages * parameters * (2 + 8));
}

TEST_CASE("a loss scale that is far too large costs updates only, and leaves the weights alone until it fits") {
  // Errors of at most 64 samples' share of the scale reach 65,504 from 2^16 or so; 2^40 takes some 20 halvings.
  const Sets sets = both(learning("{kind: ssgd}"), {"workload.precision=mixed", "workload.loss_scale={initial: 1099511627776}"});
  const Result none =
      run(cluster(2), both(learning("{kind: ssgd}"), {"training.stop={updates: 1}", "training.optimizer.learning_rate=1e-30"}));
  const Result first = run(cluster(2), both(sets, {"training.stop={updates: 5}"}));
  CHECK(first.weights == none.weights);
  CHECK(*run(cluster(2), both(sets, {"training.stop={updates: 120}"})).record.final_train_loss < 0.8 * *first.record.final_train_loss);
  // Fixed, nobody looks: the weights are lost.
  const Result lost =
      run(cluster(2), both(learning("{kind: ssgd}"),
                           {"workload.precision=fp16", "workload.loss_scale={initial: 1099511627776}", "training.stop={updates: 5}"}));
  CHECK(lost.record.outcome == Outcome::diverged);
}

TEST_CASE("every optimizer under every scheme learns, to the same bits for any number of threads; mixed too") {
  for (const char* optimizer : {"{kind: adam, learning_rate: 0.01}", "{kind: adamw, learning_rate: 0.01, weight_decay: 0.1}",
                                "{kind: adagrad, learning_rate: 0.05}", "{kind: lars, learning_rate: 0.5, trust: 0.1, momentum: 0.5}"})
    for (const std::string& scheme : both(schemes, {"{kind: local_sgd, steps: 3, momentum_at_sync: average}",
                                                    "{kind: fedavg, fraction: 0.5, momentum_at_sync: average}"}))
      for (const char* precision : {"fp32", "mixed"}) {
        CAPTURE(std::string(optimizer));
        CAPTURE(scheme);
        CAPTURE(std::string(precision));
        const Sets sets = both(learning(scheme), {std::string("training.optimizer=") + optimizer, "training.stop={epochs: 1.5}",
                                                  std::string("workload.precision=") + precision});
        RunOptions one, two;
        one.threads = 1;
        two.threads = 2;
        const Result a = run(cluster(4), sets, one), b = run(cluster(4), sets, two);
        CHECK(a.weights == b.weights);
        CHECK(a.record.weights_key == b.record.weights_key);
        CHECK(*a.record.final_train_loss < 1.35);  // ln 4 = 1.386 at the start
      }
}

TEST_CASE("precision is part of a value's key") {
  const Sets base = learning("{kind: ssgd}");
  std::vector<std::string> keys;
  for (const Sets& more : {Sets{}, Sets{"workload.precision=fp16"}, Sets{"workload.precision=mixed"}, Sets{"workload.precision=bf16"},
                           Sets{"workload.precision=mixed", "workload.loss_scale={initial: 1024}"},
                           Sets{"workload.precision=mixed", "workload.loss_scale={growth_every: 10}"}})
    keys.push_back(run_timing(cluster(2), both(base, more)).record.weights_key.value_or(""));
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(keys[i] != keys[j]);
}

TEST_CASE("device memory: weights, gradient, each optimizer's state, and activations, by precision") {
  constexpr double parameters = 2 * 16 + 16 + 16 * 4 + 4;
  struct Case {
    const char *optimizer, *precision;
    double bytes;  // a parameter
  };
  for (const Case& each :
       {Case{"{kind: sgd, learning_rate: 1}", "fp32", 8}, Case{"{kind: sgd, learning_rate: 1, momentum: 0.9}", "fp32", 12},
        Case{"{kind: adam, learning_rate: 1}", "fp32", 16}, Case{"{kind: adamw, learning_rate: 1}", "fp32", 16},
        Case{"{kind: adagrad, learning_rate: 1}", "fp32", 12}, Case{"{kind: lars, learning_rate: 1}", "fp32", 12},
        Case{"{kind: adam, learning_rate: 1}", "mixed", 4 + 2 + 2 + 8}, Case{"{kind: sgd, learning_rate: 1}", "bf16", 8}}) {
    CAPTURE(each.optimizer);
    CAPTURE(each.precision);
    const auto blueprint = [&](const std::string& precision) {
      const Scenario scenario = read_scenario_text(
          cluster(2), "test.yaml", {std::string("training.optimizer=") + each.optimizer, "workload.precision=" + precision});
      const Blueprint made(scenario, "auto");
      return std::pair(training_memory(scenario, made).fixed.total(), sample_bytes(made));
    };
    CHECK(blueprint(each.precision).first == parameters * each.bytes);
    CHECK(blueprint(each.precision).second == blueprint("fp32").second * (each.precision == std::string("fp32") ? 1 : 0.5));
  }
}

TEST_CASE("a schedule without its end is refused at its place") {
  for (const char* kind : {"cosine", "polynomial"}) {
    const std::string said = error_of<ScenarioErrors>([&] { run_timing(cluster(2), {std::string("training.schedule=") + kind}); });
    CAPTURE(said);
    CHECK(said.find(std::string("training.schedule: ") + kind + ": needs to know when training ends") != std::string::npos);
  }
  CHECK(run_timing(cluster(2), {"training.schedule={kind: cosine, end: 1%}", "training.stop={epochs: 1}"}).record.epochs >= 1);
}
