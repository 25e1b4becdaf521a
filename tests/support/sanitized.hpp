// Whether these tests run under AddressSanitizer, where a run takes ten times as long: long cases are thinned there. What they compute is
// checked in full without it.
#pragma once

namespace straggler::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace straggler::test
