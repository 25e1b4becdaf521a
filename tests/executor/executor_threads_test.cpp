// The number of threads: the rule that chooses it, on an invented clock; threads that are admitted and dismissed; the same bits.
#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "models/executor/node_pace.hpp"
#include "models/executor/thread_choice.hpp"
#include "models/executor/thread_pool.hpp"
#include "tests/executor/executor_checks.hpp"

namespace executor_threads_test {

using namespace straggler;
using namespace straggler::fake;
using namespace straggler::test;

namespace {

/// Threads that finish gradients of 32 samples at a known rate.
struct Machine {
  explicit Machine(unsigned most, std::function<double(unsigned)> rate) : choice(most), samples_a_second(std::move(rate)) {}
  void compute(double seconds) {
    const double end = now + seconds;
    choice.resume(now);
    while (now < end) {
      now += 32 / samples_a_second(choice.threads());
      samples += 32;
      choice.advance(now, samples, choice.threads() - 1);
    }
    choice.pause(now);
    now += 100;  // in which nothing is computed
  }
  ThreadChoice choice;
  std::function<double(unsigned)> samples_a_second;
  double now = 0;
  std::uint64_t samples = 0;
};

/// Nodes that all threads, or the caller's alone, finish in known times.
struct Nodes {
  void compute(std::size_t count) {
    pace.resume(now);
    for (std::size_t i = 0; i < count; ++i) {
      const double seconds = pace.alone() ? alone : together;
      now += seconds;
      spent += seconds;
      by_caller += pace.alone();
      if (pace.count(1)) pace.look(now);
    }
    pace.pause(now);
    now += 100;  // in which nothing is computed
  }
  double alone, together;  // seconds a node
  NodePace pace = {};
  double now = 0, spent = 0;
  std::size_t by_caller = 0;
};

double peak_at(double best, double threads) { return 1e6 * (threads <= best ? threads : best * best / threads); }

/// Pieces of work that each change how many threads take further ones.
class Fickle final : public Job {
 public:
  Fickle(ThreadPool& pool, int pieces) : pool_(pool), left_(pieces) {}
  bool done() const noexcept override { return left_ == 0 && running_ == 0; }
  bool step(std::unique_lock<std::mutex>& lock, unsigned thread) noexcept override {
    if (left_ == 0 || waiting_) return false;
    if (thread >= pool_.admitted()) ++wrong;
    --left_;
    ++running_;
    waiting_ = left_ % 3 == 0;  // the next piece is there when this one is done
    const bool alone = waiting_;
    const std::chrono::microseconds lasts(left_ % 7 == 0 ? 100 : 1);
    std::condition_variable* const sleeper = left_ > 0 ? pool_.sleeper() : nullptr;
    lock.unlock();
    if (sleeper) sleeper->notify_one();
    std::this_thread::sleep_for(lasts);
    lock.lock();
    pool_.admit(1 + static_cast<unsigned>(random_() % pool_.computing()));
    if (alone) waiting_ = false;
    --running_;
    return true;
  }
  int wrong = 0;

