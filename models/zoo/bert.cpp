#include "models/zoo/architecture_bert.hpp"
#include "models/zoo/image_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::bert_models {
namespace {

ModelEntry of_size(const char* name, const char* summary, const BertSize& size) {
  return network_entry(
      {.name = name,
       .summary = summary,
       .reference = "Devlin, Chang, Lee, Toutanova, BERT: Pre-training of Deep Bidirectional Transformers, NAACL 2019",
       .network = [size](const Parameters&, const DataInfo& data) { return bert(size, data.features); },
       .cost_parameters = {{.name = "sequence",
                            .type = ValueType::count,
                            .fallback = "128",
                            .meaning = "tokens of a sample",
                            .range = Range::between(1, 512)}},
       .cost_network =
           [size](const Parameters& parameters) { return bert(size, static_cast<std::size_t>(parameters.count("sequence"))); }});
}

const Register<ModelEntry> base(of_size("bert_base",
                                        "BERT-base, uncased, with its pooler, for costs: 109,482,240 parameters, 11.2 G multiply-adds for "
                                        "128 tokens; as workload.cost: with sequence (128)",
                                        {.layers = 12, .features = 768, .heads = 12}));
const Register<ModelEntry> large(of_size("bert_large",
                                         "BERT-large, uncased, with its pooler, for costs: 335,141,888 parameters, 39.5 G multiply-adds "
                                         "for 128 tokens; as workload.cost: with sequence (128)",
                                         {.layers = 24, .features = 1024, .heads = 16}));

}  // namespace
}  // namespace straggler::zoo::bert_models
