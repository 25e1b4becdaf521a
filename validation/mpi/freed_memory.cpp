#include "validation/mpi/freed_memory.hpp"

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace straggler {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int largest_threshold = 32 << 20, kept = 256 << 20;  // bytes
  mallopt(M_MMAP_THRESHOLD, largest_threshold);
  mallopt(M_TRIM_THRESHOLD, kept);  // setting either one also stops glibc from adapting both
#endif
}

}  // namespace straggler
