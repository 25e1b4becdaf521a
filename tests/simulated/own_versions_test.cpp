// Versions of workers that publish weights of their own: which there are, and what goes into each.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sim/record/own_versions.hpp"
#include "sim/training/node.hpp"
#include "tests/support/run.hpp"

namespace own_versions_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Free-running: every worker steps on its own part, alone, and publishes each step.
class Apart final : public Scheme {
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const DrawnBatch batch = node.next_batch(node.batch_size());
      const Gradient gradient = co_await node.gradient(weights, batch);
      weights = co_await node.step(weights, gradient);
      weights = co_await node.publish(weights);
    }
  }
};

const Register<SchemeEntry> apart({
    .name = "apart",
    .summary = "every worker alone, for this test",
    .reference = "none",
    .family = Family::gossip,
    .contributions = one_contribution(),
    .parameters = {on_failure({OnFailure::drop, OnFailure::abort}, "nobody waits for anybody")},
    .make = made<Apart>,
    .real = false,
});

Key key_of(Rank worker, std::uint64_t version) { return {static_cast<std::uint64_t>(worker) + 1, 2 * version + 1}; }

Key average_key(std::uint64_t name) { return {100 + name, 1}; }

/// A history of publications by hand.
class History {
 public:
  explicit History(Versions rule, Rank workers) : initial_(initial()), versions_(rule, workers, initial_) {
    mine_.assign(static_cast<std::size_t>(workers), initial_);
  }
  /// Ten samples more; at that second.
  void publish(Rank worker, int seconds) {
    Weights& weights = mine_[static_cast<std::size_t>(worker)];
    WeightsState& state = weights.edit();
    ++state.version;
    state.value = lineage_.leaf(key_of(worker, state.version));
    Contribution made;
    made.worker = worker;
    made.steps = 1;
    made.samples = 10;
    versions_.publish(worker, weights, Contributions{made}, Time::from_seconds(seconds));
  }
  /// `with` has the answer: both hold the average `name`, made at `at`.
  void answered(Rank at, Rank with, std::uint64_t name) {
    const std::uint64_t brought = number(with);
    set_value(with, name);
    versions_.averaged(with, {at, with, brought, mine_[static_cast<std::size_t>(with)]});
  }
  /// The same, told by who made it, of the weights of `with` with that number.
  void averaged(Rank at, Rank with, std::uint64_t brought, std::uint64_t name) {
    set_value(at, name);
    versions_.averaged(at, {at, with, brought, mine_[static_cast<std::size_t>(at)]});
  }
  /// Of the weights whose mean the latest version is.
  std::vector<Key> counted() const {
    std::vector<Key> keys;
    for (const Weights& weights : versions_.counted()) keys.push_back(weights->value.key());
    return keys;
  }
  void readmit(Rank worker, Rank from) { mine_[static_cast<std::size_t>(worker)] = versions_.readmit(worker, versions_.current(from)); }
  std::uint64_t number(Rank worker) const { return mine_[static_cast<std::size_t>(worker)]->version; }
  OwnVersions& versions() { return versions_; }
  /// The next version's contributors; none: there is no complete one.
  std::vector<Rank> next() {
    last_ = versions_.next();
    std::vector<Rank> from;
    if (last_)
      for (const Contribution& made : last_->made) from.push_back(made.worker);
    return from;
  }
  const OwnVersions::Version& last() const { return *last_; }

 private:
  void set_value(Rank worker, std::uint64_t name) {
    mine_[static_cast<std::size_t>(worker)].edit().value = lineage_.leaf(average_key(name));
  }
  Weights initial() {
    Weights weights;
    weights.edit().value = lineage_.leaf(key_of(8, 0));
    return weights;
  }
  Lineage lineage_{Math::none, Key{1, 1}};
  Weights initial_;
  OwnVersions versions_;
  std::vector<Weights> mine_;
  std::optional<OwnVersions::Version> last_;
};

using Ranks = std::vector<Rank>;

}  // namespace

TEST_CASE("versions in lockstep: one is complete when the last worker has published, with the others' in rank order") {
  History run(Versions::lockstep, 3);
  run.publish(2, 1);
  run.publish(2, 2);
  run.publish(0, 3);
  CHECK(run.next().empty());
  run.publish(1, 4);
  CHECK(run.next() == Ranks{0, 1, 2});
  CHECK(run.last().weights->version == 1);
  CHECK(run.last().weights->progress == 30);
  CHECK(run.last().when == Time::from_seconds(4));
  REQUIRE(run.last().parts.size() == 3);
  for (const Weights& part : run.last().parts) CHECK(part->version == 1);
  CHECK(run.next().empty());
  run.publish(1, 5);
  run.publish(0, 6);
  CHECK(run.next() == Ranks{0, 1, 2});
  for (const Contribution& made : run.last().made) CHECK(made.read_version == 1);
  CHECK(run.last().weights->progress == 60);
}

