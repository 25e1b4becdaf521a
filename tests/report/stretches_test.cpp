// What a page's timeline is made of: the stretches of a run, and the run simulated again.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/run_timeline.hpp"
#include "scenarios/report/stretches.hpp"
#include "scenarios/report/timeline.hpp"
#include "tests/support/nonblocking_figure.hpp"
#include "tests/support/run.hpp"

namespace stretches_test {
namespace {

using namespace straggler;
using Kind = TimelineLane::Kind;

constexpr Time at(double seconds) { return Time::from_ticks(static_cast<std::int64_t>(seconds * 1e12)); }

std::pair<TimelineStretch, std::size_t> wanted(const char* name, double from, double to, std::size_t most) {
  TimelineStretch stretch;
  stretch.name = name;
  stretch.from = at(from);
  stretch.to = at(to);
  return {stretch, most};
}

std::vector<TimelineLane> four_lanes(Rank first_server) {
  std::vector<TimelineLane> lanes;
  for (Rank worker = 0; worker < 4; ++worker) lanes.push_back({Kind::worker, "worker " + std::to_string(worker), worker});
  lanes.push_back({Kind::server, "server", first_server});
  lanes.push_back({Kind::collective, "all-reduce"});
  return lanes;
}

RunRecord traced(const std::string& yaml, const std::vector<std::string>& sets, RecordSink& sink) {
  RunOptions options;
  options.timing_only = options.trace = true;
  return Experiment(read_scenario_text(yaml, "test.yaml", sets), options).run(&sink, nullptr);
}

}  // namespace

TEST_CASE("stretches keep events that reach into them, clipped, up to their limit") {
  StretchSink stretches(four_lanes(4), {wanted("whole", 0, 10, 100), wanted("middle", 2, 4, 100), wanted("short", 0, 10, 2)}, at(10));
  RecordSink& sink = stretches;
  sink.span(0, Phase::compute, at(0), at(1));
  sink.span(0, Phase::idle, at(1), at(3));
  sink.span(1, Phase::compute, at(0), at(5));
  sink.span(9, Phase::compute, at(0), at(5));  // no lane
  sink.contribution(1, at(3), 0, 0, 0, 1, 8);
  sink.contribution(2, at(5), 1, 0, 0, 1, 8);
  stretches.finish();
  const auto& all = stretches.stretches();
  CHECK(all[0].spans.size() == 3);
  CHECK_FALSE(all[0].full);
  REQUIRE(all[0].updates.size() == 2);
  CHECK(all[0].updates[1].contributions ==
        std::vector<std::pair<std::size_t, std::uint64_t>>{{1, 1}});  // update 2 at version 0: one behind
  REQUIRE(all[1].spans.size() == 2);
  CHECK(all[1].spans[0].start == at(2));
  CHECK(all[1].spans[0].end == at(3));
  CHECK(all[1].spans[1].end == at(4));
  CHECK(all[1].updates.size() == 1);
  CHECK(all[2].full);
  CHECK(all[2].to == at(5));  // all that ended before is there
  // No message and no collective came.
  CHECK(stretches.lanes().size() == 4);
  // Worker 1 computes half of the run: 60 of 120 equal parts, each wholly.
  double computing = 0;
  for (std::size_t bin = 0; bin < StretchSink::bin_count; ++bin) computing += stretches.bins()[1][bin * phase_count];
  CHECK(computing == doctest::Approx(5e12));
}

TEST_CASE("work that turns out to be for nothing is the latest that took so long") {
  StretchSink stretches(four_lanes(4), {wanted("whole", 0, 10, 100)}, at(10));
  RecordSink& sink = stretches;
  for (int i = 0; i < 3; ++i) sink.span(0, Phase::compute, at(i), at(i + 1));
  sink.wasted(0, at(1));
  sink.wasted(0, at(7));  // nothing of that length is known
  stretches.finish();
  const auto& spans = stretches.stretches()[0].spans;
  CHECK(spans[0].phase == Phase::compute);
  CHECK(spans[1].phase == Phase::compute);
  CHECK(spans[2].phase == Phase::wasted);
  double wasted = 0;
  for (std::size_t bin = 0; bin < StretchSink::bin_count; ++bin)
    wasted += stretches.bins()[0][bin * phase_count + static_cast<std::size_t>(Phase::wasted)];
  CHECK(wasted == doctest::Approx(1e12));
}

TEST_CASE("the schematic of non-blocking SGD: each worker's activity up to the first sync") {
  StretchSink stretches(four_lanes(4), {wanted("whole", 0, 0.3, 1000)}, at(0.3));
  traced(test::nonblocking_figure, {}, stretches);
  stretches.finish();
  const TimelineStretch& stretch = stretches.stretches()[0];
  const double minibatch[] = {0.0468, 0.0315, 0.058, 0.0466};
  const std::size_t done[] = {5, 8, 4, 5};
  REQUIRE(!stretch.updates.empty());
  CHECK(stretch.updates[0].time.seconds() == doctest::Approx(0.252).epsilon(1e-4));  // version 0 lasts 252 px
  CHECK(stretch.updates[0].contributions.size() == 4);
  for (std::size_t worker = 0; worker < 4; ++worker) {
    CAPTURE(worker);
    double computed = 0, wasted = 0;
    for (const TimelineStretch::Span& span : stretch.spans) {
      if (span.lane != worker || span.start.seconds() > 0.2519) continue;
      if (span.phase == Phase::compute) computed += (span.end - span.start).seconds();
      if (span.phase == Phase::wasted) wasted += (span.end - span.start).seconds();
    }
    CHECK(computed == doctest::Approx(static_cast<double>(done[worker]) * minibatch[worker]).epsilon(1e-4));
    CHECK(wasted == doctest::Approx(0.252 - static_cast<double>(done[worker]) * minibatch[worker]).epsilon(2e-3));
  }
}

TEST_CASE("messages are described with their way: bytes over bandwidth, then latency") {
  StretchSink stretches(four_lanes(4), {wanted("whole", 0, 100, 10'000)}, at(100));
  const std::string yaml = straggler::test::cluster(1);
  const RunRecord record = traced(
      yaml, {"training.scheme=asgd", "training.stop.updates=3", "cluster.network.link.bandwidth=1MB/s", "cluster.network.link.latency=2ms"},
      stretches);
  stretches.finish();
  const TimelineStretch& stretch = stretches.stretches()[0];
  std::size_t gradients = 0;
  for (const MessageTrace& message : stretch.messages) {
    CHECK((message.left - message.sent).seconds() == doctest::Approx(static_cast<double>(message.bytes) / 1e6));
    CHECK((message.arrived - message.left).seconds() == doctest::Approx(0.004));  // two links of 2 ms
    if (std::string(message.what) != "gradient") continue;
    CHECK(message.to == 4 - 3);           // behind the one worker
    CHECK(message.version == gradients);  // alone, each gradient is of the latest version
    ++gradients;
  }
  CHECK(gradients == record.updates);
}

TEST_CASE("an all-reduce is described with its pieces and the worker that it waited for") {
  const std::vector<std::string> sets = {"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 2}]",
                                         "training.stop.updates=3"};
  StretchSink stretches(four_lanes(4), {wanted("whole", 0, 100, 10'000)}, at(100));
  traced(straggler::test::cluster(4), sets, stretches);
  stretches.finish();
  const TimelineStretch& stretch = stretches.stretches()[0];
  REQUIRE(stretch.collectives.size() >= 2);
  for (const CollectiveTrace& collective : stretch.collectives) {
    CHECK(std::string(collective.what) == "all-reduce");
    CHECK(collective.members == 4);
    CHECK(collective.waited_for == Rank{3});  // twice slower: the last to come, each time
    CHECK(collective.end > collective.start);
  }
  CHECK(stretch.collectives[0].start.seconds() == doctest::Approx(0.2));  // a batch of 100 samples of 1 ms, twice slower
  CHECK(stretches.lanes().back().name == "all-reduce");                   // and no server
}

TEST_CASE("a finished run's timeline is that run, or there is none") {
  const Scenario scenario =
      read_scenario_text(straggler::test::cluster(3), "test.yaml", {"training.scheme=asgd", "training.stop.updates=30"});
  const straggler::test::Result result =
      straggler::test::run_timing(straggler::test::cluster(3), {"training.scheme=asgd", "training.stop.updates=30"});
  FinishedRun run;
  run.seconds = result.record.end.seconds();
  run.updates = result.record.updates;
  for (const auto& row : result.sink.order) run.times.emplace_back(row.update, row.time.seconds());
  const RunTimeline made = run_timeline(scenario, run);
  REQUIRE(made.figure);
  const auto json = nlohmann::json::parse(made.figure->data);
  REQUIRE(json["stretches"].size() == 1);  // all of it
  const auto& whole = json["stretches"][0];
  CHECK(whole["updates"].size() == 30);
  CHECK(whole["seconds"].get<double>() == doctest::Approx(run.seconds));
  CHECK(json["lanes"].size() >= 4);
  // Another run's times do not fit.
  run.times[10].second *= 1.01;
  const RunTimeline other = run_timeline(scenario, run);
  CHECK_FALSE(other.figure);
  CHECK(other.why_not.find("gives another result") != std::string::npos);
}

TEST_CASE("of a run with more than 200,000 events the first stretch is drawn, and no more of it is simulated") {
  const std::vector<std::string> sets = {"training.stop.updates=30000", "training.scheme={kind: asgd}", "cluster.servers={count: 1}"};
  const straggler::test::Result result = straggler::test::run_timing(straggler::test::cluster(3), sets);
  REQUIRE(result.record.events > 200'000);
  FinishedRun run;
  run.seconds = result.record.end.seconds();
  run.updates = result.record.updates;
  run.events = result.record.events;
  const RunTimeline made = run_timeline(read_scenario_text(straggler::test::cluster(3), "test.yaml", sets), run);
  REQUIRE(made.figure);
  CHECK(made.figure->caption.starts_with("The run is long"));
  const auto json = nlohmann::json::parse(made.figure->data);
  REQUIRE(json["stretches"].size() == 1);
  CHECK(json["stretches"][0]["name"].get<std::string>() == "first");
  CHECK(json["stretches"][0]["seconds"].get<double>() < run.seconds * 60'000 / 200'000);
}

TEST_CASE("of a long run the first, a typical and the worst stretch are kept") {
  const std::vector<std::string> sets = {"training.stop.updates=4000", "devices.node.jitter={kind: lognormal, sigma: 0.3}"};
  const straggler::test::Result result = straggler::test::run_timing(straggler::test::cluster(3), sets);
  FinishedRun run;
  run.seconds = result.record.end.seconds();
  run.updates = result.record.updates;
  const RunTimeline made = run_timeline(read_scenario_text(straggler::test::cluster(3), "test.yaml", sets), run);
  REQUIRE(made.figure);
  const auto json = nlohmann::json::parse(made.figure->data);
  std::vector<std::string> names;
  for (const auto& stretch : json["stretches"]) names.push_back(stretch["name"]);
  CHECK(names == std::vector<std::string>{"whole run", "first", "typical", "worst"});
  // Stretches of as many updates: the worst took longest of all, and the typical one is the median.
  const std::size_t count = json["stretches"][1]["updates"].size();
  std::vector<double> lengths;
  std::vector<double> times;
  for (const auto& row : result.sink.order)
    if (times.size() < row.update) times.push_back(row.time.seconds());
  for (std::size_t first = count; first + count <= times.size(); first += count)
    lengths.push_back(times[first + count - 1] - times[first - 1]);
  std::sort(lengths.begin(), lengths.end());
  CHECK(json["stretches"][2]["seconds"].get<double>() == doctest::Approx(lengths[lengths.size() / 2]).epsilon(1e-5));
  CHECK(json["stretches"][3]["seconds"].get<double>() == doctest::Approx(lengths.back()).epsilon(1e-5));
  // Shares of the whole run add up to all of each worker's time.
  for (const auto& lane : json["stretches"][0]["bins"]) {
    if (lane.empty()) continue;
    for (std::size_t bin = 0; bin < 120; ++bin) {
      double sum = 0;
      for (std::size_t phase = 0; phase < phase_count; ++phase) sum += lane[phase_count * bin + phase].get<double>();
      CHECK(std::abs(sum - 100) <= 3);  // each is rounded
    }
  }
}

}  // namespace stretches_test
