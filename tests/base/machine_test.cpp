// Limits of control groups, from trees of files as Linux shows them.
#include <doctest/doctest.h>
#include <sched.h>

#include <string>

#include "sim/base/machine.hpp"
#include "tests/support/folder.hpp"

using namespace straggler;
using straggler::test::TemporaryFolder;

namespace {

const std::string v2_mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

void describe(const TemporaryFolder& root, const std::string& cgroup, const std::string& mountinfo) {
  root.write("proc/self/cgroup", cgroup);
  root.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mountinfo);
}

}  // namespace

TEST_CASE("without control groups nothing is limited") {
  const TemporaryFolder root;
  CHECK_FALSE(group_limits(root.path()).cores);
  CHECK_FALSE(group_limits(root.path()).bytes);
  describe(root, "0::/user.slice\n", v2_mount);
  root.write("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/user.slice/memory.max", "max\n");
  CHECK_FALSE(group_limits(root.path()).cores);
  CHECK_FALSE(group_limits(root.path()).bytes);
}

TEST_CASE("version 2: the tightest of the process's group and those above it counts") {
  const TemporaryFolder root;
  describe(root, "0::/jobs/one/step\n", v2_mount);
  root.write("sys/fs/cgroup/jobs/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/jobs/one/step/cpu.max", "400000 100000\n");
  root.write("sys/fs/cgroup/jobs/one/memory.max", "3000000000\n");
  root.write("sys/fs/cgroup/jobs/one/step/memory.max", "max\n");
  root.write("sys/fs/cgroup/other/cpu.max", "1000 100000\n");  // another group's
  CHECK(group_limits(root.path()).cores == 1.5);
  CHECK(group_limits(root.path()).bytes == 3'000'000'000u);
}

TEST_CASE("version 1: each controller has a tree of its own") {
  const TemporaryFolder root;
  describe(root, "4:memory:/job\n3:cpuset:/\n2:cpu,cpuacct:/job/step\n1:name=systemd:/\n0::/\n",
           "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
           "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
           "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  const std::string cpu = "sys/fs/cgroup/cpu,cpuacct/", memory = "sys/fs/cgroup/memory/";
  root.write(cpu + "job/cpu.cfs_quota_us", "200000\n");
  root.write(cpu + "job/cpu.cfs_period_us", "100000\n");
  root.write(cpu + "job/step/cpu.cfs_quota_us", "-1\n");
  root.write(cpu + "job/step/cpu.cfs_period_us", "100000\n");
  root.write(memory + "memory.limit_in_bytes", "9223372036854771712\n");  // none
  CHECK(group_limits(root.path()).cores == 2.0);
  CHECK_FALSE(group_limits(root.path()).bytes);
  root.write(memory + "job/memory.limit_in_bytes", "536870912\n");
  CHECK(group_limits(root.path()).bytes == 536'870'912u);
}

TEST_CASE("in a container the mount shows the container's own part of the tree") {
  const TemporaryFolder root;
  const std::string mount = "33 24 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  for (const char* const group : {"/docker/abc", "/", "/../other"}) {  // the last two: of another name space
    describe(root, "2:cpu:" + std::string(group) + "\n", mount);
    CHECK_MESSAGE(group_limits(root.path()).cores == 0.5, group);
  }
  root.write("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "20000\n");
  root.write("sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n");
  describe(root, "2:cpu:/docker/abc/inner\n", mount);
  CHECK(group_limits(root.path()).cores == 0.2);
}

TEST_CASE("cores follow the affinity") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  const auto allowed = static_cast<unsigned>(CPU_COUNT(&before));
  CHECK(usable_cores() >= 1);
  CHECK(usable_cores() <= allowed);
  CHECK(usable_memory() > 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int processor = 0; CPU_COUNT(&one) == 0; ++processor)
    if (CPU_ISSET(processor, &before)) CPU_SET(processor, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(usable_cores() == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}
