// How much of a long case is run: all of it by tools/check_long, a part of it at each commit, least under AddressSanitizer, where a run
// takes ten times as long.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

namespace straggler::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

/// Decorates a case that is many equal steps (the mean of a law, the end of a long training), whose code shorter cases run, too: left out
/// under sanitizers.
inline const doctest::skip long_case(sanitized);

inline const bool check_long = !sanitized && std::getenv("STRAGGLER_CHECK_LONG") != nullptr;

/// A case's ways: all of them by tools/check_long, else one in `step`, others at each call.
template <class T>
std::vector<T> one_in(std::size_t step, std::vector<T> all) {
  static std::size_t calls = 0;
  if (check_long) return all;
  std::vector<T> some;
  for (std::size_t i = calls++ % step; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

/// The same; under sanitizers a single one.
template <class T>
std::vector<T> tried(std::vector<T> all, std::size_t step = 1) {
  if (sanitized) step = all.size();
  return one_in(step, std::move(all));
}

}  // namespace straggler::test
