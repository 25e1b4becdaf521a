// The steps of one rank's trace: their parts and collectives.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/import/torch_trace.hpp"

namespace straggler {

/// Seconds, but `begin`.
struct TraceStep {
  double begin = 0;    // microseconds of the rank's clock
  double seconds = 0;  // to the next step's begin
  double forward = 0, backward = 0, update = 0;
  double loader = 0;                                    // waiting for a batch
  double exposed = 0;                                   // of collectives behind backward
  double computing = 0, communicating = 0, hidden = 0;  // of the GPU, over unions of spans: with both at once in `hidden`
  /// What the parts leave: the host's time between them.
  double rest() const { return seconds - forward - backward - update - loader - exposed; }
  struct Collective {
    TraceCollective kind = TraceCollective::other;
    std::optional<double> elements;
    std::optional<int> element_bytes;
    double begin = 0, end = 0;  // microseconds of the rank's clock
    double ready = 0;           // seconds from the begin of backward until its data were there
    double seconds() const { return 1e-6 * (end - begin); }
    std::optional<double> bytes() const { return elements && element_bytes ? std::optional(*elements * *element_bytes) : std::nullopt; }
  };
  std::vector<Collective> collectives;  // in order of their begins
};

struct TraceSteps {
  /// What decides when a step begins: the GPU's kernels, where they fill most of it; else the host.
  enum class Clock { gpu, host };
  Clock clock = Clock::host;
  bool marked = false;           // by ProfilerStep; else from optimizer step to optimizer step
  bool loader_binds = false;     // more than a fifth of the time is waiting for batches
  std::vector<TraceStep> steps;  // those that are whole
  std::size_t before_trace = 0;  // collectives that were launched before the trace
};

/// `what`: the file, for errors. Throws DataError where there is no whole step.
TraceSteps steps_of(const TorchTrace& trace, const std::string& what);

/// Length of the union of spans, in microseconds. Sorts them.
double length_of_union(std::vector<Span>& spans);

}  // namespace straggler
