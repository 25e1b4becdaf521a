// Optimizers, schedules and the arithmetic of the rules.
#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>

#include "models/optimizers/optimizer.hpp"
#include "tests/optimizers/handle_values.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::optimizers_test {
namespace {

constexpr double unending = std::numeric_limits<double>::infinity();

std::unique_ptr<UpdateRule> make_sgd(Parameters given, Schedule schedule = {}) {
  const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at("sgd");
  return entry.make(complete(entry.parameters, std::move(given)), std::move(schedule));
}

Schedule::Shape shape_of(const char* kind, Parameters given) {
  const ScheduleEntry& entry = Registry<ScheduleEntry>::instance().at(kind);
  return entry.make(complete(entry.parameters, std::move(given)), unending);
}

void check_close(const std::vector<float>& actual, const std::vector<double>& expected) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) CHECK(std::abs(actual[i] - expected[i]) <= 8 * 0x1p-24);
}

constexpr std::size_t n = 5000;  // more than one piece of those in which directions are computed

}  // namespace

TEST_CASE("sgd without momentum: w - rate (g + decay w), and no state") {
  for (const Kernels* kernels : all_kernels())
    for (const double decay : {0.0, 0.01}) {
      CAPTURE(kernels->name);
      HandleValues values(*kernels, n);
      const std::vector<float> w = numbers(n, 1), g = numbers(n, 2);
      std::vector<Handle> state;
      const Handle next =
          make_sgd({{"learning_rate", 0.1}, {"weight_decay", decay}})->step(values.lineage(), values.leaf(w), values.leaf(g), 0, 1, state);
      CHECK(state.empty());
      std::vector<double> expected(n);
      for (std::size_t i = 0; i < n; ++i) expected[i] = w[i] - 0.1 * (g[i] + decay * w[i]);
      check_close(values.of(next), expected);
    }
}

TEST_CASE("sgd with momentum follows its formula over three steps, and a reset starts again") {
  for (const Kernels* kernels : all_kernels())
    for (const bool nesterov : {false, true})
      for (const double decay : {0.0, 0.01}) {
        CAPTURE(kernels->name);
        CAPTURE(nesterov);
        const auto rule = make_sgd({{"learning_rate", 0.1}, {"momentum", 0.9}, {"weight_decay", decay}, {"nesterov", nesterov}});
        HandleValues values(*kernels, n);
        std::vector<double> w = as<double>(numbers(n, 1)), v(n, 0.0);
        Handle weights = values.leaf(as<float>(w));
        std::vector<Handle> state;
        for (std::uint64_t step = 0; step < 4; ++step) {
          if (step == 3) {
            state.clear();
            v.assign(n, 0.0);
          }
          const std::vector<float> g = numbers(n, 10 + step);
          weights = rule->step(values.lineage(), weights, values.leaf(g), 0, 1, state);
          REQUIRE(state.size() == 1);
          for (std::size_t i = 0; i < n; ++i) {
            const double d = g[i] + decay * w[i];
            v[i] = 0.9 * v[i] + d;
            w[i] -= 0.1 * (nesterov ? d + 0.9 * v[i] : v[i]);
          }
          check_close(values.of(state[0]), v);
          check_close(values.of(weights), w);
        }
      }
}

TEST_CASE("sgd refuses invalid parameters") {
  CHECK_THROWS_AS(make_sgd({}), std::invalid_argument);
  CHECK_THROWS_AS(make_sgd({{"learning_rate", 0.0}}), std::invalid_argument);
  CHECK_THROWS_AS(make_sgd({{"learning_rate", 0.1}, {"momentum", 1.0}}), std::invalid_argument);
  CHECK_THROWS_AS(make_sgd({{"learning_rate", 0.1}, {"momentum", -0.1}}), std::invalid_argument);
  CHECK_THROWS_AS(make_sgd({{"learning_rate", 0.1}, {"weight_decay", -1.0}}), std::invalid_argument);
  CHECK_THROWS_AS(make_sgd({{"learning_rate", 0.1}, {"nesterov", true}}), std::invalid_argument);
}

