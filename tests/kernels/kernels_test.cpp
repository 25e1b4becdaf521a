// Every set of kernels that this processor runs, against the plain implementations in double and against the set on Eigen.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "models/layers/reference.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/sanitized.hpp"

namespace straggler::test::kernels_test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// A float product of vectors of length n is off by at most n roundings of 2^-24 each; typically by their square root.
double rounding(std::size_t terms) { return 0x1p-24 * std::sqrt(static_cast<double>(terms) + 4) * 4; }

struct Shape {
  std::size_t rows, in, out;
};

// Widths and batches around the sizes of registers, tiles, panels (32), groups of panels (128) and blocks (256).
const std::vector<Shape> shapes = {{1, 1, 1},     {1, 7, 3},     {3, 2, 128},  {32, 2, 128}, {32, 128, 4}, {31, 33, 17},
                                   {33, 5, 24},   {64, 200, 10}, {70, 13, 13}, {129, 40, 9}, {256, 3, 11}, {300, 31, 25},
                                   {40, 257, 12}, {5, 600, 300}, {97, 4, 1},   {160, 16, 48}};

/// Floats that begin `offset` floats after where the allocator puts them.
class Placed {
 public:
  Placed(std::vector<float> values, std::size_t offset) : offset_(offset), values_(std::move(values)) {
    values_.insert(values_.begin(), offset, nan);
  }
  float* at() { return values_.data() + offset_; }
  std::vector<float> values() const { return std::vector<float>(values_.begin() + offset_, values_.end()); }

 private:
  std::size_t offset_;
  std::vector<float> values_;
};

/// What every function of a set makes of the same numbers in [-1, 1), from arrays that begin at `offset`, padding NaN.
struct Results {
  std::vector<float> panels, x, y, dw, db, dx, derivative, sum, mean, velocity, weights;
  double loss = 0, evaluated = 0;
  std::uint64_t correct = 0;
};

Results results_of(const Kernels& k, const Shape& s, bool flag, std::size_t offset) {
  const std::size_t n = s.in * s.out;
  const auto placed = [&](std::vector<float> values) { return Placed(std::move(values), offset); };
  const auto panels = [&](std::size_t features) { return placed(std::vector<float>(panel_floats(s.rows, features), nan)); };
  std::vector<float> rectified = numbers(s.rows * s.in, 1), steep = numbers(s.rows * s.out, 2);
  for (std::size_t i = 0; i < rectified.size(); i += 3) rectified[i] = 0;
  for (float& score : steep) score *= 20;

  Placed x = placed(rectified), back = placed(std::vector<float>(rectified.size())), w = placed(numbers(n, 3)),
         b = placed(numbers(s.out, 4)), dy = placed(panels_of(numbers(s.rows * s.out, 5), s.rows, s.out, nan)),
         scores = placed(panels_of(steep, s.rows, s.out, nan)), scale = placed(numbers(s.rows, 6)), dw = placed(numbers(n, 7)),
         db = placed(numbers(s.out, 8)), x_panels = panels(s.in), y = panels(s.out), dx = panels(s.in), sum = placed(numbers(n, 9)),
         mean = sum, velocity = sum, weights = sum;
  k.to_panels(s.rows, s.in, x.at(), x_panels.at());
  k.from_panels(s.rows, s.in, x_panels.at(), back.at());
  k.dense_forward(s.rows, s.in, s.out, x_panels.at(), w.at(), b.at(), flag, y.at());
  k.dense_backward_weights(s.rows, s.in, s.out, x_panels.at(), dy.at(), flag, dw.at(), db.at());
  k.dense_backward_input(s.rows, s.in, s.out, dy.at(), w.at(), x_panels.at(), flag, dx.at());
  Results r;
  const std::vector<std::int32_t> labels = labels_below(s.out, s.rows, 10);
  r.evaluated = k.softmax_evaluate(s.rows, s.out, scores.at(), labels.data(), &r.correct);
  r.loss = k.softmax_cross_entropy(s.rows, s.out, scores.at(), labels.data(), scale.at());
  const std::vector<const float*> inputs = {w.at(), dw.at(), sum.at()};
  k.mean(n, inputs.size(), inputs.data(), mean.at());
  k.momentum(n, 0.9f, 0.01f, inputs[1], inputs[0], inputs[2], velocity.at());
  k.descend(n, 0.1f, inputs[0], inputs[2], weights.at());
  k.weighted_sum(n, inputs.size(), inputs.data(), std::vector<float>{0.3f, 0.01f, -0.7f}.data(), sum.at());

  const auto samples = [&](const Placed& in_panels, std::size_t features) { return samples_of(in_panels.values(), s.rows, features); };
  r.panels = samples(x_panels, s.in), r.x = back.values(), r.y = samples(y, s.out), r.dw = dw.values(), r.db = db.values(),
  r.dx = samples(dx, s.in), r.derivative = samples(scores, s.out), r.sum = sum.values(), r.mean = mean.values();
  r.velocity = velocity.values(), r.weights = weights.values();
  return r;
}

}  // namespace

