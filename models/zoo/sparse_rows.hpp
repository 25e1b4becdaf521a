// A long vector seen as rows of which few are present and all others zero: the gradient of an embedding.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace straggler {

/// How a model's parameters fall into rows of `floats` each, of which the gradient of one sample touches few. 0: they do not.
struct GradientPattern {
  std::size_t floats = 0;
};

/// The rows that are present, in the order in which they came, and the number of each. A view of a buffer that has room for all rows:
/// [rows * width] floats, then [rows] row numbers, then the count.
class SparseRows {
 public:
  /// Floats of the buffer for a vector of `length` floats.
  static std::size_t buffer_floats(std::size_t length, std::size_t width) { return length + length / width + 1; }

  SparseRows(float* buffer, std::size_t length, std::size_t width) : buffer_(buffer), length_(length), width_(width) {}
  void clear() { set(length_ + length_ / width_, 0); }
  std::size_t count() const { return get(length_ + length_ / width_); }
  std::size_t width() const { return width_; }
  float* values(std::size_t slot) const { return buffer_ + slot * width_; }
  std::size_t row(std::size_t slot) const { return get(length_ + slot); }
  /// A row that was absent, not initialized; the slot that it got.
  std::size_t append(std::size_t row) {
    const std::size_t slot = count();
    set(length_ + slot, static_cast<std::uint32_t>(row));
    set(length_ + length_ / width_, static_cast<std::uint32_t>(slot + 1));
    return slot;
  }

 private:
  // A float's bytes hold a whole number as they are: it is never looked at as a float.
  std::uint32_t get(std::size_t at) const {
    std::uint32_t number = 0;
    std::memcpy(&number, buffer_ + at, sizeof number);
    return number;
  }
  void set(std::size_t at, std::uint32_t number) { std::memcpy(buffer_ + at, &number, sizeof number); }

  float* buffer_;
  std::size_t length_, width_;
};

/// In which slot of sparse rows each row lies. All absent between uses.
class RowSlots {
 public:
  static constexpr std::int32_t absent = -1;
  void resize(std::size_t rows) {
    if (slots_.size() < rows) slots_.resize(rows, absent);
  }
  std::int32_t& operator[](std::size_t row) { return slots_[row]; }
  void forget(const SparseRows& rows) {
    for (std::size_t slot = 0; slot < rows.count(); ++slot) slots_[rows.row(slot)] = absent;
  }

 private:
  std::vector<std::int32_t> slots_;
};

/// What a model adds its gradient to, row by row.
class GradientRows {
 public:
  /// `slots` is borrowed, all absent, with room for every row.
  GradientRows(SparseRows rows, RowSlots& slots) : rows_(rows), slots_(slots) { rows_.clear(); }
  ~GradientRows() { slots_.forget(rows_); }
  GradientRows(const GradientRows&) = delete;
  GradientRows& operator=(const GradientRows&) = delete;

  /// Where the row lies, zeros when it is new. Stays there.
  float* row(std::size_t row) {
    std::int32_t& slot = slots_[row];
    if (slot == RowSlots::absent) {
      slot = static_cast<std::int32_t>(rows_.append(row));
      std::fill_n(rows_.values(static_cast<std::size_t>(slot)), rows_.width(), 0.0f);
    }
    return rows_.values(static_cast<std::size_t>(slot));
  }

 private:
  SparseRows rows_;
  RowSlots& slots_;
};

}  // namespace straggler
