// Double binary tree: half of the bytes goes up and down each of two trees, in k pieces that follow one another. Inner nodes of one tree
// are leaves of the other, so that each rank sends and receives about 2n in all.
// With h = ⌊lg p⌋, p > 3, while pieces go up only or down only a rank takes two a round, else four:
//   T ≈ (2h + k - 1) α + 2 (n/k) (h + k - 1) β + (n/k) (h + k - 1) γ
// an upper bound (less than 1.2 T, less than 1.06 T from p = 16 on), least for k = √((h-1) n (2β + γ) / α). For p = 2 it is exact with
// half of the factors of β and γ, for p = 3 with (n/2k) (4h + 3(k - 1)) β.
// Sanders, Speck & Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009.
#include <algorithm>
#include <cmath>

#include "sim/base/registry.hpp"
#include "sim/collectives/chunks.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/double_tree.hpp"

namespace straggler::collectives::double_binary_tree {
namespace {

/// A node of level l passes piece j up in round l + j, and is passed its sum in round 2h - 1 - l + j: leaves are the first to give and
/// the last to get, wherever they hang.
class DoubleBinaryTree final : public CollectiveSchedule {
 public:
  DoubleBinaryTree(std::uint64_t bytes, std::size_t ranks, std::size_t pieces)
      : tree_(ranks), pieces_(pieces), chunks_(bytes, DoubleTree::trees * pieces) {}
  std::size_t ranks() const override { return tree_.ranks(); }
  std::size_t rounds() const override { return ranks() < 2 ? 0 : 2 * tree_.height() + pieces_ - 1; }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    for (std::size_t tree = 0; tree < DoubleTree::trees; ++tree) part_in(tree, rank, round, out);
  }

  /// A new one where the nodes of some level begin or end to pass pieces up or down.
  std::vector<Stretch> stretches() const override {
    std::vector<std::size_t> edges{rounds()};
    for (std::size_t start = 0; start < 2 * tree_.height(); ++start) {
      for (const std::size_t edge : {start, start + pieces_}) {
        if (edge < rounds()) edges.push_back(edge);
      }
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    std::vector<Stretch> all;
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) all.push_back({edges[i], edges[i + 1] - edges[i]});
    return all;
  }

 private:
  /// The bytes that pass in `round` where the first piece passes in round `start`; false if none does.
  bool piece(std::size_t tree, std::size_t round, std::size_t start, std::uint64_t& bytes) const {
    if (round < start || round - start >= pieces_) return false;
    bytes = chunks_.size(tree * pieces_ + round - start);
    return true;
  }

  void part_in(std::size_t tree, CollectiveRank rank, std::size_t round, RoundPart& out) const {
    const DoubleTree::Node node = tree_.node(tree, rank);
    const std::size_t last = 2 * tree_.height() - 1;
    std::uint64_t bytes = 0;
    if (node.level < tree_.height()) {
      if (piece(tree, round, node.level, bytes)) out.sends.push_back({node.parent, bytes});
      if (piece(tree, round, last - node.level, bytes)) {
        ++out.receives;
        out.received_bytes += bytes;
      }
    }
    for (std::size_t c = 0; c < node.children; ++c) {
      const DoubleTree::Place child = node.child[c];
      if (piece(tree, round, child.level, bytes)) {
        ++out.receives;
        out.received_bytes += bytes;
        out.reduced_bytes += bytes;
      }
      if (piece(tree, round, last - child.level, bytes)) out.sends.push_back({child.rank, bytes});
    }
  }

  DoubleTree tree_;
  std::size_t pieces_;
  Chunks chunks_;
};

/// The best number by the formula; where the links are unknown, pieces of 128 KiB, at most 64. A piece has at least a byte.
std::size_t pieces(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters& parameters) {
  if (parameters.has("pieces")) return static_cast<std::size_t>(parameters.count("pieces"));
  constexpr double unknown_links_piece = 128 * 1024, unknown_links_most = 64, most = 4096;
  const double depth = static_cast<double>(DoubleTree(shape.workers).height());
  double best = std::min(bytes / 2 / unknown_links_piece, unknown_links_most);
  if (links.alpha > 0 && links.beta > 0) best = std::sqrt(std::max(depth - 1, 0.0) * bytes * (2 * links.beta + links.gamma) / links.alpha);
  return static_cast<std::size_t>(std::clamp(std::round(best), 1.0, std::clamp(std::floor(bytes / 2), 1.0, most)));
}

double seconds(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters& parameters) {
  if (shape.workers < 2) return 0;
  const double h = static_cast<double>(DoubleTree(shape.workers).height());
  const double k = static_cast<double>(pieces(bytes, shape, links, parameters)), piece = bytes / (2 * k);
  const double children = shape.workers == 2 ? 1 : 2;                       // whose pieces an inner node takes in a round
  const double both = shape.workers == 2 ? 2 : shape.workers == 3 ? 3 : 4;  // of all kinds
  return (2 * h + k - 1) * links.alpha + piece * (2 * h * children + (k - 1) * both) * links.beta +
         piece * (h + k - 1) * children * links.gamma;
}

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "double_binary_tree";
  made.summary = "two binary trees, pipelined: latency of a tree, about the bytes of a ring";
  made.reference = "Sanders, Speck & Träff 2009";
  made.parameters = {{.name = "pieces",
                      .type = ValueType::count,
                      .meaning = "pieces into which each half of the bytes is cut; default: the best number for these links",
                      .range = Range::between(1, 1e6)}};
  made.seconds = seconds;
  made.exact = [](const CollectiveShape& shape) { return shape.workers <= 3; };
  made.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks& links,
                 const Parameters& parameters) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<DoubleBinaryTree>(bytes, shape.workers, pieces(static_cast<double>(bytes), shape, links, parameters));
  };
  return made;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::double_binary_tree
