// Large arrays on huge pages, whoever allocates them: a million workers have a dozen tables and queues of 4 to 100 MB. A page fault for
// each 4 KiB takes longer than the simulation does in that page.
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "sim/base/huge_pages.hpp"
#include "sim/base/pool.hpp"

#if !STRAGGLER_PLAIN_NEW

namespace {

constexpr std::size_t large = 2 * straggler::huge_page;  // bytes; the program has malloc map such blocks by themselves

/// Whole huge pages within the block.
[[gnu::noinline]] void on_huge_pages(void* block, std::size_t bytes) {
  constexpr std::uintptr_t mask = straggler::huge_page - 1;
  const auto first = reinterpret_cast<std::uintptr_t>(block), begin = (first + mask) & ~mask, end = (first + bytes) & ~mask;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // refused: pages are small
}

}  // namespace

void* operator new(std::size_t bytes) {
  while (true) {
    if (void* const block = std::malloc(bytes > 0 ? bytes : 1)) {
      if (bytes >= large) on_huge_pages(block, bytes);
      return block;
    }
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

#endif
