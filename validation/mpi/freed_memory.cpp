#include "validation/mpi/freed_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "sim/base/huge_pages.hpp"

namespace straggler {

#ifdef __GLIBC__
namespace {

constexpr int largest_threshold = 32 << 20, kept = 256 << 20, grown = 128 << 20;  // bytes

/// The heap's next `grown` bytes, of which none is mapped before it is used.
void grow_on_huge_pages() {
  mallopt(M_TOP_PAD, grown);
  mallopt(M_ARENA_MAX, 1);  // the computing thread's memory, too
  const auto before = reinterpret_cast<std::uintptr_t>(sbrk(0));
  void* volatile block = std::malloc(largest_threshold - 4096);  // volatile: the compiler must not leave it out
  std::free(block);
  const auto begin = (before + huge_page - 1) / huge_page * huge_page, end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // refused: pages are small
}

}  // namespace
#endif

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, largest_threshold);
  mallopt(M_TRIM_THRESHOLD, kept);  // setting either one also stops glibc from adapting both
  grow_on_huge_pages();
#endif
}

}  // namespace straggler
