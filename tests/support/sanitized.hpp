// Whether these tests run under AddressSanitizer, where a run takes ten times as long: long cases are thinned there. What they compute is
// checked in full without it.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace straggler::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

/// Decorates a case that is many equal steps (the mean of a law), whose code shorter cases run, too: left out under sanitizers.
inline const doctest::skip long_case(sanitized);

/// All of a case's ways; under sanitizers one, the next at each call.
template <class T>
std::vector<T> tried(std::vector<T> all) {
  static std::size_t calls = 0;
  if (!sanitized) return all;
  return {all.at(calls++ % all.size())};
}

}  // namespace straggler::test