TEST_CASE("the kernels are chosen by name, and an unknown name lists the known ones") {
  const std::vector<std::string_view> names = available_kernels();
  REQUIRE(!names.empty());
  CHECK(names.front() == "generic");
  for (const std::string_view name : names) CHECK(select_kernels(name).name == name);
  CHECK(select_kernels("auto").name == names.back());
  try {
    select_kernels("x86-64-v9");
    FAIL("accepted an unknown name");
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    CHECK(message.find("x86-64-v9") != message.npos);
    for (const std::string_view name : names) CHECK(message.find(name) != message.npos);
  }
}

TEST_CASE("samples go to panels and back") {
  for (const Kernels* kernels : all_kernels())
    for (const Shape& shape : shapes) {
      CAPTURE(kernels->name);
      CAPTURE(shape.rows);
      CAPTURE(shape.in);
      const std::vector<float> x = numbers(shape.rows * shape.in, 1);
      std::vector<float> panels(panel_floats(shape.rows, shape.in), nan), back(x.size());
      kernels->to_panels(shape.rows, shape.in, x.data(), panels.data());
      CHECK(samples_of(panels, shape.rows, shape.in) == x);
      std::vector<std::uint32_t> rows(shape.rows);
      std::iota(rows.rbegin(), rows.rend(), 0u);
      std::vector<float> reversed(panels.size(), nan);
      kernels->gather_panels(shape.rows, shape.in, x.data(), rows.data(), reversed.data());
      const std::vector<float> back_to_front = samples_of(reversed, shape.rows, shape.in);
      for (std::size_t row = 0; row < shape.rows; ++row)
        CHECK(std::equal(x.data() + rows[row] * shape.in, x.data() + (rows[row] + 1) * shape.in, back_to_front.data() + row * shape.in));
      kernels->from_panels(shape.rows, shape.in, panels.data(), back.data());
      CHECK(back == x);
    }
}

TEST_CASE("dense forward equals the reference, for any padding") {
  for (const Kernels* kernels : all_kernels())
    for (const Shape& s : shapes)
      for (const bool relu : {false, true}) {
        CAPTURE(kernels->name);
        CAPTURE(s.rows);
        CAPTURE(s.in);
        CAPTURE(s.out);
        const std::vector<float> x = numbers(s.rows * s.in, 1), w = numbers(s.in * s.out, 2), b = numbers(s.out, 3);
        std::vector<double> expected(s.rows * s.out);
        reference::dense_forward<double>(s.rows, s.in, s.out, as<double>(x).data(), as<double>(w).data(), as<double>(b).data(), relu,
                                         expected.data());
        const std::vector<float> panels = panels_of(x, s.rows, s.in, nan);
        std::vector<float> y(panel_floats(s.rows, s.out), nan);
        kernels->dense_forward(s.rows, s.in, s.out, panels.data(), w.data(), b.data(), relu, y.data());
        // A single number may be rectified to 0 on both sides: compare absolutely with the size of the terms then.
        const std::vector<float> actual = samples_of(y, s.rows, s.out);
        for (std::size_t i = 0; i < actual.size(); ++i)
          CHECK(std::abs(actual[i] - expected[i]) <= rounding(s.in) * std::sqrt(static_cast<double>(s.in) + 1));
      }
}

