#include "scenarios/report/run_files.hpp"

#include "scenarios/report/run_page.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/schema/writer.hpp"

namespace straggler {

void write_run(const ResultFolder& folder, const Scenario& scenario, const Experiment& experiment, const RunRecord& record,
               const RunFiles& files) {
  write_record(folder, record, files.kept);
  write_file(folder, "scenario.yaml", write_scenario(scenario));
  if (!files.timing_only) write_model(folder, experiment.tensors(), experiment.final_weights(), experiment.vocabulary());
  RunInfo info{files.wall_seconds, record.events, files.threads ? files.threads : this_machine().cores, experiment.kernels()};
  info.recomputed = experiment.recomputed();
  write_file(folder, "run.json", run_json(info));
  if (files.page) write_file(folder, "report.html", run_page(folder.temporary(""), &scenario));
}

}  // namespace straggler
