// Room for many objects of which few may ever exist: a pointer each, and the object itself once it is made.
#pragma once
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "sim/base/huge_pages.hpp"
#include "sim/base/pool.hpp"

namespace straggler {

/// Objects neither move nor copy; those made one after another lie side by side.
template <class T>
class SparseArray {
 public:
  SparseArray() = default;
  /// Room for `size` objects; none exists.
  explicit SparseArray(std::size_t size) : items_(size) {}
  SparseArray(SparseArray&&) noexcept = default;
  SparseArray& operator=(SparseArray&&) noexcept = default;

  /// Null: it has not been made.
  T* find(std::size_t i) { return items_[i].get(); }
  const T* find(std::size_t i) const { return items_[i].get(); }
  /// It has been made.
  T& operator[](std::size_t i) { return *items_[i]; }
  const T& operator[](std::size_t i) const { return *items_[i]; }
  /// The object; made of `arguments` if it does not exist.
  template <class... Arguments>
  T& made(std::size_t i, Arguments&&... arguments) {
    if (!items_[i]) items_[i].reset(std::construct_at(static_cast<T*>(pool::allocate(sizeof(T))), std::forward<Arguments>(arguments)...));
    return *items_[i];
  }
  std::size_t size() const { return items_.size(); }
  /// visit(object), in the order of their places.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& item : items_)
      if (item) visit(*item);
  }
  template <class Visit>
  void for_each(Visit visit) {
    for (auto& item : items_)
      if (item) visit(*item);
  }

 private:
  struct Release {
    void operator()(T* item) const noexcept {
      std::destroy_at(item);
      pool::release(item, sizeof(T));
    }
  };
  std::vector<std::unique_ptr<T, Release>, HugePages<std::unique_ptr<T, Release>>> items_;
};

}  // namespace straggler
