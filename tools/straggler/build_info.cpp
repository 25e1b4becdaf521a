// What was built: the header is written at each build (cmake/write_build_info.cmake), and only this file sees it.
#include "build_info.hpp"

#include <boost/version.hpp>

#include "tools/straggler/command_list.hpp"

namespace straggler::cli {

std::string built_commit() { return STRAGGLER_COMMIT; }

std::string build_details() { return STRAGGLER_BUILD_TYPE ", " STRAGGLER_PROCESSOR ", Boost " BOOST_LIB_VERSION; }

}  // namespace straggler::cli
