// Compressors that send a matrix as the product of two with few columns: the rules that make the factors and their product.
#pragma once
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// On vectors of full length, in which each factored tensor is a matrix M. A factor is stored at the beginning of its tensor's place: the
/// left one, P, first, then the right one, Q. Unfactored parts are stored with P, and are zero beside Q. Running statistics are stored with
/// P, too. All rules get the compressor's scalars.
struct FactorRules {
  const Rule* left;        // (M[, previous P and Q]) -> P = M Q; the first Q is drawn
  const Rule* orthogonal;  // (P) -> P with orthonormal columns
  const Rule* right;       // (M, P) -> Q = M^T P
  const Rule* product;     // (P and Q) -> P Q^T
};

}  // namespace straggler
