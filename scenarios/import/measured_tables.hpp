// Tables of times by size that benchmarks of messages print, whatever the benchmark.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace straggler {

struct MeasuredTable {
  std::string title;       // "nccl-tests all-reduce", "OSU MPI Allreduce Latency Test v5.8"
  std::string collective;  // "all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "latency", "bandwidth" …
  bool nccl = false;
  std::size_t ranks = 0, hosts = 0;  // 0: not known
  struct Row {
    double bytes = 0, seconds = 0;
  };
  std::vector<Row> rows;  // not empty
};

/// Those of a file of nccl-tests or of the OSU micro-benchmarks. Throws DataError.
std::vector<MeasuredTable> read_measured_tables(const std::filesystem::path& file);

}  // namespace straggler
