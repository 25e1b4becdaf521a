// Two binary trees over the same ranks, such that a rank is an inner node of one of them at most
// (Sanders, Speck & Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009).
#pragma once
#include <array>
#include <bit>
#include <cstddef>

#include "sim/collectives/schedule.hpp"

namespace straggler {

/// Nodes 1 .. p are in order: the level of a node is the number of zeros at the end of its binary form, so odd nodes are leaves. It is
/// the complete tree over 1, 2, 3, … without the nodes beyond p. The first tree has rank r at node r + 1; the second one turns the order
/// round if p is even and shifts it by one if p is odd, so that inner nodes become leaves.
class DoubleTree {
 public:
  explicit DoubleTree(std::size_t ranks) : ranks_(ranks) {}
  static constexpr std::size_t trees = 2;
  std::size_t ranks() const { return ranks_; }
  /// The level of both roots, h = ⌊lg p⌋; leaves have level 0.
  std::size_t height() const { return static_cast<std::size_t>(std::bit_width(ranks_)) - 1; }

  struct Place {
    CollectiveRank rank = 0;
    std::size_t level = 0;
  };
  struct Node {
    std::size_t level = 0;
    CollectiveRank parent = 0;  // unless it is the root
    std::size_t children = 0;
    std::array<Place, 2> child{};
  };
  Node node(std::size_t tree, CollectiveRank rank) const {
    const std::size_t at = node_of(tree, rank);
    Node found;
    found.level = level(at);
    if (found.level < height()) found.parent = rank_at(tree, parent(at));
    std::size_t half = (std::size_t{1} << found.level) / 2;
    if (half == 0) return found;
    found.child[found.children++] = {rank_at(tree, at - half), level(at - half)};
    while (half > 0 && at + half > ranks_) half /= 2;
    if (half > 0) found.child[found.children++] = {rank_at(tree, at + half), level(at + half)};
    return found;
  }

 private:
  static std::size_t level(std::size_t node) { return static_cast<std::size_t>(std::countr_zero(node)); }
  /// For a node that is not the root: the nearest existing ancestor in the complete tree.
  std::size_t parent(std::size_t node) const {
    do {
      const std::size_t bit = node & -node;
      node = (node & ~bit) | bit << 1;
    } while (node > ranks_);
    return node;
  }
  std::size_t node_of(std::size_t tree, std::size_t rank) const {
    if (tree == 0) return rank + 1;
    return ranks_ % 2 == 0 ? ranks_ - rank : (rank + 1) % ranks_ + 1;
  }
  CollectiveRank rank_at(std::size_t tree, std::size_t node) const {
    if (tree == 0) return static_cast<CollectiveRank>(node - 1);
    return static_cast<CollectiveRank>(ranks_ % 2 == 0 ? ranks_ - node : (node + ranks_ - 2) % ranks_);
  }
  std::size_t ranks_;
};

}  // namespace straggler
