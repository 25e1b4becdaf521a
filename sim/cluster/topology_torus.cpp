// Topology `torus`: a switch for every end point, at the points of a grid whose rows are rings in every dimension. Routes go through the
// dimensions in order, each by the shorter way round, ties to + (Dally, Seitz, Deadlock-Free Message Routing in Multiprocessor
// Interconnection Networks, IEEE Trans. Computers C-36(5), 1987). End point i is at i's digits, the last dimension counting fastest.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/base/registry.hpp"
#include "sim/cluster/torus.hpp"

namespace straggler {
namespace {

/// Cables are numbered dimension by dimension: the cable of a switch leads to the next one up; a dimension of two has only that from 0 to
/// 1, one of one none.
class Torus final : public SwitchedTopology {
 public:
  Torus(const TopologyRequest& request, const std::vector<std::size_t>& dims, Core core) : SwitchedTopology(request), core_(core) {
    std::size_t stride = 1, cables = 0, hops = 0;
    for (auto size = dims.rbegin(); size != dims.rend(); stride *= *size++) dims_.insert(dims_.begin(), {*size, stride, 0});
    for (Dimension& dimension : dims_) {
      dimension.first_cable = cables;
      cables += dimension.size > 2 ? stride : dimension.size == 2 ? stride / 2 : 0;
      hops += dimension.size / 2;
    }
    if (stride != nics_.size()) throw std::logic_error("a torus of " + std::to_string(stride) + " for " + std::to_string(nics_.size()));
    const bool fits = static_cast<double>(hops) * core_.latency.seconds() < Time::limit().seconds();
    set_core(stride, cables, fits ? way(hops) : Way{hops, Time::never()});
  }

  void route(std::uint32_t from, std::uint32_t to, Route& out) const override {
    check_route(from, to);
    out.links.clear();
    out.links.push_back(2 * from);
    std::size_t at = from;
    for (const Dimension& dimension : dims_) at = travel(dimension, at, to, out.links);
    out.links.push_back(2 * to + 1);
    out.latency = nics_[from].latency + nics_[to].latency + way(out.links.size() - 2).latency;
  }

 private:
  struct Dimension {
    std::size_t size, stride, first_cable;
  };

  static std::size_t coordinate(const Dimension& dimension, std::size_t node) { return node / dimension.stride % dimension.size; }
  /// Steps up, round the ring, from one coordinate to another.
  static std::size_t steps_up(const Dimension& dimension, std::size_t from, std::size_t to) {
    const std::size_t a = coordinate(dimension, from), b = coordinate(dimension, to);
    return b >= a ? b - a : b + dimension.size - a;
  }
  static std::size_t above(const Dimension& dimension, std::size_t node) {
    return coordinate(dimension, node) + 1 == dimension.size ? node - (dimension.size - 1) * dimension.stride : node + dimension.stride;
  }
  static std::size_t below(const Dimension& dimension, std::size_t node) {
    return coordinate(dimension, node) == 0 ? node + (dimension.size - 1) * dimension.stride : node - dimension.stride;
  }
  /// Of the cable from `node` to the one above it.
  static std::size_t cable_of(const Dimension& dimension, std::size_t node) {
    if (dimension.size > 2) return dimension.first_cable + node;
    return dimension.first_cable + node / (2 * dimension.stride) * dimension.stride + node % dimension.stride;
  }

  /// To the coordinate of `to` in this dimension.
  std::size_t travel(const Dimension& dimension, std::size_t at, std::size_t to, std::vector<LinkId>& links) const {
    std::size_t steps = steps_up(dimension, at, to);
    bool up = 2 * steps <= dimension.size;
    if (!up) steps = dimension.size - steps;
    if (dimension.size == 2) up = coordinate(dimension, at) == 0;
    for (; steps > 0; --steps) {
      const std::size_t next = up ? above(dimension, at) : below(dimension, at);
      links.push_back(up ? core_link(cable_of(dimension, at)) : core_link(cable_of(dimension, next)) + 1);
      at = next;
    }
    return at;
  }

  Way way(std::size_t hops) const { return {hops, Time::from_ticks(static_cast<std::int64_t>(hops) * core_.latency.ticks())}; }
  std::size_t home(std::size_t endpoint) const override { return endpoint; }
  std::size_t rack(std::uint32_t) const override { return 0; }  // a router for each host
  std::string switch_name(std::size_t node) const override {
    std::string name = "switch/";
    for (const Dimension& dimension : dims_)
      name += (&dimension == &dims_.front() ? "" : ".") + std::to_string(coordinate(dimension, node));
    return name;
  }
  Cable cable(std::size_t index) const override {
    std::size_t d = dims_.size() - 1;
    while (dims_[d].first_cable > index || dims_[d].size == 1) --d;
    const Dimension& dimension = dims_[d];
    index -= dimension.first_cable;
    const std::size_t node = dimension.size > 2 ? index : index / dimension.stride * 2 * dimension.stride + index % dimension.stride;
    const std::string from = switch_name(node);
    return {dims_.size() == 1 ? "ring/" + std::to_string(node) : from + "/dim/" + std::to_string(d),
            from,
            switch_name(above(dimension, node)),
            core_.bytes_per_second,
            core_.bytes_per_second,
            core_.latency,
            {.cost = {}, .order = static_cast<std::int64_t>(d)}};
  }
  Way between(std::size_t a, std::size_t b) const override {
    std::size_t hops = 0;
    for (const Dimension& dimension : dims_) {
      const std::size_t up = steps_up(dimension, a, b);
      hops += std::min(up, dimension.size - up);
    }
    return way(hops);
  }