TEST_CASE("with one gradient averaged, mean, scaling and weights of 1 change no bit") {
  for (const Kernels* kernels : all_kernels()) {
    HandleValues values(*kernels, n);
    const Handle w = values.leaf(numbers(n, 1)), g = values.leaf(numbers(n, 2));
    const auto plain = make_sgd({{"learning_rate", 0.1}, {"momentum", 0.9}});
    std::vector<Handle> state;
    const std::vector<float> expected = values.of(plain->step(values.lineage(), w, g, 0, 1, state));
    for (const auto scaling : {Schedule::Scaling::linear, Schedule::Scaling::square_root}) {
      const auto scaled = make_sgd({{"learning_rate", 0.1}, {"momentum", 0.9}}, Schedule(nullptr, scaling, 0));
      for (const Rule* rule : {&rules::mean, &rules::ring_mean, &rules::weighted_mean}) {
        const Handle averaged =
            values.lineage().elementwise(*rule, std::array{g}, rule == &rules::weighted_mean ? std::vector{1.0} : std::vector<double>{});
        state.clear();
        CHECK(values.of(scaled->step(values.lineage(), w, averaged, 0, 1, state)) == expected);
      }
    }
  }
}

TEST_CASE("a mixture takes each chunk from the vector named for it; registers follow the last chunk") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    constexpr std::size_t size = 103, registers = 2;
    HandleValues values(*kernels, size, registers);
    std::vector<Handle> handles;
    std::vector<std::vector<float>> inputs;
    for (std::size_t i = 0; i < 3; ++i) {
      inputs.push_back(numbers(size + registers, i + 1));
      handles.push_back(values.leaf(inputs[i]));
    }
    for (const std::vector<double>& which :
         {std::vector<double>{2, 0, 0, 1, 2}, std::vector<double>{1, 0, 2}, std::vector<double>(500, 1)}) {
      const std::size_t chunks = which.size();
      std::vector<float> expected(size + registers);
      for (std::size_t k = 0; k < chunks; ++k)
        for (std::size_t i = size * k / chunks; i < size * (k + 1) / chunks; ++i)
          expected[i] = inputs[static_cast<std::size_t>(which[k])][i];
      for (std::size_t i = size; i < size + registers; ++i) expected[i] = inputs[static_cast<std::size_t>(which.back())][i];
      CHECK(values.of(values.lineage().elementwise(rules::mixture, handles, which)) == expected);
      // In place: the first input's buffer serves the result.
      std::vector<float> in_place = inputs[0];
      Registry<ElementwiseEntry>::instance().at("mixture").apply(
          *kernels, {size + registers, {}, size, registers}, {in_place.data(), inputs[1].data(), inputs[2].data()}, which, in_place.data());
      CHECK(in_place == expected);
    }
  }
}

TEST_CASE("the rules of lineage have their arithmetic, each in its own order") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    constexpr std::size_t ranks = 5, size = 103;  // chunks of 20 and 21
    HandleValues values(*kernels, size);
    // One huge number and small ones: the order of a float sum shows.
    std::vector<std::vector<float>> inputs;
    std::vector<Handle> handles;
    for (std::size_t r = 0; r < ranks; ++r) {
      inputs.push_back(numbers(size, r + 1));
      if (r == 2)
        for (float& x : inputs[r]) x *= 4096;
      handles.push_back(values.leaf(inputs[r]));
    }
    const auto ordered = [&](std::size_t i, std::size_t first) {
      float sum = inputs[first][i];
      for (std::size_t r = 1; r < ranks; ++r) sum += inputs[(first + r) % ranks][i];
      return sum / static_cast<float>(ranks);
    };
    std::vector<float> mean(size), ring(size);
    for (std::size_t i = 0; i < size; ++i) mean[i] = ordered(i, 0);
    for (std::size_t chunk = 0; chunk < ranks; ++chunk)
      for (std::size_t i = size * chunk / ranks; i < size * (chunk + 1) / ranks; ++i) ring[i] = ordered(i, chunk);
    CHECK(values.of(values.lineage().elementwise(rules::mean, handles)) == mean);
    CHECK(values.of(values.lineage().elementwise(rules::ring_mean, handles)) == ring);
    CHECK(mean != ring);

    const std::vector<double> scalars = {0.1, 0.2, 0.3, 0.25, 0.15};
    const std::vector<float>& weighted = values.of(values.lineage().elementwise(rules::weighted_mean, handles, scalars));
    const std::vector<float>& sum = values.of(values.lineage().elementwise(rules::add, std::array{handles[0], handles[1]}));
    for (std::size_t i = 0; i < size; ++i) {
      double expected = 0;
      for (std::size_t r = 0; r < ranks; ++r) expected += scalars[r] * inputs[r][i];
      CHECK(std::abs(weighted[i] - expected) <= 4096 * 4 * 0x1p-24);
      CHECK(sum[i] == inputs[0][i] + inputs[1][i]);
    }
  }
}

