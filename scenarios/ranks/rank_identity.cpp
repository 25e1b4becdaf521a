#include "scenarios/ranks/rank_identity.hpp"

#include <string_view>

#include "scenarios/experiment/trajectory_store.hpp"
#include "scenarios/results/run_info.hpp"

namespace straggler {

RankIdentity identity_of(const std::vector<std::string>& arguments) {
  Hasher given, build;
  for (const std::string& each : arguments) given.add(std::string_view(each));
  build.add(std::string_view(version())).add(std::string_view(compiler())).add(math_stamp());
  return {given.key(), build.key()};
}

}  // namespace straggler
