// Chakra execution traces (github.com/mlcommons/chakra): what ran on one rank, with durations and dependencies, in protobuf's wire format
// or as JSON.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/formats/given_file.hpp"
#include "scenarios/import/torch_trace.hpp"

namespace straggler {

struct ChakraTrace {
  std::size_t nodes = 0, dependencies = 0, lost = 0;  // lost: dependencies on nodes that are not there
  std::size_t kernels = 0;
  double computing = 0;  // seconds of the GPU, without collectives
  /// Of a replay: nodes wait for what they depend on, and kernels also for the one before on their stream, of computing or of collectives.
  double seconds = 0;
  double backward_begins = 0, backward_ends = 0, computing_ends = 0;  // seconds; of backward both 0: not told
  struct Collective {
    TraceCollective kind = TraceCollective::other;
    std::string name;
    std::optional<double> bytes;
    double begin = 0, seconds = 0;  // of the replay
  };
  std::vector<Collective> collectives;  // of the GPU, in order
};

bool is_chakra(const FileStart& start);
/// Throws DataError.
ChakraTrace read_chakra_trace(const GivenFile& file);

}  // namespace straggler
