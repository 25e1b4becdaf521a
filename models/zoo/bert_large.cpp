// BERT-large (uncased), layer by layer.
#include "models/zoo/architecture_bert.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::bert_large {
namespace {

const Register<CostModelEntry> entry({
    .name = "bert_large",
    .summary = "BERT-large, uncased, with its pooler: 335,141,888 parameters, 39.5 G multiply-adds for 128 tokens",
    .reference = "Devlin, Chang, Lee, Toutanova, BERT: Pre-training of Deep Bidirectional Transformers, NAACL 2019",
    .parameters = {{.name = "sequence",
                    .type = ValueType::count,
                    .fallback = "128",
                    .meaning = "tokens of a sample",
                    .range = Range::between(1, 512)}},
    .architecture =
        [](const Parameters& parameters) {
          return bert({.layers = 24, .features = 1024, .heads = 16}, static_cast<std::size_t>(parameters.count("sequence")));
        },
});

}  // namespace
}  // namespace straggler::zoo::bert_large
