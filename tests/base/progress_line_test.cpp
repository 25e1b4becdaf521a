#include "sim/base/progress_line.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace straggler;

namespace progress_line_test {

const ProgressState late{0.995,
                         {"12.34 min left", "accuracy 0.8532", "simulated 12.34 h", "epoch 123.45", "123.4k samples/s", "updates 1"}};

TEST_CASE("a bar fits the terminal: percent, time left and accuracy are whole from 60 columns on, other parts where they fit") {
  for (const std::size_t width : {60u, 80u, 100u, 120u, 200u}) {
    CAPTURE(width);
    const std::string bar = progress_bar(late, width);
    CHECK(bar.size() < width);
    CHECK(bar.front() == '[');
    CHECK(bar.find("100 %  12.34 min left  accuracy 0.8532") != std::string::npos);  // 99.5 rounded
    // A part is there whole, or neither it nor what follows it.
    std::size_t end = bar.find("% ") + 1, shown = 0;
    for (; shown < late.parts.size() && end < bar.size(); ++shown) {
      CHECK(bar.compare(end, 2 + late.parts[shown].size(), "  " + late.parts[shown]) == 0);
      end += 2 + late.parts[shown].size();
    }
    CHECK(end == bar.size());
    if (shown < late.parts.size()) CHECK(bar.size() + 2 + late.parts[shown].size() >= width);
  }
  CHECK(progress_bar(late, 200).ends_with("updates 1"));
}

TEST_CASE("a bar is filled by the fraction; one that is not known leaves the percent out") {
  const auto filled = [](double fraction) {
    const std::string bar = progress_bar({fraction, {}}, 80);
    return static_cast<double>(std::count(bar.begin(), bar.end(), '#')) / static_cast<double>(bar.find(']') - 1);
  };
  CHECK(filled(0) == 0);
  CHECK(filled(0.5) == 0.5);
  CHECK(filled(1) == 1);
  CHECK(progress_bar({{}, {"7 of at least 9 points"}}, 80).find('%') == std::string::npos);
  CHECK(progress_text({0.07, {"1 s left", "accuracy 0.5000"}}) == "  7 %  1 s left  accuracy 0.5000");
  CHECK(progress_text({{}, {"loading data for 3 s"}}) == "       loading data for 3 s");
}

}  // namespace progress_line_test
