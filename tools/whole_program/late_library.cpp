// A program that holds its libraries cannot load others: in place of sim/base/late_library.cpp.
#include "sim/base/late_library.hpp"

namespace straggler {

void* LateLibrary::symbol(const char*) const {
  throw MissingLibrary(std::string(file_) +
                       " cannot be loaded: this program was linked without shared libraries, and without oneDNN; build it "
                       "with tools/package/build_static, or let another engine compute the network (workload.model.engine: reference)");
}

}  // namespace straggler
