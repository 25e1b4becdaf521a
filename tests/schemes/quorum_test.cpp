// A quorum and windows after it: which schemes it is at its ends, who counts, and when a round is closed.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/schemes/course.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Workers whose batches take 100, 120, 150 and 300 ms, always, on a network that takes nanoseconds.
const std::vector<std::string> steady_four = {
    "cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 1.2}, {count: 1, device: node, slowdown: 1.5}, "
    "{count: 1, device: node, slowdown: 3}]",
    "training.stop.updates=3"};

struct Update {
  double seconds = 0;
  std::set<std::pair<Rank, std::uint64_t>> made;  // worker, version read
};
using Made = std::set<std::pair<Rank, std::uint64_t>>;

std::map<std::uint64_t, Update> updates_of(const std::string& scheme, const std::vector<std::string>& cluster_sets = steady_four) {
  std::map<std::uint64_t, Update> all;
  for (const OrderRow& row : run_timing(cluster(4), with_scheme(cluster_sets, scheme)).sink.order) {
    all[row.update].seconds = row.time.seconds();
    all[row.update].made.emplace(row.worker, row.read_version);
  }
  return all;
}

std::string refusal(const std::string& scheme) {
  try {
    run_timing(cluster(4), with_scheme(uneven_four, scheme));
  } catch (const ScenarioErrors& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a quorum with a window that all reach is synchronous SGD by a server, bit for bit") {
  const Result whole = run(cluster(4), with_scheme(uneven_four, "{kind: ssgd, via: server}"));
  for (const char* scheme : {"{kind: quorum, k: 4}", "{kind: quorum, k: 1, grace: 1h}", "{kind: quorum, k: 2, deadline: {time: 1h}}",
                             "{kind: quorum, k: 1, grace: 1h, late: next}", "{kind: quorum, k: 1, deadline: {adaptive: 1e6}}"}) {
    CAPTURE(scheme);
    check_same_course(run(cluster(4), with_scheme(uneven_four, scheme)), whole);
  }
}

TEST_CASE("a quorum without a window is backup workers, and with late ones in the next update k-async SGD, bit for bit") {
  for (const std::string answers : {"in_turn", "at_once"})
    check_same_course(run(cluster(4), with_scheme(uneven_four, "{kind: quorum, k: 3, answers: " + answers + "}")),
                      run(cluster(4), with_scheme(uneven_four, "{kind: backup_workers, backups: 1, answers: " + answers + "}")));
  check_same_course(run(cluster(4), with_scheme(uneven_four, "{kind: quorum, k: 2, late: next, answers: at_once}")),
                    run(cluster(4), with_scheme(uneven_four, "{kind: k_async, k: 2, answers: at_once}")));
}

TEST_CASE("the window of a quorum lets in those that come within the grace after the k-th") {
  // Batches of 100, 120, 150 and 300 ms. With a grace of 30 ms: 0 and 1 at 130 ms; again at 260 ms, when 2, late at 150 ms and answered
  // with version 0, is 150 ms later: at 300 ms it is late again, as is 3. They are answered with version 2 then.
  const auto updates = updates_of("{kind: quorum, k: 1, grace: 30ms}");
  CHECK(updates.at(1).seconds == doctest::Approx(0.130).epsilon(1e-6));
  CHECK(updates.at(1).made == Made{{0, 0}, {1, 0}});
  CHECK(updates.at(2).seconds == doctest::Approx(0.260).epsilon(1e-6));
  CHECK(updates.at(2).made == Made{{0, 1}, {1, 1}});
  CHECK(updates.at(3).seconds == doctest::Approx(0.390).epsilon(1e-6));
  CHECK(updates.at(3).made == Made{{0, 2}, {1, 2}});
}

TEST_CASE("late: next puts late gradients into the update that is open when they come") {
  // 2 comes at 150 ms, in the second update, which it opens: its quorum of one is there. The window ends at 180 ms.
  const auto updates = updates_of("{kind: quorum, k: 1, grace: 30ms, late: next}");
  CHECK(updates.at(1).made == Made{{0, 0}, {1, 0}});
  CHECK(updates.at(2).seconds == doctest::Approx(0.180).epsilon(1e-6));
  CHECK(updates.at(2).made == Made{{2, 0}});
  // 0 and 1, answered at 130 ms, come at 230 and 250 ms.
  CHECK(updates.at(3).seconds == doctest::Approx(0.260).epsilon(1e-6));
  CHECK(updates.at(3).made == Made{{0, 1}, {1, 1}});
}

TEST_CASE("a deadline closes a round that has its quorum, and waits for the quorum otherwise") {
  const auto early = updates_of("{kind: quorum, k: 3, deadline: {time: 110ms}}");  // one has come by then
  CHECK(early.at(1).seconds == doctest::Approx(0.150).epsilon(1e-6));
  CHECK(early.at(1).made == Made{{0, 0}, {1, 0}, {2, 0}});
  const auto later = updates_of("{kind: quorum, k: 1, deadline: {time: 140ms}}");
  CHECK(later.at(1).seconds == doctest::Approx(0.140).epsilon(1e-6));
  CHECK(later.at(1).made == Made{{0, 0}, {1, 0}});
  CHECK(later.at(2).seconds == doctest::Approx(0.280).epsilon(1e-6));  // measured from the new weights
}

TEST_CASE("an adaptive deadline follows the arrivals, late ones included") {
  // Nothing is known of the first round, which waits for all four. They came after 100, 120, 150 and 300 ms: the median is 135 ms,
  // distances from it are 35, 15, 15 and 165 ms, their median 25 ms. So 135 + 2 · 25 = 185 ms: without worker 3.
  const auto updates = updates_of("{kind: quorum, k: 1, deadline: {adaptive: 2}}");
  CHECK(updates.at(1).seconds == doctest::Approx(0.300).epsilon(1e-6));
  CHECK(updates.at(1).made.size() == 4);
  CHECK(updates.at(2).seconds == doctest::Approx(0.485).epsilon(1e-6));
  CHECK(updates.at(2).made == Made{{0, 1}, {1, 1}, {2, 1}});
  // Of seven: 100, 100, 120, 120, 150, 150, 300: median 120, distances 20, 20, 0, 0, 30, 30, 180: 20. Worker 3 comes late at 600 ms.
  CHECK(updates.at(3).seconds == doctest::Approx(0.485 + 0.160).epsilon(1e-6));
}

TEST_CASE("a partial all-reduce is a quorum without a server, and with a window that all reach synchronous SGD, bit for bit") {
  const auto of = [](const std::string& scheme) { return run(cluster(4), with_scheme(steady_four, scheme)); };
  const Result ssgd = of("{kind: ssgd}"), whole = of("{kind: partial_all_reduce, k: 2, grace: 1h}");
  CHECK(whole.record.weights_key == ssgd.record.weights_key);
  CHECK(whole.record.end.seconds() == doctest::Approx(ssgd.record.end.seconds()).epsilon(1e-6));  // words of 8 bytes travel, too
  for (const std::string late : {"drop", "next"}) {
    CAPTURE(late);
    const Result partial = of("{kind: partial_all_reduce, k: 1, grace: 30ms, late: " + late + "}"),
                 quorum = of("{kind: quorum, k: 1, grace: 30ms, late: " + late + "}");
    CHECK(partial.record.samples == quorum.record.samples);
    std::vector<OrderRow> counted;
    for (OrderRow row : partial.sink.order)
      if (row.samples > 0) counted.push_back(row);
    REQUIRE(counted.size() == quorum.sink.order.size());
    for (std::size_t i = 0; i < counted.size(); ++i) {
      CHECK(counted[i].update == quorum.sink.order[i].update);
      CHECK(counted[i].worker == quorum.sink.order[i].worker);
      CHECK(counted[i].read_version == quorum.sink.order[i].read_version);
      CHECK(counted[i].time.seconds() == doctest::Approx(quorum.sink.order[i].time.seconds()).epsilon(1e-6));
    }
    for (std::size_t i = 0; i < quorum.weights.size(); ++i) CHECK(partial.weights[i] == doctest::Approx(quorum.weights[i]).epsilon(1e-5));
  }
}

TEST_CASE("what a quorum refuses") {
  CHECK(refusal("{kind: quorum, k: 5}").find("k is 5, but an update takes one gradient per worker; with 4 workers k is at most 4") !=
        std::string::npos);
  CHECK(refusal("{kind: quorum, k: 2, deadline: {time: 1s, adaptive: 3}}")
            .find("write deadline: {time: 100ms}, or deadline: {adaptive: 3}") != std::string::npos);
  CHECK(refusal("{kind: quorum, k: 2, grace: 5}").find("grace") != std::string::npos);
  CHECK(refusal("{kind: quorum, k: 2, late: partial}").find("late") != std::string::npos);
  CHECK(refusal("{kind: quorum, k: 2, deadline: {adaptive: -1}}").find("deadline.adaptive") != std::string::npos);
  CHECK(refusal("{kind: fedavg, deadline: {adaptive: 3, late: partial}}").find("late: partial needs a time that clients know") !=
        std::string::npos);
  CHECK(refusal("{kind: fedbuff, deadline: {adaptive: 3}}").find("deadline.adaptive: this scheme has no rounds") != std::string::npos);
  CHECK(refusal("{kind: diloco, steps: 2, quorum: 5}").find("of 4 workers at most 4 are a quorum") != std::string::npos);
  CHECK(refusal("{kind: diloco, steps: 4, quorum: 2, fragments: 2}").find("fragments: with a quorum") != std::string::npos);
}

TEST_CASE("an adaptive deadline closes rounds of clients, too") {
  // A round of all is 300 ms long; the deadline of the next ones, as above with k = 2, 185 ms.
  std::vector<std::string> sets = steady_four;
  sets.push_back("workload.data={kind: coordinates, samples: 400, partition: iid}");
  const auto updates = updates_of("{kind: fedavg, local_steps: 1, deadline: {adaptive: 2}}", sets);
  CHECK(updates.at(1).seconds == doctest::Approx(0.300).epsilon(1e-6));
  CHECK(updates.at(1).made.size() == 4);
  CHECK(updates.at(2).seconds == doctest::Approx(0.485).epsilon(1e-6));
  CHECK(updates.at(2).made == Made{{0, 1}, {1, 1}, {2, 1}});
}
