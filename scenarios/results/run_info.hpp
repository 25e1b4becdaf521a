// run.json: how the run was run, and the version of the format of its folder. The one result file that differs from run to run.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace straggler {

/// A run on real ranks. Its replay follows these fields.
struct RealRunInfo {
  int ranks = 0;
  std::string compute;                                  // real, emulated
  std::string reduction;                                // in whose order an all-reduce sums: ring
  std::optional<std::uint64_t> resumed = std::nullopt;  // the update from which it continued; none: it began
};

struct RunInfo {
  double wall_seconds = 0;
  std::uint64_t events = 0;
  unsigned threads = 0;
  std::string kernels;
  std::optional<RealRunInfo> real = std::nullopt;
  std::uint64_t recomputed = 0;  // values that were computed again for want of memory
  std::string engine = {};       // that computed the network (NetworkEngine); empty: none did
};

/// The processor by the operating system's name, and the threads and memory that this process may use.
struct Machine {
  std::string processor;
  unsigned cores = 0;
  std::uint64_t memory_bytes = 0;
};
Machine this_machine();
/// A sentence if `needed` bytes are more than three quarters of `memory`; else empty.
std::string memory_warning(std::uint64_t needed, std::uint64_t memory);
/// The most memory this process has held so far, in bytes.
std::uint64_t peak_memory_bytes();
/// "0.1.0", and "g++ 12.2.0" or "clang 14.0.6".
std::string version();
std::string compiler();

std::string run_json(const RunInfo& info);

}  // namespace straggler