TEST_CASE("dense backward equals the reference, overwrites or accumulates, for any padding") {
  for (const Kernels* kernels : all_kernels())
    for (const Shape& s : shapes)
      for (const bool flag : {false, true}) {
        CAPTURE(kernels->name);
        CAPTURE(s.rows);
        CAPTURE(s.in);
        CAPTURE(s.out);
        std::vector<float> x = numbers(s.rows * s.in, 1);
        for (std::size_t i = 0; i < x.size(); i += 3) x[i] = 0;  // rectified inputs
        const std::vector<float> w = numbers(s.in * s.out, 2), dy = numbers(s.rows * s.out, 3);
        const std::vector<float> x_panels = panels_of(x, s.rows, s.in, nan), dy_panels = panels_of(dy, s.rows, s.out, nan);

        std::vector<float> dw = numbers(s.in * s.out, 4), db = numbers(s.out, 5);
        std::vector<double> expected_dw = flag ? as<double>(dw) : std::vector<double>(dw.size());
        std::vector<double> expected_db = flag ? as<double>(db) : std::vector<double>(db.size());
        reference::dense_backward_weights<double>(s.rows, s.in, s.out, as<double>(x).data(), as<double>(dy).data(), expected_dw.data(),
                                                  expected_db.data());
        kernels->dense_backward_weights(s.rows, s.in, s.out, x_panels.data(), dy_panels.data(), flag, dw.data(), db.data());
        const double scale = std::sqrt(static_cast<double>(s.rows) + 1);
        for (std::size_t i = 0; i < dw.size(); ++i) CHECK(std::abs(dw[i] - expected_dw[i]) <= rounding(s.rows) * scale);
        for (std::size_t i = 0; i < db.size(); ++i) CHECK(std::abs(db[i] - expected_db[i]) <= rounding(s.rows) * scale);

        std::vector<double> expected_dx(s.rows * s.in);
        std::vector<float> dx(panel_floats(s.rows, s.in), nan);
        reference::dense_backward_input<double>(s.rows, s.in, s.out, as<double>(dy).data(), as<double>(w).data(), as<double>(x).data(),
                                                flag, expected_dx.data());
        kernels->dense_backward_input(s.rows, s.in, s.out, dy_panels.data(), w.data(), x_panels.data(), flag, dx.data());
        const std::vector<float> actual = samples_of(dx, s.rows, s.in);
        for (std::size_t i = 0; i < actual.size(); ++i)
          CHECK(std::abs(actual[i] - expected_dx[i]) <= rounding(s.out) * std::sqrt(static_cast<double>(s.out) + 1));
      }
}

TEST_CASE("softmax cross entropy equals the reference") {
  for (const Kernels* kernels : all_kernels())
    for (const Shape& s : shapes) {
      CAPTURE(kernels->name);
      CAPTURE(s.rows);
      CAPTURE(s.out);
      std::vector<float> scores = numbers(s.rows * s.out, 1);
      for (float& score : scores) score *= 20;
      const std::vector<std::int32_t> labels = labels_below(s.out, s.rows, 2);
      std::vector<float> scale = numbers(s.rows, 3);
      std::vector<double> expected = as<double>(scores);
      const double expected_loss =
          reference::softmax_cross_entropy<double>(s.rows, s.out, expected.data(), labels.data(), as<double>(scale).data());
      std::vector<float> panels = panels_of(scores, s.rows, s.out, 1.0f);
      double plain = 0;
      for (std::size_t row = 0; row < s.rows; ++row) {
        std::vector<double> one = as<double>(std::vector<float>(scores.begin() + row * s.out, scores.begin() + (row + 1) * s.out));
        const double unit = 1;
        plain += reference::softmax_cross_entropy<double>(1, s.out, one.data(), &labels[row], &unit);
      }
      std::uint64_t correct = 5, expected_correct = 5;
      for (std::size_t row = 0; row < s.rows; ++row) {
        const float* const own = scores.data() + row * s.out;
        if (std::max_element(own, own + s.out) - own == labels[row]) ++expected_correct;
      }
      // Each score minus the largest is rounded to 2^-24 of at most 40.
      CHECK(kernels->softmax_evaluate(s.rows, s.out, panels.data(), labels.data(), &correct) == doctest::Approx(plain).epsilon(1e-5));
      CHECK(correct == expected_correct);
      const double loss = kernels->softmax_cross_entropy(s.rows, s.out, panels.data(), labels.data(), scale.data());
      CHECK(std::abs(loss - expected_loss) <= 1e-6 * (1 + plain));
      const std::vector<float> actual = samples_of(panels, s.rows, s.out);
      for (std::size_t i = 0; i < actual.size(); ++i) CHECK(std::abs(actual[i] - expected[i]) <= 40 * 0x1p-23);
    }
}

