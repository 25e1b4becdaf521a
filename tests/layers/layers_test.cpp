// The plain dense layers and the loss in double against central differences.
#include <doctest/doctest.h>

#include <array>

#include "models/layers/cross_entropy.hpp"
#include "models/layers/reference.hpp"
#include "tests/layers/derivatives.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::layers_test {

TEST_CASE("a dense layer's derivatives by weights, bias and input equal central differences, with and without ReLU below") {
  constexpr std::size_t rows = 3, in = 5, out = 4;
  const Doubles before = numbers<double>(rows * in, 1), w = numbers<double>(in * out, 2), b = numbers<double>(out, 3),
                dy = numbers<double>(rows * out, 4);
  for (const bool relu : {false, true}) {
    CAPTURE(relu);
    const auto rectified = [&](Doubles x) {
      if (relu)
        for (double& value : x) value = std::max(value, 0.0);
      return x;
    };
    // The loss dy · y, whose derivative by y is dy; `raw` is the layer's input before the ReLU below it.
    const auto loss = [&](const Doubles& raw, const Doubles& weights, const Doubles& bias) {
      Doubles y(rows * out);
      reference::dense_forward<double>(rows, in, out, rectified(raw).data(), weights.data(), bias.data(), false, y.data());
      return dot(dy, y);
    };
    Doubles dw(in * out), db(out), dx(rows * in);
    reference::dense_backward_weights<double>(rows, in, out, rectified(before).data(), dy.data(), dw.data(), db.data());
    reference::dense_backward_input<double>(rows, in, out, dy.data(), w.data(), rectified(before).data(), relu, dx.data());
    check_derivative(w, dw, [&](const Doubles& v) { return loss(before, v, b); });
    check_derivative(b, db, [&](const Doubles& v) { return loss(before, w, v); });
    check_derivative(before, dx, [&](const Doubles& v) { return loss(v, w, b); });
  }
}

TEST_CASE("softmax cross entropy's derivative equals central differences") {
  constexpr std::size_t rows = 4, classes = 6;
  Doubles scores = numbers<double>(rows * classes, 1);
  for (double& score : scores) score *= 5;
  const Doubles scale = numbers<double>(rows, 2);
  const std::vector<std::int32_t> labels = labels_below(classes, rows, 3);
  const auto loss = [&](Doubles v) {
    return reference::softmax_cross_entropy<double>(rows, classes, v.data(), labels.data(), scale.data());
  };
  Doubles derivative = scores;
  reference::softmax_cross_entropy<double>(rows, classes, derivative.data(), labels.data(), scale.data());
  check_derivative(scores, derivative, loss);
}

TEST_CASE("the loss is minus the logarithm of the label's share") {
  // Shares 1/4, 3/4 from scores 0, ln 3.
  Doubles scores = {0, std::log(3.0)};
  const std::int32_t label = 0;
  const double unit = 1;
  CHECK(reference::softmax_cross_entropy<double>(1, 2, scores.data(), &label, &unit) == doctest::Approx(std::log(4.0)));
  CHECK(scores[0] == doctest::Approx(-0.75));
  CHECK(scores[1] == doctest::Approx(0.75));
}

TEST_CASE("the loss of labels by place is the mean of its places, and each derivative a place's share of it") {
  constexpr std::size_t rows = 3, classes = 5, places = 4;
  Doubles scores = numbers<double>(rows * classes * places, 1);
  for (double& score : scores) score *= 5;
  const Doubles scale = numbers<double>(rows, 2);
  const std::vector<std::int32_t> labels = labels_below(classes, rows * places, 3);
  // Each place alone, as a sample of one.
  Doubles derivative(scores.size());
  double loss = 0, entropy = 0;
  std::uint64_t correct = 0;
  for (std::size_t i = 0; i < rows * places; ++i) {
    const auto at = [&](std::size_t c) { return (i / places * classes + c) * places + i % places; };
    Doubles own;
    for (std::size_t c = 0; c < classes; ++c) own.push_back(scores[at(c)]);
    entropy += reference::softmax_evaluate<double>(1, classes, own.data(), &labels[i], correct) / places;
    const double share = scale[i / places] / places;
    loss += reference::softmax_cross_entropy<double>(1, classes, own.data(), &labels[i], &share);
    for (std::size_t c = 0; c < classes; ++c) derivative[at(c)] = own[c];
  }
  std::uint64_t right = 0;
  CHECK(reference::softmax_evaluate<double>(rows, classes, scores.data(), labels.data(), right, places) == doctest::Approx(entropy));
  CHECK(right == correct);
  Doubles all = scores;
  CHECK(reference::softmax_cross_entropy<double>(rows, classes, all.data(), labels.data(), scale.data(), places) == doctest::Approx(loss));
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == doctest::Approx(derivative[i]).epsilon(1e-12));
}

TEST_CASE("in panels the loss of labels by place is that of the plain one, with every set of kernels") {
  for (const Kernels* kernels : all_kernels())
    for (const auto& [rows, classes, places] : {std::array<std::size_t, 3>{1, 2, 2}, {16, 7, 3}, {21, 30, 5}, {40, 3, 1}}) {
      CAPTURE(kernels->name);
      CAPTURE(rows);
      const std::vector<float> scores = numbers(rows * classes * places, 1), scale = numbers(rows, 2);
      const std::vector<std::int32_t> labels = labels_below(classes, rows * places, 3);
      std::vector<double> expected = as<double>(scores);
      std::uint64_t correct = 0, right = 0;
      const double entropy = reference::softmax_evaluate<double>(rows, classes, expected.data(), labels.data(), correct, places);
      const double loss =
          reference::softmax_cross_entropy<double>(rows, classes, expected.data(), labels.data(), as<double>(scale).data(), places);
      std::vector<float> panels = panels_of(scores, rows, classes * places, 0.0f);
      const SoftmaxCrossEntropy criterion{classes, places};
      CHECK(criterion.evaluate(*kernels, rows, panels.data(), labels.data(), right) == doctest::Approx(entropy).epsilon(1e-6));
      CHECK(right == correct);
      CHECK(std::abs(criterion.backward(*kernels, rows, panels.data(), labels.data(), scale.data()) - loss) <= 1e-6 * (1 + entropy));
      const std::vector<float> actual = samples_of(panels, rows, classes * places);
      for (std::size_t i = 0; i < actual.size(); ++i) CHECK(std::abs(actual[i] - expected[i]) <= 1e-6);
    }
}

}  // namespace straggler::test::layers_test
