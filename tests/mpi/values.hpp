// Values by name, without any math.
#pragma once
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "sim/training/algebra.hpp"
#include "validation/mpi/wire.hpp"

namespace straggler {

class HeldValues final : public Values {
 public:
  static constexpr std::size_t lent = 5000;  // floats of a vector that is apart
  explicit HeldValues(Lineage& lineage) : lineage_(lineage) {}
  std::span<const float> of(const Handle& handle) override { return stored_.at(handle.key()); }
  Handle named(const Key& key) override { return lineage_.leaf(key); }
  void give(const Handle& handle, std::span<const float> values) override { stored_[handle.key()].assign(values.begin(), values.end()); }
  std::shared_ptr<const float> hold(const Handle& handle) override {
    return {stored_.at(handle.key()).data(), [handle](const float*) {}};
  }
  LentFloats lend() override { return {new float[lent], std::default_delete<float[]>()}; }
  void give(const Handle& handle, LentFloats values) override { give(handle, std::span(values.get(), lent)); }
  bool has(const Handle& handle) const override { return known(handle); }
  Handle moved(const Handle& from, const Handle& move) override {
    const TrainingPlan plan;
    const Handle handle = Algebra(lineage_, plan).moved(from, move);
    std::vector<float> sum = stored_.at(move.key());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += stored_.at(from.key())[i];
    stored_[handle.key()] = std::move(sum);
    return handle;
  }
  Handle product(const Handle&, const std::vector<double>&) override { throw std::logic_error("values without factors"); }
  Handle made(std::uint64_t name, std::vector<float> values) {
    const Handle handle = named(Key{name, ~name});
    stored_[handle.key()] = std::move(values);
    return handle;
  }
  bool known(const Handle& handle) const { return stored_.count(handle.key()) > 0; }

 private:
  Lineage& lineage_;
  std::map<Key, std::vector<float>> stored_;
};

}  // namespace straggler
