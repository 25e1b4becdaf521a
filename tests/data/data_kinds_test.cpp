// Data sets from files of other kinds (CIFAR, IDX, CSV) and generated ones: what they read, and how they refuse what is wrong.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "models/data/dataset.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/floats.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

namespace data_kinds_test {

using namespace straggler;
using namespace straggler::test;
namespace fs = std::filesystem;

namespace {

class Folder : public test::TemporaryFolder {
 public:
  const Folder& write(const std::string& name, const std::string& bytes) const {
    TemporaryFolder::write(name, bytes);
    return *this;
  }
  std::string path(const std::string& name = "") const { return (name.empty() ? TemporaryFolder::path() : *this / name).string(); }
};

const DataEntry& entry(const std::string& name) { return Registry<DataEntry>::instance().at(name); }

Dataset load(const std::string& kind, const Parameters& given, std::uint64_t seed = 1) {
  return entry(kind).load(complete(entry(kind).parameters, given), "/", seed, 1);
}
Key content(const std::string& kind, const Parameters& given, std::uint64_t seed = 1) {
  return content_of(entry(kind), complete(entry(kind).parameters, given), "/", seed);
}
DataInfo inspect(const std::string& kind, const Parameters& given) {
  return entry(kind).inspect(complete(entry(kind).parameters, given), "/");
}

/// What both inspecting and loading refuse it with; what loading alone says where inspecting cannot know.
std::string refusal(const std::string& kind, const Parameters& given, bool loading_only = false) {
  std::string inspected, loaded;
  try {
    inspect(kind, given);
  } catch (const DataError& wrong) {
    inspected = wrong.what();
  }
  try {
    load(kind, given);
  } catch (const DataError& wrong) {
    loaded = wrong.what();
  }
  if (!loading_only) CHECK(inspected == loaded);
  return loaded;
}

/// A CIFAR record: labels, then pixels that are `first`, first + 1, … modulo 251.
std::string record(const std::string& labels, int first) {
  std::string bytes = labels;
  for (int i = 0; i < 3072; ++i) bytes += static_cast<char>((first + i) % 251);
  return bytes;
}

/// Five batches of two records and a test batch of one.
void write_cifar10(const Folder& folder, const std::string& below = "") {
  for (int b = 1; b <= 5; ++b)
    folder.write(below + "data_batch_" + std::to_string(b) + ".bin",
                 record(std::string(1, static_cast<char>(b)), b) + record(std::string(1, static_cast<char>(b + 4)), 7 * b));
  folder.write(below + "test_batch.bin", record(std::string(1, '\0'), 99));
}

std::string idx(const std::vector<std::uint32_t>& dimensions, const std::string& items) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(dimension >> shift & 255);
  return bytes + items;
}

}  // namespace

TEST_CASE("cifar10: records in the order of the files, channels normalized each by its own training pixels") {
  const Folder folder;
  write_cifar10(folder);
  const Parameters raw = {{"path", folder.path()}, {"normalize", std::string("none")}};
  const DataInfo info = inspect("cifar10", raw);
  CHECK(info.shape == std::vector<std::size_t>{3, 32, 32});
  CHECK(info.train == 10);
  CHECK(info.test == 1);
  CHECK(info.classes == 10);
  const Dataset data = load("cifar10", raw);
  CHECK(data.train.labels == std::vector<std::int32_t>{1, 5, 2, 6, 3, 7, 4, 8, 5, 9});
  CHECK(data.test.labels == std::vector<std::int32_t>{0});
  const std::vector<float> pixels = floats(data.train), tested = floats(data.test);
  REQUIRE(pixels.size() == 30'720);
  for (const int sample : {0, 1, 9})
    for (const int pixel : {0, 1024, 3071}) {
      const int first = (sample % 2 == 0 ? 1 : 7) * (sample / 2 + 1);
      CHECK(pixels[static_cast<std::size_t>(sample * 3072 + pixel)] == static_cast<float>((first + pixel) % 251));
    }
  CHECK(data.black == std::vector<float>(3, 0.0f));

  const Dataset standard = load("cifar10", {{"path", folder.path()}});
  const std::vector<float> scaled = floats(standard.train), scaled_tested = floats(standard.test);
  for (std::size_t c = 0; c < 3; ++c) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < 10; ++i)
      for (std::size_t k = 0; k < 1024; ++k) mean += pixels[i * 3072 + c * 1024 + k] / 10'240;
    for (std::size_t i = 0; i < 10; ++i)
      for (std::size_t k = 0; k < 1024; ++k) squares += std::pow(pixels[i * 3072 + c * 1024 + k] - mean, 2) / 10'240;
    CHECK(standard.black[c] == doctest::Approx(-mean / std::sqrt(squares)).epsilon(1e-5));
    const std::size_t at = 4 * 3072 + c * 1024 + 17;
    CHECK(scaled[at] == doctest::Approx((pixels[at] - mean) / std::sqrt(squares)).epsilon(1e-5));
    CHECK(scaled_tested[c * 1024] == doctest::Approx((tested[c * 1024] - mean) / std::sqrt(squares)).epsilon(1e-5));
  }
  const Parameters as_usual = {{"path", folder.path()}};
  CHECK(content("cifar10", as_usual) != content("cifar10", raw));
  Parameters few = raw;
  few.set("train_limit", std::int64_t{3});
  CHECK(load("cifar10", few).train.labels == std::vector<std::int32_t>{1, 5, 2});
  // The folder above it will do, too, and changes nothing.
  const Folder above;
  write_cifar10(above, "cifar-10-batches-bin/");
  CHECK(floats(load("cifar10", {{"path", above.path()}}).train) == scaled);
  CHECK(content("cifar10", {{"path", above.path()}}) == content("cifar10", as_usual));
}