TEST_CASE("the exponential of softmax is accurate to a few units in the last place") {
  // Two classes with scores 0 and x <= 0 and label 0: the derivative by x is e^x / (1 + e^x). 1.01 units for the exponential,
  // half a unit each for the sum, the quotient and the product, which may count twice where the result's binade is lower.
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    double worst = 0;
    for (int i = 0; i < 87 * 64; ++i) {
      const float x = -static_cast<float>(i) / 64.0f * 1.0003f, one = 1;
      std::vector<float> scores(2 * panel_rows, 0.0f);
      scores[panel_rows] = x;
      const std::int32_t label = 0;
      kernels->softmax_cross_entropy(1, 2, scores.data(), &label, &one);
      const double e = std::exp(static_cast<double>(x)), expected = e / (1 + e);
      int exponent;
      std::frexp(expected, &exponent);
      worst = std::max(worst, std::abs(scores[panel_rows] - expected) / std::ldexp(1.0, exponent - 24));
    }
    CHECK(worst <= 4.0);
  }
}

TEST_CASE("scores without bounds: infinities and NaN give a NaN loss, huge differences a finite one") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float one = 1;
  const std::int32_t label = 1;
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const auto loss = [&](float first, float second) {
      std::vector<float> scores(2 * panel_rows, 0.0f);
      scores[0] = first;
      scores[panel_rows] = second;
      std::uint64_t correct = 0;
      const double evaluated = kernels->softmax_evaluate(1, 2, scores.data(), &label, &correct);
      const double derived = kernels->softmax_cross_entropy(1, 2, scores.data(), &label, &one);
      CHECK((evaluated == derived || (std::isnan(evaluated) && std::isnan(derived))));
      if (std::isnan(evaluated)) CHECK(correct == 0);
      return evaluated;
    };
    CHECK(std::isnan(loss(nan, 0)));
    CHECK(std::isnan(loss(0, nan)));
    CHECK(std::isnan(loss(infinity, 0)));
    CHECK(std::isnan(loss(infinity, infinity)));
    CHECK(loss(1e30f, 0) == doctest::Approx(1e30));
    CHECK(loss(0, 1e30f) == 0);
    CHECK(loss(-infinity, 0) == 0);
    CHECK(loss(0, -infinity) == std::numeric_limits<double>::infinity());
  }
}

TEST_CASE("ties count for the first class only") {
  for (const Kernels* kernels : all_kernels()) {
    const std::vector<float> scores(3 * panel_rows, 0.5f);
    const std::vector<std::int32_t> labels = {0, 1, 2, 0, 2};
    std::uint64_t correct = 0;
    kernels->softmax_evaluate(labels.size(), 3, scores.data(), labels.data(), &correct);
    CHECK(correct == 2);
  }
}

TEST_CASE("ReLU lets NaN through") {
  for (const Kernels* kernels : all_kernels()) {
    const float w = nan, b = 0;
    const std::vector<float> x(panel_rows, 1.0f);
    std::vector<float> y(panel_rows);
    kernels->dense_forward(1, 1, 1, x.data(), &w, &b, true, y.data());
    CHECK(std::isnan(y[0]));
  }
}

TEST_CASE("elementwise kernels compute their formulas, in place or not") {
  for (const Kernels* kernels : all_kernels())
    for (const std::size_t n : {1u, 3u, 15u, 16u, 17u, 100u, 1003u}) {
      CAPTURE(kernels->name);
      CAPTURE(n);
      const std::vector<float> g = numbers(n, 1), w = numbers(n, 2), v = numbers(n, 3);
      std::vector<float> out(n);
      const float rate = 0.125f, momentum = 0.75f, decay = 0.0625f;  // powers of two: few roundings
      const auto check = [&](const auto& expected) {
        for (std::size_t i = 0; i < n; ++i) CHECK(std::abs(out[i] - expected(i)) <= 4 * 0x1p-24);
      };
      const auto d = [](float x) { return static_cast<double>(x); };

      const std::vector<const float*> inputs = {g.data(), w.data(), v.data()};
      const std::vector<float> scale = {0.5f, -0.25f, 2.0f};
      kernels->weighted_sum(n, 3, inputs.data(), scale.data(), out.data());
      check([&](std::size_t i) { return 0.5 * d(g[i]) - 0.25 * d(w[i]) + 2 * d(v[i]); });
      kernels->mean(n, 3, inputs.data(), out.data());
      check([&](std::size_t i) { return (d(g[i]) + d(w[i]) + d(v[i])) / 3; });
      kernels->mean(n, 1, inputs.data(), out.data());
      CHECK(out == g);  // of one, bit for bit

      kernels->momentum(n, momentum, decay, g.data(), w.data(), v.data(), out.data());
      check([&](std::size_t i) { return 0.75 * d(v[i]) + d(g[i]) + 0.0625 * d(w[i]); });
      const std::vector<float> velocity = out;
      kernels->momentum(n, momentum, decay, g.data(), w.data(), nullptr, out.data());
      check([&](std::size_t i) { return d(g[i]) + 0.0625 * d(w[i]); });
      kernels->momentum(n, momentum, decay, g.data(), nullptr, v.data(), out.data());
      check([&](std::size_t i) { return 0.75 * d(v[i]) + d(g[i]); });
      kernels->momentum(n, momentum, decay, g.data(), nullptr, nullptr, out.data());
      CHECK(out == g);

      kernels->descend(n, rate, w.data(), velocity.data(), out.data());
      check([&](std::size_t i) { return d(w[i]) - 0.125 * d(velocity[i]); });
      const std::vector<float> lower = out;

      std::vector<float> own = v;
      kernels->momentum(n, momentum, decay, g.data(), w.data(), own.data(), own.data());
      CHECK(own == velocity);
      std::vector<float> weights = w;
      kernels->descend(n, rate, weights.data(), own.data(), weights.data());
      CHECK(weights == lower);
      std::vector<float> rows[20];  // more than are asked for ahead
      std::vector<const float*> directions(20, velocity.data());
      std::vector<float*> places;
      for (std::vector<float>& row : rows) places.push_back((row = w).data());
      kernels->descend_rows(20, n, rate, directions.data(), places.data());
      for (const std::vector<float>& row : rows) CHECK(row == lower);
    }
}

