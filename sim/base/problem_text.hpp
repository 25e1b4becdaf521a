// What to say of an exception that ends a task.
#pragma once
#include <exception>
#include <new>
#include <string>

namespace straggler {

inline constexpr const char* memory_exhausted =
    "the machine's memory is exhausted; use less data, fewer workers, a smaller model or --timing-only";

/// The exception's own text; std::bad_alloc's says only its name.
inline std::string problem_text(const std::exception& problem) {
  return dynamic_cast<const std::bad_alloc*>(&problem) ? memory_exhausted : problem.what();
}

}  // namespace straggler