TEST_CASE("cifar100: the second of two labels counts") {
  const Folder folder;
  folder.write("train.bin", record("\x03\x63", 1) + record("\x04\x05", 2)).write("test.bin", record("\x13\x14", 3));
  const Dataset data = load("cifar100", {{"path", folder.path()}, {"normalize", std::string("unit")}});
  CHECK(data.info.classes == 100);
  CHECK(data.train.labels == std::vector<std::int32_t>{99, 5});
  CHECK(data.test.labels == std::vector<std::int32_t>{20});
  CHECK(floats(data.test)[0] == doctest::Approx(3 / 255.0));
}

TEST_CASE("cifar10: files that are missing, cut off or something else") {
  const Folder folder;
  const Parameters parameters = {{"path", folder.path()}};
  CHECK(has(refusal("cifar10", {{"path", std::string("/nowhere")}}),
            "/nowhere: no such folder; give the folder of the binary version, which holds data_batch_1.bin"));
  CHECK(has(refusal("cifar10", parameters), ": there is no test_batch.bin; give the folder"));
  folder.write("test_batch", "pickled");
  CHECK(has(refusal("cifar10", parameters), "holds CIFAR-10's Python version; give the folder of the binary version"));
  write_cifar10(folder);
  folder.write("data_batch_3.bin", record("\x01", 1).substr(1));
  CHECK(has(refusal("cifar10", parameters),
            folder.path("data_batch_3.bin") + ": 3072 bytes long, which is not a whole number of records of 3073 bytes; get the whole"));
  folder.write("data_batch_3.bin", "");
  CHECK(has(refusal("cifar10", parameters), "0 bytes long"));
  fs::remove(folder.path("data_batch_3.bin"));
  CHECK(has(refusal("cifar10", parameters), folder.path("data_batch_3.bin") + ": no such file; get all files"));
  folder.write("data_batch_3.bin", record("\x01", 1) + record("\x0a", 1));
  CHECK(has(refusal("cifar10", parameters, true), folder.path("data_batch_3.bin") + ": label 10 of record 1; labels are 0 to 9"));
}

