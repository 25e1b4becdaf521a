#include "scenarios/report/run_files.hpp"

#include "scenarios/report/run_page.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/schema/writer.hpp"

namespace straggler {

void write_run_files(const ResultFolder& folder, const Scenario& scenario, const RunOptions& options, const Experiment& experiment,
                     const RunRecord& record, const KeptTables& kept, double wall_seconds, bool page) {
  write_record(folder, record, kept);
  write_file(folder, "scenario.yaml", write_scenario(scenario));
  if (!options.timing_only) write_model(folder, experiment.tensors(), experiment.final_weights(), experiment.vocabulary());
  const unsigned given = options.threads ? options.threads : this_machine().cores;
  const unsigned threads = options.choose_threads && !options.timing_only ? experiment.computed().threads : given;
  RunInfo info{wall_seconds, record.events, threads, experiment.kernels()};
  info.recomputed = experiment.recomputed();
  if (!options.timing_only) info.engine = experiment.engine();
  write_file(folder, "run.json", run_json(info));
  if (!page || !kept.page) return;
  const PageParts html = run_page_parts(folder.temporary(""), &scenario);
  write_file(folder, "report.html", {html.before, html.echarts, html.after});
}

}  // namespace straggler
