// Data sets: the IDX reader and its errors, Fashion-MNIST's normalizations, the generated points, the validation split.
#include <doctest/doctest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "models/data/dataset.hpp"
#include "models/data/idx.hpp"
#include "models/data/pixels.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/floats.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

namespace data_test {

using namespace straggler;
using namespace straggler::test;
namespace fs = std::filesystem;

namespace {

using Scratch = test::TemporaryFolder;

std::string idx(const std::vector<std::uint32_t>& dimensions, const std::string& items) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(dimension >> shift & 255);
  return bytes + items;
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(out.good());
}

void write_gz(const fs::path& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(file);
  REQUIRE(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
  gzclose(file);
}

std::string repeated(std::size_t count, char item) { return std::string(count, item); }

/// Hardly compressible.
std::string noise(std::size_t count) {
  std::string items;
  std::uint32_t state = 1;
  while (items.size() < count) items += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return items;
}

/// A compressed file of that size whose header and end promise all items, though it holds none.
void promise(const fs::path& path, const std::vector<std::uint32_t>& dimensions, std::uintmax_t size) {
  write_gz(path, idx(dimensions, ""));
  fs::resize_file(path, size - 4);
  std::uint64_t bytes = 1;
  for (const std::uint32_t dimension : dimensions) bytes *= dimension;
  bytes += 4 + 4 * dimensions.size();
  std::ofstream out(path, std::ios::binary | std::ios::app);
  for (int shift = 0; shift < 32; shift += 8) out.put(static_cast<char>(bytes >> shift & 255));
  REQUIRE(out.good());
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const DataEntry& entry(const char* name) { return Registry<DataEntry>::instance().at(name); }

/// 5 training images and 3 test images of 28 x 28 pixels.
constexpr std::size_t area = 28 * 28;
int train_pixel(std::size_t i) { return static_cast<int>(i % 30) * 8; }
int test_pixel(std::size_t i) { return 255 - static_cast<int>(i % 18); }
struct Tiny {
  std::string train_pixels, train_labels = std::string("\x00\x01\x02\x03\x09", 5), test_pixels,
                            test_labels = std::string("\x04\x05\x06", 3);
  Tiny() {
    for (std::size_t i = 0; i < 5 * area; ++i) train_pixels += static_cast<char>(train_pixel(i));
    for (std::size_t i = 0; i < 3 * area; ++i) test_pixels += static_cast<char>(test_pixel(i));
  }
  void write_to(const Scratch& folder) const {
    write(folder / "train-images-idx3-ubyte", idx({5, 28, 28}, train_pixels));
    write(folder / "train-labels.idx1-ubyte", idx({5}, train_labels));  // the name in MNIST's other distribution
    write_gz(folder / "t10k-images-idx3-ubyte.gz", idx({3, 28, 28}, test_pixels));
    write_gz(folder / "t10k-labels.idx1-ubyte.gz", idx({3}, test_labels));
  }
};

Parameters at_path(const Scratch& folder, const std::string& normalize = "standard") {
  return complete(entry("fashion_mnist").parameters, {{"path", folder.path().string()}, {"normalize", normalize}});
}

}  // namespace

TEST_CASE("idx: plain and compressed files give the same items") {
  const Scratch folder;
  const std::string items = "abcdefghijkl";
  write(folder / "plain", idx({2, 2, 3}, items));
  write_gz(folder / "packed.gz", idx({2, 2, 3}, items));
  for (const char* name : {"plain", "packed.gz"}) {
    const Idx read = read_idx(folder / name, 3);
    CHECK(read.dimensions == std::vector<std::size_t>{2, 2, 3});
    CHECK(std::string(read.bytes().begin(), read.bytes().end()) == items);
    CHECK(read_idx_header(folder / name, 3).dimensions == read.dimensions);
    CHECK(read_idx_header(folder / name, 3).bytes().empty());
  }
}

TEST_CASE("idx: every kind of damage is refused with the path, the fault and the remedy") {
  const Scratch folder;
  const std::string good = idx({2, 2, 3}, "abcdefghijkl");
  std::string wrong_type = good, more_dimensions = good;
  wrong_type[2] = 13;
  const std::map<std::string, std::pair<std::string, std::string>> cases = {
      {"empty", {"", "only 0 bytes long"}},
      {"short_magic", {good.substr(0, 3), "only 3 bytes long"}},
      {"short_header", {good.substr(0, 9), "ends inside its header"}},
      {"wrong_magic", {"GIF89a, which is a picture", "an IDX file of unsigned bytes with 3 dimensions starts with 00 00 08 03"}},
      {"wrong_type", {wrong_type, "starts with the bytes 00 00 0d 03"}},
      {"labels", {idx({12}, "abcdefghijkl"), "starts with the bytes 00 00 08 01"}},
      {"truncated", {good.substr(0, good.size() - 1), "27 bytes long, but its header (2 x 2 x 3) asks for 28"}},
      {"too_long", {good + "m", "29 bytes long, but its header (2 x 2 x 3) asks for 28"}},
      {"none", {idx({0, 2, 3}, ""), "no items"}},
      {"huge", {idx({0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu}, "abc"), "more than the file can hold"}},
  };
  for (const auto& one : cases) {
    const std::string& name = one.first;
    const auto& content = one.second;
    CAPTURE(name);
    write(folder / name, content.first);
    for (const bool header_only : {true, false}) {
      const std::string error = error_of<DataError>([&] { header_only ? read_idx_header(folder / name, 3) : read_idx(folder / name, 3); });
      CAPTURE(error);
      CHECK(error.rfind((folder / name).string() + ": ", 0) == 0);
      CHECK(has(error, content.second));
    }
  }
  CHECK(has(error_of<DataError>([&] { read_idx(folder / "absent", 3); }), "no such file"));
  CHECK(has(error_of<DataError>([&] { read_idx(folder.path(), 3); }), "not a file"));
}

TEST_CASE("idx: a large file that promises what it does not hold is refused before it is read") {
  const Scratch folder;
  const std::string items = noise(2'000'000);  // a 35th of what is promised
  write_gz(folder / "promise.gz", idx({70, 1000, 1000}, items));
  const char* const told = "its header asks for 70000016 bytes, but the compressed stream says that it holds 2000016";
  CHECK(has(error_of<DataError>([&] { read_idx(folder / "promise.gz", 3); }), told));
  CHECK(has(error_of<DataError>([&] { read_idx_header(folder / "promise.gz", 3); }), told));
  std::string lying = read(folder / "promise.gz");  // the stream's own size as promised, but not its content
  for (std::size_t i = 0; i < 4; ++i) lying[lying.size() - 4 + i] = static_cast<char>(70'000'016 >> (8 * i));
  write(folder / "lying.gz", lying);
  CHECK(has(error_of<DataError>([&] { read_idx(folder / "lying.gz", 3); }), "damaged: it is no compressed stream of the 70000016 bytes"));
  write_gz(folder / "kept.gz", idx({70, 1000, 1000}, items + repeated(68'000'000, 'x')));
  CHECK(read_idx(folder / "kept.gz", 3).bytes().back() == 'x');
}

TEST_CASE("idx: a large file that unpacks to more than 50 times its size is refused by its header") {
  const Scratch folder;
  write_gz(folder / "zeros.gz", idx({70, 1000, 1000}, repeated(70'000'000, '\0')));
  const char* const told = "its header asks for 70000016 bytes, more than 50 times the ";
  CHECK(has(error_of<DataError>([&] { read_idx(folder / "zeros.gz", 3); }), told));
  CHECK(has(error_of<DataError>([&] { read_idx_header(folder / "zeros.gz", 3); }), told));
  write_gz(folder / "small.gz", idx({60, 1000, 1000}, repeated(60'000'000, '\0')));  // small ones may
  CHECK(read_idx(folder / "small.gz", 3).bytes().size() == 60'000'000);
  promise(folder / "images", {3000, 1000, 1000}, 3'000'000);
  CHECK(
      has(error_of<DataError>([&] { read_idx(folder / "images", 3); }),
          "its header asks for 3000000016 bytes, more than 50 times the 3000000 of the compressed file; get the whole, undamaged file, or "
          "decompress it"));
}

TEST_CASE("idx: files that do not belong together are refused before a large one is decompressed") {
  const Scratch folder;
  const Tiny tiny;
  const auto refusal = [&](const char* kind) {
    const Parameters parameters = complete(entry(kind).parameters, {{"path", folder.path().string()}});
    std::string inspected = error_of<DataError>([&] { entry(kind).inspect(parameters, "/"); });
    CHECK(error_of<DataError>([&] { entry(kind).load(parameters, "/", 1, 1); }) == inspected);
    return inspected;
  };
  // Decompressing one of these would find it damaged.
  tiny.write_to(folder);
  fs::remove(folder / "train-labels.idx1-ubyte");
  promise(folder / "train-labels.idx1-ubyte.gz", {3'000'000'000}, 61'000'000);
  for (const char* kind : {"idx", "fashion_mnist"}) CHECK(has(refusal(kind), "has 3000000000 labels, but"));
  tiny.write_to(folder);
  fs::remove(folder / "train-labels.idx1-ubyte.gz");
  promise(folder / "t10k-images-idx3-ubyte.gz", {3, 31'000, 31'000}, 61'000'000);
  CHECK(has(refusal("idx"), "images of 1 x 31000 x 31000 numbers, but the training images have 1 x 28 x 28"));
  CHECK(has(refusal("fashion_mnist"), "images of 31000 x 31000 pixels, but the training images have 28 x 28"));
}

TEST_CASE("idx: damage inside a compressed file") {
  const Scratch folder;
  std::string items;
  for (int i = 0; i < 30'000; ++i) items += static_cast<char>(i * i % 251);
  write_gz(folder / "good.gz", idx({100, 30, 10}, items));
  const std::string packed = read(folder / "good.gz");
  REQUIRE(read_idx(folder / "good.gz", 3).bytes().size() == 30'000);

  for (const std::size_t missing : {std::size_t{1}, std::size_t{9}, packed.size() / 2}) {
    write(folder / "cut.gz", packed.substr(0, packed.size() - missing));
    CHECK(has(error_of<DataError>([&] { read_idx(folder / "cut.gz", 3); }), "cut off"));
  }
  std::string flipped = packed;
  flipped[packed.size() - 6] = static_cast<char>(flipped[packed.size() - 6] ^ 1);  // in the checksum
  write(folder / "flipped.gz", flipped);
  CHECK(has(error_of<DataError>([&] { read_idx(folder / "flipped.gz", 3); }), "damaged"));

  write_gz(folder / "few.gz", idx({100, 30, 11}, items));
  CHECK(has(error_of<DataError>([&] { read_idx(folder / "few.gz", 3); }), "holds 30000 of the 33000 bytes"));
  write_gz(folder / "many.gz", idx({100, 30, 9}, items));
  CHECK(has(error_of<DataError>([&] { read_idx(folder / "many.gz", 3); }), "continues after the 27000 bytes"));
  // A header that promises 64 GiB is refused before memory is taken: deflate packs at most 1032 bytes into one.
  write_gz(folder / "bomb.gz", idx({1u << 20, 1u << 8, 1u << 8}, "abc"));
  CHECK(has(error_of<DataError>([&] { read_idx(folder / "bomb.gz", 3); }), "more than the file can hold"));
  CHECK(has(error_of<DataError>([&] { read_idx_header(folder / "bomb.gz", 3); }), "more than the file can hold"));
}

TEST_CASE("idx: a file of several compressed streams is read whole") {
  const Scratch folder;
  const std::string whole = idx({2, 2, 3}, "abcdefghijkl");
  write_gz(folder / "one", whole.substr(0, 20));
  write_gz(folder / "two", whole.substr(20));
  write(folder / "both.gz", read(folder / "one") + read(folder / "two"));
  const Idx both = read_idx(folder / "both.gz", 3);
  CHECK(std::string(both.bytes().begin(), both.bytes().end()) == "abcdefghijkl");
}

TEST_CASE("the content of a file is named by all of its bytes, in their order") {
  const Scratch folder;
  DataEntry kind;
  kind.files = [&](const Parameters&, const std::filesystem::path& base) { return std::vector{base / "file"}; };
  const auto name = [&](const std::vector<std::uint8_t>& content) {
    write(folder / "file", std::string(content.begin(), content.end()));
    return content_of(kind, {}, folder.path(), 1);
  };
  std::vector<std::uint8_t> bytes(700'001);
  RandomStream stream(1, "bytes");
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(stream());
  std::vector<Key> keys = {name(bytes), name({bytes.begin(), bytes.end() - 1}), name({bytes.begin() + 1, bytes.end()})};
  CHECK(name(bytes) == keys[0]);
  // In each part and each lane of it, at the ends of both, and in what is left over.
  for (const std::size_t at : {0, 7, 8, 65'535, 65'536, 131'072, 262'143, 262'144, 524'288, 700'000}) {
    std::vector<std::uint8_t> changed = bytes;
    changed[at] = static_cast<std::uint8_t>(changed[at] ^ 1);
    keys.push_back(name(changed));
  }
  for (const auto& [one, other] : {std::pair(0, 65'536), std::pair(0, 262'144), std::pair(8, 16)}) {  // words change places
    std::vector<std::uint8_t> changed = bytes;
    std::swap_ranges(changed.begin() + one, changed.begin() + one + 8, changed.begin() + other);
    keys.push_back(name(changed));
  }
  std::filesystem::remove(folder / "file");
  CHECK(has(error_of<DataError>([&] { content_of(kind, {}, folder.path(), 1); }), "cannot be opened"));
  std::sort(keys.begin(), keys.end());
  CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
}

TEST_CASE("images are read to the same bits on any number of threads") {
  const Scratch folder;
  const auto items = [](std::size_t count, std::uint64_t seed) {
    RandomStream stream(seed, "items");
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(stream() & 0xFF);
    return bytes;
  };
  const auto labels = [](std::size_t count) {
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(i % 10);
    return bytes;
  };
  write_gz(folder / "train-images-idx3-ubyte.gz", idx({1100, 28, 28}, items(1100 * 784, 1)));  // a few blocks and a part of one
  write_gz(folder / "train-labels-idx1-ubyte.gz", idx({1100}, labels(1100)));
  write(folder / "t10k-images-idx3-ubyte", idx({400, 28, 28}, items(400 * 784, 2)));
  write(folder / "t10k-labels-idx1-ubyte", idx({400}, labels(400)));
  for (const char* kind : {"fashion_mnist", "idx"}) {
    CAPTURE(kind);
    const Parameters parameters = complete(entry(kind).parameters, {{"path", folder.path().string()}, {"train_limit", std::int64_t{1001}}});
    const Dataset one = entry(kind).load(parameters, "/", 1, 1);
    REQUIRE(one.train.count() == 1001);
    for (const unsigned threads : {2u, 5u}) {
      const Dataset several = entry(kind).load(parameters, "/", 1, threads);
      CHECK(floats(several.train) == floats(one.train));
      CHECK(floats(several.test) == floats(one.test));
      CHECK(several.train.labels == one.train.labels);
    }
    // Which thread finds its file first does not matter: the training set's fault is told.
    write_gz(folder / "train-labels-idx1-ubyte.gz", idx({3}, labels(3)));
    write(folder / "t10k-labels-idx1-ubyte", idx({3}, labels(3)));
    for (const unsigned threads : {1u, 2u})
      CHECK(has(error_of<DataError>([&] { entry(kind).load(parameters, "/", 1, threads); }), "train-labels-idx1-ubyte.gz: has 3 labels"));
    write_gz(folder / "train-labels-idx1-ubyte.gz", idx({1100}, labels(1100)));
    write(folder / "t10k-labels-idx1-ubyte", idx({400}, labels(400)));
  }
}

TEST_CASE("fashion_mnist: a folder of one's own, all names in use, three normalizations") {
  const Scratch folder;
  const Tiny tiny;
  tiny.write_to(folder);
  const DataInfo info = entry("fashion_mnist").inspect(at_path(folder), "/");
  CHECK(info.train == 5);
  CHECK(info.test == 3);
  CHECK(info.features == area);
  CHECK(info.shape == std::vector<std::size_t>{1, 28, 28});
  CHECK_FALSE(info.synthetic);

  double mean = 0, squares = 0;  // derived here from the pixels
  for (std::size_t i = 0; i < 5 * area; ++i) mean += train_pixel(i) / (5.0 * area);
  for (std::size_t i = 0; i < 5 * area; ++i) squares += (train_pixel(i) - mean) * (train_pixel(i) - mean) / (5.0 * area);
  const std::map<std::string, std::pair<double, double>> expected = {
      {"none", {0, 1}}, {"unit", {0, 255}}, {"standard", {mean, std::sqrt(squares)}}};
  std::vector<Key> keys;
  for (const auto& one : expected) {
    const std::string& name = one.first;
    const auto& scale = one.second;
    CAPTURE(name);
    const Dataset data = entry("fashion_mnist").load(at_path(folder, name), "/", 1, 1);
    const std::vector<float> train = floats(data.train), test = floats(data.test);
    REQUIRE((train.size() == 5 * area && test.size() == 3 * area));
    for (std::size_t i = 0; i < 5 * area; ++i)
      CHECK(train[i] == doctest::Approx((train_pixel(i) - scale.first) / scale.second).epsilon(1e-5));
    for (std::size_t i = 0; i < 3 * area; ++i)
      CHECK(test[i] == doctest::Approx((test_pixel(i) - scale.first) / scale.second).epsilon(1e-5));
    CHECK(data.train.labels == std::vector<std::int32_t>{0, 1, 2, 3, 9});
    CHECK(data.test.labels == std::vector<std::int32_t>{4, 5, 6});
    keys.push_back(content_of(entry("fashion_mnist"), at_path(folder, name), "/", 1));
    CHECK(keys.back() == content_of(entry("fashion_mnist"), at_path(folder, name), "/", 2));
  }
  CHECK(keys[0] != keys[1]);
  CHECK(keys[1] != keys[2]);

  Tiny other = tiny;
  other.test_labels[2] = 7;
  other.write_to(folder);
  CHECK(content_of(entry("fashion_mnist"), at_path(folder, "none"), "/", 1) != keys[0]);
  tiny.write_to(folder);
  CHECK(content_of(entry("fashion_mnist"), at_path(folder, "none"), "/", 1) == keys[0]);
  // A relative path starts from the folder of the file that names it.
  const Parameters relative = complete(entry("fashion_mnist").parameters, {{"path", folder.path().filename().string()}});
  CHECK(entry("fashion_mnist").inspect(relative, folder.path().parent_path()).train == 5);
}

TEST_CASE("fashion_mnist: limits keep the first samples") {
  const Scratch folder;
  Tiny().write_to(folder);
  Parameters parameters = at_path(folder, "none");
  parameters.set("train_limit", std::int64_t{2});
  parameters.set("test_limit", std::int64_t{100});
  CHECK(entry("fashion_mnist").inspect(parameters, "/").train == 2);
  const Dataset data = entry("fashion_mnist").load(parameters, "/", 1, 1);
  CHECK((data.info.train == 2 && data.info.test == 3));
  CHECK(data.train.labels == std::vector<std::int32_t>{0, 1});
  CHECK(data.train.inputs.count() == 2);
  CHECK(content_of(entry("fashion_mnist"), parameters, "/", 1) != content_of(entry("fashion_mnist"), at_path(folder, "none"), "/", 1));
}

TEST_CASE("fashion_mnist: files that do not belong together") {
  const Scratch folder;
  const Tiny tiny;
  const auto inspect_and_load = [&] {
    std::string inspected = error_of<DataError>([&] { entry("fashion_mnist").inspect(at_path(folder), "/"); });
    std::string loaded = error_of<DataError>([&] { entry("fashion_mnist").load(at_path(folder), "/", 1, 1); });
    CHECK(inspected == loaded);
    return loaded;
  };
  CHECK(has(inspect_and_load(), "there is no train-images-idx3-ubyte nor train-images-idx3-ubyte.gz"));
  tiny.write_to(folder);
  CHECK(inspect_and_load() == "");

  write(folder / "train-labels.idx1-ubyte", idx({4}, "\1\2\3\4"));
  CHECK(has(inspect_and_load(), "has 4 labels, but"));
  tiny.write_to(folder);

  write_gz(folder / "t10k-images-idx3-ubyte.gz", idx({3, 3, 3}, std::string(27, 'x')));
  CHECK(has(inspect_and_load(), "3 x 3 pixels, but the training images have 28 x 28"));
  write(folder / "train-images-idx3-ubyte", idx({5, 3, 3}, std::string(45, 'x')));
  const std::string small = inspect_and_load();
  CHECK(has(small, "train-images-idx3-ubyte: images of 3 x 3 pixels; those of Fashion-MNIST and MNIST have 28 x 28: take kind: idx"));
  CHECK(error_of<DataError>([&] {
          entry("idx").inspect(complete(entry("idx").parameters, {{"path", folder.path().string()}}), "/");
        }).empty());
  tiny.write_to(folder);

  write_gz(folder / "t10k-labels.idx1-ubyte.gz", idx({3}, "\1\2\x0a"));
  CHECK(has(error_of<DataError>([&] { entry("fashion_mnist").load(at_path(folder), "/", 1, 1); }),
            "label 10 of sample 2; labels of Fashion-MNIST and MNIST are 0 to 9: take kind: idx"));

  const Parameters absent = complete(entry("fashion_mnist").parameters, {{"path", (folder / "nowhere").string()}});
  CHECK(has(error_of<DataError>([&] { entry("fashion_mnist").inspect(absent, "/"); }), "no such folder"));
}

TEST_CASE("fashion_mnist: the sizes are known without any file, and the real files have them") {
  const Parameters parameters = complete(entry("fashion_mnist").parameters, {});
  const DataInfo info = entry("fashion_mnist").inspect(parameters, "/nowhere");
  CHECK(info.train == 60'000);
  CHECK(info.test == 10'000);
  CHECK(info.features == 784);
  CHECK(info.classes == 10);
  if (!fs::exists("/usr/share/datasets/fashion-mnist")) {
    CHECK(has(error_of<DataError>([&] { entry("fashion_mnist").load(parameters, "/", 1, 1); }), "apt-get install dataset-fashion-mnist"));
    MESSAGE("the package dataset-fashion-mnist is not installed: the real files were not read");
    return;
  }
  const Dataset data = entry("fashion_mnist").load(parameters, "/", 1, 1);
  const std::vector<float> inputs = floats(data.train);
  REQUIRE((inputs.size() == 60'000 * 784 && data.test.count() == 10'000));
  // Each class has a tenth of the samples (the paper's table 1), and a standardized training set has mean 0 and deviation 1.
  for (std::int32_t label = 0; label < 10; ++label) {
    CHECK(std::count(data.train.labels.begin(), data.train.labels.end(), label) == 6'000);
    CHECK(std::count(data.test.labels.begin(), data.test.labels.end(), label) == 1'000);
  }
  double sum = 0, squares = 0;
  for (const float x : inputs) {
    sum += x;
    squares += double{x} * x;
  }
  const auto n = static_cast<double>(inputs.size());
  CHECK(std::abs(sum / n) < 1e-5);
  CHECK(squares / n == doctest::Approx(1).epsilon(1e-5));
}

TEST_CASE("coordinates: generated from the seed, balanced, as far from the centre as stated") {
  const Parameters parameters = complete(entry("coordinates").parameters, {});
  const DataInfo info = entry("coordinates").inspect(parameters, "/");
  CHECK(info.train == 40'000);
  CHECK(info.test == 10'000);
  CHECK(info.features == 2);
  CHECK(info.classes == 4);
  CHECK(info.synthetic);
  const Dataset data = entry("coordinates").load(parameters, "/", 7, 1), again = entry("coordinates").load(parameters, "/", 7, 1),
                other = entry("coordinates").load(parameters, "/", 8, 1);
  CHECK(floats(data.train) == floats(again.train));
  const auto content = [&](std::uint64_t seed) { return content_of(entry("coordinates"), parameters, "/", seed); };
  CHECK(content(7) == content(7));
  CHECK(content(7) != content(8));
  CHECK(floats(data.train) != floats(other.train));
  for (std::int32_t label = 0; label < 4; ++label) CHECK(std::count(data.train.labels.begin(), data.train.labels.end(), label) == 10'000);
  // E |x|² = 4 (E u + 2 noise²) = 2 + 8 noise², with u uniform; its standard error over 40,000 points is below 0.01.
  double squares = 0;
  for (const float x : floats(data.train)) squares += double{x} * x;
  CHECK(squares / 40'000 == doctest::Approx(2 + 8 * 0.06 * 0.06).epsilon(0.02));
  // Without noise the class can be read off the angle: angle / 2 pi - turns * radius / 2 = class / 4.
  const Dataset clean =
      entry("coordinates").load(complete(entry("coordinates").parameters, {{"noise", 0.0}, {"samples", std::int64_t{400}}}), "/", 7, 1);
  REQUIRE(clean.train.count() == 400);
  for (std::size_t i = 0; i < 400; ++i) {
    const float* const at = clean.train.inputs.rows(i, 1, nullptr);
    const double x = at[0], y = at[1], quarters = 4 * (std::atan2(y, x) / (2 * 3.14159265358979) - 0.75 * std::hypot(x, y) / 2);
    const double away = quarters - clean.train.labels[i];
    CHECK(std::abs(away - 4 * std::round(away / 4)) < 1e-3);
  }
}

TEST_CASE("hold_out_validation moves the share, keeps the order, loses nothing") {
  const Parameters parameters =
      complete(entry("coordinates").parameters, {{"samples", std::int64_t{1000}}, {"test_samples", std::int64_t{10}}});
  const Dataset whole = entry("coordinates").load(parameters, "/", 1, 1);
  Dataset data = whole, again = whole, none = whole, other = whole;
  hold_out_validation(data, 0.1, 5);
  REQUIRE(data.validation.count() == 100);
  REQUIRE(data.train.count() == 900);
  CHECK(data.info.train == 900);
  CHECK(data.train.inputs.count() == 900);
  // Walking both splits in order gives the original back.
  std::size_t kept = 0, held = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto same = [&](const DataSplit& split, std::size_t at) {
      const float *const row = whole.train.inputs.rows(i, 1, nullptr), *const other = split.inputs.rows(at, 1, nullptr);
      return at < split.count() && std::equal(row, row + 2, other) && split.labels[at] == whole.train.labels[i];
    };
    if (same(data.train, kept)) {
      ++kept;
    } else {
      REQUIRE(same(data.validation, held));
      ++held;
    }
  }
  CHECK(kept == 900);
  CHECK(held == 100);
  hold_out_validation(again, 0.1, 5);
  CHECK(floats(again.validation) == floats(data.validation));
  hold_out_validation(other, 0.1, 6);
  CHECK(floats(other.validation) != floats(data.validation));
  hold_out_validation(none, 0, 5);
  CHECK(floats(none.train) == floats(whole.train));
  CHECK(none.validation.count() == 0);
  CHECK_THROWS_AS(hold_out_validation(none, 1, 5), std::invalid_argument);
  CHECK_THROWS_AS(hold_out_validation(none, -0.1, 5), std::invalid_argument);
  CHECK_THROWS_AS(hold_out_validation(none, 0.9999, 5), std::invalid_argument);
}

}  // namespace data_test
