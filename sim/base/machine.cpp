#include "sim/base/machine.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace straggler {
namespace {

namespace fs = std::filesystem;

template <class T>
void lower(std::optional<T>& limit, T value) {
  limit = std::min(limit.value_or(value), value);
}

/// Of a small file; empty if it is missing. Without a stream, whose buffers take longer to make than these files to read.
std::string text_of(const fs::path& file) {
  std::string text;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return text;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = ::read(descriptor, part.data(), part.size())) > 0;) text.append(part.data(), static_cast<std::size_t>(got));
  ::close(descriptor);
  return text;
}

/// The first numbers of a file; empty if it is missing or begins with something else, as "max".
std::vector<double> numbers_in(const fs::path& file) {
  const std::string text = text_of(file);
  std::vector<double> numbers;
  const char* at = text.c_str();
  for (char* end = nullptr;; at = end) {
    const double number = std::strtod(at, &end);
    if (end == at) return numbers;
    numbers.push_back(number);
  }
}

void limit_cores(GroupLimits& limits, double quota, double period) {
  if (quota > 0 && period > 0) lower(limits.cores, quota / period);
}

void limit_bytes(GroupLimits& limits, double bytes) {
  if (bytes > 0 && bytes < 0x1p62) lower(limits.bytes, static_cast<std::uint64_t>(bytes));  // version 1 writes "no limit" as nearly 2^63
}

/// Of which a mount has files: one controller of version 1, or all of version 2.
struct Controllers {
  bool cpu = false, memory = false, second = true;
};

/// Each file that exists states one limit of the group.
void limit_by(GroupLimits& limits, const fs::path& group, Controllers controllers) {
  if (controllers.second) {
    if (const auto both = numbers_in(group / "cpu.max"); both.size() == 2) limit_cores(limits, both[0], both[1]);
    if (const auto bytes = numbers_in(group / "memory.max"); !bytes.empty()) limit_bytes(limits, bytes[0]);
    return;
  }
  if (controllers.cpu) {
    const auto quota = numbers_in(group / "cpu.cfs_quota_us");
    const auto period = quota.empty() ? quota : numbers_in(group / "cpu.cfs_period_us");
    if (!period.empty()) limit_cores(limits, quota[0], period[0]);
  }
  if (controllers.memory)
    if (const auto bytes = numbers_in(group / "memory.limit_in_bytes"); !bytes.empty()) limit_bytes(limits, bytes[0]);
}

bool lists(const std::string& comma_separated, const std::string& word) {
  return ("," + comma_separated + ",").find("," + word + ",") != std::string::npos;
}

/// The process's group in the hierarchy of these controllers (version 1), or of version 2 if empty. `groups` has lines as
/// "1:cpu,cpuacct:/path" and "0::/path".
std::optional<std::string> group_of(const std::string& groups, const std::string& controller) {
  std::istringstream in(groups);
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : lists(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// A line of mountinfo: "33 24 0:29 ROOT MOUNT_POINT OPTIONS ... - TYPE SOURCE SUPER_OPTIONS".
struct Mount {
  std::string root, point, type, options;
};

/// Of control groups.
std::vector<Mount> mounts(const fs::path& root) {
  std::vector<Mount> all;
  std::istringstream in(text_of(root / "proc/self/mountinfo"));
  for (std::string line; std::getline(in, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos || line.compare(dash + 3, 6, "cgroup") != 0) continue;
    Mount mount;
    std::string skipped;
    std::istringstream(line.substr(0, dash)) >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    std::istringstream(line.substr(dash + 3)) >> mount.type >> skipped >> mount.options;
    all.push_back(std::move(mount));
  }
  return all;
}

/// From the process's group up to the mount. In a container the mount may show a part of the tree, and the path start at its root.
void limit_by_groups(GroupLimits& limits, const fs::path& root, const Mount& mount, const std::string& group, Controllers controllers) {
  const fs::path point = root / fs::path(mount.point).relative_path();
  fs::path below = fs::path(group).lexically_relative(mount.root);
  if (below.empty() || *below.begin() == "..") below = ".";
  for (below = below.lexically_normal(); !below.empty() && below != "."; below = below.parent_path())
    limit_by(limits, point / below, controllers);
  limit_by(limits, point, controllers);
}

/// Processors in the affinity mask, of any width; 0: unknown.
unsigned affinity_cores() {
  constexpr int most = 1 << 20;
  for (int processors = 1024; processors <= most; processors *= 4) {
    const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(static_cast<std::size_t>(processors)), free_set);
    const std::size_t bytes = CPU_ALLOC_SIZE(processors);
    if (set && sched_getaffinity(0, bytes, set.get()) == 0) return static_cast<unsigned>(CPU_COUNT_S(bytes, set.get()));
  }
  return 0;
}

const GroupLimits& own_limits() {
  static const GroupLimits limits = group_limits();
  return limits;
}

}  // namespace

GroupLimits group_limits(const fs::path& root) {
  GroupLimits limits;
  const std::string groups = text_of(root / "proc/self/cgroup");
  for (const Mount& mount : mounts(root)) {
    if (mount.type == "cgroup2") {
      if (const auto group = group_of(groups, "")) limit_by_groups(limits, root, mount, *group, {});
    } else if (mount.type == "cgroup") {
      for (const bool cpu : {true, false})
        if (const char* const controller = cpu ? "cpu" : "memory"; lists(mount.options, controller))
          if (const auto group = group_of(groups, controller)) limit_by_groups(limits, root, mount, *group, {cpu, !cpu, false});
    }
  }
  return limits;
}

unsigned core_quota() {
  constexpr unsigned most = std::numeric_limits<unsigned>::max();
  const std::optional<double> cores = own_limits().cores;
  return cores && *cores < most ? std::max(1u, static_cast<unsigned>(std::ceil(*cores))) : most;
}

unsigned usable_cores() {
  const unsigned allowed = affinity_cores();
  return std::max(1u, std::min(allowed > 0 ? allowed : std::thread::hardware_concurrency(), core_quota()));
}

std::uint64_t usable_memory() {
  const auto all = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(all, own_limits().bytes.value_or(all));
}

std::filesystem::path program_folder() {
  // As the program was started, resolved; unlike /proc/self/exe it is there without /proc. Relative paths are those of the start.
  static const std::filesystem::path folder = [] {
    const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    std::error_code error;
    return started == nullptr ? std::filesystem::path() : std::filesystem::weakly_canonical(started, error).parent_path();
  }();
  return folder;
}

}  // namespace straggler
