// A timing run of a scenario that is stopped after a short wall time: rates, time split, and activities of a few workers.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report/charts.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Results of a timing run, up to its end or its cut. Times in simulated seconds.
struct Preview {
  bool complete = false;      // false: cut by wall time
  bool superseded = false;    // cut because a newer request replaced it; the rest is not filled in
  bool early = false;         // cut before workers contributed often enough: the rates are those of the start
  std::uint64_t updates = 0;  // that it shows; the rates are of these, up to the last of them
  double fraction = 0;        // of the run, 0 .. 1
  double simulated_seconds = 0, samples = 0, bytes_sent = 0;
  ByPhase<double> shares;  // of the workers' time, means over workers
  double staleness_mean = 0, staleness_max = 0;
  std::string busiest_link;  // empty: none carried anything, or there are too many to look
  double busiest_use = 0;    // share of its capacity
  double wall_seconds = 0;
  std::vector<std::string> warnings;
  std::string timeline;  // data of a chart: some workers of each group over a few of their batches; empty: too little was simulated
  std::string still;     // instead of it where the program carries nothing that draws: SVG
  std::string timeline_label;

  double samples_per_second() const { return simulated_seconds > 0 ? samples / simulated_seconds : 0; }
  double seconds_per_update() const { return updates > 0 ? simulated_seconds / static_cast<double>(updates) : 0; }
};

/// Contributions of all workers together until rates are those of the run and not of its start: 16 of each, or fewer where there are many
/// workers, but at least 2. Gradients of workers that do not wait are fresh at first: after n batches of each, the mean staleness is a
/// share 1 / (2n) too low.
std::uint64_t settled_contributions(std::uint64_t workers);

/// Runs without math. Two runs share the budget of wall time: one for the rates, and one that draws the beginning. `superseded` (may be
/// empty) is asked every few hundred events, and ends both runs. Throws ScenarioErrors, DataError, RunFailed.
Preview preview(const Scenario& scenario, std::chrono::milliseconds budget, const std::function<bool()>& superseded);

/// "The preview shows 1,203 updates, 4 % of the run: it was cut after 45 ms."
std::string extent_sentence(const Preview& preview);

/// Figures of a preview in the order in which a page shows them: {key, label, value, text}; without an update there is none.
nlohmann::ordered_json figures_of(const Preview& preview);

}  // namespace straggler
