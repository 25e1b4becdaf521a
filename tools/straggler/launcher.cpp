#include "tools/straggler/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>

#include "sim/base/machine.hpp"
#include "sim/base/quantity.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {
namespace {

namespace fs = std::filesystem;

/// Set by the launcher in each process that it starts. Those nearest to MPI come first, and the first that is set counts: mpirun within a
/// Slurm job inherits Slurm's. Of Slurm, only variables that srun sets in the tasks of a step: a batch script, which is one process, has
/// SLURM_NTASKS and SLURM_PROCID, too. (Open MPI's manual of mpirun, "Exported environment variables"; MPICH's PMI; srun(1), "Output
/// environment variables".) `here`: how many run on this machine; of Slurm a list, which is a number if there is one machine.
struct Names {
  const char *processes, *rank, *here;
};
constexpr Names names[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                           {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
                           {"PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"},
                           {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE"}};

std::optional<unsigned> number_in(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  try {
    return static_cast<unsigned>(std::min<std::uint64_t>(parse_unsigned(value), 1'000'000));
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

constexpr std::string_view shared[] = {"sweep", "race"};

}  // namespace

bool is_shared_by_ranks(const std::string& command) { return std::ranges::find(shared, command) != std::end(shared); }

Launched launched() {
  for (const Names& each : names) {
    if (std::getenv(each.processes) == nullptr) continue;
    Launched found;
    found.processes = std::max(1u, number_in(each.processes).value_or(1));
    found.rank = number_in(each.rank).value_or(0);
    found.this_machine = number_in(each.here) == found.processes;
    return found;
  }
  return {};
}

void hand_over_to_ranks(const std::vector<std::string>& arguments) {
  const unsigned processes = launched_processes();
  if (processes == 1 || arguments.empty() || !is_shared_by_ranks(arguments.front())) return;
  if (std::ranges::find(arguments, "--alone") != arguments.end()) return;
  const fs::path program = program_folder() / "straggler-mpi";
  std::string name = program.string();
  std::vector<std::string> words(arguments);
  std::vector<char*> all{name.data()};
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  ::execv(name.c_str(), all.data());
  const int failed = errno;
  throw UsageError(
      fmt::format("a launcher started {} processes, which need straggler-mpi to work together; {} cannot be started ({}): build it (target "
                  "straggler-mpi, needs MPI), or give --alone, with which each process runs by itself",
                  processes, name, std::strerror(failed)));
}

}  // namespace straggler::cli
