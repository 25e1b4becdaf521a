// Errors of factories, reported at a place of the scenario.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include "scenarios/schema/reader.hpp"
#include "sim/base/nested.hpp"

namespace straggler {

/// Turns a factory's std::invalid_argument into an error at that path, a NestedError into one below it.
template <class Make>
auto at_place(const Scenario& scenario, std::string_view path, const Make& make) {
  try {
    return make();
  } catch (const NestedError& wrong) {
    throw_error(scenario, std::string(path) + "." + wrong.path, wrong.what());
  } catch (const std::invalid_argument& wrong) {
    throw_error(scenario, path, wrong.what());
  }
}

}  // namespace straggler
