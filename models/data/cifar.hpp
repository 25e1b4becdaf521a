// The binary versions of CIFAR-10 and CIFAR-100 (Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009;
// www.cs.toronto.edu/~kriz/cifar.html): records of one or two label bytes and 3,072 bytes of pixels: all of red, then green, then blue.
#pragma once
#include <string>
#include <vector>

#include "models/data/dataset.hpp"

namespace straggler {

struct CifarLayout {
  std::string name;    // "CIFAR-10"
  std::string folder;  // name of the unpacked folder
  std::vector<std::string> train_files;
  std::string test_file;
  std::size_t label_bytes = 1, label_at = 0, classes = 10;
};

/// Checks the sizes of the files. Throws DataError.
DataInfo inspect_cifar(const CifarLayout& layout, const Parameters& parameters, const std::filesystem::path& base);
Dataset load_cifar(const CifarLayout& layout, const Parameters& parameters, const std::filesystem::path& base, unsigned threads);
std::vector<std::filesystem::path> cifar_files(const CifarLayout& layout, const Parameters& parameters, const std::filesystem::path& base);
/// `path`, and the parameters common to all image sets.
std::vector<Parameter> cifar_parameters(const CifarLayout& layout);

}  // namespace straggler