  /// Cables of the best cut known through the switches, exact if no dimension has two: across the largest dimension, and where that is
  /// odd across its middle layer, likewise (Aroca, Fernández Anta, Bisection (Band)Width of Product Networks with Application to Data
  /// Centers, IEEE TPDS 25(3), 2014). Where a dimension is even it may be cut alone.
  double cables_cut() const {
    std::vector<std::size_t> sizes;
    for (const Dimension& dimension : dims_)
      if (dimension.size > 1) sizes.push_back(dimension.size);
    std::sort(sizes.rbegin(), sizes.rend());
    double least = -1, before = 0, switches = static_cast<double>(nics_.size());
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      for (std::size_t e = d; e < sizes.size(); ++e) {
        const double size = static_cast<double>(sizes[e]), cut = before + (size > 2 ? 2 : 1) * switches / size;
        if ((sizes[e] % 2 == 0 || sizes.size() - d == 1) && (least < 0 || cut < least)) least = cut;
      }
      if (sizes[d] % 2 == 0) break;
      switches /= static_cast<double>(sizes[d]);
      before += 2 * switches;
    }
    return least;
  }

  Bisection bisection() const override {
    const double upper = std::min(nics_.halves(), cables_cut() * core_.bytes_per_second);
    // A ring is cut in two places, wherever the halves are, or nowhere.
    if (std::count_if(dims_.begin(), dims_.end(), [](const Dimension& d) { return d.size > 1; }) == 1) return {upper, false};
    // Dimension-ordered routes, ties both ways: pairs over one direction of a cable, from the distances round its ring.
    double pairs = 0;
    for (const Dimension& d : dims_) {
      const auto all = d.size * d.size / 4;
      const auto lines = nics_.size() / d.size;
      const double distances = static_cast<double>(all), rows = static_cast<double>(lines);
      pairs = std::max(pairs, d.size == 2 ? rows : distances / 2 * rows);
    }
    return bounded_below(upper, core_.bytes_per_second, pairs);
  }

  std::vector<Dimension> dims_;
  Core core_;
};

/// That number of dimensions, as equal as possible: from the back, the largest divisor up to the root of the remaining number.
std::string dims_that_fit(std::size_t endpoints, std::size_t dimensions) {
  std::vector<std::size_t> dims;
  for (; dimensions > 1; --dimensions) {
    std::size_t size = static_cast<std::size_t>(std::pow(static_cast<double>(endpoints), 1 / static_cast<double>(dimensions)) + 1e-9);
    while (endpoints % size != 0) --size;
    dims.push_back(size);
    endpoints /= size;
  }
  std::string text = "[" + std::to_string(endpoints);
  for (auto size = dims.rbegin(); size != dims.rend(); ++size) text += ", " + std::to_string(*size);
  return text + "]";
}

std::unique_ptr<Topology> make(const Parameters& parameters, const TopologyRequest& request) {
  const std::size_t n = request.nics.size();
  const std::vector<std::int64_t>& given = parameters.counts("dims");
  if (given.empty() || given.size() > 32)
    throw std::invalid_argument("dims: there are " + std::to_string(given.size()) + " dimensions; give 1 to 32, such as " +
                                dims_that_fit(n, 2));
  std::vector<std::size_t> dims;
  double product = 1;
  for (const std::int64_t size : given) {
    dims.push_back(static_cast<std::size_t>(size));
    product *= static_cast<double>(size);
  }
  if (product != static_cast<double>(n))
    throw std::invalid_argument("dims: " + format_value(ValueType::counts, given) + " is a torus of " +
                                format_value(ValueType::number, product) + " end points, but there are " + std::to_string(n) + "; write " +
                                dims_that_fit(n, dims.size()));
  return make_torus(request, dims, core_of(parameters, request));
}

const Register<TopologyEntry> torus_entry(
    {"torus", "a grid of switches whose rows are rings, an end point on each; dimension-ordered routes",
     with_core({{"dims",
                 ValueType::counts,
                 {},
                 true,
                 "switches along each dimension; their product is the number of end points",
                 Range::at_least(1),
                 {}}}),
     [](const Parameters& parameters, TopologyRequest request) { return make(parameters, request); }});

}  // namespace

std::unique_ptr<Topology> make_torus(const TopologyRequest& request, const std::vector<std::size_t>& dims, Core core) {
  return std::make_unique<Torus>(request, dims, core);
}

}  // namespace straggler
