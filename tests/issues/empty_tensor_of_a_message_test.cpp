// The scale of a tensor without values was read from beyond a message's vector where that tensor is the last.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"

using namespace straggler;

TEST_CASE("a message of tensors of which the last is empty is read to the bits that were written") {
  const std::vector<TensorInfo> tensors = {{"a", {3}, 0}, {"b", {0}, 3}};
  const std::vector<float> v = {1, -2, 0.5f};
  for (const CompressorEntry& entry : Registry<CompressorEntry>::instance().entries()) {
    if (!entry.rule || entry.factors) continue;
    for (const bool feedback : {false, true}) {
      CAPTURE(entry.name);
      Parameters given;
      given.set("error_feedback", feedback);
      std::vector<double> scalars = entry.scalars(complete(entry.parameters, given));
      if (entry.draws != Draws::none) scalars.push_back(draw_number(1, 1));
      Extent extent;
      extent.n = v.size();
      extent.tensors = tensors;
      std::vector<float> q(v.size()), read(v.size(), 7.0f);
      Registry<ElementwiseEntry>::instance().at(entry.rule->name).apply(select_kernels("auto"), extent, {v.data()}, scalars, q.data());
      const std::vector<std::byte> message = entry.encode(scalars, {v.size(), tensors}, q);
      CHECK(message.size() == entry.bytes(scalars, {v.size(), tensors}));
      entry.decode(scalars, {v.size(), tensors}, message, read);
      CHECK(std::memcmp(read.data(), q.data(), sizeof(float) * q.size()) == 0);
    }
  }
}
