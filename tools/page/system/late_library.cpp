#include "sim/base/late_library.hpp"

namespace straggler {

void* LateLibrary::symbol(const char* /*name*/) const {
  throw MissingLibrary(std::string(file_) + " is not part of the page; run the scenario with the program");
}

}  // namespace straggler
