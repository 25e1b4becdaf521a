#include "scenarios/results/run_info.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <fstream>

#include "scenarios/results/text.hpp"
#include "sim/base/format_version.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/readable.hpp"

#ifndef STRAGGLER_VERSION
#define STRAGGLER_VERSION "unknown"
#endif

namespace straggler {

namespace {

std::string name_of_processor() {
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
    break;
  }
  return "unknown";
}

}  // namespace

Machine this_machine() {
  static const std::string processor = name_of_processor();  // the system takes long to describe many processors
  Machine machine;
  machine.processor = processor;
  machine.cores = usable_cores();
  machine.memory_bytes = usable_memory();
  return machine;
}

std::string memory_warning(std::uint64_t needed, std::uint64_t memory) {
  if (static_cast<double>(needed) <= 0.75 * static_cast<double>(memory)) return {};
  return fmt::format(
      "the math needs about {}, more than three quarters of this machine's {}; use less data, fewer workers or a smaller model",
      readable_bytes(static_cast<double>(needed)), readable_bytes(static_cast<double>(memory)));
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

std::string version() { return STRAGGLER_VERSION; }

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string run_json(const RunInfo& info) {
  const Machine machine = this_machine();
  const bool resumed = info.real && info.real->resumed;
  const std::string from = resumed ? fmt::format(", \"resumed_from_update\": {}", *info.real->resumed) : std::string();
  const std::string real = info.real ? fmt::format("  \"real\": {{\"ranks\": {}, \"compute\": {}, \"reduction\": {}{}}},\n",
                                                   info.real->ranks, json_text(info.real->compute), json_text(info.real->reduction), from)
                                     : std::string();
  const double rate = info.wall_seconds > 0 ? static_cast<double>(info.events) / info.wall_seconds : 0;
  return fmt::format(R"({{
  "results": {},
  "wall_seconds": {},
  "events_per_second": {},
  "threads": {},
  "kernels": {},
  "engine": {},
{}  "recomputed_values": {},
  "peak_memory_bytes": {},
  "version": {},
  "compiler": {},
  "machine": {{"processor": {}, "cores": {}, "memory_bytes": {}}}
}}
)",
                     FormatVersion::results, json_number(info.wall_seconds), json_number(rate), info.threads, json_text(info.kernels),
                     info.engine.empty() ? "null" : json_text(info.engine), real, info.recomputed, peak_memory_bytes(),
                     json_text(version()), json_text(compiler()), json_text(machine.processor), machine.cores, machine.memory_bytes);
}

}  // namespace straggler
