// The frameworks, and what was measured of their recipes.
#include "tools/straggler/recipes.hpp"

namespace straggler::cli {

namespace {
const RecipeError l4{"ddp_l4", "4 L4 over PCIe, ResNet-18", "1.86 %", "4.3 %"};
const RecipeError tensors{"v100_wfbp", "8 hosts of 4 V100, 10 Gbit/s, ResNet-50, an all-reduce for each tensor", "1.49 %", "2.61 %"};
const RecipeError fused{"v100_allreduce", "8 hosts of 4 V100, 10 Gbit/s, ResNet-50, one all-reduce", "0.248 %", "0.452 %"};
const RecipeError nvlink{"puhti_ddp", "1 and 2 hosts of 4 V100 with NVLink, ResNet-50", "2.25 %", "18.9 %"};
const RecipeError switched{"nccl_nvswitch8", "NCCL alone on 8 GPUs with NVSwitch", "7.37 %", "17.7 %"};
const RecipeError after{"v100_byteps", "8 hosts of 4 V100, 10 Gbit/s, ResNet-50, BytePS after backward", "1.55 %", "2.11 %"};
const RecipeError bert{"v100_bert_byteps", "the same hosts, BERT-Base, BytePS during backward", "12.8 %", "19.9 %"};
const RecipeError gloo_alone{"gloo_tcp", "Gloo alone between 2 servers, 1 to 128 KiB", "14.9 %", "24.8 %"};
const RecipeError gloo_shared{"h100_shared_ddp_once", "2 to 4 processes that share an H100", "3.23 %", "14.1 %"};
const RecipeError threads{"l4_data_parallel", "2 and 4 L4, ResNet-18", "6.46 %", "16.7 %"};
const RecipeError other_threads{"dataparallel", "1, 2 and 4 GPUs, ResNet-18", "5.77 %", "11.8 %"};
}  // namespace

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> all{
      {"ddp", "PyTorch's DistributedDataParallel over NCCL", "its paper, Li et al., VLDB 2020: buckets of 25 MiB, the first of 1 MiB",
       "ssgd", ""},
      {"ddp_gloo", "the same over Gloo, as without GPUs or where processes share one", "PyTorch's backend gloo: one ring at any size",
       "ssgd", ""},
      {"horovod", "Horovod over NCCL, which merges what is ready in each cycle", "docs/tensor-fusion.rst of horovod/horovod", "ssgd", ""},
      {"byteps", "BytePS, as many servers as hosts", "Jiang et al., OSDI 2020; pieces of 4,096,000 bytes", "ssgd", "", true},
      {"fsdp", "PyTorch's FullyShardedDataParallel, ZeRO stage 3", "Zhao et al., VLDB 2023", "ssgd", "  sharding: {stage: 3}\n"},
      {"data_parallel", "PyTorch's DataParallel: one process and its threads on one host", "torch.nn.DataParallel", "data_parallel", "",
       false, true},
  };
  return all;
}

const std::vector<Evidence>& recipe_evidence() {
  static const std::vector<Evidence> all{
      {"ddp", "pcie_host_memory", l4, tensors},
      {"ddp", "dgx1", nvlink, {}},
      {"ddp", "dgx_h100", {}, switched},
      {"ddp_gloo", "", gloo_shared, gloo_alone},
      {"horovod", "pcie_host_memory", fused, tensors},
      {"byteps", "pcie_host_memory", after, bert},
      {"data_parallel", "", other_threads, threads},
  };
  return all;
}

}  // namespace straggler::cli
