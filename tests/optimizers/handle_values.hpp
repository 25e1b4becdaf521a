// A small evaluator of elementwise lineage, to see what a rule's handles are worth.
#pragma once
#include <list>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler::test {

class HandleValues {
 public:
  /// `registers`: behind the n floats of each value.
  HandleValues(const Kernels& kernels, std::size_t n, std::size_t registers = 0, std::vector<TensorInfo> tensors = {})
      : kernels_(kernels), n_(n), registers_(registers), tensors_(std::move(tensors)) {}
  Lineage& lineage() { return lineage_; }

  /// A new value of n floats that came from elsewhere; its registers are 0.
  Handle leaf(std::vector<float> value) {
    Formula formula;
    formula.scalars = {static_cast<double>(++leaves_)};
    formula.kind = Formula::Kind::elementwise;  // only its key matters: no rule is applied to a leaf
    static const Rule leaf_rule{"leaf"};
    formula.rule = &leaf_rule;
    Handle handle = lineage_.make(std::move(formula), {});
    value.resize(n_ + registers_);
    values_[handle.key()] = std::move(value);
    kept_.push_back(handle);
    return handle;
  }

  const std::vector<float>& of(const Handle& handle) { return of(*handle.node()); }

 private:
  const std::vector<float>& of(const LineageNode& node) {
    if (const auto at = values_.find(node.key); at != values_.end()) return at->second;
    if (node.formula.kind != Formula::Kind::elementwise) throw std::logic_error("only elementwise nodes are evaluated here");
    std::vector<const float*> inputs;
    for (const LineageNode* input : node.inputs) inputs.push_back(of(*input).data());
    std::vector<float> out(n_ + registers_);
    const ElementwiseEntry& entry = Registry<ElementwiseEntry>::instance().at(node.formula.rule->name);
    const std::size_t n = entry.statistics == StatisticsRule::combine ? out.size() : n_;
    entry.apply(kernels_, {n, tensors_, n_, registers_}, inputs, node.formula.scalars, out.data());
    return values_[node.key] = std::move(out);
  }

  const Kernels& kernels_;
  std::size_t n_, registers_;
  std::vector<TensorInfo> tensors_;
  int leaves_ = 0;
  Lineage lineage_{Math::lazy, Key{1, 2}};
  std::unordered_map<Key, std::vector<float>, KeyHash> values_;
  std::list<Handle> kept_;
};

}  // namespace straggler::test
