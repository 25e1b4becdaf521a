// Any image data set in IDX files (idx.hpp): grey, {images, height, width}, or in colour, {images, channels, height, width}; labels from 0.
// A folder with MNIST's file names, or four named files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "models/data/blocks.hpp"
#include "models/data/idx.hpp"
#include "models/data/pixels.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::idx_files {
namespace {

namespace fs = std::filesystem;

/// A parameter, and the file name it has in a folder.
struct Role {
  const char* parameter;
  const char* meaning;
  std::array<const char*, 2> names;  // before "-idxN-ubyte"; older and newer
};
constexpr std::array<Role, 4> roles = {{{"train_images", "training images", {"train-images", "train-images"}},
                                        {"train_labels", "labels of the training images", {"train-labels", "train-labels"}},
                                        {"test_images", "test images", {"t10k-images", "test-images"}},
                                        {"test_labels", "labels of the test images", {"t10k-labels", "test-labels"}}}};

fs::path in_folder(const fs::path& folder, const Role& role) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw DataError(fmt::format("{}: no such folder; give the one that holds the IDX files", folder.string()));
  std::vector<fs::path> found;
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    std::string name = file.path().filename().string();
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    // Plain, "train-images-idx3-ubyte", or with a prefix, as in EMNIST: "emnist-letters-train-images-idx3-ubyte".
    for (const char* part : role.names)
      for (const char* separator : {"-idx", ".idx"})
        if (const std::size_t at = name.find(std::string(part) + separator); at != std::string::npos && (at == 0 || name[at - 1] == '-'))
          if (found.empty() || found.back() != file.path()) found.push_back(file.path());
  }
  if (found.size() == 1) return found[0];
  if (found.empty())
    throw DataError(fmt::format("{}: there is no {}-idx…-ubyte, plain or .gz; name the file of the {} by `{}`", folder.string(),
                                role.names[0], role.meaning, role.parameter));
  std::sort(found.begin(), found.end());
  throw DataError(fmt::format("{}: both {} and {} could hold the {}; name the right one by `{}`", folder.string(),
                              found[0].filename().string(), found[1].filename().string(), role.meaning, role.parameter));
}

fs::path file_of(const Parameters& parameters, const fs::path& base, const Role& role) {
  if (parameters.has(role.parameter)) return base / parameters.text(role.parameter);
  if (parameters.has("path")) return in_folder(base / parameters.text("path"), role);
  throw DataError(fmt::format("there is no file of the {}; give `{}`, or `path`, a folder of all four", role.meaning, role.parameter));
}

/// One half of the data set. Images: only the header, until they are read.
struct Half {
  fs::path images_path, labels_path;
  Idx images, labels;

  Half(const Parameters& parameters, const fs::path& base, const Role& image_role, const Role& label_role)
      : images_path(file_of(parameters, base, image_role)), labels_path(file_of(parameters, base, label_role)) {
    const std::size_t dimensions = idx_dimensions(images_path) == 4 ? 4 : 3;
    images = read_idx_header(images_path, dimensions);
    labels = read_idx_header(labels_path, 1);
    if (images.dimensions[0] != labels.dimensions[0])
      throw DataError(fmt::format("{}: has {} labels, but {} has {} images; the two files must belong together", labels_path.string(),
                                  labels.dimensions[0], images_path.string(), images.dimensions[0]));
    labels = read_idx(labels_path, 1);
  }
  Idx whole_images() const { return read_idx(images_path, images.dimensions.size()); }
  std::vector<std::size_t> shape() const {
    if (images.dimensions.size() == 3) return {1, images.dimensions[1], images.dimensions[2]};
    return {images.dimensions.begin() + 1, images.dimensions.end()};
  }
};

struct Files {
  Half train, test;
  DataInfo info;