TEST_CASE("idx: any folder or four files, in grey or colour, as many classes as there are") {
  const Folder folder;
  folder.write("emnist-letters-train-images-idx3-ubyte", idx({3, 1, 2}, "abcdef"))
      .write("emnist-letters-train-labels-idx1-ubyte", idx({3}, std::string("\x01\x1a\x02", 3)));
  folder.write("emnist-letters-test-images-idx3-ubyte", idx({1, 1, 2}, "xy"))
      .write("emnist-letters-test-labels-idx1-ubyte", idx({1}, "\x03"));
  const Parameters raw = {{"path", folder.path()}, {"normalize", std::string("none")}};
  const DataInfo info = inspect("idx", raw);
  CHECK(info.classes == 27);
  CHECK(info.train == 3);
  CHECK(info.shape == std::vector<std::size_t>{1, 1, 2});
  const Dataset data = load("idx", raw);
  CHECK(floats(data.train) == std::vector<float>{'a', 'b', 'c', 'd', 'e', 'f'});
  CHECK(data.train.labels == std::vector<std::int32_t>{1, 26, 2});

  folder.write("colour", idx({2, 3, 1, 2}, "abcdefghijkl")).write("labels", idx({2}, std::string("\x00\x01", 2)));
  const Parameters by_name = {{"train_images", folder.path("colour")},
                              {"train_labels", folder.path("labels")},
                              {"test_images", folder.path("colour")},
                              {"test_labels", folder.path("labels")},
                              {"classes", std::int64_t{5}},
                              {"normalize", std::string("none")}};
  const Dataset colour = load("idx", by_name);
  CHECK(colour.info.shape == std::vector<std::size_t>{3, 1, 2});
  CHECK(colour.info.classes == 5);
  CHECK(floats(colour.test)[11] == static_cast<float>('l'));
  // A file by name takes the place of the folder's.
  Parameters mixed = raw;
  mixed.set("test_labels", folder.path("two"));
  folder.write("two", idx({1}, "\x02"));
  CHECK(load("idx", mixed).test.labels == std::vector<std::int32_t>{2});
}

TEST_CASE("idx: errors name their file") {
  const Folder folder;
  folder.write("images", idx({2, 1, 2}, "abcd")).write("labels", idx({2}, std::string("\x00\x02", 2)));
  folder.write("wide", idx({2, 2, 2}, "abcdefgh")).write("three", idx({3}, "abc"));
  const auto files = [&](const char* images, const char* labels, const char* test_images, const char* test_labels) {
    return Parameters{{"train_images", folder.path(images)},
                      {"train_labels", folder.path(labels)},
                      {"test_images", folder.path(test_images)},
                      {"test_labels", folder.path(test_labels)}};
  };
  CHECK(refusal("idx", files("images", "labels", "images", "labels")) == "");
  CHECK(has(refusal("idx", {}), "there is no file of the training images; give `train_images`, or `path`"));
  CHECK(has(refusal("idx", {{"path", folder.path()}}),
            "there is no train-images-idx…-ubyte, plain or .gz; name the file of the training images by `train_images`"));
  CHECK(has(refusal("idx", {{"path", std::string("/nowhere")}}), "/nowhere: no such folder; "));
  CHECK(has(refusal("idx", files("images", "three", "images", "labels")), "has 3 labels, but"));
  CHECK(has(refusal("idx", files("images", "labels", "wide", "labels")),
            "images of 1 x 2 x 2 numbers, but the training images have 1 x 1 x 2"));
  CHECK(has(refusal("idx", files("absent", "labels", "images", "labels")), folder.path("absent") + ": no such file; "));
  Parameters two = files("images", "labels", "images", "labels");
  two.set("classes", std::int64_t{2});
  CHECK(has(refusal("idx", two), folder.path("labels") + ": label 2 of sample 1; with 2 classes labels are 0 to 1"));
  folder.write("a-train-images-idx3-ubyte", "").write("b-train-images-idx3-ubyte", "");
  CHECK(has(refusal("idx", {{"path", folder.path()}}),
            "both a-train-images-idx3-ubyte and b-train-images-idx3-ubyte could hold the training images"));
}

TEST_CASE("csv: names, numbers, first and last; categories in order; a second file or a share for testing") {
  const Folder folder;
  folder.write("iris.csv", "length,width,species\n1,10,setosa\n2,20,\"vir, ginica\"\n3,30,setosa\n4,40,other\n");
  folder.write("test.csv", "length,width,species\n9,90,other\n");
  const Parameters two = {{"path", folder.path("iris.csv")}, {"test_path", folder.path("test.csv")}, {"normalize", std::string("none")}};
  for (const char* label : {"species", "last", "3"}) {
    CAPTURE(label);
    Parameters parameters = two;
    parameters.set("label", std::string(label));
    const Dataset data = load("csv", parameters);
    CHECK(data.info.classes == 3);
    CHECK(data.info.features == 2);
    CHECK(floats(data.train) == std::vector<float>{1, 10, 2, 20, 3, 30, 4, 40});
    CHECK(data.train.labels == std::vector<std::int32_t>{1, 2, 1, 0});  // other, setosa, vir, ginica
    CHECK(floats(data.test) == std::vector<float>{9, 90});
    CHECK(data.test.labels == std::vector<std::int32_t>{0});
  }
  // Without a header, by tabs, whole numbers as labels in their order as numbers, first column.
  folder.write("plain.txt", "10\t1.5\t-2\n9\t1e1\t3\n10\t0\t4\n");
  const Parameters plain = {
      {"path", folder.path("plain.txt")}, {"label", std::string("first")}, {"test_share", 0.34}, {"normalize", std::string("none")}};
  const Dataset data = load("csv", plain);
  CHECK(data.info.train == 2);
  CHECK(data.info.test == 1);
  std::map<float, std::int32_t> label_of;  // by the last number
  for (const DataSplit* split : {&data.train, &data.test})
    for (std::size_t i = 0; i < split->count(); ++i) label_of[split->inputs.rows(i, 1, nullptr)[1]] = split->labels[i];
  CHECK(label_of == std::map<float, std::int32_t>{{-2.0f, 1}, {3.0f, 0}, {4.0f, 1}});
}

