// BERT-base (uncased), layer by layer.
#include "models/zoo/architecture_bert.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::bert_base {
namespace {

const Register<CostModelEntry> entry({
    .name = "bert_base",
    .summary = "BERT-base, uncased, with its pooler: 109,482,240 parameters, 11.2 G multiply-adds for 128 tokens",
    .reference = "Devlin, Chang, Lee, Toutanova, BERT: Pre-training of Deep Bidirectional Transformers, NAACL 2019",
    .parameters = {{.name = "sequence",
                    .type = ValueType::count,
                    .fallback = "128",
                    .meaning = "tokens of a sample",
                    .range = Range::between(1, 512)}},
    .architecture =
        [](const Parameters& parameters) {
          return bert({.layers = 12, .features = 768, .heads = 12}, static_cast<std::size_t>(parameters.count("sequence")));
        },
});

}  // namespace
}  // namespace straggler::zoo::bert_base
