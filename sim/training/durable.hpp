// What a process keeps from one version to the next beside its weights, so that it can start again from a checkpoint (training.recovery).
#pragma once
#include <any>
#include <cstddef>
#include <utility>
#include <vector>

namespace straggler {

/// The side of a Durable that a checkpoint sees.
class DurableValue {
 public:
  virtual std::any value() const = 0;
  virtual void take(const std::any& saved) = 0;

 protected:
  ~DurableValue() = default;
};

/// The durable variables of one process, in the order in which they were made, and the values that its next start finds.
class DurableValues {
 public:
  void made(DurableValue& variable) {
    if (variables_.size() < saved_.size()) variable.take(saved_[variables_.size()]);
    variables_.push_back(&variable);
  }
  void gone(const DurableValue& variable) { std::erase(variables_, &variable); }
  std::vector<std::any> values() const {
    std::vector<std::any> all;
    for (const DurableValue* variable : variables_) all.push_back(variable->value());
    return all;
  }
  void start_from(std::vector<std::any> values) { saved_ = std::move(values); }

 private:
  std::vector<DurableValue*> variables_;
  std::vector<std::any> saved_;
};

/// A variable of a process that the next version depends on, and that neither the weights nor the node hold. A checkpoint has its value at
/// the version; a process that starts again from there has that value instead of `first`. A process makes its durable variables in the same
/// order each time.
template <class T>
class Durable final : public DurableValue {
 public:
  template <class Node>
  explicit Durable(Node& node, T first = T()) : of_(node.durable()), value_(std::move(first)) {
    of_.made(*this);
  }
  Durable(const Durable&) = delete;
  Durable& operator=(const Durable&) = delete;
  ~Durable() { of_.gone(*this); }

  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  std::any value() const override { return value_; }
  void take(const std::any& saved) override { value_ = std::any_cast<const T&>(saved); }

  DurableValues& of_;
  T value_;
};

}  // namespace straggler