TEST_CASE("csv: normalized by the training rows; divided by the seed, the same for the same one") {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 50; ++i) rows += std::to_string(i * i) + ";7;" + (i % 2 ? "odd" : "even") + "\r\n";
  folder.write("rows.csv", rows);
  const Parameters parameters = {{"path", folder.path("rows.csv")}};
  const Dataset data = load("csv", parameters), again = load("csv", parameters), other = load("csv", parameters, 2);
  CHECK(data.train.count() == 40);
  CHECK(data.test.count() == 10);
  CHECK(floats(data.train) == floats(again.train));
  CHECK(data.train.labels != other.train.labels);
  CHECK(content("csv", parameters) == content("csv", parameters));
  CHECK(content("csv", parameters) != content("csv", parameters, 2));
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const float* const row = data.train.inputs.rows(i, 1, nullptr);
    sum += row[0];
    squares += row[0] * row[0];
    CHECK(row[1] == 0);  // a constant column
  }
  CHECK(std::abs(sum) < 1e-4);
  CHECK(squares / 40 == doctest::Approx(1));
  const Dataset unit = load("csv", {{"path", folder.path("rows.csv")}, {"normalize", std::string("unit")}});
  float low = 1, high = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    low = std::min(low, *unit.train.inputs.rows(i, 1, nullptr));
    high = std::max(high, *unit.train.inputs.rows(i, 1, nullptr));
  }
  CHECK(low == 0);
  CHECK(high == 1);
}

