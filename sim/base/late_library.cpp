#include "sim/base/late_library.hpp"

#include <dlfcn.h>

namespace straggler {

void* LateLibrary::symbol(const char* name) const {
  // The linker counts how often a library was opened, and loads it once.
  void* const library = dlopen(file_, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    throw MissingLibrary(std::string(file_) + " cannot be loaded: " + (why == nullptr ? "unknown reason" : why) + "; install Debian's " +
                         package_);
  }
  void* const found = dlsym(library, name);
  if (found == nullptr)
    throw MissingLibrary(std::string(file_) + " has no '" + name + "': it has another version than this program was built with; install " +
                         package_ + " again, and build anew");
  return found;
}

}  // namespace straggler
