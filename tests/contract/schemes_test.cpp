// What holds for every registered scheme, so that a new one is tested on arrival.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/base/registry.hpp"
#include "sim/cluster/transport.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/variants.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

void check_accounts(const Result& result) {
  const RunRecord& record = result.record;
  std::uint64_t up = 0, samples = 0, contributions = 0;
  for (const WorkerRecord& worker : record.workers) {
    CHECK(worker.split.total() == record.end);
    for (const Time part : worker.split.parts) CHECK(part >= Time());
    CHECK(worker.overlapped <= worker.bytes_in_flight);
    CHECK(worker.bytes_in_flight <= record.end);
    up += worker.bytes_sent;
    samples += worker.samples;
    contributions += worker.updates;
  }
  CHECK(record.bytes_sent == record.bytes_received + record.bytes_lost);
  CHECK(record.bytes_sent >= up);
  CHECK(samples == record.samples);
  std::uint64_t drawn = 0, counted = 0, version = 0;
  Time last;
  for (const OrderRow& row : result.sink.order) {
    drawn += row.samples;
    CHECK(row.read_version < row.update);
    CHECK(row.update >= version);
    CHECK(row.time >= last);
    version = row.update;
    last = row.time;
  }
  for (const auto& [staleness, count] : record.staleness) counted += count;
  CHECK(drawn == record.samples);
  CHECK(counted == contributions);
  CHECK(contributions == result.sink.order.size());
  for (std::size_t id = 0; id < record.links.size; ++id) {
    const LinkRecord link = record.links.row(id);
    CHECK(link.busy <= record.end);
    CHECK(link.bytes <= link.bytes_per_second * link.busy.seconds() * (1 + 1e-9) + 1e-3);
  }
}

}  // namespace

TEST_CASE("every scheme, every choice: accounts add up, time never runs back") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.scheme);
    const Result result = run_timing(uneven(variant));
    check_accounts(result);
    CHECK(result.record.epochs >= 3);
    CHECK(result.record.outcome == Outcome::completed);
    // Spans of the trace cover every worker's time without gap or overlap.
    std::vector<Time> reached(result.record.workers.size());
    for (const Span& span : result.sink.spans) {
      CHECK(span.start == reached[span.worker]);
      reached[span.worker] = span.end;
    }
    for (const Time end : reached) CHECK(end == result.record.end);
  }
}

TEST_CASE("every scheme, every choice, on every model of how links are shared: accounts add up") {
  for (const SharingEntry& sharing : Registry<SharingEntry>::instance().entries()) {
    if (!sharing.make(complete(sharing.parameters, {}))->contention()) continue;  // links carry any number of bytes
    CAPTURE(sharing.name);
    for (const Variant& variant : variants()) {
      CAPTURE(variant.scheme);
      const Result result =
          run_timing(uneven(variant), {"cluster.network.sharing=" + sharing.name, "cluster.network.collective.fidelity=stepwise"});
      check_accounts(result);
      CHECK(result.record.epochs >= 3);
      CHECK(result.record.outcome == Outcome::completed);
    }
  }
}

TEST_CASE("every scheme: the same scenario and seed give the same run, with any number of threads; timing alone the same times") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.scheme);
    RunOptions options;
    options.threads = 1;
    const Result one = run(uneven(variant), {}, options);
    for (const unsigned threads : tried<unsigned>({2, 8})) {
      options.threads = threads;
      const Result other = run(uneven(variant), {}, options);
      CHECK(one.weights == other.weights);
      CHECK(one.record.weights_key == other.record.weights_key);
      CHECK(one.sink.order == other.sink.order);
      CHECK(one.record.final_test_loss == other.record.final_test_loss);
      REQUIRE(one.record.curve.size() == other.record.curve.size());
      for (std::size_t i = 0; i < one.record.curve.size(); ++i) CHECK(one.record.curve[i].train_loss == other.record.curve[i].train_loss);
    }
    const Result timing = run_timing(uneven(variant));
    CHECK(timing.sink.order == one.sink.order);
    CHECK(timing.record.end == one.record.end);
    CHECK(timing.record.events == one.record.events);
  }
}

TEST_CASE("every scheme is as synchronous as it says") {
  for (const SchemeVariant& variant : all_scheme_variants()) {
    const std::string scheme = variant.text();
    CAPTURE(scheme);
    const Result result = run_timing(uneven(on_cluster(variant)), {"training.stop.epochs=6"});
    bool stale = false;
    std::set<std::pair<std::uint64_t, std::uint32_t>> seen;
    for (const OrderRow& row : result.sink.order)
      stale = stale || row.read_version + 1 != row.update || !seen.emplace(row.update, row.worker).second;
    CHECK(stale == variant.asynchronous());
  }
}

