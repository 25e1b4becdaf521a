// CIFAR-10: 50,000 training and 10,000 test images in 10 classes.
#include "models/data/cifar.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::cifar10 {
namespace {

const CifarLayout& layout() {
  static const CifarLayout made = {"CIFAR-10",
                                   "cifar-10-batches-bin",
                                   {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
                                   "test_batch.bin",
                                   1,
                                   0,
                                   10};
  return made;
}

const Register<DataEntry> entry(
    {"cifar10",
     "60,000 colour photographs, 32 x 32 pixels, 10 classes; from files that you have",
     cifar_parameters(layout()),
     [](const Parameters& parameters, const std::filesystem::path& base) { return inspect_cifar(layout(), parameters, base); },
     [](const Parameters& parameters, const std::filesystem::path& base, std::uint64_t, unsigned threads) {
       return load_cifar(layout(), parameters, base, threads);
     },
     {},
     false,
     [](const Parameters& parameters, const std::filesystem::path& base) { return cifar_files(layout(), parameters, base); }});

}  // namespace
}  // namespace straggler::data::cifar10
