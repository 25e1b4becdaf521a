// A scenario run on real ranks: read and checked on each, run together, booked and written by one.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/executor/checkpoint.hpp"
#include "validation/mpi/channel.hpp"

namespace straggler {

struct RealOptions {
  std::filesystem::path scenario;
  std::vector<std::string> sets;
  std::optional<std::uint64_t> seed;
  std::optional<std::filesystem::path> out;  // none: results/NAME
  bool emulated = true;
  std::string kernels = "auto";
  bool force = false, quiet = false;
  bool progress = true;  // lines on standard error, unless quiet
  CheckpointInterval checkpoint_every = {};
  bool resume = false;
  bool checkpoints() const { return checkpoint_every.given() || resume; }
};

/// Every rank calls it with the same options. Returns the exit code, the same on all; errors are printed once.
int real_run(const Mpi& mpi, const RealOptions& options);

/// Runs `part` on this rank and agrees with the others on the outcome. The first rank that threw prints its error. Returns the exit code: 0
/// if all ranks succeeded.
int run_on_all_ranks(const Mpi& mpi, const std::function<void()>& part);

}  // namespace straggler
