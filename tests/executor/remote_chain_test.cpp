// Threads of other processes: what travels together, and that values do not depend on who computes them.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>

#include "models/executor/chain_work.hpp"
#include "models/executor/remote_chain.hpp"
#include "tests/executor/executor_checks.hpp"

namespace remote_chain_test {

using namespace straggler;
using namespace straggler::fake;

/// Another process, with an executor and values of its own.
class Elsewhere final : public RemoteThread {
 public:
  explicit Elsewhere(World& like, int lost_after = -1) : left_(lost_after), lineage_(Math::lazy, like.lineage.root()) {
    ExecutorOptions options;
    options.threads = 1;
    options.seed = 3;
    executor_ = std::make_unique<Executor>(lineage_, like.model, like.data, like.partition, like.naive, options);
  }
  bool there() const override { return left_ != 0; }
  bool holds(const Key& value) const override { return held_.count(value) > 0; }
  bool compute(const RemoteChain& chain) override {
    if (!use()) return false;
    for (const RemoteValue& value : chain.inputs) held_.insert(value.key);
    std::size_t gradients = 0;
    for (const RemoteChain::Node& node : chain.nodes) gradients += node.formula->kind == Formula::Kind::gradient;
    compute_chain(lineage_, *executor_, chain);
    chains.push_back({gradients, chain.nodes.size(), chain.inputs.size(), chain.outputs.size(), chain.lane.has_value()});
    return true;
  }
  bool evaluate(const RemoteValue& weights, EvaluationSet set, std::uint64_t chunk, ChunkSums& sums) override {
    if (!use()) return false;
    sums = executor_->evaluate_chunk({weights.floats, executor_->length()}, set, chunk);
    ++chunks;
    return true;
  }

  struct Sent {
    std::size_t gradients, nodes, inputs, outputs;
    bool lane;
  };
  std::vector<Sent> chains;
  int chunks = 0;

 private:
  bool use() {
    if (left_ == 0) return false;
    return left_ < 0 || --left_ > 0;
  }

