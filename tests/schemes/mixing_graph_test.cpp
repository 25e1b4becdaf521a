// Graphs of workers that average with each other: the matrices that decentralized schemes need.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/schemes/mixing_graph.hpp"

using namespace straggler;

namespace {

constexpr MixingGraph::Kind graph_kinds[] = {MixingGraph::Kind::ring, MixingGraph::Kind::exponential, MixingGraph::Kind::full,
                                             MixingGraph::Kind::torus};

using Matrix = std::vector<std::vector<double>>;

Matrix matrix_of(MixingGraph::Kind kind, Rank workers) {
  const auto p = static_cast<std::size_t>(workers);
  Matrix matrix(p, std::vector<double>(p));
  for (Rank worker = 0; worker < workers; ++worker)
    for (const auto& [other, share] : MixingGraph(kind).row(worker, workers))
      matrix[static_cast<std::size_t>(worker)][static_cast<std::size_t>(other)] += share;
  return matrix;
}

std::size_t degree(MixingGraph::Kind kind, Rank workers) { return MixingGraph(kind).neighbours(workers / 2, workers).size(); }

}  // namespace

TEST_CASE("mixing matrices are symmetric, and their rows and columns sum to 1") {
  for (const MixingGraph::Kind kind : graph_kinds)
    for (const Rank workers : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 30, 64}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(workers);
      const Matrix matrix = matrix_of(kind, workers);
      for (std::size_t i = 0; i < matrix.size(); ++i) {
        double row = 0, column = 0;
        for (std::size_t j = 0; j < matrix.size(); ++j) {
          CHECK(matrix[i][j] == matrix[j][i]);
          CHECK(matrix[i][j] >= 0);
          row += matrix[i][j];
          column += matrix[j][i];
        }
        CHECK(std::abs(row - 1) < 1e-14 * static_cast<double>(workers));
        CHECK(std::abs(column - 1) < 1e-14 * static_cast<double>(workers));
        CHECK(matrix[i][i] > 0);
      }
    }
}

TEST_CASE("mixing graphs are connected: repeated averaging spreads one worker's weights to all") {
  for (const MixingGraph::Kind kind : graph_kinds)
    for (const Rank workers : {2, 3, 6, 7, 16}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(workers);
      const Matrix matrix = matrix_of(kind, workers);
      std::vector<double> spread(matrix.size());
      spread[0] = 1;
      for (Rank step = 0; step < workers; ++step) {
        std::vector<double> next(matrix.size());
        for (std::size_t i = 0; i < matrix.size(); ++i)
          for (std::size_t j = 0; j < matrix.size(); ++j) next[i] += matrix[i][j] * spread[j];
        spread = next;
      }
      for (const double share : spread) CHECK(share > 0);
    }
}

TEST_CASE("neighbours in mixing graphs: how many, and who") {
  using Kind = MixingGraph::Kind;
  const auto beside = [](Kind kind, Rank worker, Rank workers) { return MixingGraph(kind).neighbours(worker, workers); };
  CHECK(beside(Kind::ring, 0, 5) == std::vector<Rank>{1, 4});
  CHECK(beside(Kind::ring, 0, 2) == std::vector<Rank>{1});
  CHECK(beside(Kind::ring, 0, 1).empty());
  CHECK(beside(Kind::exponential, 0, 16) == std::vector<Rank>{1, 2, 4, 8, 12, 14, 15});
  CHECK(beside(Kind::exponential, 3, 6) == std::vector<Rank>{1, 2, 4, 5});  // 1 and 2 places away; 4 places one way are 2 the other
  CHECK(beside(Kind::full, 2, 4) == std::vector<Rank>{0, 1, 3});
  CHECK(beside(Kind::torus, 5, 16) == std::vector<Rank>{1, 4, 6, 9});
  CHECK(beside(Kind::torus, 0, 6) == std::vector<Rank>{1, 2, 3});  // two rows of three: above and below is one worker
  CHECK(beside(Kind::torus, 0, 7) == beside(Kind::ring, 0, 7));    // a prime number fits no grid but a line
  for (const Rank workers : {9, 16, 25, 36}) CHECK(degree(Kind::torus, workers) == 4);
}
