// What a PyTorch profiler recorded on one rank, reduced to what times a step: Kineto's traces, with or without a GPU, and the list that
// PyTorch writes without Kineto. https://pytorch.org/docs/stable/profiler.html
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/formats/given_file.hpp"

namespace straggler {

/// In microseconds of the rank's clock.
struct Span {
  double begin = 0, end = 0;
  double length() const { return end - begin; }
};

enum class TraceCollective : std::uint8_t { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, other };
/// "all_reduce"
const char* name_of(TraceCollective kind);
/// Of any of the names that PyTorch, NCCL and RCCL give it: "allreduce", "nccl:_all_gather_base", "ncclDevKernel_ReduceScatter_Sum_f32".
TraceCollective collective_called(std::string_view name);
/// Bytes of an element ("Float", "c10::BFloat16"); nothing: not known.
std::optional<int> element_bytes(std::string_view type);

struct TorchTrace {
  std::optional<std::int64_t> rank, world;
  std::string library, device, backend;
  double base = 0;               // microseconds from 1970 to the clock's zero, where the file says so
  std::vector<Span> steps;       // ProfilerStep#
  std::vector<Span> optimizers;  // Optimizer.step
  std::vector<Span> forwards;    // of DistributedDataParallel or FullyShardedDataParallel
  std::vector<Span> backwards;   // each operation of autograd
  std::vector<Span> loaders;     // the wait for a batch of a DataLoader
  bool sharded = false;          // FullyShardedDataParallel

  struct Work {
    Span span;
    std::int64_t launch = 0;  // correlation
  };
  std::vector<Work> computing;  // of the GPU, copies too
  struct Collective {
    TraceCollective kind = TraceCollective::other;
    Span span;                           // of its kernel; without a GPU of the call
    std::optional<std::int64_t> launch;  // correlation; without a GPU none
    std::optional<double> elements;
    std::optional<int> element_bytes;
    std::optional<double> group;
  };
  std::vector<Collective> collectives;
  struct Launch {
    double at = 0;
    std::uint64_t thread = 0;
  };
  std::unordered_map<std::int64_t, Launch> launches;  // by correlation
  std::uint64_t events = 0;                           // spans that were read
  bool has_gpu() const { return !computing.empty(); }
};

/// Whether the file begins as a trace with Kineto, or as one without.
bool is_kineto(const FileStart& start);
bool is_torch_cpu(const FileStart& start);
/// All lists by begin. Throws DataError.
TorchTrace read_torch_trace(const GivenFile& file);

/// Throws DataError, naming both files, if they are of two jobs: ranks of one agree on its size, backend, device and sharding.
void refuse_other_job(const std::string& one, const TorchTrace& a, const std::string& other, const TorchTrace& b);

}  // namespace straggler
