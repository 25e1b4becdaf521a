// Contiguous runs, as in programs that give worker k the k-th piece of the training set: of the file as it is, or sorted by class first.
// Few classes each, as with `shards {per_worker: 1}`, but neighbours have the same or the next class.
#include <numeric>

#include "models/data/partition_parts.hpp"
#include "sim/base/choice_table.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::partition_sorted_runs {
namespace {

enum class Order { by_class, file };
constexpr ChoiceTable<Order> order_choice("order", {{Order::by_class, "class"}, {Order::file, "file"}});

std::unique_ptr<Partition> make(const Parameters& parameters, const PartitionRequest& request) {
  StreamSizes sizes = equal_parts(request);
  std::vector<std::uint32_t> members;
  if (order_choice.of(parameters) == Order::file) {
    members.resize(request.samples);
    std::iota(members.begin(), members.end(), 0u);
  } else {
    members = sorted_by_class(request);
  }
  return partition_of_parts(std::move(sizes), std::move(members), request);
}

const Register<PartitionEntry> entry(
    {"sorted_runs",
     "the k-th worker has the k-th of equal contiguous runs of the training set, sorted by class or as it is",
     {order_choice.parameter(Order::by_class, "class: sorted by class, and within a class as in the file; file: as it is, sorted or not")},
     false,
     [](const Parameters& parameters, const PartitionRequest& request) {
       if (order_choice.of(parameters) == Order::by_class) require_classes(request, "sorted_runs {order: class}");
       return equal_parts(request);
     },
     make});

}  // namespace
}  // namespace straggler::data::partition_sorted_runs