  Files(const Parameters& parameters, const fs::path& base, bool whole, unsigned threads = 1)
      : Files(parameters, both([&] { return Half(parameters, base, roles[0], roles[1]); },
                               [&] { return Half(parameters, base, roles[2], roles[3]); }, threads)) {
    if (!whole) return;
    std::tie(train.images, test.images) = both([&] { return train.whole_images(); }, [&] { return test.whole_images(); }, threads);
  }

 private:
  Files(const Parameters& parameters, std::pair<Half, Half> halves) : train(std::move(halves.first)), test(std::move(halves.second)) {
    info.shape = train.shape();
    if (test.shape() != info.shape)
      throw DataError(fmt::format("{}: images of {} numbers, but the training images have {}; both must have the same size",
                                  test.images_path.string(), fmt::join(test.shape(), " x "), fmt::join(info.shape, " x ")));
    info.features = info.shape[0] * info.shape[1] * info.shape[2];
    info.train = limited(train.labels.dimensions[0], parameters, "train_limit");
    info.test = limited(test.labels.dimensions[0], parameters, "test_limit");
    info.number_bytes = 1;
    info.reading = bytes_while_read({info.features, train.labels.dimensions[0], test.labels.dimensions[0], info.train, info.test,
                                     train.images.packed + test.images.packed});
    info.classes = parameters.has("classes") ? static_cast<std::size_t>(parameters.count("classes"))
                                             : *std::max_element(train.labels.bytes().begin(), train.labels.bytes().end()) + std::size_t{1};
    info.origin = fmt::format("IDX files, {}", train.images_path.filename().string());
    check_labels(train);
    check_labels(test);
  }

  void check_labels(const Half& half) const {
    const std::span<const std::uint8_t> labels = half.labels.bytes();
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] >= info.classes)
        throw DataError(
            fmt::format("{}: label {} of sample {}; with {} classes labels are 0 to {}: give the right `classes`, or get the right file",
                        half.labels_path.string(), labels[i], i, info.classes, info.classes - 1));
  }
};

std::vector<fs::path> all_files(const Parameters& parameters, const fs::path& base) {
  std::vector<fs::path> files;
  for (const Role& role : roles) files.push_back(file_of(parameters, base, role));
  return files;
}

Dataset load(const Parameters& parameters, const fs::path& base, std::uint64_t /*seed*/, unsigned threads) {
  Files files(parameters, base, true, threads);
  Dataset data;
  data.info = files.info;
  const auto labels = [](const Half& half, std::size_t count) {
    const auto first = half.labels.bytes().begin();
    return std::vector<std::int32_t>(first, first + static_cast<std::ptrdiff_t>(count));
  };
  data.train.labels = labels(files.train, data.info.train);
  data.test.labels = labels(files.test, data.info.test);
  const auto images = [](Half& half) { return ReadImages{std::move(half.images.file), half.images.start()}; };
  take_images(data, images(files.train), images(files.test), normalization.of(parameters), threads);
  return data;
}

std::vector<Parameter> declare() {
  std::vector<Parameter> all;
  const auto add = [&](const char* name, ValueType type, std::string meaning) -> Parameter& {
    all.emplace_back().name = name;
    all.back().type = type;
    all.back().meaning = std::move(meaning);
    return all.back();
  };
  add("path", ValueType::path, "folder of the four files, plain or .gz, with MNIST's or EMNIST's file names");
  for (const Role& role : roles) add(role.parameter, ValueType::path, fmt::format("file of the {}, instead of the folder's", role.meaning));
  add("classes", ValueType::count, "number of classes; default: the largest training label plus one").range = Range::between(1, 256);
  for (Parameter& parameter : image_parameters()) all.push_back(std::move(parameter));
  return all;
}

const Register<DataEntry> entry({"idx",
                                 "any images in IDX files: grey or in colour, any size, up to 256 classes",
                                 declare(),
                                 [](const Parameters& parameters, const fs::path& base) { return Files(parameters, base, false).info; },
                                 load,
                                 {},
                                 false,
                                 all_files});

}  // namespace
}  // namespace straggler::data::idx_files
