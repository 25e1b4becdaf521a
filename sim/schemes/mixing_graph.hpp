// Neighbours and mixing weights, for schemes in which each worker has its own weights.
//
// Edges go both ways. Metropolis weights, of degrees d:  W_ij = 1 / (1 + max(d_i, d_j)) on an edge, W_ii = 1 - Σ_j W_ij: W is symmetric,
// and its rows and columns sum to 1 (Xiao & Boyd, Fast Linear Iterations for Distributed Averaging, 2004). These graphs look the same from
// every worker, so that all degrees are equal, and so are all weights of a row: 1 / (1 + d).
#pragma once
#include <algorithm>
#include <vector>

#include "sim/base/choice_table.hpp"
#include "sim/training/payload.hpp"

namespace straggler {

class MixingGraph {
 public:
  enum class Kind {
    ring,         // the two beside it
    exponential,  // those 1, 2, 4, 8 … places away, both ways
    full,         // everybody
    torus         // the four beside it in a grid as square as the number of workers allows, whose ends meet
  };
  struct Share {
    Rank worker;
    double share;
  };

  static constexpr ChoiceTable<Kind> choice{
      "graph", {{Kind::ring, "ring"}, {Kind::exponential, "exponential"}, {Kind::full, "full"}, {Kind::torus, "torus"}}};
  explicit MixingGraph(Kind kind) : kind_(kind) {}
  explicit MixingGraph(const Parameters& parameters) : kind_(choice.of(parameters)) {}
  /// The declaration that a scheme adds to its parameters.
  static Parameter parameter() {
    return choice.parameter(
        Kind::ring, "whose weights a worker averages with its own: of those beside it on a ring or torus, 1, 2, 4, … places away, or all");
  }

  /// In rank order, without `worker` itself.
  std::vector<Rank> neighbours(Rank worker, Rank workers) const {
    std::vector<Rank> found;
    const auto add = [&](Rank rank) {
      if (rank != worker) found.push_back(rank);
    };
    const auto around = [&](Rank distance) {
      add((worker + distance) % workers);
      add((worker + workers - distance) % workers);
    };
    switch (kind_) {
      case Kind::ring:
        around(1 % workers);
        break;
      case Kind::exponential:
        for (Rank distance = 1; distance < workers; distance *= 2) around(distance);
        break;
      case Kind::full:
        for (Rank rank = 0; rank < workers; ++rank) add(rank);
        break;
      case Kind::torus: {
        const Rank columns = columns_of(workers), row = worker / columns, column = worker % columns, rows = workers / columns;
        add(row * columns + (column + 1) % columns);
        add(row * columns + (column + columns - 1) % columns);
        add((row + 1) % rows * columns + column);
        add((row + rows - 1) % rows * columns + column);
        break;
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  /// The worker's row of W, in rank order, itself included.
  std::vector<Share> row(Rank worker, Rank workers) const {
    std::vector<Rank> all = neighbours(worker, workers);
    all.insert(std::upper_bound(all.begin(), all.end(), worker), worker);
    std::vector<Share> row;
    for (const Rank rank : all) row.push_back({rank, 1 / static_cast<double>(all.size())});
    return row;
  }

  /// Columns of the torus: the least number, not below √workers, that divides it.
  static Rank columns_of(Rank workers) {
    Rank rows = 1;
    for (Rank candidate = 1; candidate <= workers / candidate; ++candidate)
      if (workers % candidate == 0) rows = candidate;
    return workers / rows;
  }

 private:
  Kind kind_;
};

}  // namespace straggler
