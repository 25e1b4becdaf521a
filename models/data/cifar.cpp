#include "models/data/cifar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "models/data/pixels.hpp"

namespace straggler {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t channels = 3, area = 32 * 32, pixel_bytes = channels * area;

/// Images without the labels between them.
struct Half {
  SampleBytes pixels;
  std::vector<std::int32_t> labels;
};

fs::path folder_of(const CifarLayout& layout, const Parameters& parameters, const fs::path& base) {
  fs::path folder = base / parameters.text("path");
  const std::string remedy =
      fmt::format("give the folder of the binary version, which holds {} to {}", layout.train_files.front(), layout.test_file);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) throw DataError(fmt::format("{}: no such folder; {}", folder.string(), remedy));
  if (fs::exists(folder / layout.test_file, ignored)) return folder;
  if (fs::exists(folder / layout.folder / layout.test_file, ignored)) return folder / layout.folder;
  for (const char* python : {"test_batch", "test"})
    if (fs::exists(folder / python, ignored))
      throw DataError(fmt::format("{}: holds {}'s Python version; {}", folder.string(), layout.name, remedy));
  throw DataError(fmt::format("{}: there is no {}; {}", folder.string(), layout.test_file, remedy));
}

/// Records in a file, by its size.
std::size_t records(const CifarLayout& layout, const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    throw DataError(fmt::format("{}: no such file; get all files of {}'s binary version", path.string(), layout.name));
  const std::uintmax_t size = fs::file_size(path, error), record = layout.label_bytes + pixel_bytes;
  if (size == 0 || size % record != 0)
    throw DataError(
        fmt::format("{}: {} bytes long, which is not a whole number of records of {} bytes; get the whole, undamaged file of {}'s "
                    "binary version",
                    path.string(), size, record, layout.name));
  return static_cast<std::size_t>(size / record);
}

void read_file(const CifarLayout& layout, const fs::path& path, Half& half) {
  const std::size_t count = records(layout, path), record = layout.label_bytes + pixel_bytes, before = half.labels.size();
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(fmt::format("{}: cannot be opened ({}); make it readable", path.string(), std::strerror(errno)));
  std::vector<char> bytes(count * record);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<std::size_t>(in.gcount()) != bytes.size())
    throw DataError(fmt::format("{}: only {} of {} bytes could be read; get the whole file", path.string(), in.gcount(), bytes.size()));
  half.labels.resize(before + count);
  half.pixels.resize((before + count) * pixel_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const char* const from = bytes.data() + i * record;
    const auto label = static_cast<std::uint8_t>(from[layout.label_at]);
    if (label >= layout.classes)
      throw DataError(fmt::format("{}: label {} of record {}; labels are 0 to {}: get {}'s binary version", path.string(), label, i,
                                  layout.classes - 1, layout.name));
    half.labels[before + i] = label;
    std::memcpy(half.pixels.data() + (before + i) * pixel_bytes, from + layout.label_bytes, pixel_bytes);
  }
}

}  // namespace

DataInfo inspect_cifar(const CifarLayout& layout, const Parameters& parameters, const fs::path& base) {
  const fs::path folder = folder_of(layout, parameters, base);
  DataInfo info;
  info.features = pixel_bytes;
  info.shape = {channels, 32, 32};
  info.classes = layout.classes;
  const std::size_t test = records(layout, folder / layout.test_file);
  std::size_t largest = test;  // file, which is read at once
  for (const std::string& file : layout.train_files) {
    const std::size_t here = records(layout, folder / file);
    info.train += here;
    largest = std::max(largest, here);
  }
  const std::size_t train = info.train;
  info.train = limited(train, parameters, "train_limit");
  info.test = limited(test, parameters, "test_limit");
  info.number_bytes = 1;
  info.reading = bytes_while_read({pixel_bytes, train, test, info.train, info.test, largest * (layout.label_bytes + pixel_bytes)});
  info.origin = fmt::format("{}, binary files in {}", layout.name, parameters.text("path"));
  return info;
}

std::vector<fs::path> cifar_files(const CifarLayout& layout, const Parameters& parameters, const fs::path& base) {
  const fs::path folder = folder_of(layout, parameters, base);
  std::vector<fs::path> files;
  for (const std::string& file : layout.train_files) files.push_back(folder / file);
  files.push_back(folder / layout.test_file);
  return files;
}

Dataset load_cifar(const CifarLayout& layout, const Parameters& parameters, const fs::path& base, unsigned threads) {
  Dataset data;
  data.info = inspect_cifar(layout, parameters, base);
  const fs::path folder = folder_of(layout, parameters, base);
  const auto read = [&](const std::vector<std::string>& files, std::size_t count, DataSplit& split) {
    std::size_t needed = 0, images = 0;
    while (images < count) images += records(layout, folder / files[needed++]);
    Half half;
    half.pixels.reserve(images * pixel_bytes);
    for (std::size_t i = 0; i < needed; ++i) read_file(layout, folder / files[i], half);
    half.labels.resize(count);
    split.labels = std::move(half.labels);
    return ReadImages{std::move(half.pixels)};
  };
  ReadImages train = read(layout.train_files, data.info.train, data.train), test = read({layout.test_file}, data.info.test, data.test);
  take_images(data, std::move(train), std::move(test), normalization.of(parameters), threads);
  return data;
}

std::vector<Parameter> cifar_parameters(const CifarLayout& layout) {
  std::vector<Parameter> all = image_parameters();
  Parameter path;
  path.name = "path";
  path.type = ValueType::path;
  path.required = true;
  path.meaning = fmt::format("folder of the binary version, {}, or the one above it", layout.folder);
  all.insert(all.begin(), path);
  return all;
}

}  // namespace straggler
