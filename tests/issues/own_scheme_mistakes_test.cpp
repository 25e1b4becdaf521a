// Mistakes in a scheme of one's own were reported as contradictions of the simulator, or let a run go on for ever.
#include <doctest/doctest.h>

#include "sim/training/node.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace own_scheme_mistakes_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Each worker takes its own step and publishes what it has.
class OwnWeights final : public Scheme {
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.next_batch(node.batch_size()));
      weights = co_await node.step(weights, gradient);
      weights = co_await node.publish(weights);
    }
  }
};

/// Neighbours in a ring exchange their weights and take the mean, contributions of both included: each step counts at two workers.
class MeanOfTwo final : public Scheme {
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.next_batch(node.batch_size()));
      weights = co_await node.step(weights, gradient);
      node.post((node.self() + 1) % node.workers(), weights);
      const From<Weights> theirs = co_await node.receive<Weights>();
      const Weights mean = node.mean({weights, theirs});
      weights = co_await node.publish(mean);
    }
  }
};

/// The server looks for a message again and again, and never waits for one.
template <bool by_timer>
class Polls final : public Scheme {
  Process worker(Node& node) const override { co_await node.receive<Weights>(node.server()); }
  Process server(Node& node) const override {
    for (;;) {
      if constexpr (by_timer)
        co_await node.timer(Time());
      else
        co_await node.proceed();
    }
  }
};

template <class Kind>
SchemeEntry test_entry(const std::string& name, Exchange exchange, Versions versions) {
  return {.name = name,
          .summary = "for this test",
          .reference = "none",
          .exchange = exchange,
          .contributions = one_contribution(),
          .parameters = {on_failure({OnFailure::drop}, "go on without it")},
          .make = made<Kind>,
          .versions = versions};
}
const Register<SchemeEntry> own_weights(test_entry<OwnWeights>("own_weights", Exchange::peers, Versions::shared));
const Register<SchemeEntry> mean_of_two(test_entry<MeanOfTwo>("mean_of_two", Exchange::peers, Versions::lockstep));
const Register<SchemeEntry> polls(test_entry<Polls<false>>("polls", Exchange::server, Versions::shared));
const Register<SchemeEntry> polls_by_timer(test_entry<Polls<true>>("polls_by_timer", Exchange::server, Versions::shared));

template <class Error>
std::string failure(const std::string& scheme) {
  return error_of<Error>([&] { run_timing(cluster(3), {"training.scheme=" + scheme, "training.stop={updates: 6}"}); });
}

}  // namespace

TEST_CASE("workers with weights of their own must say so") {
  const std::string wrong = failure<ScenarioErrors>("own_weights");
  CHECK_MESSAGE(has(wrong, "publishes other weights than the others as version 1"), wrong);
  CHECK_MESSAGE(has(wrong, "versions lockstep or free_running"), wrong);
}

TEST_CASE("contributions that count at two workers are a mistake of the scheme") {
  const std::string wrong = failure<ScenarioErrors>("mean_of_two");
  CHECK_MESSAGE(has(wrong, "more samples were counted or dropped than drawn"), wrong);
  CHECK_MESSAGE(has(wrong, "`without_contributions`"), wrong);
}

TEST_CASE("a server that only polls ends the run with an error, as time stands still") {
  for (const std::string scheme : {"polls", "polls_by_timer"}) {
    const std::string wrong = failure<RunFailed>(scheme);
    CHECK_MESSAGE(has(wrong, "server 0 polls without time passing (100,031 polls at 0s)"), wrong);
  }
}

}  // namespace own_scheme_mistakes_test
