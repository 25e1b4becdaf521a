// Parts with unlike mixes of classes (Hsu, Qi, Brown: "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
// Classification", arXiv:1909.06335, 2019): every worker has the same number of samples, and draws its mix of classes from a Dirichlet
// distribution with parameters alpha p, where p are the shares of the classes in the training set. As alpha grows every mix approaches p;
// as it falls each worker approaches one class. Alpha here is `classes` times the alpha of the convention with one parameter per class.
//
// Workers choose in sequence, without replacement: an exhausted class leaves the mix, and the rest is scaled up. Part sizes do not depend
// on the labels, so the timing plane knows them; every worker has samples.
#include <algorithm>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/data/partition_parts.hpp"
#include "models/data/permutation.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::partition_dirichlet {
namespace {

/// The logarithm of a draw from Gamma(shape, 1), which may underflow as a double: with G of shape + 1 and U uniform,
/// G U^(1/shape) is one (Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26(3), 2000).
double log_gamma_draw(double shape, RandomStream& random) {
  const double above = boost::random::gamma_distribution<double>(shape + 1, 1)(random);
  return std::log(above) + std::log(1 - random.uniform()) / shape;
}

/// The remaining training set, class by class.
class Stock {
 public:
  explicit Stock(const PartitionRequest& request) : by_class_(samples_by_class(request)) {
    for (std::size_t c = 0; c < by_class_.size(); ++c)
      shuffle(by_class_[c], RandomStream(RandomStream::stream_key(request.seed, "partition/dirichlet/class"), c));
  }
  std::size_t classes() const { return by_class_.size(); }
  std::size_t left(std::size_t c) const { return by_class_[c].size(); }
  std::uint32_t take(std::size_t c) {
    const std::uint32_t sample = by_class_[c].back();
    by_class_[c].pop_back();
    return sample;
  }

 private:
  std::vector<std::vector<std::uint32_t>> by_class_;
};

/// Cumulative mix over the remaining classes, scaled by the largest. `logs`: -infinity for classes without samples from the start.
std::vector<double> cumulative(const Stock& stock, const std::vector<double>& logs) {
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < logs.size(); ++c)
    if (stock.left(c) > 0) top = std::max(top, logs[c]);
  std::vector<double> sums(logs.size());
  double sum = 0;
  for (std::size_t c = 0; c < logs.size(); ++c) sums[c] = sum += stock.left(c) > 0 ? std::exp(logs[c] - top) : 0;
  return sums;
}

void draw_part(Stock& stock, const std::vector<double>& shapes, std::uint64_t size, RandomStream random, std::vector<std::uint32_t>& out) {
  std::vector<double> logs(shapes.size(), -std::numeric_limits<double>::infinity());
  for (std::size_t c = 0; c < shapes.size(); ++c)
    if (shapes[c] > 0) logs[c] = log_gamma_draw(shapes[c], random);
  std::vector<double> sums = cumulative(stock, logs);
  for (std::uint64_t i = 0; i < size; ++i) {
    const double at = random.uniform() * sums.back();
    const auto c = static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), at) - sums.begin());
    out.push_back(stock.take(c));
    if (stock.left(c) == 0) sums = cumulative(stock, logs);
  }
}

std::unique_ptr<Partition> make(const Parameters& parameters, const PartitionRequest& request) {
  StreamSizes sizes = equal_parts(request);
  Stock stock(request);
  std::vector<double> shapes(stock.classes());
  for (std::size_t c = 0; c < shapes.size(); ++c)
    shapes[c] = parameters.number("alpha") * static_cast<double>(stock.left(c)) / static_cast<double>(request.samples);
  const std::uint64_t key = RandomStream::stream_key(request.seed, "partition/dirichlet/worker");
  std::vector<std::uint32_t> members;
  members.reserve(request.samples);
  for (std::size_t w = 0; w < request.workers; ++w) draw_part(stock, shapes, sizes.sizes[w], RandomStream(key, w), members);
  return partition_of_parts(std::move(sizes), std::move(members), request);
}

const Register<PartitionEntry> entry({"dirichlet",
                                      "equal parts, each with its own mix of classes, drawn from a Dirichlet distribution",
                                      {{"alpha",
                                        ValueType::number,
                                        {},
                                        true,
                                        "concentration, times the classes' shares: 100 is nearly iid, 1 a few classes each, 0.1 mostly one",
                                        Range::between(1e-3, 1e6),
                                        {}}},
                                      false,
                                      [](const Parameters& /*parameters*/, const PartitionRequest& request) {
                                        require_classes(request, "dirichlet");
                                        return equal_parts(request);
                                      },
                                      make});

}  // namespace
}  // namespace straggler::data::partition_dirichlet
