// Fetching a cache line ahead.
#pragma once

namespace straggler {

/// GCC drops calls of functions that only prefetch, since these have no effect that it knows of: `asm volatile` is one.
inline void prefetch_line(const void* address) {
  __builtin_prefetch(address);
  asm volatile("" : : "r"(address));
}
/// The same for a line that will be written.
inline void prefetch_line_to_write(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("" : : "r"(address));
}

/// For loops of functions that do more than to prefetch: the compiler may move and unroll it.
[[gnu::always_inline]] inline void prefetch_in_loop(const void* address) { __builtin_prefetch(address); }

}  // namespace straggler
