// Schemes of tests on real ranks:
//   mpirun -n N group_ranks real SCENARIO.yaml SCHEME FOLDER   runs the scenario with that scheme, and writes the results
//   group_ranks replay SCENARIO.yaml SCHEME FOLDER             replays that run in the simulation; exits 1 if its weights are not the same
//   bits
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/schema/reader.hpp"
#include "tests/support/group_schemes.hpp"
#include "validation/mpi/channel.hpp"
#include "validation/mpi/real_run.hpp"

namespace straggler {
namespace {

int replay(const std::string& file, const std::vector<std::string>& sets, const std::string& folder) {
  RunOptions options;
  options.replay = folder;
  const RunRecord record = Experiment(read_scenario(file, sets), options).run(nullptr, nullptr);
  std::ifstream in(folder + "/summary.json");
  const nlohmann::json real = nlohmann::json::parse(in);
  if (record.weights_key == real.at("weights_key").get<std::string>() && record.updates == real.at("updates").get<std::uint64_t>() &&
      record.final_train_loss == real.at("final_train_loss").get<double>())
    return 0;
  std::printf("%s: the replay ends with other weights than the run\n", folder.c_str());
  return 1;
}

int run(int count, char** words) {
  if (count != 5) {
    std::printf("group_ranks real|replay SCENARIO.yaml SCHEME FOLDER\n");
    return 2;
  }
  const std::vector<std::string> sets = {std::string("training.scheme=") + words[3]};
  if (words[1] == std::string("replay")) return replay(words[2], sets, words[4]);
  const Mpi mpi(count, words);
  RealOptions options;
  options.scenario = words[2];
  options.sets = sets;
  options.out = words[4];
  options.quiet = true;
  options.progress = false;
  return real_run(mpi, options);
}

}  // namespace
}  // namespace straggler

int main(int count, char** words) {
  try {
    return straggler::run(count, words);
  } catch (const std::exception& error) {
    std::printf("group_ranks: %s\n", error.what());
    return 2;
  }
}
