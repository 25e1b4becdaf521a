// PyTorch's execution traces (torch.profiler.ExecutionTraceObserver): operations of one rank with shapes and types, and without times.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/formats/given_file.hpp"
#include "scenarios/import/torch_trace.hpp"

namespace straggler {

struct ExecutionTrace {
  std::string schema;
  std::size_t nodes = 0, iterations = 0;
  std::optional<std::int64_t> ranks, batch;  // batch: samples, by the shape of the first layer's input
  std::vector<std::int64_t> input;           // that shape
  double gradients = 0;                      // numbers, of an iteration
  struct Collective {
    TraceCollective kind = TraceCollective::other;
    double elements = 0;
    std::optional<int> element_bytes;
  };
  std::vector<Collective> collectives;  // of the last iteration, in order
};

bool is_execution_trace(const FileStart& start);
/// Throws DataError.
ExecutionTrace read_execution_trace(const GivenFile& file);

}  // namespace straggler
