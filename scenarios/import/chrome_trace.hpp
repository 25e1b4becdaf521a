// Traces in Chrome's form (JSON), as PyTorch's profilers write them: an object with `traceEvents`, or the list alone. Read as a stream: no
// more than one event is in memory.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "models/formats/given_file.hpp"

namespace straggler {

/// A span, in the clock of its file. What an event does not have is empty or nothing.
struct ChromeEvent {
  std::string name, category;
  double begin = 0, end = 0;  // microseconds
  std::uint64_t thread = 0;   // of a process: equal for equal (pid, tid)
  std::optional<std::int64_t> correlation;
  // Of a collective; numbers of elements.
  std::string collective, element_type;
  std::optional<double> elements, group;
};

/// What stands beside the events.
struct ChromeHeader {
  std::optional<std::int64_t> rank, world;
  std::string library, device, backend;  // "2.17.1"; the first of the machine; "nccl"
  double base = 0;  // microseconds from 1970 to the clock's zero; 0: the clock counts from 1970, or from some other time
};

/// Calls `seen` with every span ("ph": "X"); it may take the strings. Throws DataError where the file is no whole JSON or goes beyond a
/// bound: 64 levels, 16 MiB between two events.
ChromeHeader read_chrome_trace(const GivenFile& file, const std::function<void(ChromeEvent& event)>& seen);

}  // namespace straggler
