#include "tools/straggler/file_formats.hpp"

#include "scenarios/schema/scenario_keys.hpp"
#include "scenarios/search/search.hpp"
#include "validation/compare/claim.hpp"

namespace straggler::cli {

const std::vector<FileFormat>& file_formats() {
  static const std::vector<FileFormat> all = {
      {"scenario", "A scenario of straggler", scenario_keys()},
      {"sweep", "A sweep of straggler", search_file_keys()},
      {"claim", "A claim of straggler", claim_keys()},
  };
  return all;
}

}  // namespace straggler::cli