TEST_CASE("every set agrees with the one on Eigen, in every function") {
  const Kernels& generic = select_kernels("generic");
  for (const Kernels* kernels : all_kernels())
    for (const Shape& s : shapes)
      for (const bool flag : {false, true}) {
        if (kernels == &generic) continue;
        CAPTURE(kernels->name);
        CAPTURE(s.rows);
        CAPTURE(s.in);
        CAPTURE(s.out);
        const Results actual = results_of(*kernels, s, flag, 0), expected = results_of(generic, s, flag, 0);
        // Both sum `terms` products of size up to 1, each in its own order.
        const auto check = [](const std::vector<float>& a, const std::vector<float>& b, std::size_t terms) {
          REQUIRE(a.size() == b.size());
          const double bound = 2 * rounding(terms) * std::sqrt(static_cast<double>(terms) + 1);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < a.size(); ++i) wrong += std::abs(a[i] - b[i]) <= bound ? 0 : 1;  // NaN is wrong
          CHECK(wrong == 0);
        };
        CHECK(actual.panels == expected.panels);
        CHECK(actual.x == expected.x);
        check(actual.y, expected.y, s.in);
        check(actual.dw, expected.dw, s.rows);
        check(actual.db, expected.db, s.rows);
        check(actual.dx, expected.dx, s.out);
        check(actual.derivative, expected.derivative, 40);  // scores less the largest: up to 40
        // The inputs of these hold sums over the rows.
        check(actual.sum, expected.sum, s.rows);
        check(actual.mean, expected.mean, s.rows);
        check(actual.velocity, expected.velocity, s.rows);
        check(actual.weights, expected.weights, 3);
        CHECK(actual.correct == expected.correct);
        CHECK(actual.evaluated == doctest::Approx(expected.evaluated).epsilon(1e-6));
        CHECK(std::abs(actual.loss - expected.loss) <= 1e-6 * (1 + expected.evaluated));
      }
}

TEST_CASE("no bit depends on where the arrays lie") {
  for (const Kernels* kernels : all_kernels())
    for (const Shape& s : shapes)
      for (const std::size_t offset : tried<std::size_t>({1, 2, 7})) {
        CAPTURE(kernels->name);
        CAPTURE(s.rows);
        CAPTURE(s.in);
        CAPTURE(s.out);
        CAPTURE(offset);
        const Results first = results_of(*kernels, s, true, 0), moved = results_of(*kernels, s, true, offset);
        CHECK(moved.panels == first.panels);
        CHECK(moved.x == first.x);
        CHECK(moved.y == first.y);
        CHECK(moved.dw == first.dw);
        CHECK(moved.db == first.db);
        CHECK(moved.dx == first.dx);
        CHECK(moved.derivative == first.derivative);
        CHECK(moved.sum == first.sum);
        CHECK(moved.mean == first.mean);
        CHECK(moved.velocity == first.velocity);
        CHECK(moved.weights == first.weights);
        CHECK(moved.loss == first.loss);
        CHECK(moved.evaluated == first.evaluated);
        CHECK(moved.correct == first.correct);
      }
}

}  // namespace straggler::test::kernels_test
