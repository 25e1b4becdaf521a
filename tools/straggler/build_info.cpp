// What was built: the header is written at each build (cmake/write_build_info.cmake), and only this file sees it.
#include "build_info.hpp"

#include <fmt/format.h>

#include <boost/version.hpp>

#include "tools/straggler/command.hpp"

namespace straggler::cli {

std::string built_commit() { return STRAGGLER_COMMIT; }

std::string build_details() { return fmt::format("{}, {}, Boost {}", STRAGGLER_BUILD_TYPE, STRAGGLER_PROCESSOR, BOOST_LIB_VERSION); }

}  // namespace straggler::cli
