// What is wrong with a value of a sweep is told at its place in the sweep's file, also where the value is too long to be shown whole.
#include <doctest/doctest.h>

#include "tests/support/text.hpp"
#include "tests/sweep/sweep_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("an error that a long value causes is reported at the value's place") {
  const Files files;
  std::string hidden;
  for (int i = 0; i < 60; ++i) hidden += "16, ";
  const Sweep sweep = sweep_of(files, "axes:\n  workload.model:\n    - mlp\n    - {kind: mlp, hidden: [" + hidden + "none]}\n");
  const std::string text = said(files, [&] { run_afresh(sweep); });
  CHECK_MESSAGE(text.starts_with("sweep.yaml:7:7: workload.model."), text);
}
