#include "sim/collectives/collective.hpp"

namespace straggler {

const char* name_of(CollectiveKind kind) {
  static constexpr const char* names[] = {"all-reduce", "all-gather", "reduce-scatter"};
  return names[static_cast<std::size_t>(kind)];
}

Registry<CollectiveEntry>& algorithms_of(CollectiveKind operation) {
  static Registry<CollectiveEntry> all_gathers, reduce_scatters;
  switch (operation) {
    case CollectiveKind::all_gather:
      return all_gathers;
    case CollectiveKind::reduce_scatter:
      return reduce_scatters;
    case CollectiveKind::all_reduce:
      break;
  }
  return Registry<CollectiveEntry>::instance();
}

}  // namespace straggler
