// All files of a run's folder but those that Recorder streams.
#pragma once
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/results/results.hpp"

namespace straggler {

struct RunFiles {
  KeptTables kept;
  bool timing_only = false;  // there are no weights
  unsigned threads = 0;      // that the math had; 0: all cores
  double wall_seconds = 0;
  bool page = true;  // report.html
};

/// Into the folder, which is to be committed afterwards. Throws ResultsError.
void write_run(const ResultFolder& folder, const Scenario& scenario, const Experiment& experiment, const RunRecord& record,
               const RunFiles& files);

}  // namespace straggler
