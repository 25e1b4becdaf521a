// Data sets: labelled vectors in memory.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/data/augment.hpp"
#include "models/data/sample_inputs.hpp"
#include "sim/base/key.hpp"
#include "sim/base/parameters.hpp"
#include "sim/base/refusal.hpp"

namespace straggler {

struct WordList;

/// Properties of a data set that are known without reading its samples.
struct DataInfo {
  std::size_t features = 0;        // numbers per sample
  std::vector<std::size_t> shape;  // e.g. {1, 28, 28}: channels, height, width
  std::size_t classes = 0;
  /// Size of the vocabulary, where a sample is a window of `features` symbols, with the next symbol as the label of each. 0: a sample's
  /// numbers are measures, or (`vocabulary`) a word.
  std::size_t symbols = 0;
  std::size_t overlap = 0;                   // of symbols: how many windows after one begin inside of it
  std::size_t train = 0, test = 0;           // numbers of samples
  std::size_t number_bytes = sizeof(float);  // that a number of a sample takes in memory
  std::size_t shared_bytes = 0;              // that all samples share
  std::size_t reading = 0;                   // bytes at most that reading the files needs for a moment, besides the samples
  bool whole = false;                        // a sample's numbers are whole, as those of tokens
  bool synthetic = false;
  std::string origin;              // one phrase: its source
  std::vector<std::string> notes;  // sentences for the user: what was taken as what, and doubts
  /// Of a text, whose samples are pairs of words: the input is one word's number, the label the other's. Null for other data.
  std::shared_ptr<const WordList> vocabulary;

  std::size_t places() const { return symbols > 0 ? features : 1; }  // labels of a sample
  /// In memory, with its labels.
  std::size_t sample_bytes() const { return symbols > 0 ? sizeof(std::uint32_t) : number_bytes * features + sizeof(std::int32_t); }
};

struct DataSplit {
  SampleInputs inputs;
  std::vector<std::int32_t> labels;  // [count], 0 .. classes-1; of windows none: the text has them
  std::size_t count() const { return inputs.windows() ? inputs.count() : labels.size(); }
  /// Labels of a sample.
  std::size_t places() const { return inputs.windows() ? inputs.features() : 1; }
  /// The labels of a sample, [places()].
  const std::int32_t* labels_of(std::size_t sample) const {
    return inputs.windows() ? inputs.next_symbols(sample) : labels.data() + sample;
  }
  /// Of samples `first` on, [count][places()]: where they are in memory, or copied, in `room`.
  const std::int32_t* labels_of(std::size_t first, std::size_t count, std::vector<std::int32_t>& room) const;
  /// A copy of these samples.
  DataSplit subset(std::span<const std::uint32_t> samples) const;
};

struct Dataset {
  DataInfo info;
  DataSplit train, test, validation;  // validation: empty unless held out
  std::vector<float> black;           // [channels], of images: the value outside the image when it is shifted; empty: 0
  Augmentation augment;               // of training samples, at each draw
};

/// A missing, truncated or invalid file. what() = "PATH: what is wrong; what would be right".
struct DataError : Refusal {
  explicit DataError(const std::string& line, std::string parameter = {}) : Refusal(line), key(std::move(parameter)) {}
  std::string key;  // of the data's parameter that is wrong; empty: the files are
};

/// A registered kind of data.
struct DataEntry {
  std::string name, summary;
  DeclaredParameters parameters;
  /// Sizes. With a `path` it reads the files' headers (throws DataError); without one it needs no files.
  std::function<DataInfo(const Parameters&, const std::filesystem::path& base)> inspect;
  /// Everything. `base`: root of relative paths; `threads`: the maximum, with the same bits for any number. Throws DataError.
  std::function<Dataset(const Parameters&, const std::filesystem::path& base, std::uint64_t seed, unsigned threads)> load;
  /// Replaces `inspect` if sizes depend on the seed, too.
  std::function<DataInfo(const Parameters&, const std::filesystem::path& base, std::uint64_t seed)> inspect_seeded = {};
  bool seeded = true;  // false: `load` ignores the seed
  /// All files that `load` reads; empty: none. Throws DataError if one is missing.
  std::function<std::vector<std::filesystem::path>(const Parameters&, const std::filesystem::path& base)> files = {};
};

/// Identifies the result of `load` without loading it: by the bytes of the files, the parameters except paths, and, if it matters, the
/// seed. Equal data in other files (compressed, say) may have another key. Throws DataError.
Key content_of(const DataEntry& entry, const Parameters& parameters, const std::filesystem::path& base, std::uint64_t seed);

/// Of `train` samples (overlap: DataInfo), those that stay where a `fraction` is held out for validation. Throws std::invalid_argument if
/// none does.
std::size_t kept_for_training(std::size_t train, std::size_t overlap, double fraction);
/// Moves a random `fraction` of the training samples (chosen by the seed) into `validation`; of windows the last ones, and those before
/// that share symbols with them are dropped.
void hold_out_validation(Dataset& data, double fraction, std::uint64_t seed);

}  // namespace straggler
