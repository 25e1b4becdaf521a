// Compressors that send a matrix as the product of two with few columns: the rules that make the factors and their product.
#pragma once
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// Of vectors of full length, in which each tensor that is factored is a matrix M. A factor lies at the beginning of its tensor's place, the
/// left one, P, first, then the right one, Q. What is not factored goes with P, and is zero beside Q. Running statistics go with P, too. All
/// get the compressor's scalars.
struct FactorRules {
  const Rule* left;        // (M[, P and Q of before]) -> P = M Q; from the beginning Q is drawn
  const Rule* orthogonal;  // (P) -> P, with columns of length 1 that are orthogonal to each other
  const Rule* right;       // (M, P) -> Q = M^T P
  const Rule* product;     // (P and Q) -> P Q^T
};

}  // namespace straggler
