// Model files: what is written comes back, byte for byte as the format has it, and damage is refused.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "models/safetensors/safetensors.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

namespace safetensors_test {

using namespace straggler;
namespace fs = std::filesystem;

namespace {

class Scratch : public test::TemporaryFolder {
 public:
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path()), fs::directory_iterator())); }
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Length, header, data.
std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::string error_of(const fs::path& path) {
  return test::error_of<DataError>([&] { read_safetensors(path); });
}

const std::vector<TensorInfo> tensors = {{"layer.bias", {2}, 6}, {"layer.weight", {2, 3}, 0}};
const std::vector<float> values = {1, -2.5f, 3e-40f, 4, std::numeric_limits<float>::infinity(), 6, 7, 8};

}  // namespace

TEST_CASE("safetensors: written tensors are read back") {
  const Scratch folder;
  write_safetensors(folder / "model", tensors, values, {{"name", "a \"quoted\" word"}, {"seed", "1"}});
  CHECK(folder.files() == 1);
  const SafetensorsFile file = read_safetensors(folder / "model");
  REQUIRE(file.tensors.size() == 2);
  CHECK(file.tensors[0].name == "layer.weight");
  CHECK(file.tensors[0].shape == std::vector<std::size_t>{2, 3});
  CHECK(file.tensors[0].offset == 0);
  CHECK(file.tensors[1].name == "layer.bias");
  CHECK(file.tensors[1].offset == 6);
  REQUIRE(file.values.size() == values.size());
  CHECK(std::memcmp(file.values.data(), values.data(), values.size() * sizeof(float)) == 0);
  CHECK(file.metadata.at("name") == "a \"quoted\" word");
  CHECK(file.metadata.at("seed") == "1");
  // Written again, it is replaced.
  write_safetensors(folder / "model", {{"w", {8}, 0}}, values);
  CHECK(read_safetensors(folder / "model").tensors.size() == 1);
  CHECK(read_safetensors(folder / "model").metadata.empty());
  CHECK(folder.files() == 1);
}

TEST_CASE("safetensors: the bytes are those of the format") {
  const Scratch folder;
  const std::vector<float> two = {1.0f, -2.0f};
  write_safetensors(folder / "model", {{"w", {2}, 0}}, two);
  std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  CHECK(header.size() == 56);
  CHECK(read(folder / "model") == file_of(header, std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8)));
}

TEST_CASE("safetensors: no tensors, scalars and empty tensors") {
  const Scratch folder;
  write_safetensors(folder / "none", {}, {});
  CHECK(read_safetensors(folder / "none").values.empty());
  const std::vector<float> one = {5};
  write_safetensors(folder / "scalar", {{"s", {}, 0}, {"e", {0, 3}, 1}}, one);
  const SafetensorsFile file = read_safetensors(folder / "scalar");
  CHECK(file.values == one);
  CHECK(file.tensors.size() == 2);
}

TEST_CASE("safetensors: tensors that do not cover the values are a programming error, an impossible place a DataError") {
  const Scratch folder;
  CHECK_THROWS_AS(write_safetensors(folder / "m", {{"w", {7}, 0}}, values), std::logic_error);
  CHECK_THROWS_AS(write_safetensors(folder / "m", {{"w", {4}, 0}, {"v", {4}, 3}}, values), std::logic_error);
  CHECK_THROWS_AS(write_safetensors(folder / "m", {{"w", {4}, 0}, {"w", {4}, 4}}, values), std::logic_error);
  CHECK_THROWS_AS(write_safetensors(folder / "no_such_folder" / "m", tensors, values), DataError);
  fs::create_directories(folder / "folder" / "inside");
  CHECK_THROWS_AS(write_safetensors(folder / "folder", tensors, values), DataError);
  CHECK(folder.files() == 1);  // nothing is left aside
}

TEST_CASE("safetensors: damage is refused with the path and the fault") {
  const Scratch folder;
  const fs::path path = folder / "model";
  const std::string eight(8, 'x'), good = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  write(path, file_of(good, eight));
  REQUIRE(error_of(path) == "");
  const std::pair<std::string, const char*> cases[] = {
      {"", "too short"},
      {"abc", "too short"},
      {file_of(good, eight).substr(0, 20), "its header would have 54 bytes, but the file has 20"},
      {std::string(16, '\xff'), "its header would have"},
      {"PK\x03\x04 of torch.save", "a zip archive, as torch.save writes it; write the weights as safetensors"},
      {file_of("not json at all", eight), "not JSON"},
      {file_of("[1]", eight), "not JSON"},
      {file_of(good, eight.substr(1)), "lies at bytes 0 to 8 of 7"},
      {file_of(good, eight + "y"), "its tensors take 8 bytes, but 9 follow the header"},
      {file_of(R"({"w":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})", eight), "has type \"F16\"; only F32"},
      {file_of(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", eight), "takes 12 bytes, not 8"},
      {file_of(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", eight), "not a count"},
      {file_of(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", eight), "more than the file holds"},
      {file_of(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight), "lies at bytes 8 to 0"},
      {file_of(R"({"w":{"dtype":"F32","shape":[2]}})", eight), "lacks dtype, shape or data_offsets"},
      {file_of(R"({"w":7})", eight), "lacks dtype"},
      {file_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight), "leaves a gap"},
      {file_of(R"({"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", eight),
       "overlaps"},
      {file_of(R"({"__metadata__":{"a":1}})", ""), "is not text"},
      {file_of(R"({"__metadata__":1})", ""), "not a map"},
  };
  for (const auto& one : cases) {
    const std::string& bytes = one.first;
    const std::string fault = one.second;
    CAPTURE(fault);
    write(path, bytes);
    const std::string error = error_of(path);
    CAPTURE(error);
    CHECK(error.rfind(path.string() + ": ", 0) == 0);
    CHECK(error.find(fault) != std::string::npos);
    CHECK(error.find("; ") != std::string::npos);
  }
  CHECK(error_of(folder / "absent").find("no such file") != std::string::npos);
  CHECK(error_of(fs::temp_directory_path()).find("not a file") != std::string::npos);
}

}  // namespace safetensors_test
