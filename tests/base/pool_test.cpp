#include "sim/base/pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "sim/base/huge_pages.hpp"

using namespace straggler;

namespace {

/// Pieces that are all there at once overlap nowhere: each is filled with its own number, and keeps it.
void check_apart(std::size_t bytes, std::size_t count) {
  std::vector<unsigned char*> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    pieces.push_back(static_cast<unsigned char*>(pool::allocate(bytes)));
    std::memset(pieces.back(), static_cast<int>(i % 251), bytes);
  }
  bool intact = true, aligned = true;
  const std::size_t alignment = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    intact = intact && std::all_of(pieces[i], pieces[i] + bytes, [&](unsigned char byte) { return byte == i % 251; });
    aligned = aligned && reinterpret_cast<std::uintptr_t>(pieces[i]) % alignment == 0;
  }
  CHECK(intact);
  CHECK(aligned);
  for (unsigned char* piece : pieces) pool::release(piece, bytes);
}

}  // namespace

TEST_CASE("pieces of the pool overlap nowhere, for any size and number") {
  for (const std::size_t bytes : {1, 8, 16, 24, 64, 120, 160, 512, 513, 4096}) check_apart(bytes, 300);
  check_apart(64, 100'000);  // many chunks
}

TEST_CASE("a thread's pieces may be released by another, and outlive it") {
  std::vector<void*> pieces;
  std::thread([&] {
    for (int i = 0; i < 10'000; ++i) {
      pieces.push_back(pool::allocate(72));
      std::memset(pieces.back(), i % 251, 72);
    }
    for (int i = 0; i < 5'000; ++i) {
      pool::release(pieces.back(), 72);
      pieces.pop_back();
    }
  }).join();
  const std::set<void*> kept(pieces.begin(), pieces.end());
  CHECK(kept.size() == 5'000);
  std::thread([&] {  // takes over what the first has left: none of what is still in use
    std::vector<void*> more;
    for (int i = 0; i < 20'000; ++i) more.push_back(pool::allocate(72));
    CHECK(std::none_of(more.begin(), more.end(), [&](void* piece) { return kept.count(piece) > 0; }));
    for (void* piece : more) pool::release(piece, 72);
    for (void* piece : pieces) pool::release(piece, 72);
  })
      .join();
}

TEST_CASE("large vectors begin on a huge page, small ones where they like") {
  std::vector<int, HugePages<int>> large(huge_page / sizeof(int) + 1, 7), small(3, 7);
  CHECK(reinterpret_cast<std::uintptr_t>(large.data()) % huge_page == 0);
  CHECK(std::count(large.begin(), large.end(), 7) == static_cast<std::ptrdiff_t>(large.size()));
  CHECK(std::count(small.begin(), small.end(), 7) == 3);
  large.resize(3 * large.size(), 8);
  CHECK(std::count(large.begin(), large.end(), 7) == static_cast<std::ptrdiff_t>(large.size() / 3));
}