  std::atomic<int> left_;  // uses until it is lost; below 0: it stays
  Lineage lineage_;
  std::unique_ptr<Executor> executor_;
  std::set<Key, decltype([](const Key& a, const Key& b) { return std::pair(a.high, a.low) < std::pair(b.high, b.low); })> held_;
};

/// A world whose executor also has these threads.
struct Shared {
  explicit Shared(const std::vector<int>& lost_after, unsigned threads = 1, double flops = 0) : world(1) {
    world.model.flops = flops;
    for (const int each : lost_after) others.push_back(std::make_unique<Elsewhere>(world, each));
    for (const auto& each : others) all.push_back(each.get());
    ExecutorOptions options;
    options.threads = threads;
    options.seed = 3;
    options.remote = all;
    world.executor.reset();
    world.executor = std::make_unique<Executor>(world.lineage, world.model, world.data, world.partition, world.naive, options);
  }
  World world;
  std::vector<std::unique_ptr<Elsewhere>> others;
  std::vector<RemoteThread*> all;
};

/// Rounds of clients that take local steps from the mean of the last round.
Handle federated(World& world, std::uint32_t clients, unsigned steps, unsigned rounds) {
  Handle weights = world.lineage.initial();
  for (unsigned round = 0; round < rounds; ++round) {
    std::vector<Handle> ends;
    for (std::uint32_t client = 0; client < clients; ++client) {
      Handle own = weights;
      for (unsigned step = 0; step < steps; ++step)
        own = world.step(own, world.lineage.gradient(own, batch(client, 8 * (round * steps + step), 8)));
      ends.push_back(own);
    }
    weights = world.lineage.elementwise(fake::mean, ends);
  }
  return weights;
}

Handle synchronous(World& world, std::uint32_t workers, unsigned updates, std::uint32_t samples) {
  Handle weights = world.lineage.initial();
  for (unsigned update = 0; update < updates; ++update) {
    std::vector<Handle> gradients;
    for (std::uint32_t worker = 0; worker < workers; ++worker)
      gradients.push_back(world.lineage.gradient(weights, batch(worker, update * samples, samples)));
    weights = world.step(weights, world.lineage.elementwise(fake::mean, gradients));
  }
  return weights;
}

/// Each update steps along a gradient of weights that are `delay` updates old.
Handle asynchronous(World& world, std::uint32_t workers, unsigned updates) {
  std::vector<Handle> versions{world.lineage.initial()};
  for (unsigned update = 0; update < updates; ++update) {
    const Handle& read = versions[versions.size() > workers ? versions.size() - workers : 0];
    versions.push_back(world.step(versions.back(), world.lineage.gradient(read, batch(update % workers, 4 * (update / workers), 4))));
  }
  return versions.back();
}

TEST_CASE("a client's local steps travel together, and only its last weights come back") {
  World world(1);
  const Handle end = federated(world, 3, 5, 1);
  NodeStates states;
  world.executor->force(world.lineage.initial());
  states.make_room(world.lineage);
  const Handle initial = world.lineage.initial();
  states[*initial.node()].place = ValuePlace::here;
  Plan plan(*end.node(), states);
  plan.connect();
  for (std::uint32_t position = 0; position < plan.size(); ++position) {
    if (plan[position].formula.kind != Formula::Kind::gradient || plan[position].inputs.front() != initial.node()) continue;
    const PlannedChain chain(plan, position, states);
    CHECK(chain.positions.size() == 10);
    REQUIRE(chain.chain.inputs.size() == 1);
    CHECK(chain.chain.inputs.front().key == initial.key());
    REQUIRE(chain.chain.outputs.size() == 1);
    CHECK(chain.chain.outputs.front().node == 9);
  }
}

TEST_CASE("a chain ends where others wait for a value, and before gradients that can be computed at the same time") {
  for (const bool waits : {false, true}) {
    CAPTURE(waits);
    World world(1);
    const Handle initial = world.lineage.initial();
    world.executor->force(initial);
    // Two workers at the same weights, twice: the first pair's mean leads to a second pair.
    const Handle end = waits ? asynchronous(world, 3, 9) : synchronous(world, 2, 2, 4);
    NodeStates states;
    states.make_room(world.lineage);
    states[*initial.node()].place = ValuePlace::here;
    Plan plan(*end.node(), states);
    plan.connect();
    const PlannedChain chain(plan, 0, states);
    REQUIRE(plan[0].formula.kind == Formula::Kind::gradient);
    std::size_t gradients = 0;
    for (const RemoteChain::Node& node : chain.chain.nodes) gradients += node.formula->kind == Formula::Kind::gradient;
    CHECK(gradients == 1);
  }
}

TEST_CASE("values do not depend on who computes them, nor on who is lost") {
  using Make = Handle (*)(World&);
  const std::vector<Make> all = {[](World& world) { return synchronous(world, 7, 6, 8); },
                                 [](World& world) { return synchronous(world, 3, 2, 2500); },  // gradients of three lanes
                                 [](World& world) { return asynchronous(world, 4, 40); },
                                 [](World& world) { return federated(world, 5, 6, 4); },
                                 [](World& world) { return federated(world, 1, 70, 2); }};  // longer than a chain may be
  for (std::size_t kind = 0; kind < all.size(); ++kind) {
    CAPTURE(kind);
    World alone(1);
    const std::vector<float> expected = alone.value(all[kind](alone));
    for (const std::vector<int>& lost : {std::vector<int>{-1}, {-1, -1, -1}, {3}, {1, -1}, {2, 3, 1}})
      for (const unsigned threads : {1u, 2u}) {
        Shared shared(lost, threads);
        CHECK(shared.world.value(all[kind](shared.world)) == expected);
        CHECK(shared.world.executor->statistics().gradient_samples == alone.executor->statistics().gradient_samples);
        CHECK(shared.world.executor->statistics().nodes == alone.executor->statistics().nodes);
        CHECK(shared.world.lineage.live() <= 2);
      }
  }
}

TEST_CASE("all compute at the same time") {
  Shared shared({-1, -1});
  shared.world.model.meeting = 3;  // the first three calls wait until all three have begun
  shared.world.value(synchronous(shared.world, 3, 20, 64));
  CHECK(shared.world.model.met);
  for (const auto& each : shared.others) {
    CHECK_FALSE(each->chains.empty());
    for (const Elsewhere::Sent& sent : each->chains) {
      CHECK(sent.gradients == 1);
      CHECK(sent.inputs == 1);
      CHECK(sent.outputs == 1);
    }
  }
}

TEST_CASE("lanes of a large gradient are computed at the same time, and several gradients go as wholes") {
  for (const unsigned workers : {1u, 3u}) {
    CAPTURE(workers);
    Shared shared({-1, -1});
    shared.world.model.meeting = 3;  // the first three calls wait until all three have begun
    const std::vector<float> actual = shared.world.value(synchronous(shared.world, workers, 6, 4 * 1024));
    World alone(1);
    CHECK(actual == alone.value(synchronous(alone, workers, 6, 4 * 1024)));
    CHECK(shared.world.model.met);
    std::size_t lanes = 0, wholes = 0;
    for (const auto& each : shared.others)
      for (const Elsewhere::Sent& sent : each->chains) ++(sent.lane ? lanes : wholes);
    CHECK((workers == 1 ? lanes : wholes) > 0);
  }
}

TEST_CASE("what takes longer to send than to compute stays") {
  // 20 gradients of 64 samples, each with its weights: two vectors.
  const double least = flops_a_byte * static_cast<double>(2 * World(1).model.length() * sizeof(float)) / (3 * 64);
  for (const double share : {0.9, 1.1}) {
    CAPTURE(share);
    Shared shared({-1, -1}, 1, share * least);
    shared.world.model.meeting = share > 1 ? 3 : 0;
    shared.world.value(synchronous(shared.world, 3, 20, 64));
    for (const auto& each : shared.others) CHECK(each->chains.empty() == (share < 1));
  }
}

TEST_CASE("evaluations are shared, and are those of one process") {
  World alone(1);
  for (const std::vector<int>& lost : {std::vector<int>{-1, -1}, {1}, {2, -1}}) {
    Shared shared(lost);
    for (const EvaluationSet set : {EvaluationSet::test, EvaluationSet::train, EvaluationSet::train_subset}) {
      const Evaluation expected = alone.executor->evaluate(alone.lineage.initial(), set);
      const Evaluation actual = shared.world.executor->evaluate(shared.world.lineage.initial(), set);
      CHECK(actual.loss == expected.loss);
      CHECK(actual.accuracy == expected.accuracy);
    }
  }
}

TEST_CASE("a chain whose formulas are not those of its keys is refused") {
  World world(1);
  Elsewhere other(world);
  const Handle initial = world.lineage.initial(), gradient = world.lineage.gradient(initial, batch(0, 0, 4));
  const std::vector<float> weights = world.value(initial);
  std::vector<float> out(weights.size());
  Formula formula = gradient.node()->formula;
  RemoteChain chain;
  chain.inputs.push_back({initial.key(), weights.data()});
  chain.nodes.push_back({gradient.key(), &formula, {~0}});
  chain.outputs.push_back({gradient.key(), 0, out.data()});
  CHECK(other.compute(chain));
  CHECK(out == world.value(gradient));
  ++formula.batches.front().position;
  CHECK_THROWS_AS(other.compute(chain), std::logic_error);
  --formula.batches.front().position;
  chain.lane = 1;
  CHECK_THROWS_AS(other.compute(chain), std::logic_error);
}

}  // namespace remote_chain_test