TEST_CASE("versions in lockstep: when the worker that others wait for goes, their versions are complete, and those it published count") {
  History run(Versions::lockstep, 3);
  run.publish(0, 1);
  run.publish(0, 2);
  run.publish(1, 3);
  CHECK(run.next().empty());
  run.versions().remove(2);  // it had published nothing
  CHECK(run.next() == Ranks{0, 1});
  CHECK(run.next().empty());
  run.versions().remove(0);
  run.publish(1, 4);
  CHECK(run.next() == Ranks{0, 1});
  run.publish(1, 5);
  CHECK(run.next() == Ranks{1});
  CHECK(run.last().weights->version == 3);
}

TEST_CASE("versions in lockstep: a worker that comes starts beyond all numbers in use; a number that no worker publishes is left out") {
  History run(Versions::lockstep, 2);
  run.versions().remove(1);
  run.publish(0, 1);
  run.publish(0, 2);
  CHECK(run.next() == Ranks{0});
  CHECK(run.next() == Ranks{0});
  run.readmit(1, 0);
  CHECK(run.number(1) == 3);
  CHECK(run.versions().first(1) == 3);
  run.publish(1, 3);  // number 4, of which worker 0 has yet to publish its own
  CHECK(run.next().empty());
  run.versions().remove(0);
  CHECK(run.next() == Ranks{1});  // number 3 is nobody's: this is version 3
  CHECK(run.last().number == 4);
  CHECK(run.last().weights->version == 3);
  CHECK(run.last().made.front().read_version == 2);
}

TEST_CASE("free-running versions: each publication is one, and the latest weights of those that are in are evaluated") {
  History run(Versions::free_running, 3);
  run.publish(1, 1);
  run.publish(1, 2);
  run.publish(0, 3);
  CHECK(run.next() == Ranks{1});
  CHECK(run.next() == Ranks{1});
  CHECK(run.last().made.front().read_version == 1);
  CHECK(run.next() == Ranks{0});
  CHECK(run.last().weights->version == 3);
  CHECK(run.last().weights->progress == 30);
  CHECK(run.last().made.front().read_version == 0);
  CHECK(run.next().empty());
  const std::vector<Weights> current = run.versions().counted();
  REQUIRE(current.size() == 3);
  CHECK(current[1]->value.key() == key_of(1, 2));
  CHECK(current[2]->value.key() == key_of(8, 0));
  run.versions().remove(1);
  CHECK(run.versions().counted().size() == 2);
  run.versions().remove(0);
  run.versions().remove(2);
  CHECK(run.versions().counted().size() == 1);  // of the last that was in
}

TEST_CASE("free-running versions: an average counts for both at once, from the next version of either on, with those before it") {
  const Key start = key_of(8, 0);
  History run(Versions::free_running, 4);
  run.averaged(1, 0, 0, 1);
  run.answered(1, 0, 1);
  run.averaged(1, 2, 0, 2);
  run.answered(1, 2, 2);
  CHECK(run.counted() == std::vector<Key>(4, start));
  run.publish(3, 1);  // no part of it
  CHECK(run.next() == Ranks{3});
  CHECK(run.counted() == std::vector<Key>{start, start, start, key_of(3, 1)});
  run.publish(2, 2);  // the second average, and so the first
  CHECK(run.next() == Ranks{2});
  CHECK(run.counted() == std::vector<Key>{average_key(1), average_key(2), key_of(2, 1), key_of(3, 1)});
  CHECK(run.versions().parts()[0].holder == 1);
  run.publish(1, 3);
  run.publish(0, 4);
  CHECK(run.next() == Ranks{1});
  CHECK(run.counted() == std::vector<Key>{average_key(1), key_of(1, 1), key_of(2, 1), key_of(3, 1)});
  CHECK(run.next() == Ranks{0});
  CHECK(run.counted()[0] == key_of(0, 1));
}

TEST_CASE("free-running versions: notices out of order count in order, at a time that never runs back") {
  History run(Versions::free_running, 3);
  // Worker 0 publishes, and worker 1 averages with that; worker 2 averages with worker 1 in turn. Told: the last first.
  run.answered(1, 2, 2);
  run.publish(2, 9);
  CHECK(run.next().empty());  // of the average nothing is known yet
  run.averaged(1, 0, 1, 1);
  run.averaged(1, 2, 0, 2);
  CHECK(run.next().empty());  // nor of what worker 0 had published before
  run.publish(0, 5);
  CHECK(run.next() == Ranks{0});
  CHECK(run.last().when == Time::from_seconds(5));
  CHECK(run.next() == Ranks{2});
  CHECK(run.last().when == Time::from_seconds(9));
  CHECK(run.counted() == std::vector<Key>{average_key(1), average_key(2), key_of(2, 1)});
  run.publish(1, 7);
  CHECK(run.next() == Ranks{1});
  CHECK(run.last().when == Time::from_seconds(9));
}

