#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "scenarios/results/figures.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/results/summary.hpp"
#include "tests/results/results_support.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::results_test;

namespace {

nlohmann::json parsed(const RunRecord& record) { return nlohmann::json::parse(summary_json(summarize(record))); }

}  // namespace

TEST_CASE("summary.json has the keys of the interface, in their order") {
  const char* const keys[] = {"name",
                              "scheme",
                              "seed",
                              "workers",
                              "outcome",
                              "simulated_seconds",
                              "updates",
                              "epochs",
                              "samples",
                              "samples_per_second",
                              "samples_per_second_per_worker",
                              "step_s",
                              "exposed_communication_s",
                              "scaling_efficiency",
                              "final_train_loss",
                              "final_test_loss",
                              "final_test_accuracy",
                              "final_train_accuracy",
                              "guessing_accuracy",
                              "target_accuracy",
                              "time_to_target_s",
                              "last_below_target_s",
                              "updates_to_target",
                              "samples_to_target",
                              "bytes_to_target",
                              "rounds",
                              "bytes_sent",
                              "bytes_received",
                              "bytes_lost",
                              "statistics_bytes",
                              "samples_drawn",
                              "dropped_contributions",
                              "dropped_samples",
                              "dropped_bytes",
                              "bytes_up_per_worker",
                              "bytes_down_per_worker",
                              "loading_total_s",
                              "communication_total_s",
                              "overlap_fraction",
                              "compute_fraction",
                              "communication_fraction",
                              "idle_fraction",
                              "wasted_fraction",
                              "loading_fraction",
                              "down_fraction",
                              "staleness_mean",
                              "staleness_p50",
                              "staleness_p99",
                              "staleness_max",
                              "skipped_updates",
                              "final_loss_scale",
                              "events",
                              "weights_key"};
  const auto fields = summarize(sample_record());
  REQUIRE(fields.size() == std::size(keys));
  for (std::size_t i = 0; i < std::size(keys); ++i) CHECK(fields[i].key == keys[i]);
  CHECK(summary_json(fields).substr(0, 20) == "{\n  \"name\": \"demo\",\n");
}

TEST_CASE("summary figures follow from the record") {
  const auto summary = parsed(sample_record());
  CHECK(summary["workers"] == 2);
  CHECK(summary["outcome"] == "completed");
  CHECK(summary["simulated_seconds"] == 8);
  CHECK(summary["samples_per_second"] == 24);  // 192 / 8
  CHECK(summary["samples_per_second_per_worker"] == 12);
  CHECK(summary["step_s"] == doctest::Approx(8.0 / static_cast<double>(sample_record().updates)));
  // Each is blocked for 2 s with bytes in flight.
  CHECK(summary["exposed_communication_s"] == doctest::Approx(2.0 / static_cast<double>(sample_record().updates)));
  CHECK(summary["scaling_efficiency"].is_null());  // what each does alone is not known
  RunRecord known = sample_record();
  known.alone.samples_per_second = 32;
  CHECK(parsed(known)["scaling_efficiency"] == 0.75);  // 24 / 32
  // Of 8 s each: worker 0 computes 4, wastes 1, communicates 2, idles 1; worker 1 computes 2, communicates 2, idles 4.
  CHECK(summary["compute_fraction"] == (0.5 + 0.25) / 2);
  CHECK(summary["wasted_fraction"] == 0.125 / 2);
  CHECK(summary["communication_fraction"] == 0.25);
  CHECK(summary["idle_fraction"] == (0.125 + 0.5) / 2);
  CHECK(summary["loading_fraction"] == 0);
  CHECK(summary["down_fraction"] == 0);
  CHECK(summary["communication_total_s"] == 2.5);  // (3 + 2) / 2
  CHECK(summary["overlap_fraction"] == 0.2);       // 1 of 5
  CHECK(summary["bytes_up_per_worker"] == 350);
  CHECK(summary["bytes_down_per_worker"] == 250);
  // Staleness 0 once, 1 three times, 5 twice.
  CHECK(summary["staleness_mean"] == 13.0 / 6);
  CHECK(summary["staleness_p50"] == 1);  // 1 + 3 of 6 are at most 1
  CHECK(summary["staleness_p99"] == 5);
  CHECK(summary["staleness_max"] == 5);
  // 0.8 holds from the evaluation at 7 s on; at 4 s it held once only, and at 6 s it did not.
  CHECK(summary["target_accuracy"] == 0.8);
  CHECK(summary["time_to_target_s"] == 7);
  CHECK(summary["last_below_target_s"] == 6);
  CHECK(summary["updates_to_target"] == 5);
  CHECK(summary["samples_to_target"] == 160);
  CHECK(summary["bytes_to_target"] == 1000);
}

TEST_CASE("the loss scale is in the summary where it is dynamic, and null elsewhere") {
  RunRecord record = sample_record();
  CHECK(parsed(record)["skipped_updates"].is_null());
  CHECK(parsed(record)["final_loss_scale"].is_null());
  record.skipped_updates = 0;
  record.final_loss_scale = 0x1p-60;
  CHECK(parsed(record)["skipped_updates"] == 0);
  CHECK(parsed(record)["final_loss_scale"] == 0x1p-60);
}

