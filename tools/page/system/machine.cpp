// A browser gives a page one thread, 4 GiB of addresses, and no program file.
#include "sim/base/machine.hpp"

namespace straggler {

GroupLimits group_limits(const std::filesystem::path& /*root*/) { return {}; }
unsigned core_quota() { return 1; }
unsigned usable_cores() { return 1; }
std::uint64_t usable_memory() { return std::uint64_t{3} << 30; }
std::filesystem::path program_folder() { return {}; }

}  // namespace straggler
