// All files of a run's folder except those streamed during the run.
#pragma once
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/run_options.hpp"
#include "scenarios/results/result_folder.hpp"
#include "scenarios/results/results.hpp"

namespace straggler {

/// Tables, the scenario, the weights (with math), run.json, and the page if both `kept` and `page` include it. `options`: those of the run.
/// Throws ResultsError.
void write_run_files(const ResultFolder& folder, const Scenario& scenario, const RunOptions& options, const Experiment& experiment,
                     const RunRecord& record, const KeptTables& kept, double wall_seconds, bool page = true);

}  // namespace straggler
