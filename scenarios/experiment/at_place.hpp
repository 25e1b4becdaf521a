// Errors of factories, reported at a place of the scenario.
#pragma once
#include <stdexcept>
#include <string_view>

#include "scenarios/schema/reader.hpp"

namespace straggler {

/// Turns a factory's std::invalid_argument into an error at that path.
template <class Make>
auto at_place(const Scenario& scenario, std::string_view path, const Make& make) {
  try {
    return make();
  } catch (const std::invalid_argument& wrong) {
    throw_error(scenario, path, wrong.what());
  }
}

}  // namespace straggler
