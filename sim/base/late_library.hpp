// Shared libraries that are loaded on first use: a run of timing alone starts without oneDNN and the OpenMP runtime.
#pragma once
#include <string>

#include "sim/base/refusal.hpp"

namespace straggler {

/// A package of the system is missing, or of another version.
struct MissingLibrary : CannotContinue {
  using CannotContinue::CannotContinue;
};

/// Loaded once, for the life of the process, by the first call of symbol(). Safe for several threads.
class LateLibrary {
 public:
  /// `file`: as the dynamic linker looks for it ("libdnnl.so.2"); `package`: of Debian, which holds it.
  LateLibrary(const char* file, const char* package) : file_(file), package_(package) {}

  /// Throws MissingLibrary, which names the package, if the library or the symbol is not there.
  void* symbol(const char* name) const;
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  const char *file_, *package_;
};

}  // namespace straggler