TEST_CASE("fields that do not apply are null") {
  RunRecord record = sample_record();
  record.target_accuracy.reset();
  record.staleness.clear();
  record.final_test_loss = std::numeric_limits<double>::quiet_NaN();
  for (WorkerRecord& worker : record.workers) worker.bytes_in_flight = worker.overlapped = Time();
  const auto summary = parsed(record);
  for (const char* key : {"target_accuracy", "time_to_target_s", "last_below_target_s", "updates_to_target", "samples_to_target",
                          "bytes_to_target", "staleness_mean", "staleness_p50", "staleness_p99", "staleness_max", "overlap_fraction",
                          "final_test_accuracy", "final_test_loss", "weights_key"})
    CHECK_MESSAGE(summary[key].is_null(), key);
  CHECK(summary["communication_total_s"] == 0);

  record.target_accuracy = 0.99;  // never reached: the target stays, its times are null
  const auto missed = parsed(record);
  CHECK(missed["target_accuracy"] == 0.99);
  CHECK(missed["time_to_target_s"].is_null());
  CHECK(missed["last_below_target_s"].is_null());
}

TEST_CASE("a run of no time has no rates and no shares") {
  RunRecord record;
  record.name = record.scheme = "x";
  record.workers.resize(1);
  const auto summary = parsed(record);
  CHECK(summary["simulated_seconds"] == 0);
  CHECK(summary["samples_per_second"].is_null());
  CHECK(summary["idle_fraction"].is_null());
}

TEST_CASE("staleness percentiles are nearest-rank, to the contribution") {
  const StalenessHistogram histogram{{0, 99}, {7, 1}};
  CHECK(staleness_percentile(histogram, 99) == 0u);  // 99 of 100 are 0
  CHECK(staleness_percentile(histogram, 100) == 7u);
  CHECK(staleness_percentile({{0, 98}, {7, 2}}, 99) == 7u);
  CHECK(staleness_percentile({{3, 1}}, 50) == 3u);
  CHECK(staleness_percentile({{3, 1}, {9, 0}}, 100) == 3u);
  CHECK_FALSE(staleness_percentile({}, 50));
}

TEST_CASE("an accuracy counts from the first evaluation from which it holds for `sustain` evaluations") {
  const auto curve = sample_record().curve;  // 0.5 0.8 0.7 0.85 0.9 at 2, 4, 6, 7, 8 s
  const Reached low = reached(curve, 0.5, 2);
  REQUIRE(low.at);
  CHECK(low.at->time == seconds(2));
  CHECK_FALSE(low.last_below);
  CHECK(reached(curve, 0.8, 1).at->time == seconds(4));
  CHECK(reached(curve, 0.8, 1).last_below == seconds(2));
  CHECK(reached(curve, 0.8, 2).at->time == seconds(7));
  CHECK(reached(curve, 0.6, 2).at->time == seconds(4));
  CHECK_FALSE(reached(curve, 0.8, 3).at);  // 0.85 and 0.9 are two
  CHECK_FALSE(reached(curve, 0.95, 1).at);
  CHECK_FALSE(reached({}, 0.1, 1).at);
}

TEST_CASE("run.json has the facts of the execution") {
  const auto info = nlohmann::json::parse(run_json({2.5, 1000, 3, "x86-64-v3"}));
  CHECK(info["results"] == 1);
  CHECK(info["wall_seconds"] == 2.5);
  CHECK(info["events_per_second"] == 400);
  CHECK(info["threads"] == 3);
  CHECK(info["kernels"] == "x86-64-v3");
  CHECK(info["engine"].is_null());
  RunInfo with_engine{2.5, 1000, 3, "x86-64-v3"};
  with_engine.engine = "panels";
  CHECK(nlohmann::json::parse(run_json(with_engine))["engine"] == "panels");
  CHECK(info["peak_memory_bytes"].get<double>() > 1e5);
  CHECK(info["machine"]["cores"].get<int>() >= 1);
  CHECK(info["machine"]["memory_bytes"].get<double>() > info["peak_memory_bytes"].get<double>());
  CHECK_FALSE(info["version"].get<std::string>().empty());
  CHECK_FALSE(info["compiler"].get<std::string>().empty());
}

TEST_CASE("more than three quarters of the machine's memory is warned of") {
  CHECK(memory_warning(750, 1000).empty());
  CHECK(memory_warning(751'000'000, 1'000'000'000) ==
        "the math needs about 751 MB, more than three quarters of this machine's 1 GB; use less data, fewer workers or a smaller model");
}

TEST_CASE("a run of the timing alone lacks only the results of the gradients") {
  const std::vector<std::string> sets = {"training.stop.target_accuracy=0.01", "training.stop.on_target=continue",
                                         "training.evaluate.every={updates: 2}"};
  const auto learned = summarize(test::run(test::cluster(2), sets).record),
             timed = summarize(test::run_timing(test::cluster(2), sets).record);
  REQUIRE(learned.size() == timed.size());
  int lacking = 0;
  for (std::size_t i = 0; i < learned.size(); ++i) {
    CAPTURE(learned[i].key);
    const bool there = learned[i].value.is_number(), there_timed = timed[i].value.is_number();
    if (there_timed) CHECK_FALSE(needs_math(learned[i].key));
    if (!there || there_timed) continue;
    CHECK(needs_math(learned[i].key));
    ++lacking;
  }
  CHECK(lacking >= 8);  // all but last_below_target_s, which such a target may not have
}
