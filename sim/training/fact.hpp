// Facts about a scheme: a value, or a function of its parameters.
#pragma once
#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "sim/base/parameters.hpp"

namespace straggler {

struct TrainingPlan;

/// A T that is known from a scheme's parameters and `More`. Made of a value (of what converts to T), or of a function of the parameters, or
/// of the parameters and `More`.
template <class T, class... More>
class FactOf {
  template <class F>
  static constexpr bool by_all = std::is_invocable_r_v<T, F, const Parameters&, const More&...>;
  template <class F>
  static constexpr bool by_parameters = std::is_invocable_r_v<T, F, const Parameters&>;

 public:
  template <class V>
  requires(std::is_convertible_v<V, T> && !by_all<V> && !by_parameters<V>) FactOf(V value)
      : value_(std::move(value)) {}  // NOLINT: a value is a fact
  template <class F>
  requires by_all<F> FactOf(F rule) : rule_(std::move(rule)) {}  // NOLINT: so is a rule
  template <class F>
  requires(by_parameters<F> && !by_all<F>) FactOf(F rule)  // NOLINT
      : rule_([rule = std::move(rule)](const Parameters& parameters, const More&...) -> T { return rule(parameters); }) {}

  T operator()(const Parameters& parameters, const More&... more) const { return rule_ ? rule_(parameters, more...) : value_; }
  /// Null: it depends on the parameters.
  const T* constant() const { return rule_ ? nullptr : &value_; }

 private:
  T value_ = T();
  std::function<T(const Parameters&, const More&...)> rule_;
};

template <class T>
using Fact = FactOf<T>;
template <class T>
using PlanFact = FactOf<T, TrainingPlan>;

}  // namespace straggler
