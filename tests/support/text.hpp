// What tests ask of texts, and of errors as texts.
#pragma once
#include <cstddef>
#include <string>
#include <utility>

namespace straggler::test {

/// The message of the Error that `call` throws; empty if it throws none.
template <class Error, class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// How often.
inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// What a page shows: without its styles, its scripts and their licences.
inline std::string shown(const std::string& page) {
  std::string text = page;
  for (const auto& [open, close] : {std::pair("<style", "</style>"), std::pair("<script", "</script>"), std::pair("<footer", "</footer>")})
    for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
      const std::size_t end = text.find(close, at);
      text.erase(at, end == std::string::npos ? end : end + std::string(close).size() - at);
    }
  return text;
}

}  // namespace straggler::test
