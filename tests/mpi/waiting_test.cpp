// How ranks wait and keep memory: a wait ends when bytes arrive, and messages of one size do not map their pages again.
#include "validation/mpi/waiting.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/sanitized.hpp"
#include "validation/mpi/freed_memory.hpp"

using namespace straggler;
using straggler::test::sanitized;

namespace {

constexpr std::int64_t millisecond = 1'000'000, hour = 3'600'000 * millisecond;  // ns

/// Both ends of a TCP connection of this process with itself.
struct Connection {
  int listening = socket(AF_INET, SOCK_STREAM, 0), from = socket(AF_INET, SOCK_STREAM, 0), to = -1;
  Connection() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(listening, any, length) == 0);
    REQUIRE(listen(listening, 1) == 0);
    REQUIRE(getsockname(listening, any, &length) == 0);
    REQUIRE(connect(from, any, length) == 0);
    to = accept(listening, nullptr, nullptr);
    REQUIRE(to >= 0);
  }
  ~Connection() {
    for (const int each : {listening, from, to}) close(each);
  }
};

}  // namespace

TEST_CASE("a wait ends when bytes arrive on a connection, and otherwise after its time") {
  SocketWait arrivals;
  CHECK_FALSE(arrivals.wait(0, millisecond));  // no connection yet
  const Connection connection;
  CHECK_FALSE(arrivals.wait(0, millisecond));
  REQUIRE(write(connection.from, "x", 1) == 1);
  CHECK(arrivals.wait(0, hour));
  CHECK_FALSE(arrivals.wait(millisecond, millisecond));  // bytes end no wait before its least time
  char byte = 0;
  REQUIRE(read(connection.to, &byte, 1) == 1);
  CHECK_FALSE(arrivals.wait(0, millisecond));
}

TEST_CASE("a connection that is made after many waits is found") {
  SocketWait arrivals;
  for (int i = 0; i < 300; ++i) arrivals.wait(0, 1);
  const Connection connection;
  REQUIRE(write(connection.from, "x", 1) == 1);
  bool found = false;
  for (int i = 0; i < 301 && !found; ++i) found = arrivals.wait(0, 1);  // looks are apart by as many waits as there were
  CHECK(found);
}

TEST_CASE("a doorbell ends a sleep, also of another mapping, and a ring before the sleep is not lost") {
  const std::string name = "/straggler-test-" + std::to_string(getpid());
  Doorbells own, others, none;
  REQUIRE_FALSE(none.open(name, 3));
  REQUIRE(own.make(name, 3));
  REQUIRE(others.open(name, 3));
  CHECK_FALSE(none.make(name, 3));  // the name is taken
  Doorbells::forget(name);
  CHECK_FALSE(none.open(name, 3));
  CHECK(none.empty());

  CHECK_FALSE(own.wait(1, own.rings(1), millisecond));
  std::thread caller([&others] {
    nap(20 * millisecond);
    others.ring(1, 2);
  });
  CHECK(own.wait(1, 0, hour));
  caller.join();
  CHECK(own.rings(1) == 1);
  CHECK(own.messages(1) == 2);
  CHECK(own.wait(1, 0, hour));
  CHECK_FALSE(own.wait(1, 1, millisecond));
  others.confirm(1);
  CHECK(own.wait(1, 1, hour));
  CHECK(own.confirmed(1) == 1);
  CHECK(own.messages(1) == 2);
  for (const std::size_t other : {std::size_t{0}, std::size_t{2}}) CHECK(own.rings(other) == 0);
  others.close();
  CHECK(others.empty());
}

TEST_CASE("no ring is lost between two threads that wake each other") {
  const std::string name = "/straggler-test-" + std::to_string(getpid());
  constexpr std::uint32_t rounds = 2000;
  Doorbells bells;
  REQUIRE(bells.make(name, 2));
  Doorbells::forget(name);
  std::thread answering([&bells] {
    for (std::uint32_t k = 0; k < rounds; ++k) {
      CHECK(bells.wait(1, k, hour));
      bells.ring(0, 1);
    }
  });
  for (std::uint32_t k = 0; k < rounds; ++k) {
    bells.ring(1);
    CHECK(bells.wait(0, k, hour));
    CHECK(bells.messages(0) == k + 1);
  }
  answering.join();
}

TEST_CASE("only the thread that asks for it goes behind messages") {
  const auto niceness = [] { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); };
  const int before = niceness();
  int behind = 0;
  std::thread([&] {
    go_behind_messages();
    behind = niceness();
  }).join();
  CHECK(behind == std::min(before + 10, 19));
  CHECK(niceness() == before);
}

#if defined(__GLIBC__)
namespace {
std::int64_t page_faults() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}
}  // namespace

TEST_CASE("buffers of one size are mapped once" * doctest::skip(sanitized)) {
  mallopt(M_MMAP_THRESHOLD, 1 << 22);  // as every program of Straggler does when it starts
  keep_freed_memory();
  constexpr std::size_t bytes = 1 << 20, page = 4096, rounds = 50;
  const auto use = [] {
    std::vector<char> buffer(bytes);
    for (std::size_t at = 0; at < bytes; at += page) buffer[at] = static_cast<char>(at >> 12);
    CHECK(buffer[bytes - page] == static_cast<char>((bytes - page) >> 12));
  };
  use();
  const std::int64_t before = page_faults();
  for (std::size_t i = 0; i < rounds; ++i) use();
  CHECK(page_faults() - before < static_cast<std::int64_t>(bytes / page));  // mapped anew, each round would fault on each page
}

TEST_CASE("buffers may lie on huge pages" * doctest::skip(sanitized)) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) return;
  keep_freed_memory();
  const std::vector<char> buffer(24 << 20);  // of new memory; its first page may be an old one
  const auto at = reinterpret_cast<std::uintptr_t>(&buffer[buffer.size() / 2]);
  std::ifstream maps("/proc/self/smaps");
  bool within = false, found = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) within = begin <= at && at < end;
    if (!within || line.find("VmFlags:") == std::string::npos) continue;
    found = true;
    CHECK(line.find(" hg") != std::string::npos);
  }
  CHECK(found);
}
#endif