TEST_CASE("csv: errors name their line") {
  const Folder folder;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a,b,c\n1,2,x\n1,,y\n", ":3: column 2 (b): nothing there; write a number"},
      {"1,2,x\n1,two,y\n", ":2: column 2: 'two' is not a number"},
      {"1,2,x\n1,nan,y\n", ":2: column 2: 'nan' is not a number; write a number that is finite"},
      {"1,2,x\n\n1,2\n", ":3: 2 fields; the first line has 3"},
      {"1,2,x\n1,2,\n", ":2: column 3: no label"},
      {"1,\"2,x\n", ":1: a quote that is not closed"},
      {"lonely\n1\n", ":1: one column only"},
      {"", ": has no rows"},
      {"a,b,label\n", ": has no rows"},
      {"1,2,x\n1,2,y\n", "a test share of 0.2 of 2 rows leaves none to test"},
      {"a,b\n1,x\n2,x\n3,x\n", ": every row has the label 'x' in column 2, so there is nothing to tell apart; name a column of classes"},
      {",a,label\n0,1,x\n1,2,y\n", ":1: the first column has no name, as an index that pandas has written; write the file without it"},
  };
  for (const auto& one : cases) {
    folder.write("bad.csv", one.first);
    const std::string said = refusal("csv", {{"path", folder.path("bad.csv")}});
    CAPTURE(one.first);
    CAPTURE(said);
    CHECK(said.starts_with(folder.path("bad.csv")));
    CHECK(has(said, one.second));
  }
  folder.write("good.csv", "a,b,label\n1,2,x\n3,4,y\n5,6,x\n");
  const auto with = [&](const char* name, Value value) { return Parameters{{"path", folder.path("good.csv")}, {name, std::move(value)}}; };
  CHECK(has(refusal("csv", with("label", std::string("colour"))),
            ":1: there is no column 'colour' for the labels; the first line has a, b, label"));
  CHECK(has(refusal("csv", with("label", std::string("4"))), "there is no column '4'"));
  CHECK(has(refusal("csv", with("header", std::string("absent"))), ":1: column 1: 'a' is not a number"));
  CHECK(has(refusal("csv", with("separator", std::string("semicolon"))), ":1: one column only"));
  CHECK(has(refusal("csv", with("test_path", folder.path("absent.csv"))), "absent.csv: no such file; "));
  folder.write("test.csv", "a,b,label\n1,2,x\n3,4,z\n");
  CHECK(has(refusal("csv", with("test_path", folder.path("test.csv"))), "test.csv:3: label 'z' does not occur in"));
  folder.write("test.csv", "b,a,label\n1,2,x\n");
  CHECK(has(refusal("csv", with("test_path", folder.path("test.csv"))), "test.csv: other columns than"));
  std::string many;
  for (int i = 0; i < 1100; ++i) many += "1," + std::to_string(i / 8.0) + "\n";
  folder.write("many.csv", many);
  CHECK(has(refusal("csv", {{"path", folder.path("many.csv")}}), "more than 1000 different labels in column 2"));
  // Of a regression's target neighbouring rows may differ by fractions, or by whole numbers.
  std::string prices = "size,price\n1,2\n2,3.5\n3,3.5\n";
  folder.write("stars.csv", prices);  // few enough to be classes
  CHECK(refusal("csv", {{"path", folder.path("stars.csv")}}).empty());
  for (int i = 0; i < 40; ++i) prices += "4," + std::to_string(i % 9 + 10) + "\n";
  folder.write("prices.csv", prices);
  CHECK(has(refusal("csv", {{"path", folder.path("prices.csv")}}), "prices.csv:3: column 2, the labels', has '3.5', as if it were a"));
  folder.write("written.csv", "size,class\n1,2.0\n2,3.0\n3,2.0\n");  // whole numbers, as some programs write them
  CHECK(refusal("csv", {{"path", folder.path("written.csv")}}).empty());
  folder.write("versions.csv", "size,version\n1,2.5\n2,3.5\n3,2.5rc\n");  // words
  CHECK(refusal("csv", {{"path", folder.path("versions.csv")}}).empty());
  for (const int rows : {20, 22}) {  // 11 different labels: more than half of the rows, or no more
    std::string table;
    for (int i = 0; i < rows; ++i) table += std::to_string(i) + "," + std::to_string(i % 11) + "\n";
    folder.write("counts.csv", table);
    const std::string said = refusal("csv", {{"path", folder.path("counts.csv")}});
    CHECK(said.empty() == (rows == 22));
    if (rows == 20) CHECK(has(said, "counts.csv: 11 different labels in column 2 of 20 rows, as if it were a quantity; name a column"));
  }
  std::string animals;
  for (int i = 0; i < 20; ++i) animals += std::to_string(i) + "," + std::string(1, static_cast<char>('a' + i % 12)) + "\n";
  folder.write("animals.csv", animals);  // words are classes, however many
  CHECK(refusal("csv", {{"path", folder.path("animals.csv")}}).empty());
  folder.write("binary.csv", std::string("1,2\n\0\1,3\n", 9));
  CHECK(has(refusal("csv", {{"path", folder.path("binary.csv")}}), "holds zero bytes"));
  folder.write("large.csv", "1,2\n");
  fs::resize_file(folder.path("large.csv"), (std::uintmax_t{1} << 30) + 1);
  CHECK(has(refusal("csv", {{"path", folder.path("large.csv")}}), "large.csv: is larger than 1 GiB; use fewer rows"));
}

