// The store's file kept to its cap only after it had grown: each flush wrote before it made room.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "scenarios/sweep/evaluation_file.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/sanitized.hpp"

using namespace straggler;
using straggler::test::TemporaryFolder;

namespace {

Key key(std::uint64_t i) { return Hasher().add(i).key(); }

}  // namespace

TEST_CASE("the store's file never grows beyond its cap, with several writers too") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "store.sqlite";
  constexpr std::uint64_t cap = 1 << 20;
  EvaluationFile one(path, cap), other(path, cap);
  const std::vector<float> floats(5000, 1.0f);  // 20 kB: a flush below brings 200 kB
  std::uint64_t number = 0;
  for (int flush = 0; flush < 12; ++flush) {
    for (EvaluationFile* const store : {&one, &other}) {
      for (int i = 0; i < 10; ++i) {
        store->keep_value(key(0), key(++number), floats);
        store->keep(key(++number), {1, 0.5});
      }
      store->flush();
      CHECK(store->facts().file_bytes <= cap);
    }
  }
  // What came last is there, and most of the room is used.
  std::vector<float> read(floats.size());
  CHECK(one.find_value(key(0), key(number - 1), read));
  CHECK(one.facts().value_bytes > cap / 2);
  CHECK(one.facts().value_bytes < cap);
}

TEST_CASE("more than the store may hold is not written, and a file that was too large shrinks") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "store.sqlite";
  {
    EvaluationFile large(path);
    for (std::uint64_t i = 1; i <= 100; ++i) large.keep_value(key(0), key(i), std::vector<float>(5000, 1.0f));
  }
  CHECK(std::filesystem::file_size(path) > 2'000'000);
  constexpr std::uint64_t cap = 1 << 20;
  {
    EvaluationFile small(path, cap);
    small.keep_value(key(0), key(101), std::vector<float>(1 << 20));  // 4 MB
    small.keep_value(key(0), key(102), std::vector<float>(100));
    small.flush();
    std::vector<float> read(1 << 20);
    CHECK_FALSE(EvaluationFile(path, cap).find_value(key(0), key(101), read));
    read.resize(100);
    CHECK(EvaluationFile(path, cap).find_value(key(0), key(102), read));
  }
  CHECK(std::filesystem::file_size(path) <= cap);
}

TEST_CASE("the log of several writers does not grow without end" * test::long_case) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "store.sqlite";
  constexpr std::uint64_t cap = 64 << 20;
  constexpr std::uint64_t writers = 3, flushes = 25;
  const std::vector<float> floats(1 << 20, 1.0f);  // 4 MB a flush
  std::atomic<std::uint64_t> longest = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t writer = 0; writer < writers; ++writer)
    threads.emplace_back([&, writer] {
      EvaluationFile store(path, cap);
      std::vector<float> read(floats.size());
      for (std::uint64_t flush = 0; flush < flushes; ++flush) {
        store.keep_value(key(0), key(writer * flushes + flush), floats);
        store.flush();
        store.find_value(key(0), key(writer * flushes), read);
        std::error_code none_yet;
        const std::uint64_t bytes = std::filesystem::file_size(path.string() + "-wal", none_yet);
        if (!none_yet) longest = std::max(longest.load(), bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  // 48 MiB are the bound; each writer may add two flushes before it looks. Without a bound all flushes stay: 315 MB.
  CHECK(longest <= (std::uint64_t{48} << 20) + writers * 2 * floats.size() * sizeof(float));
}