TEST_CASE("every scheme: a run of E epochs has E pauses, in each of which all workers are idle") {
  // Constant times and messages that take none: a pause shifts all that follows. It ends before a scheme's timer rings, which it does not
  // stop.
  constexpr double pause = 0.001;
  for (const Variant& variant : variants()) {
    CAPTURE(variant.scheme);
    std::vector<std::string> sets{"training.scheme=" + variant.scheme, "workload.data.samples=800", "training.stop={epochs: 3}",
                                  "devices.node.compute.affine.per_sample=40us"};
    if (variant.one_host) {
      sets.push_back("cluster.workers=[{count: 4, device: node, per_host: 4}]");
      sets.push_back("cluster.network.intra={bandwidth: 1000GB/s, latency: 0s}");
    }
    const std::string yaml = cluster(variant.one_worker ? 1 : 4);
    const Result without = run_timing(yaml, sets);
    sets.push_back("workload.serial_per_epoch=" + std::to_string(pause) + "s");
    const Result with = run_timing(yaml, sets);
    CHECK(with.record.epochs >= 3);
    CHECK(with.record.epochs == without.record.epochs);
    const auto is_later = [&](Time time, Time before) {
      return std::abs(time.seconds() - before.seconds() - pause * std::floor(with.record.epochs)) < 1e-6;
    };
    CHECK(is_later(with.record.end, without.record.end));
    for (std::size_t w = 0; w < with.record.workers.size(); ++w)
      CHECK(is_later(with.record.workers[w].split[Phase::idle], without.record.workers[w].split[Phase::idle]));
  }
}

TEST_CASE("every scheme names its rule and its paper, or is plain SGD") {
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) {
    CAPTURE(entry.name);
    CHECK(!entry.rule.empty());
    CHECK(!entry.summary.empty());
    CHECK((!entry.reference.empty() || entry.only_workers == 1));
  }
}

TEST_CASE("every scheme learns" * long_case) {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.scheme);
    const Result result = run(uneven(variant), {"training.stop.epochs=15", "training.optimizer.learning_rate=0.02"});
    REQUIRE(result.record.curve.size() > 2);
    CHECK(*result.record.final_train_loss < *result.record.curve.front().train_loss);
    CHECK(*result.record.final_test_accuracy > 0.35);  // four classes: chance is 0.25
    CHECK(result.record.curve.front().update == 0);
  }
}

TEST_CASE("one worker is plain SGD, bit for bit, under the parameters for which a scheme says so") {
  std::map<std::int64_t, Result> plain;  // by batch size; 1,920 samples are a whole number of batches of 32, of 48 and of four times 48
  const auto alone = [](std::int64_t batch) {
    return std::vector<std::string>{"cluster.workers=[{count: 1, device: node}]", "training.stop.epochs=2", "workload.data.samples=1920",
                                    "training.batch.per_worker=" + std::to_string(batch)};
  };
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) {
    for (const ParameterTexts& given : entry.plain_sgd_alone) {
      const SchemeVariant variant = variant_of(entry, given);
      const std::string scheme = variant.text();
      CAPTURE(scheme);
      const std::int64_t batch = entry.minibatch(variant.parameters).value_or(48);
      if (!plain.contains(batch)) plain.emplace(batch, run(uneven({"{kind: sequential}", true}), alone(batch)));
      const Result result = run(uneven({scheme, true}), alone(batch));
      CHECK(result.weights == plain.at(batch).weights);
      CHECK(result.record.weights_key == plain.at(batch).record.weights_key);
    }
  }
}

TEST_CASE("every scheme may be cut off at any moment") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.scheme);
    const double whole = run_timing(uneven(variant)).record.end.seconds();
    for (int k = 1; k <= 25; k += sanitized ? 5 : 1) {
      const auto microseconds = static_cast<std::int64_t>(whole * 1e6 * k / 26);
      const Result result = run_timing(uneven(variant), {"training.stop={simulated_time: " + std::to_string(microseconds) + "us}"});
      CHECK(result.record.end == Time::from_ticks(microseconds * 1'000'000));
      check_accounts(result);
    }
  }
}

TEST_CASE("every scheme says what it is and declares what it reads") {
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) {
    CAPTURE(entry.name);
    CHECK_FALSE(entry.summary.empty());
    CHECK_FALSE(entry.reference.empty());
    CHECK(entry.make);
    CHECK_FALSE(failure_choices(entry).empty());
    std::set<std::string> names;
    for (const Parameter& parameter : entry.parameters) {
      CHECK_FALSE(parameter.meaning.empty());
      CHECK(names.insert(parameter.name).second);
      CHECK_FALSE((parameter.required && parameter.fallback.has_value()));
      if (parameter.fallback) CHECK_NOTHROW(parse_value(parameter, *parameter.fallback));
    }
  }
}

TEST_CASE("examples of schemes: the first has what is required, all are read as a scenario is") {
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) {
    CAPTURE(entry.name);
    for (const Parameter& parameter : entry.parameters)
      if (parameter.required) {
        REQUIRE_FALSE(entry.examples.empty());
        CHECK(entry.examples.front().contains(parameter.name));
      }
    std::set<std::string> written;
    for (const SchemeVariant& variant : variants_of(entry)) {
      const std::string scheme = variant.text();
      CAPTURE(scheme);
      CHECK(written.insert(scheme).second);
      const Scenario scenario = read_scenario_text(uneven(on_cluster(variant)), "test.yaml");
      for (const auto& [name, value] : variant.parameters.all()) CHECK(scenario.training.scheme.parameters.all().at(name) == value);
    }
  }
  CHECK_THROWS_WITH(variant_of(Registry<SchemeEntry>::instance().entries().front(), {{"colour", "red"}}), doctest::Contains("colour"));
}
