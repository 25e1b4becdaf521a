// Replays a run's choices, as `straggler run --replay` does.
#pragma once
#include <string>
#include <vector>

#include "scenarios/schema/writer.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

namespace straggler::test {

/// What a replay reads of the result folder of `earlier`.
inline void write_choices(const TemporaryFolder& folder, const std::string& yaml, const std::vector<std::string>& sets,
                          const Result& earlier) {
  folder.write("scenario.yaml", write_scenario(scenario_of(yaml, sets)));
  std::string choices = "process,choice\n";
  for (const auto& [process, choice] : earlier.sink.choices) choices += std::to_string(process) + "," + std::to_string(choice) + "\n";
  folder.write("choices.csv", choices);
  std::string order = "update,time_s,worker\n";
  for (const OrderRow& row : earlier.sink.order) order += std::to_string(row.update) + ",0," + std::to_string(row.worker) + "\n";
  folder.write("order.csv", order);
  folder.write("summary.json", "{\"updates\": " + std::to_string(earlier.record.updates) +
                                   ", \"final_train_loss\": null, \"weights_key\": \"" + earlier.record.weights_key.value_or("") + "\"}");
}

/// Of the choices in `earlier`, as its result folder would hold them.
inline Result replay_timing(const std::string& yaml, const std::vector<std::string>& sets, const Result& earlier) {
  const TemporaryFolder folder;
  write_choices(folder, yaml, sets, earlier);
  RunOptions options;
  options.timing_only = true;
  options.trace = true;
  options.replay = folder.path();
  return run(yaml, sets, options);
}

}  // namespace straggler::test