TEST_CASE("an entry with in_place may overwrite that input with its result") {
  for (const ElementwiseEntry& entry : Registry<ElementwiseEntry>::instance().entries()) {
    if (entry.in_place < 0) continue;
    CAPTURE(entry.name);
    const bool longest = entry.name == "muon_descend";
    const std::size_t count = entry.name == "add" || entry.name == "sgd_descend" ? 2 : entry.name.starts_with("as_") ? 1 : longest ? 4 : 3;
    std::vector<double> scalars = {0.5, 0.25, 0.125, 0.75, 0.375};
    if (longest) scalars.push_back(0.5);
    constexpr std::size_t whole = n + 1;  // with a register
    const Extent extent{entry.statistics == StatisticsRule::combine ? whole : n, {}, n, 1};
    for (const Kernels* kernels : all_kernels()) {
      std::vector<std::vector<float>> inputs;
      std::vector<const float*> pointers;
      for (std::size_t i = 0; i < count; ++i) {
        inputs.push_back(numbers(whole, i + 1));
        for (float& x : inputs.back()) x = std::abs(x);  // roots are taken of some
      }
      for (const std::vector<float>& input : inputs) pointers.push_back(input.data());
      std::vector<float> apart(whole);
      entry.apply(*kernels, extent, pointers, scalars, apart.data());
      float* const place = inputs[static_cast<std::size_t>(entry.in_place)].data();
      const bool knows_registers = !entry.name.starts_with("sgd_") && !entry.name.starts_with("lars_") && !entry.name.starts_with("lion_");
      if (!knows_registers) apart[n] = place[n];
      entry.apply(*kernels, extent, pointers, scalars, place);
      CHECK(inputs[static_cast<std::size_t>(entry.in_place)] == apart);
    }
  }
}

TEST_CASE("a rule gives the results of its sparse form for zeros and for several rows") {
  constexpr std::size_t width = 13, count = 5;
  for (const ElementwiseEntry& entry : Registry<ElementwiseEntry>::instance().entries())
    for (const std::vector<double>& scalars : {std::vector<double>(5, 0.0), std::vector<double>(5, 0.5), {0.5, 0.0, 0.0, 0.0, 0.0}}) {
      CAPTURE(entry.name);
      const SparseRule rule = entry.sparse(scalars);
      if (rule == SparseRule::densify) continue;
      for (const Kernels* kernels : all_kernels()) {
        const std::vector<float> zeros(width);
        std::vector<float> out(width, 1.0f);
        if (rule == SparseRule::rows) {
          entry.apply(*kernels, {width}, {zeros.data(), zeros.data()}, scalars, out.data());
          CHECK(same_bits(out, zeros));
          continue;
        }
        std::vector<std::vector<float>> rows, directions;
        std::vector<float*> places;
        std::vector<const float*> moves;
        for (std::size_t i = 0; i < count; ++i) {
          rows.push_back(numbers(width, i));
          directions.push_back(numbers(width, count + i));
        }
        const std::vector<std::vector<float>> before = rows;
        for (std::size_t i = 0; i < count; ++i) {
          places.push_back(rows[i].data());
          moves.push_back(directions[i].data());
        }
        entry.descend_rows(*kernels, {count, width, moves.data()}, scalars, places.data());
        // The same again, along rows that are one term each.
        std::vector<std::vector<float>> again = before;
        std::vector<float> sources, factors(count, 1.0f);
        std::vector<std::uint32_t> own(count), last(count, RowTerms::none);
        for (std::size_t i = 0; i < count; ++i) {
          sources.insert(sources.end(), directions[i].begin(), directions[i].end());
          own[i] = static_cast<std::uint32_t>(i);
          places[i] = again[i].data();
        }
        const RowTerms terms{width, width, sources.data(), factors.data(), own.data(), last.data(), own.data()};
        entry.descend_rows(*kernels, {count, width, nullptr, &terms}, scalars, places.data());
        for (std::size_t i = 0; i < count; ++i) CHECK(same_bits(again[i], rows[i]));
        for (std::size_t i = 0; i < count; ++i) {
          entry.apply(*kernels, {width}, {before[i].data(), moves[i]}, scalars, out.data());
          CHECK(same_bits(rows[i], out));
          entry.apply(*kernels, {width}, {before[i].data(), zeros.data()}, scalars, out.data());
          CHECK(same_bits(before[i], out));
        }
      }
    }
}

