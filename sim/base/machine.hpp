// The share of the machine that this process may use. Affinity and control groups (of version 1 and 2) may allow less than the whole
// machine; code that sizes threads or memory asks here.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace straggler {

/// The limits of control groups on a process: the least of its own group and of those above it that are mounted.
struct GroupLimits {
  std::optional<double> cores;         // processor time per time; none: no limit
  std::optional<std::uint64_t> bytes;  // of memory; none: no limit
};
/// For this process, by proc/self/cgroup, proc/self/mountinfo and the groups' files below `root`. Unreadable files set no limit.
/// (Linux: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/, proc(5).)
GroupLimits group_limits(const std::filesystem::path& root = "/");

/// Cores that control groups allow, rounded up, at least 1; the largest number if nothing limits them. Cached.
unsigned core_quota();
/// Threads of this process that can run at a time: its affinity's processors, at most core_quota(). At least 1.
unsigned usable_cores();
/// The most threads that a user may request, and the most runs at a time: the system refuses to start tens of thousands.
inline constexpr unsigned most_threads = 4096, most_jobs = 1024;
/// Bytes of memory: the machine's, or less if control groups limit it. Cached.
std::uint64_t usable_memory();
/// The folder of the running program's file; the current folder if the system does not say.
std::filesystem::path program_folder();

}  // namespace straggler
