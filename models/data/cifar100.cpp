// CIFAR-100: 50,000 training and 10,000 test images in 100 classes. Uses the fine labels, which follow the coarse ones in each record.
#include "models/data/cifar.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::cifar100 {
namespace {

const CifarLayout& layout() {
  static const CifarLayout made = {"CIFAR-100", "cifar-100-binary", {"train.bin"}, "test.bin", 2, 1, 100};
  return made;
}

const Register<DataEntry> entry(
    {"cifar100",
     "60,000 colour photographs, 32 x 32 pixels, 100 classes; from files that you have",
     cifar_parameters(layout()),
     [](const Parameters& parameters, const std::filesystem::path& base) { return inspect_cifar(layout(), parameters, base); },
     [](const Parameters& parameters, const std::filesystem::path& base, std::uint64_t, unsigned threads) {
       return load_cifar(layout(), parameters, base, threads);
     },
     {},
     false,
     [](const Parameters& parameters, const std::filesystem::path& base) { return cifar_files(layout(), parameters, base); }});

}  // namespace
}  // namespace straggler::data::cifar100
