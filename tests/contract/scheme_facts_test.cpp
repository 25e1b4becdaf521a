// What entries of schemes state for their page, against what small runs show.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scenarios/report/timeline.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/variants.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

TrainingPlan plan_of(const RunRecord& record) {
  TrainingPlan plan;
  plan.workers = static_cast<Rank>(record.workers.size());
  return plan;
}

}  // namespace

TEST_CASE("every scheme states who waits, a bound of staleness, the bytes of an update, and a picture of four workers") {
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) {
    CAPTURE(entry.name);
    CHECK_FALSE(entry.paragraph.empty());
    CHECK_FALSE(entry.waits.empty());
    CHECK_FALSE(entry.staleness.text.empty());
    CHECK_FALSE(entry.traffic.text.empty());
    CHECK(fits(entry, variant_of(entry, entry.picture).parameters, entry.only_workers ? 1 : 4));
  }
}

TEST_CASE("every scheme: no contribution is staler than the stated bound") {
  for (const SchemeVariant& variant : all_scheme_variants()) {
    const std::string scheme = variant.text();
    CAPTURE(scheme);
    const Result result = run_timing(uneven(on_cluster(variant)), {"training.stop.epochs=6"});
    const auto most = variant.entry->staleness.most(variant.parameters, plan_of(result.record));
    if (!variant.asynchronous()) CHECK(most == std::optional<std::uint64_t>(0));
    if (!most) continue;
    for (const auto& [staleness, contributions] : result.record.staleness) CHECK(staleness <= *most);
  }
}

TEST_CASE("every scheme: updates have the stated bytes" * long_case) {
  for (const SchemeVariant& variant : all_scheme_variants()) {
    const std::string scheme = variant.text();
    CAPTURE(scheme);
    constexpr double d = 1e6;  // beside which words of a few bytes count for nothing
    const Result result = run_timing(uneven(on_cluster(variant)),
                                     {"training.stop={updates: 200}", "workload.cost={bytes: 1MB}", "cluster.network.link.bandwidth=10Gbps",
                                      "cluster.servers.update=10GB/s", "cluster.network.collective.algorithm=ring"});
    const RunRecord& record = result.record;
    const auto stated = variant.entry->traffic.bytes(variant.parameters, plan_of(record));
    if (!stated) continue;
    const double counted =
        stated->update * static_cast<double>(record.updates) + stated->dropped * static_cast<double>(record.dropped.contributions);
    // At the stop each worker may have sent a contribution that is in no update yet, and may not have got, or may have got already, what
    // an update sends: one message up and one down of each, with two vectors at most; and the parts of an update that is not complete.
    const double under_way = 4 * static_cast<double>(record.workers.size()) + stated->update;
    CHECK(std::abs(static_cast<double>(record.bytes_sent) / d - counted) <= under_way + 1e-3 * counted);
  }
}

TEST_CASE("every scheme: a timeline books what a worker's account does, dropped work too") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.scheme);
    const Scenario scenario = read_scenario_text(uneven(variant), "test.yaml");
    RunOptions options;
    options.timing_only = true;
    options.trace = true;
    Timeline timeline(5, Time::limit());
    const RunRecord record = Experiment(scenario, options).run(&timeline, nullptr);
    std::size_t contributions = 0, counted = 0;
    for (std::size_t worker = 0; worker < record.workers.size(); ++worker) {
      TimeSplit split;
      Time reached;
      for (const Timeline::Span& span : timeline.spans(static_cast<Rank>(worker))) {
        CHECK(span.start == reached);
        reached = span.end;
        split[span.phase] += span.end - span.start;
      }
      CHECK(reached == record.end);
      CHECK(split.parts == record.workers[worker].split.parts);
      counted += record.workers[worker].updates;
    }
    for (const Timeline::Update& update : timeline.updates()) contributions += update.workers.size();
    CHECK(timeline.updates().size() == record.updates);
    CHECK(contributions == counted);
  }
}

TEST_CASE("every scheme whose server answers workers of several versions has `answers`, and answers in turn by default") {
  std::size_t found = 0;
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) {
    CAPTURE(entry.name);
    const SchemeVariant usual = variant_of(entry, {});
    const bool has = usual.parameters.has("answers");
    if (usual.asynchronous() && usual.exchange() == Exchange::server && !entry.unanswered) CHECK(has);
    if (!has) continue;
    ++found;
    CHECK(usual.parameters.text("answers") == "in_turn");
  }
  CHECK(found >= 11);
}
