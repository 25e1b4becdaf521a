// Invariants
//  - A piece of class k has 8 (k + 1) bytes and is in use, or on one free list of that class, or in the uncut rest of a chunk.
//  - Lists and rests belong to one thread, or, once it has ended, to abandoned(), under its mutex.
#include "sim/base/pool.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "sim/base/huge_pages.hpp"

namespace straggler::pool::inside {

constinit thread_local Lists own{};

namespace {

constexpr std::size_t largest_chunk = huge_page, region = 32 * huge_page;      // bytes
constinit thread_local char *own_region = nullptr, *own_region_end = nullptr;  // address space for largest chunks

/// Of threads that have ended.
struct Abandoned {
  std::mutex mutex;
  std::array<std::vector<Pieces>, classes> left;
};

/// Never destroyed: threads may end later than it would.
Abandoned& abandoned() {
  static Abandoned& all = *new Abandoned;
  return all;
}

/// Lives as long as its thread, from the thread's first chunk on.
struct Heir {
  ~Heir() {
    Abandoned& to = abandoned();
    const std::lock_guard lock(to.mutex);
    for (std::size_t k = 0; k < classes; ++k)
      if (own[k].free || own[k].rest != own[k].rest_end) to.left[k].push_back(std::exchange(own[k], Pieces()));
  }
};

/// Takes a chunk list of this class from a thread that has ended; false if there is none.
bool inherit(std::size_t k) {
  Abandoned& from = abandoned();
  const std::lock_guard lock(from.mutex);
  if (from.left[k].empty()) return false;
  own[k] = from.left[k].back();
  from.left[k].pop_back();
  return true;
}

char* largest_chunk_of_region() {
  if (own_region == own_region_end) {
    own_region = HugePages<char>().allocate(region);  // untouched pages take no memory
    own_region_end = own_region + region;
  }
  return std::exchange(own_region, own_region + largest_chunk);
}

void add_chunk(std::size_t k) {
  static thread_local const Heir heir;
  Pieces& mine = own[k];
  const std::size_t bytes = mine.next_chunk, piece = (k + 1) * step;
  mine.rest = bytes == largest_chunk ? largest_chunk_of_region() : static_cast<char*>(::operator new(bytes, std::align_val_t(64)));
  mine.rest_end = mine.rest + bytes / piece * piece;
  mine.next_chunk = std::min(4 * bytes, largest_chunk);
}

}  // namespace

void* cut(std::size_t k) {
  Pieces& mine = own[k];
  if (mine.rest == mine.rest_end && !inherit(k)) add_chunk(k);
  if (Free* const piece = mine.free) {
    mine.free = piece->next;
    return piece;
  }
  char* const piece = mine.rest;
  mine.rest += (k + 1) * step;
  return piece;
}

}  // namespace straggler::pool::inside
