#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/cluster/compute.hpp"
#include "tests/cluster/compute_cases.hpp"

namespace straggler {
namespace {

/// 10 GFLOP/s reached, 2 GB/s: a sample of 40 MFLOP and 2 MB takes 4 ms of arithmetic and 1 ms of memory, the weights 24 ms.
Roofline example() {
  return {.launch = 5e-3,
          .flops_per_sample = 40e6,
          .peak = 20e9,
          .efficiency = 0.5,
          .fixed_bytes = 48e6,
          .bytes_per_sample = 2e6,
          .memory_bandwidth = 2e9};
}

TEST_CASE("roofline: launch and the slower of arithmetic and memory") {
  const auto time = roofline_time(example());
  // Arithmetic 4b ms overtakes memory 24 + b ms at b = 8.
  for (std::int64_t b = 1; b <= 100; ++b) {
    CAPTURE(b);
    const double expected = 5 + std::max(4.0 * static_cast<double>(b), 24.0 + static_cast<double>(b));
    CHECK(seconds(*time, b) == doctest::Approx(expected * 1e-3).epsilon(1e-14));
    const ComputeTime::Split split = time->at(b);
    CHECK(split.overhead == doctest::Approx(b < 8 ? 29e-3 : 5e-3));
    CHECK(split.per_sample == doctest::Approx(b < 8 ? 1e-3 : 4e-3));
  }
  CHECK(seconds(*time, 1'000'000'000) == doctest::Approx(4e6).epsilon(1e-6));
  CHECK_THROWS_AS(time->at(0), std::invalid_argument);
  CHECK_THROWS_AS(time->at(-3), std::invalid_argument);
}

TEST_CASE("roofline: the host's issuing is a third roof") {
  Roofline roofline = example();
  roofline.issue = 40e-3;  // above memory's 24 + b ms until b = 16, but arithmetic's 4b ms overtakes it at b = 10
  const auto time = roofline_time(roofline);
  for (std::int64_t b = 1; b <= 40; ++b) {
    CAPTURE(b);
    CHECK(seconds(*time, b) == doctest::Approx((5 + std::max(40.0, 4.0 * static_cast<double>(b))) * 1e-3).epsilon(1e-14));
    CHECK(time->at(b).per_sample == (b < 10 ? 0 : 4e-3));
  }
  roofline.issue = 26e-3;  // memory passes it at b = 2 and arithmetic passes memory at b = 8
  for (std::int64_t b = 1; b <= 40; ++b) {
    CAPTURE(b);
    const double size = static_cast<double>(b);
    CHECK(seconds(*roofline_time(roofline), b) == doctest::Approx((5 + std::max({26.0, 24 + size, 4 * size})) * 1e-3).epsilon(1e-14));
  }
}

TEST_CASE("roofline: kinds of layers have their own efficiencies, and with memory_efficiency they take turns") {
  Roofline roofline = example();
  roofline.dense_flops_per_sample = 10e6;
  roofline.dense_efficiency = 0.25;  // 30 MFLOP at 10 GFLOP/s and 10 at 5: 5 ms a sample instead of 4
  for (const std::int64_t b : {1, 5, 6, 7, 100})
    CHECK(seconds(*roofline_time(roofline), b) ==
          doctest::Approx((5 + std::max(5.0 * static_cast<double>(b), 24.0 + static_cast<double>(b))) * 1e-3).epsilon(1e-14));
  roofline.memory_efficiency = 0.25;  // 4 ms of activations a sample, beside the weights' 24 ms
  for (const std::int64_t b : {1, 5, 6, 7, 100}) {
    CHECK(seconds(*roofline_time(roofline), b) == doctest::Approx((5 + 24 + 9 * static_cast<double>(b)) * 1e-3).epsilon(1e-14));
    CHECK(roofline_time(roofline)->at(b).per_sample == doctest::Approx(9e-3));
  }
  roofline.issue = 60e-3;  // above 24 + 9b ms until b = 4
  for (std::int64_t b = 1; b <= 10; ++b)
    CHECK(seconds(*roofline_time(roofline), b) ==
          doctest::Approx((5 + std::max(60.0, 24 + 9 * static_cast<double>(b))) * 1e-3).epsilon(1e-14));
  roofline.dense_flops_per_sample = 41e6;
  CHECK_THROWS_WITH_AS(roofline_time(roofline), doctest::Contains("at most flops_per_sample"), std::invalid_argument);
}

TEST_CASE("roofline: without bytes it is affine, without FLOPs it is memory alone") {
  Roofline arithmetic = example();
  arithmetic.fixed_bytes = arithmetic.bytes_per_sample = 0;
  const auto affine = affine_time(5e-3, 4e-3), roofline = roofline_time(arithmetic);
  for (const std::int64_t b : {1, 7, 64, 1000}) CHECK(seconds(*roofline, b) == doctest::Approx(seconds(*affine, b)).epsilon(1e-14));
  Roofline memory = example();
  memory.flops_per_sample = 0;
  CHECK(seconds(*roofline_time(memory), 1000) == doctest::Approx(5e-3 + 24e-3 + 1.0));
}

TEST_CASE("roofline: time never falls with the batch size") {
  for (const double bytes : {0.0, 1e6, 8e6, 9e6, 1e8}) {
    Roofline roofline = example();
    roofline.bytes_per_sample = bytes;
    const auto time = roofline_time(roofline);
    for (std::int64_t b = 1; b < 200; ++b) CHECK(seconds(*time, b + 1) >= seconds(*time, b));
  }
}

TEST_CASE("roofline: negative, not finite and zero figures are refused by name") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const auto message = [](const Roofline& roofline) {
    try {
      roofline_time(roofline);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  struct Field {
    const char* name;
    double Roofline::*value;
    bool rate;
  };
  for (const Field& field :
       {Field{"launch", &Roofline::launch, false}, Field{"issue", &Roofline::issue, false},
        Field{"flops_per_sample", &Roofline::flops_per_sample, false}, Field{"fixed_bytes", &Roofline::fixed_bytes, false},
        Field{"bytes_per_sample", &Roofline::bytes_per_sample, false}, Field{"peak", &Roofline::peak, true},
        Field{"efficiency", &Roofline::efficiency, true}, Field{"memory_bandwidth", &Roofline::memory_bandwidth, true}}) {
    CAPTURE(field.name);
    for (const double bad : {-1.0, nan, infinity, -infinity}) {
      Roofline roofline = example();
      roofline.*field.value = bad;
      CHECK(message(roofline).find(std::string("roofline: ") + field.name + " is ") == 0);
    }
    Roofline zero = example();
    zero.*field.value = 0;
    CHECK((message(zero) == "accepted") == !field.rate);
  }
  Roofline overflow = example();
  overflow.flops_per_sample = 1e300;
  overflow.peak = 1e-300;
  CHECK(message(overflow).find("arithmetic") != std::string::npos);
}

}  // namespace
}  // namespace straggler