TEST_CASE("synthetic_images: every shape, normalized as requested, determined by the seed, and marked as synthetic") {
  const Parameters small = {{"channels", std::int64_t{2}}, {"height", std::int64_t{9}},    {"width", std::int64_t{6}},
                            {"classes", std::int64_t{3}},  {"samples", std::int64_t{600}}, {"test_samples", std::int64_t{100}}};
  const DataInfo info = inspect("synthetic_images", small);
  CHECK(info.synthetic);
  CHECK(has(info.origin, "synthetic"));
  CHECK(info.shape == std::vector<std::size_t>{2, 9, 6});
  CHECK(info.features == 108);
  const Dataset data = load("synthetic_images", small), again = load("synthetic_images", small), other = load("synthetic_images", small, 2);
  CHECK(content("synthetic_images", small) == content("synthetic_images", small));
  CHECK(floats(data.train) == floats(again.train));
  CHECK(floats(data.train) != floats(other.train));
  CHECK(content("synthetic_images", small) != content("synthetic_images", small, 2));
  CHECK(data.train.labels[4] == 1);
  double sum = 0, squares = 0;
  const std::vector<float> inputs = floats(data.train);
  for (const float x : inputs) {
    REQUIRE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  const auto n = static_cast<double>(inputs.size());
  CHECK(std::abs(sum / n) < 0.05);
  CHECK(squares / n == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("synthetic_images: without noise a moved image can be recognized by its spectrum, and the mean image cannot") {
  // What a move of a pattern around the torus leaves as it is: the sizes of its Fourier coefficients. Nearest neighbours in them find the
  // class; the class's mean image is not much more than zero.
  const Parameters clean = {
      {"channels", std::int64_t{1}},  {"height", std::int64_t{8}},        {"width", std::int64_t{8}}, {"classes", std::int64_t{4}},
      {"samples", std::int64_t{200}}, {"test_samples", std::int64_t{60}}, {"difficulty", 0.0}};
  const Dataset data = load("synthetic_images", clean);
  const auto spectrum = [](const float* image) {
    std::vector<double> sizes;
    for (int u = 0; u < 4; ++u)
      for (int v = 0; v < 8; ++v) {
        double real = 0, imaginary = 0;
        for (int y = 0; y < 8; ++y)
          for (int x = 0; x < 8; ++x) {
            const double angle = 2 * 3.14159265358979 * (u * y + v * x) / 8;
            real += image[y * 8 + x] * std::cos(angle);
            imaginary += image[y * 8 + x] * std::sin(angle);
          }
        sizes.push_back(std::hypot(real, imaginary));
      }
    double norm = 0;
    for (const double size : sizes) norm += size * size;
    for (double& size : sizes) size /= std::sqrt(norm);
    return sizes;
  };
  std::vector<std::vector<double>> known;
  for (std::size_t i = 0; i < 200; ++i) known.push_back(spectrum(data.train.inputs.rows(i, 1, nullptr)));
  int right = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    const std::vector<double> mine = spectrum(data.test.inputs.rows(i, 1, nullptr));
    std::size_t nearest = 0;
    double least = 1e9;
    for (std::size_t k = 0; k < known.size(); ++k) {
      double distance = 0;
      for (std::size_t j = 0; j < mine.size(); ++j) distance += (mine[j] - known[k][j]) * (mine[j] - known[k][j]);
      if (distance < least) {
        least = distance;
        nearest = k;
      }
    }
    right += data.train.labels[nearest] == data.test.labels[i];
  }
  CHECK(right == 60);
}

TEST_CASE("gaussian: standard normal around centres, which are as far apart as asked for") {
  const Parameters parameters = {
      {"features", std::int64_t{20}}, {"classes", std::int64_t{30}}, {"samples", std::int64_t{6000}}, {"separation", 6.0}};
  const Dataset data = load("gaussian", parameters);
  const std::vector<float> inputs = floats(data.train);
  CHECK(data.info.synthetic);
  std::vector<std::vector<double>> centre(30, std::vector<double>(20, 0.0));
  for (std::size_t i = 0; i < 6000; ++i)
    for (std::size_t j = 0; j < 20; ++j) centre[static_cast<std::size_t>(data.train.labels[i])][j] += inputs[20 * i + j] / 200.0;
  double within = 0, between = 0;
  for (std::size_t i = 0; i < 6000; ++i)
    for (std::size_t j = 0; j < 20; ++j)
      within += std::pow(inputs[20 * i + j] - centre[static_cast<std::size_t>(data.train.labels[i])][j], 2) / (6000 * 20);
  for (std::size_t a = 0; a < 30; ++a)
    for (std::size_t b = 0; b < a; ++b)
      for (std::size_t j = 0; j < 20; ++j) between += std::pow(centre[a][j] - centre[b][j], 2) / 435;
  CHECK(within == doctest::Approx(1).epsilon(0.03));
  // 36, and 2 · 20 / 200 for the noise of the means; 600 coordinates are known to 1 / √300.
  CHECK(between == doctest::Approx(36.2).epsilon(0.3));
}

}  // namespace data_kinds_test
