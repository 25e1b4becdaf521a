// Large arrays on huge pages where the kernel has them: a million workers' state is accessed in an order that no TLB could follow.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>

namespace straggler {

inline constexpr std::size_t huge_page = std::size_t{1} << 21;

/// Allocator for vectors that may become large.
template <class T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void* const place = ::operator new(bytes, alignment(bytes));
    if (bytes >= worthwhile) ::madvise(place, bytes / huge_page * huge_page, MADV_HUGEPAGE);  // refused: pages are small
    return static_cast<T*>(place);
  }
  void deallocate(T* place, std::size_t count) noexcept { ::operator delete(place, alignment(count * sizeof(T))); }
  bool operator==(const HugePages&) const = default;

 private:
  static constexpr std::size_t worthwhile = huge_page;
  static std::align_val_t alignment(std::size_t bytes) {
    return std::align_val_t(bytes >= worthwhile                      ? huge_page
                            : alignof(T) > alignof(std::max_align_t) ? alignof(T)
                                                                     : alignof(std::max_align_t));
  }
};

/// The same for vectors that are filled after they are resized, for example by several threads: new elements stay uninitialized.
template <class T>
struct Unfilled : HugePages<T> {
  Unfilled() = default;
  template <class U>
  Unfilled(const Unfilled<U>&) {}

  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};

}  // namespace straggler