 private:
  ThreadPool& pool_;
  int left_, running_ = 0;
  bool waiting_ = false;
  std::minstd_rand random_;
};

}  // namespace

TEST_CASE("the fastest number of threads is found, whichever it is") {
  for (const unsigned most : {2u, 3u, 8u, 16u})
    for (unsigned best = 1; best <= most; best *= 2) {
      CAPTURE(most);
      CAPTURE(best);
      Machine machine(most, [best](unsigned threads) { return peak_at(best, threads); });
      machine.compute(3);
      CHECK(machine.choice.fastest() == best);
      CHECK(machine.choice.compared());
    }
  Machine equal(8, [](unsigned) { return 1e6; });  // then the fewest
  equal.compute(3);
  CHECK(equal.choice.fastest() == 1);
}

TEST_CASE("comparing threads loses about a hundredth of the time, and nothing in a short run") {
  for (const double seconds : {0.5, 3.0, 30.0}) {
    CAPTURE(seconds);
    Machine machine(16, [](unsigned threads) { return 1e5 * threads; });
    machine.compute(seconds);
    CHECK(machine.choice.fastest() == 16);
    CHECK(static_cast<double>(machine.samples) > 0.985 * 16e5 * seconds);
  }
  Machine brief(16, [](unsigned threads) { return 1e6 / threads; });
  for (int part = 0; part < 9; ++part) brief.compute(0.01);
  CHECK(!brief.choice.compared());
  CHECK(brief.choice.threads() == 16);
  Machine alone(1, [](unsigned) { return 1e6; });
  alone.compute(3);
  CHECK(alone.choice.threads() == 1);
  CHECK(!alone.choice.compared());
}

TEST_CASE("the number of threads follows the machine, and other programs' noise does not mislead it") {
  Machine changing(8, [](unsigned threads) { return peak_at(1, threads); });
  changing.compute(5);
  CHECK(changing.choice.fastest() == 1);
  changing.samples_a_second = [](unsigned threads) { return peak_at(8, threads); };
  changing.compute(30);
  CHECK(changing.choice.fastest() == 8);
  std::minstd_rand random(7);
  std::lognormal_distribution<double> noise(0, 0.5);
  std::size_t right = 0;
  for (int run = 0; run < 20; ++run) {
    Machine noisy(16, [&](unsigned threads) { return peak_at(4, threads) * noise(random) / 10; });
    noisy.compute(20);
    right += noisy.choice.fastest() == 4;
  }
  CHECK(right >= 18);
}

TEST_CASE("the caller computes nodes alone that take less time so, in one plan or in many") {
  for (const std::size_t plan : {1u, 3u, 1'000'000u}) {
    CAPTURE(plan);
    const auto computed = [plan](double alone, double together) {
      Nodes nodes{alone, together};
      for (std::size_t rest = 1'000'000; rest > 0; rest -= std::min(rest, plan)) nodes.compute(std::min(rest, plan));
      return nodes;
    };
    const Nodes tiny = computed(0.2e-6, 5e-6);
    CHECK(tiny.by_caller > 990'000);
    CHECK(tiny.spent < 1.1 * 1'000'000 * 0.2e-6);  // the others' ways included
    const Nodes small = computed(5e-6, 4e-6);
    CHECK(small.by_caller < 10'000);
    CHECK(small.spent < 1.01 * 1'000'000 * 4e-6);
    CHECK(computed(40e-6, 21e-6).by_caller == 0);  // not even tried
  }
}

TEST_CASE("nodes that become large, or small, are computed by other threads soon") {
  Nodes nodes{0.2e-6, 5e-6};
  nodes.compute(10'000'000);
  CHECK(nodes.pace.alone());
  nodes.alone = 1e-3;
  nodes.together = 0.5e-3;
  const std::size_t before = nodes.by_caller;
  nodes.compute(1000);
  CHECK(!nodes.pace.alone());
  CHECK(nodes.by_caller - before <= 8);
  nodes.alone = 0.2e-6;
  nodes.together = 5e-6;
  nodes.compute(10'000);
  CHECK(nodes.pace.alone());
}

TEST_CASE("threads that are dismissed take no piece, and all pieces are done") {
  ThreadPool pool(6);
  for (unsigned round = 0; round < 20; ++round) {
    Fickle job(pool, 500);
    pool.run(job, 1 + round % 6);
    CHECK(job.done());
    CHECK(job.wrong == 0);
  }
}

TEST_CASE("values do not depend on how many threads are chosen while they are computed") {
  const auto descend_for = [](World& world, int rounds, bool until_compared) {
    Handle weights = world.lineage.initial();
    int round = 0;
    for (; until_compared ? !world.executor->statistics().threads_compared && round < rounds : round < rounds; ++round) {
      std::vector<Handle> parts;
      for (std::uint32_t worker = 0; worker < 8; ++worker) {
        Handle own = weights;
        for (std::uint32_t step = 0; step < 4; ++step)
          own = world.step(own, world.lineage.gradient(own, batch(worker, 4u * static_cast<unsigned>(round) + step, 64)), 0.01);
        parts.push_back(own);
      }
      weights = world.lineage.elementwise(fake::mean, parts);
      world.executor->force(weights);
    }
    return std::pair(world.value(weights), round);
  };
  World choosing(4, 256, 3000, 0, false, 10'000, true), one(1, 256);
  const auto [values, rounds] = descend_for(choosing, 100'000, true);
  CHECK(choosing.executor->statistics().threads_compared);
  CHECK(choosing.executor->statistics().threads <= 4);
  CHECK(descend_for(one, rounds, false).first == values);
  CHECK(one.executor->statistics().threads == 1);
}

}  // namespace executor_threads_test
