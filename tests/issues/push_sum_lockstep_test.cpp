// Stochastic gradient push where workers are gone for good: those that are left wait for whoever sends to them. Before, a worker waited for
// its regular peer alone. Of workers 1 and 2 of four, worker 1 then waited for nobody and ran ahead; its shares piled up at worker 2 with
// the weight in them, until the step lr / w grew without bound.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "tests/support/point_data.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<Client> clients = {{8, {1, -0.5, 0.7}}, {8, {-0.4, 0.5, 0}}, {8, {0.2, 0.3, -0.6}}, {8, {0.3, -1, -0.1}}};

/// The greatest distance between versions of messages that two workers have sent by then.
class AheadSink final : public RecordSink {
 public:
  std::uint64_t most = 0;
  AheadSink(Rank first, Rank second, Time from) : workers_{first, second}, from_(from) {}

 private:
  void message(const MessageTrace& message) override {
    for (std::size_t i = 0; i < 2; ++i)
      if (message.from == workers_[i] && message.version) latest_[i] = std::max(latest_[i], *message.version);
    if (message.arrived > from_) most = std::max(most, latest_[0] > latest_[1] ? latest_[0] - latest_[1] : latest_[1] - latest_[0]);
  }
  void contribution(std::uint64_t, Time, Rank, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t) override {}
  void choice(Rank, std::int32_t) override {}
  void span(Rank, Phase, Time, Time) override {}
  std::array<Rank, 2> workers_;
  Time from_;
  std::array<std::uint64_t, 2> latest_{};
};

}  // namespace

TEST_CASE("SGP: any two of four workers that are left stay in step, and end at the mean of their optima") {
  // Each sends its half to the other in every step, so that both hold the same after it: the mean of their sums. It moves by the mean of
  // both gradients times lr 4 / 2, as the sums of p workers are shared by two. One is 1.7 times as slow, and a message takes 5 ms.
  const PointData points(clients);
  for (Rank first = 0; first < 4; ++first) {
    for (Rank second = first + 1; second < 4; ++second) {
      for (const std::string slow : {"[{count: 4, device: node}]", "[{count: 2, device: node}, {count: 2, device: node, slowdown: 1.7}]",
                                     "[{count: 1, device: node, slowdown: 1.7}, {count: 2, device: node}, {count: 1, device: node}]"}) {
        CAPTURE(first);
        CAPTURE(second);
        CAPTURE(slow);
        std::string faults;
        for (Rank rank = 0; rank < 4; ++rank)
          if (rank != first && rank != second)
            faults += (faults.empty() ? "" : ", ") + std::string("{kind: crash, worker: ") + std::to_string(rank) +
                      ", at: " + (faults.empty() ? "155ms}" : "334ms}");
        const std::vector<std::string> sets = {"cluster.workers=" + slow, "cluster.network.link={bandwidth: 6kB/s, latency: 3ms}",
                                               "cluster.faults=[" + faults + "]", "workload.model.start=0", "workload.model.condition=2"};
        const std::string yaml = equal_bowl(4, "sgp", points.data(true), 0.1, 400);
        const Result result = run(yaml, sets);
        CHECK(result.record.outcome == Outcome::completed);
        std::vector<double> mean;
        for (std::size_t j = 0; j < point_dimensions; ++j)
          mean.push_back((clients[index_of(first)].point[j] + clients[index_of(second)].point[j]) / 2);
        CHECK(farthest_from(result.weights, mean) < 1e-4);
        RunOptions options;
        options.timing_only = true;
        options.trace = true;
        AheadSink ahead(first, second, Time::from_seconds(0.5));  // when what was in flight at the crashes has arrived
        Experiment(scenario_of(yaml, sets), options).run(&ahead, nullptr);
        CHECK(ahead.most <= 1);  // the other's last share is needed for the next one
      }
    }
  }
}
