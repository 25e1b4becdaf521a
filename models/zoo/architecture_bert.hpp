// Text encoders: Devlin, Chang, Lee, Toutanova, BERT: Pre-training of Deep Bidirectional Transformers, NAACL 2019.
#pragma once
#include "models/zoo/architecture.hpp"

namespace straggler {

struct BertSize {
  std::size_t layers, features, heads;
};

/// The encoder with its pooler, without a task's head, for `sequence` tokens (1 to 512): vocabulary 30,522 (uncased), feed-forward width 4
/// x features. Tensor names follow Hugging Face's BertModel.
Architecture bert(const BertSize& size, std::size_t sequence);

}  // namespace straggler