TEST_CASE("free-running versions: a replay forces who makes them, until the next of them is out") {
  History run(Versions::free_running, 3);
  run.versions().force_order({2, 0, 0, 1, 2});
  run.publish(0, 1);
  run.publish(0, 2);
  CHECK(run.next().empty());
  run.publish(2, 3);
  CHECK(run.next() == Ranks{2});
  CHECK(run.next() == Ranks{0});
  CHECK(run.counted()[0] == key_of(0, 1));  // it is one ahead
  CHECK(run.next() == Ranks{0});
  run.publish(2, 4);
  run.publish(0, 5);
  CHECK(run.next().empty());
  run.versions().remove(1);
  CHECK(run.next() == Ranks{2});
  CHECK(run.next() == Ranks{0});
}

TEST_CASE("free-running versions: an average with one that has gone counts for the other alone") {
  History run(Versions::free_running, 3);
  run.averaged(1, 0, 0, 1);
  run.versions().remove(0);
  run.averaged(1, 2, 0, 2);
  run.answered(1, 2, 2);
  run.publish(1, 1);
  CHECK(run.next() == Ranks{1});
  CHECK(run.counted() == std::vector<Key>{key_of(1, 1), average_key(2)});
  run.averaged(1, 2, 0, 3);  // of another life: there is none such
  run.versions().remove(1);
  run.publish(2, 2);
  CHECK(run.next() == Ranks{2});
  CHECK(run.counted() == std::vector<Key>{key_of(2, 1)});
}

TEST_CASE("a free-running run: p updates per batch time, staleness p - 1, and the mean of the workers' separate results") {
  const int workers = 3, steps = 6;
  const std::vector<std::string> sets = {"training.scheme=apart", "workload.data={kind: coordinates, samples: 900}",
                                         "training.stop.updates=" + std::to_string(workers * steps)};
  const Result together = run(cluster(workers), sets);
  CHECK(together.record.end.seconds() == doctest::Approx(0.1 * steps).epsilon(1e-9));
  for (const OrderRow& row : together.sink.order) {
    CHECK(row.steps == 1);
    if (row.update > static_cast<std::uint64_t>(workers))
      CHECK(row.update - 1 - row.read_version == static_cast<std::uint64_t>(workers - 1));
  }
  // Each alone: the two others leave at once, and what is evaluated is its own.
  std::vector<double> mean(together.weights.size());
  for (int kept = 0; kept < workers; ++kept) {
    std::string leave;
    for (int worker = 0; worker < workers; ++worker)
      if (worker != kept) leave += std::string(leave.empty() ? "" : ", ") + "{kind: crash, worker: " + std::to_string(worker) + ", at: 0s}";
    std::vector<std::string> alone = sets;
    alone.back() = "training.stop.updates=" + std::to_string(steps);
    alone.push_back("cluster.faults=[" + leave + "]");
    const Result one = run(cluster(workers), alone);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(one.weights[i]) / workers;
  }
  // Two sums and a quotient of numbers below 2 in 32 bits: off by at most 3 halves of a unit.
  for (std::size_t i = 0; i < mean.size(); ++i) {
    REQUIRE(std::abs(together.weights[i]) < 2);
    CHECK(std::abs(static_cast<double>(together.weights[i]) - mean[i]) <= 3 * 2 * std::ldexp(1.0, -23));
  }
}

TEST_CASE("a free-running run evaluates the versions that are due, and learns") {
  const int workers = 200;
  const Result timing =
      run_timing(cluster(workers), {"training.scheme=apart", "training.stop.updates=2000", "training.evaluate.every={updates: 500}"});
  CHECK(timing.record.curve.size() == 5);  // 0, 500, 1000, 1500, 2000
  CHECK(timing.record.updates == 2000);
  const Result learned = run(cluster(20), {"training.scheme=apart", "training.stop.updates=200", "training.evaluate.every={updates: 50}",
                                           "training.batch.per_worker=20", "training.optimizer.learning_rate=0.3"});
  REQUIRE(learned.record.curve.size() == 5);
  CHECK(*learned.record.curve.back().train_loss < *learned.record.curve.front().train_loss);
}

}  // namespace own_versions_test
