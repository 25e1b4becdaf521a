// What a call throws, as text.
#pragma once
#include <string>

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

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace straggler::test