TEST_CASE("no rule descends along rows without saying how and when") {
  const auto by = [](const Kernels&, const RowDirections&, const std::vector<double>&, float* const*) {};
  const auto always = [](const std::vector<double>&) { return true; };
  CHECK(SparseForm::descend(by, always)({}) == SparseRule::descend);
  CHECK_THROWS_AS(SparseForm::descend(nullptr, always), std::logic_error);
  CHECK_THROWS_AS(SparseForm::descend(by, nullptr), std::logic_error);
}

TEST_CASE("rates: constant, step by period and by list") {
  const auto constant = shape_of("constant", {});
  CHECK(constant(0) == 1);
  CHECK(constant(1000) == 1);

  const auto every = shape_of("step", {{"every", 30.0}, {"factor", 0.5}});
  CHECK(every(0) == 1);
  CHECK(every(29.99) == 1);
  CHECK(every(30) == 0.5);
  CHECK(every(90.1) == 0.125);

  const auto at = shape_of("step", {{"at", std::vector<std::int64_t>{30, 60}}});
  CHECK(at(29.5) == 1);
  CHECK(at(30) == doctest::Approx(0.1));
  CHECK(at(59) == doctest::Approx(0.1));
  CHECK(at(1000) == doctest::Approx(0.01));

  CHECK_THROWS_AS(shape_of("step", {}), std::invalid_argument);
  CHECK_THROWS_AS(shape_of("step", {{"every", 3.0}, {"at", std::vector<std::int64_t>{3}}}), std::invalid_argument);
  CHECK_THROWS_AS(shape_of("step", {{"at", std::vector<std::int64_t>{60, 30}}}), std::invalid_argument);
  CHECK_THROWS_AS(shape_of("step", {{"every", 0.0}}), std::invalid_argument);
}

TEST_CASE("scaling multiplies by the number of gradients averaged, or its square root") {
  CHECK(Schedule().rate(0.1, 3, 16) == 0.1);
  CHECK(Schedule(nullptr, Schedule::Scaling::linear, 0).rate(0.1, 0, 16) == 0.1 * 16);
  CHECK(Schedule(nullptr, Schedule::Scaling::square_root, 0).rate(0.1, 0, 16) == 0.1 * 4);
  const Schedule halved(shape_of("step", {{"every", 1.0}, {"factor", 0.5}}), Schedule::Scaling::linear, 0);
  CHECK(halved.rate(0.1, 2, 4) == 0.1 * 4 * 0.25);
  CHECK(make_sgd({{"learning_rate", 0.1}}, halved)->learning_rate(2, 4) == 0.1 * 4 * 0.25);
}

TEST_CASE("warmup climbs from the unscaled rate to the scaled one, or from a hundredth without scaling") {
  const Schedule scaled(nullptr, Schedule::Scaling::linear, 5);
  CHECK(scaled.rate(0.1, 0, 8) == doctest::Approx(0.1));
  CHECK(scaled.rate(0.1, 2.5, 8) == doctest::Approx((0.1 + 0.8) / 2));
  CHECK(scaled.rate(0.1, 5, 8) == 0.1 * 8);
  CHECK(scaled.rate(0.1, 50, 8) == 0.1 * 8);

  for (const auto scaling : {Schedule::Scaling::none, Schedule::Scaling::linear}) {
    const Schedule alone(nullptr, scaling, 2);
    CHECK(alone.rate(0.1, 0, 1) == doctest::Approx(0.001));  // not 0: the first update counts
    CHECK(alone.rate(0.1, 1, 1) == doctest::Approx((0.001 + 0.1) / 2));
    CHECK(alone.rate(0.1, 2, 1) == 0.1);
  }
}

}  // namespace straggler::test::optimizers_test
