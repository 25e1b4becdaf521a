// That two architectures are the same network.
#pragma once
#include <doctest/doctest.h>

#include <string>

#include "models/zoo/cost_model.hpp"
#include "models/zoo/layer_list.hpp"

namespace straggler::test {

/// Equal but for the names in tables of layers whose tensors have another name.
inline void check_same_network(const Architecture& made, const Architecture& wanted) {
  CHECK(made.input == wanted.input);
  REQUIRE(made.layers.size() == wanted.layers.size());
  for (std::size_t l = 0; l < made.layers.size(); ++l) {
    const LayerSpec &own = made.layers[l], &expected = wanted.layers[l];
    CAPTURE(expected.name);
    CHECK(own.entry == expected.entry);
    CHECK(own.inputs == expected.inputs);
    CHECK(own.in == expected.in);
    CHECK(own.out == expected.out);
    CHECK(own.window == expected.window);
    CHECK(own.tied == expected.tied);
    for (const auto& [tensors, other] : {std::pair(&own.tensors, &expected.tensors), std::pair(&own.buffers, &expected.buffers)}) {
      REQUIRE(tensors->size() == other->size());
      for (std::size_t t = 0; t < tensors->size(); ++t) {
        CHECK((*tensors)[t].name == (*other)[t].name);
        CHECK((*tensors)[t].shape == (*other)[t].shape);
        CHECK((*tensors)[t].initial.rule == (*other)[t].initial.rule);
        CHECK((*tensors)[t].initial.size == (*other)[t].initial.size);
      }
    }
  }
  const CostTable own = cost_table(made), expected = cost_table(wanted);
  CHECK(own.input_bytes == expected.input_bytes);
  CHECK(own.statistics == expected.statistics);
  REQUIRE(own.layers.size() == expected.layers.size());
  for (std::size_t row = 0; row < own.layers.size(); ++row) {
    const CostLayer &one = own.layers[row], &other = expected.layers[row];
    CAPTURE(other.name);
    const bool named_by_tensors = other.tensors.empty() || other.tensors.front().name.starts_with(other.name + ".");
    if (named_by_tensors) CHECK(one.name == other.name);
    CHECK(one.forward_flops == other.forward_flops);
    CHECK(one.activation_bytes == other.activation_bytes);
    CHECK(one.operations == other.operations);
    REQUIRE(one.tensors.size() == other.tensors.size());
    for (std::size_t t = 0; t < one.tensors.size(); ++t) CHECK(one.tensors[t].offset == other.tensors[t].offset);
  }
}

}  // namespace straggler::test
