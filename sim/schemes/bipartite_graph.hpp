// Neighbours where one half of the workers is active and the other half passive: every edge joins the two halves, so no worker that waits
// for an answer is waited for (Lian et al., Asynchronous Decentralized Parallel Stochastic Gradient Descent, 2018, Section 3).
//
// Workers of even rank ask, those of odd rank answer; on a torus, where row and column add up to an even or an odd number.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "sim/schemes/mixing_graph.hpp"

namespace straggler {

class BipartiteGraph {
 public:
  using Kind = MixingGraph::Kind;
  explicit BipartiteGraph(Kind kind) : kind_(kind), graph_(kind) {}
  explicit BipartiteGraph(const Parameters& parameters) : BipartiteGraph(MixingGraph::choice.of(parameters)) {}
  /// The declaration that a scheme adds to its parameters.
  static Parameter parameter() {
    return MixingGraph::choice.parameter(
        Kind::ring,
        "the workers of the other half with which a worker averages: those beside it on a ring or torus, those 1, 3, 5, 9, 17, … places "
        "away, or any");
  }

  /// It asks; else it answers.
  bool is_active(Rank worker, Rank workers) const { return half(worker, workers) == 0; }
  /// Its neighbours, all of the other half, in rank order.
  std::vector<Rank> neighbours(Rank worker, Rank workers) const {
    std::vector<Rank> found = edges(worker, workers);
    std::erase_if(found, [&](Rank other) { return half(other, workers) == half(worker, workers); });
    return found;
  }
  /// Why the graph of these workers is not bipartite, and what would be right; empty: it is.
  std::string unfit(Rank workers) const {
    if (kind_ == Kind::full) return {};
    for (Rank worker = 0; worker < workers; ++worker)
      for (const Rank other : edges(worker, workers))
        if (half(other, workers) == half(worker, workers)) return "graph: " + shape(workers) + " is not bipartite; " + remedy();
    return {};
  }

 private:
  Rank half(Rank worker, Rank workers) const {
    if (kind_ != Kind::torus) return worker % 2;
    const Rank columns = MixingGraph::columns_of(workers);
    return (worker / columns + worker % columns) % 2;
  }
  std::vector<Rank> edges(Rank worker, Rank workers) const {
    if (kind_ != Kind::exponential) return graph_.neighbours(worker, workers);
    std::vector<Rank> found;
    for (Rank distance = 1; distance < workers; distance = distance == 1 ? 3 : 2 * distance - 1)
      for (const Rank other : {(worker + distance) % workers, (worker + workers - distance) % workers}) found.push_back(other);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  std::string shape(Rank workers) const {
    const Rank columns = MixingGraph::columns_of(workers);
    if (kind_ == Kind::torus) return "a torus of " + std::to_string(workers / columns) + " x " + std::to_string(columns) + " workers";
    return (kind_ == Kind::ring ? "a ring of " : "an exponential graph of ") + std::to_string(workers) + " workers";
  }
  std::string remedy() const {
    return kind_ == Kind::torus ? "take an even number of rows and of columns, or graph: full"
                                : "take an even number of workers, or graph: full";
  }

  Kind kind_;
  MixingGraph graph_;
};

}  // namespace straggler
