// A network computed layer by layer with the plain arithmetic of its layers' rows: in double the reference of all tests, in float
// (convolutions and dense layers as matrix products) the fallback for networks that no faster engine supports.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "models/zoo/derivative_slots.hpp"
#include "models/zoo/network.hpp"

namespace straggler {

/// Memory that grows to the largest request, is aligned to a cache line, and is zero at first.
template <class Scalar>
class GrowingBuffer {
 public:
  Scalar* grow(std::size_t count) {
    if (count > count_) {
      data_.reset();
      data_.reset(static_cast<Scalar*>(::operator new(count * sizeof(Scalar), alignment)));
      std::fill_n(data_.get(), count, Scalar(0));
      count_ = count;
    }
    return data_.get();
  }
  Scalar* data() const { return data_.get(); }
  std::size_t bytes() const { return count_ * sizeof(Scalar); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Delete {
    void operator()(Scalar* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<Scalar, Delete> data_;
  std::size_t count_ = 0;
};

template <class Scalar>
class ReferenceNetwork {
 public:
  /// The missing feature for this architecture, as a sentence; empty: none.
  static std::string lacks(const Architecture& architecture);
  /// Throws std::invalid_argument if a feature is missing.
  explicit ReferenceNetwork(Architecture architecture, Precision precision = Precision::fp32);

  struct Batch {  // as Rows
    std::size_t rows = 0;
    const Scalar* inputs = nullptr;
    const std::int32_t* labels = nullptr;  // [rows][places()]
    const Scalar* scale = nullptr;
    const std::uint64_t* draws = nullptr;  // of each row, if a layer drops out
  };
  /// Scratch of one thread.
  struct Memory {
    std::vector<GrowingBuffer<Scalar>> outputs, derivatives;  // of layers; slots, reused across layers
    std::vector<GrowingBuffer<std::uint32_t>> kept;           // of layers: indices from forward to backward
    GrowingBuffer<Scalar> weights, inputs, statistics, scratch;
    const std::atomic<bool>* cancelled = nullptr;
    bool called_off() const { return cancelled && cancelled->load(std::memory_order_relaxed); }
  };
  Memory memory() const;
  std::size_t memory_bytes(std::size_t rows) const;

  /// As Model::gradient and Model::evaluate. Throws std::invalid_argument on a token outside an embedding's table.
  double gradient(const Scalar* weights, const Batch& batch, bool accumulate, Scalar* gradient, Memory& memory) const;
  double evaluate(const Scalar* weights, const Batch& batch, std::uint64_t& correct, Memory& memory) const;

  const Architecture& architecture() const { return architecture_; }
  const NetworkLayout& layout() const { return layout_; }
  std::size_t classes() const { return architecture_.layers.back().out.channels; }
  std::size_t places() const { return architecture_.layers.back().out.places(); }
  bool couples_samples() const { return layout_.statistic_floats > 0; }
  bool draws() const;

 private:
  struct Pass;
  void forward(Pass& pass) const;
  LayerPass<Scalar> layer_pass(Pass& pass, std::size_t index) const;
  void backward(Pass& pass, Scalar* gradient) const;
  void backward_layer(Pass& pass, std::size_t index, const Scalar* dy, Scalar* gradient) const;
  Scalar* derivative(Pass& pass, LayerIndex layer) const;
  Pass begin(const Scalar* weights, const Batch& batch, bool training, Memory& memory) const;
  void add_statistics(const Pass& pass, Scalar* gradient) const;

  Architecture architecture_;
  Precision precision_;
  NetworkLayout layout_;
  DerivativeSlots slots_;  // of Memory::derivatives
  std::size_t scratch_ = 0;
  bool tokens_ = false;  // the inputs are numbers of rows, which no format rounds
};

extern template class ReferenceNetwork<float>;
extern template class ReferenceNetwork<double>;

}  // namespace straggler
