// Data sets: labelled vectors in memory.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/data/augment.hpp"
#include "sim/base/huge_pages.hpp"
#include "sim/base/key.hpp"
#include "sim/base/parameters.hpp"

namespace straggler {

struct WordList;

/// What is known of a data set without reading its samples.
struct DataInfo {
  std::size_t features = 0;        // numbers per sample
  std::vector<std::size_t> shape;  // e.g. {1, 28, 28}: channels, height, width
  std::size_t classes = 0;
  std::size_t train = 0, test = 0;  // numbers of samples
  bool synthetic = false;
  std::string origin;  // one phrase: where it comes from
  /// Of a text, whose samples are pairs of words: the input is the number of one, the label that of the other. Null for other data.
  std::shared_ptr<const WordList> vocabulary;
};

/// resize() leaves new ones as they are.
using SampleFloats = std::vector<float, Unfilled<float>>;

struct DataSplit {
  SampleFloats inputs;               // [count, features], row-major
  std::vector<std::int32_t> labels;  // [count], 0 .. classes-1
  std::size_t count() const { return labels.size(); }
};

struct Dataset {
  DataInfo info;
  DataSplit train, test, validation;  // validation: empty unless held out
  std::vector<float> black;           // [channels], of images: what is beside one when it is moved; empty: 0
  Augmentation augment;               // of training samples, whenever they are drawn
};

/// A file that is missing, truncated or not what it says. what() = "PATH: what is wrong; what would be right".
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A registered kind of data.
struct DataEntry {
  std::string name, summary;
  std::vector<Parameter> parameters;
  /// Sizes. With a `path` it looks at the files' headers (throws DataError), without it needs no files.
  std::function<DataInfo(const Parameters&, const std::filesystem::path& base)> inspect;
  /// Everything. `base`: folder that relative paths start from; `threads`: at most this many, to the same bits. Throws DataError.
  std::function<Dataset(const Parameters&, const std::filesystem::path& base, std::uint64_t seed, unsigned threads)> load;
  /// In place of `inspect` where sizes follow from the seed, too.
  std::function<DataInfo(const Parameters&, const std::filesystem::path& base, std::uint64_t seed)> inspect_seeded = {};
  bool seeded = true;  // false: `load` gives the same whatever the seed
  /// All files that `load` reads; empty: none. Throws DataError if one is missing.
  std::function<std::vector<std::filesystem::path>(const Parameters&, const std::filesystem::path& base)> files = {};
};

/// Names what `load` would give, without loading it: by the files' bytes as they lie, the parameters but for paths, and, where it matters,
/// the seed. What is equal but lies in other files (compressed, say) may have another name. Throws DataError.
Key content_of(const DataEntry& entry, const Parameters& parameters, const std::filesystem::path& base, std::uint64_t seed);

/// Moves a random `fraction` of the training samples (chosen by the seed) into `validation`.
void hold_out_validation(Dataset& data, double fraction, std::uint64_t seed);

}  // namespace straggler
