// Memory for the many small objects of a simulated cluster: coroutine frames, states of weights and gradients, messages.
//
// A million workers have millions of them, of few sizes, and make or drop one with every event. Each size has a list of free pieces; pieces
// are cut, without headers, from chunks that the kernel may back by huge pages. Each thread has lists of its own (a simulation runs on one
// thread); a thread that ends leaves them to others. Chunks are kept for the life of the program.
#pragma once
#include <array>
#include <cstddef>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define STRAGGLER_PLAIN_NEW true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STRAGGLER_PLAIN_NEW true
#endif
#endif
#ifndef STRAGGLER_PLAIN_NEW
#define STRAGGLER_PLAIN_NEW false
#endif

namespace straggler::pool {

inline constexpr std::size_t largest = 512;  // bytes; larger objects use the general allocator

namespace inside {

/// Under AddressSanitizer, which finds use after free where every piece comes and goes.
inline constexpr bool plain_new = STRAGGLER_PLAIN_NEW;
inline constexpr std::size_t step = 8, classes = largest / step, first_chunk = std::size_t{1} << 15;  // bytes

struct Free {
  Free* next;
};
/// Of one class of sizes.
struct Pieces {
  Free* free = nullptr;
  char *rest = nullptr, *rest_end = nullptr;  // of the chunk that is being cut
  std::size_t next_chunk = first_chunk;
};
using Lists = std::array<Pieces, classes>;
extern constinit thread_local Lists own;

void* cut(std::size_t k);

}  // namespace inside

/// Aligned to 8 bytes, and to 16 if `bytes` is a multiple of 16. `bytes` is not 0.
inline void* allocate(std::size_t bytes) {
  if (inside::plain_new || bytes > largest) return ::operator new(bytes);
  const std::size_t k = (bytes - 1) / inside::step;
  inside::Free*& list = inside::own[k].free;
  inside::Free* const piece = list;
  if (!piece) return inside::cut(k);
  list = piece->next;
  return piece;
}

inline void release(void* piece, std::size_t bytes) noexcept {
  if (!piece) return;
  if (inside::plain_new || bytes > largest) return ::operator delete(piece);
  inside::Free*& list = inside::own[(bytes - 1) / inside::step].free;
  list = new (piece) inside::Free{list};
}

/// Base of classes whose objects lie in the pool.
struct Pooled {
  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void operator delete(void* piece, std::size_t bytes) noexcept { release(piece, bytes); }
};

/// Base of promises whose coroutine frames lie in the pool.
struct PooledFrame {
  static void* operator new(std::size_t bytes) { return allocate((bytes + 15) & ~std::size_t{15}); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { release(frame, (bytes + 15) & ~std::size_t{15}); }
};

}  // namespace straggler::pool
