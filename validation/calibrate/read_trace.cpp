// Traces of profilers: recognized to say what they are.
#include "validation/calibrate/formats.hpp"

namespace straggler::calibrate_trace {
namespace {

std::optional<std::size_t> mark(std::string_view line, bool /*header*/) {
  for (const std::string_view key : {"\"traceEvents\"", "\"ph\":"})
    if (line.find(key) != std::string_view::npos) return 0;
  return std::nullopt;
}

Measurements read(const std::string& /*text*/, const std::filesystem::path& file) {
  refuse_format(file, "is a Chrome trace (as PyTorch's profiler writes it): it has the spans of single operations, not times by size");
}

const Register<MeasuredFormat> entry({"trace", "", mark, read});

}  // namespace
}  // namespace straggler::calibrate_trace
