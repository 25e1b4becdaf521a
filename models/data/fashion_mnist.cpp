// Fashion-MNIST (Xiao, Rasul, Vollgraf: "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms",
// arXiv:1708.07747) from Debian's package dataset-fashion-mnist, or a data set of the same layout, sizes and number of classes in a folder
// with four IDX files, MNIST itself included. Data kind `idx` reads any others.
#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "models/data/blocks.hpp"
#include "models/data/idx.hpp"
#include "models/data/pixels.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::fashion_mnist {
namespace {

namespace fs = std::filesystem;

/// Of Debian's package, or of the archive that holds this program, too (tools/package/build_static).
fs::path packaged() {
  const fs::path system = "/usr/share/datasets/fashion-mnist", own = program_folder() / "../share/straggler/fashion-mnist";
  std::error_code ignored;
  return !fs::is_directory(system, ignored) && fs::is_directory(own, ignored) ? own.lexically_normal() : system;
}
constexpr std::size_t classes = 10, side = 28;

struct Folder {
  fs::path path;
  bool given = false;
};

Folder folder_of(const Parameters& parameters, const fs::path& base) {
  if (parameters.has("path")) return {base / parameters.text("path"), true};
  return {packaged(), false};
}

/// The file of one part ("train-images", "idx3"), under any of its common names.
fs::path find_file(const Folder& folder, const std::string& part, const std::string& type) {
  const char* const remedy =
      "the folder must hold the four files of Fashion-MNIST or MNIST, plain or .gz: train-images-idx3-ubyte, "
      "train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte";
  std::error_code ignored;
  if (!fs::is_directory(folder.path, ignored)) {
    if (folder.given) throw DataError(fmt::format("{}: no such folder; {}", folder.path.string(), remedy));
    throw DataError(fmt::format(
        "{}: Fashion-MNIST is not installed; `apt-get install dataset-fashion-mnist`, or give `path`, the folder of its four IDX files",
        folder.path.string()));
  }
  for (const char* separator : {"-", "."})
    for (const char* ending : {"", ".gz"}) {
      fs::path candidate = folder.path / fmt::format("{}{}{}-ubyte{}", part, separator, type, ending);
      if (fs::exists(candidate, ignored)) return candidate;
    }
  throw DataError(fmt::format("{}: there is no {}-{}-ubyte nor {}-{}-ubyte.gz; {}", folder.path.string(), part, type, part, type, remedy));
}

/// One half of the data set, as stored in the files: only the headers, until it is read.
struct Half {
  fs::path images_path, labels_path;
  Idx images, labels;
  std::size_t pixels() const { return images.dimensions[1] * images.dimensions[2]; }
};

Half headers_of(const Folder& folder, const std::string& part) {
  Half half;
  half.images_path = find_file(folder, part + "-images", "idx3");
  half.labels_path = find_file(folder, part + "-labels", "idx1");
  half.images = read_idx_header(half.images_path, 3);
  half.labels = read_idx_header(half.labels_path, 1);
  if (half.images.dimensions[0] != half.labels.dimensions[0])
    throw DataError(fmt::format("{}: has {} labels, but {} has {} images; the two files must belong together", half.labels_path.string(),
                                half.labels.dimensions[0], half.images_path.string(), half.images.dimensions[0]));
  return half;
}

constexpr const char* other_kind = "take kind: idx, which reads IDX files of any size and number of classes";

void check_sizes(const Half& train, const Half& test) {
  if (train.images.dimensions[1] != side || train.images.dimensions[2] != side)
    throw DataError(fmt::format("{}: images of {} x {} pixels; those of Fashion-MNIST and MNIST have {} x {}: {}",
                                train.images_path.string(), train.images.dimensions[1], train.images.dimensions[2], side, side,
                                other_kind));
  if (train.images.dimensions[1] == test.images.dimensions[1] && train.images.dimensions[2] == test.images.dimensions[2]) return;
  throw DataError(fmt::format("{}: images of {} x {} pixels, but the training images have {} x {}; both must have the same size",
                              test.images_path.string(), test.images.dimensions[1], test.images.dimensions[2], train.images.dimensions[1],
                              train.images.dimensions[2]));
}

DataInfo describe(const Folder& folder, const Half& train, const Half& test, const Parameters& parameters) {
  DataInfo info;
  info.features = train.pixels();
  info.shape = {1, train.images.dimensions[1], train.images.dimensions[2]};
  info.classes = classes;
  info.train = limited(train.images.dimensions[0], parameters, "train_limit");
  info.test = limited(test.images.dimensions[0], parameters, "test_limit");
  info.number_bytes = 1;
  info.reading = bytes_while_read({info.features, train.images.dimensions[0], test.images.dimensions[0], info.train, info.test,
                                   train.images.packed + test.images.packed});
  info.origin =
      folder.given ? fmt::format("IDX files in {}", parameters.text("path")) : "Fashion-MNIST, Debian package dataset-fashion-mnist";
  return info;
}

DataInfo inspect(const Parameters& parameters, const fs::path& base) {
  const Folder folder = folder_of(parameters, base);
  if (folder.given) {
    const Half train = headers_of(folder, "train"), test = headers_of(folder, "t10k");
    check_sizes(train, test);
    return describe(folder, train, test, parameters);
  }
  Half train, test;
  train.images.dimensions = {60'000, 28, 28};
  train.images.packed = 26'421'856;
  test.images.dimensions = {10'000, 28, 28};
  test.images.packed = 4'422'079;
  return describe(folder, train, test, parameters);
}

/// Of the first images.
std::vector<std::int32_t> labels_of(const Half& half, std::size_t count) {
  const std::span<const std::uint8_t> labels = half.labels.bytes().first(count);
  for (std::size_t i = 0; i < count; ++i)
    if (labels[i] >= classes)
      throw DataError(fmt::format("{}: label {} of sample {}; labels of Fashion-MNIST and MNIST are 0 to {}: {}", half.labels_path.string(),
                                  labels[i], i, classes - 1, other_kind));
  return {labels.begin(), labels.end()};
}

std::vector<fs::path> all_files(const Parameters& parameters, const fs::path& base) {
  const Folder folder = folder_of(parameters, base);
  std::vector<fs::path> files;
  for (const char* part : {"train", "t10k"}) {
    files.push_back(find_file(folder, std::string(part) + "-images", "idx3"));
    files.push_back(find_file(folder, std::string(part) + "-labels", "idx1"));
  }
  return files;
}

Dataset load(const Parameters& parameters, const fs::path& base, std::uint64_t /*seed*/, unsigned threads) {
  const Folder folder = folder_of(parameters, base);
  Half train = headers_of(folder, "train"), test = headers_of(folder, "t10k");
  check_sizes(train, test);
  const auto whole = [](const Half& half) { return std::pair(read_idx(half.images_path, 3), read_idx(half.labels_path, 1)); };
  auto [of_train, of_test] = both([&] { return whole(train); }, [&] { return whole(test); }, threads);
  std::tie(train.images, train.labels) = std::move(of_train);
  std::tie(test.images, test.labels) = std::move(of_test);
  Dataset data;
  data.info = describe(folder, train, test, parameters);
  const Normalization normalize = parameters.has("normalize") ? normalization.of(parameters) : Normalization::standard;
  data.train.labels = labels_of(train, data.info.train);
  data.test.labels = labels_of(test, data.info.test);
  const auto images = [](Half& half) { return ReadImages{std::move(half.images.file), half.images.start()}; };
  take_images(data, images(train), images(test), normalize, threads);
  return data;
}

std::vector<Parameter> declare() {
  Parameter path;
  path.name = "path";
  path.type = ValueType::path;
  path.meaning = "folder of the four IDX files, plain or .gz; default: Debian's package dataset-fashion-mnist";
  std::vector<Parameter> all = image_parameters();
  all.insert(all.begin(), path);
  return all;
}

const Register<DataEntry> entry({"fashion_mnist",
                                 "70,000 grey images of clothes, 28 x 28 pixels, 10 classes; also MNIST by `path`",
                                 declare(),
                                 inspect,
                                 load,
                                 {},
                                 false,
                                 all_files});

}  // namespace
}  // namespace straggler::data::fashion_mnist
