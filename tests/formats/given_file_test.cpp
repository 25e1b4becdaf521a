// Files as they are given: plain, packed by gzip, and in archives.
#include "models/formats/given_file.hpp"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "models/formats/seems.hpp"
#include "sim/base/text_lines.hpp"
#include "tests/formats/files_of_models.hpp"
#include "tests/support/tar.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Every file that is seen: its name in messages, and its text.
std::map<std::string, std::string> seen_in(const std::filesystem::path& path) {
  std::vector<GivenFile> files;
  std::map<std::string, std::string> texts;
  for_each_file(path, [&](const GivenFile& file, const FileStart& start) {
    files.push_back(file);
    CHECK(start.size == file.size());
    texts[file.shown().filename().string()] = std::string(start.bytes);
  });
  for (const GivenFile& file : files) {
    const std::string text = file.text(1 << 20), shown = file.shown().filename().string();
    CHECK(text == texts[shown]);
    CHECK(file.text(3) == text.substr(0, 3));
    CHECK(file.size() == text.size());
  }
  return texts;
}

std::string refusal_of_path(const std::filesystem::path& path) {
  try {
    for_each_file(path, [](const GivenFile& file, const FileStart&) { file.text(1 << 20); });
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

using Texts = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("a file, packed or not, and those of archives, packed or not") {
  const TemporaryFolder folder;
  const std::string text = "first line\nsecond line\n", long_name = std::string(60, 'a') + "/" + std::string(120, 'b');
  CHECK(seen_in(folder.write("plain", text)) == Texts{{"plain", text}});
  write_packed(folder / "packed.gz", text);
  CHECK(seen_in(folder / "packed.gz") == Texts{{"packed.gz", text}});
  write_packed(folder / "nothing.gz", "");
  CHECK(seen_in(folder / "nothing.gz") == Texts{{"nothing.gz", ""}});

  const std::string path_record = " path=" + long_name + "x\n", length = std::to_string(path_record.size() + 3);
  std::string large = tar_member("large", std::string(5, 'l'));
  large.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\x05", 12));  // its size in binary
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(large[i]);
  char stated[8];
  std::snprintf(stated, sizeof stated, "%06o", sum);
  large.replace(148, 7, std::string(stated, 7));
  const std::string tar = tar_member("job/", "", '5') + tar_member("job/a.txt", text) + tar_member("job/link", "", '2') +
                          tar_member("././@LongLink", long_name + '\0', 'L') + tar_member(long_name, "by GNU") +
                          tar_member("PaxHeaders/x", length + path_record, 'x') + tar_member("cut", "by POSIX") + tar_member("empty", "") +
                          large;
  const Texts all = {{"a.txt", text},
                     {std::string(120, 'b'), "by GNU"},
                     {std::string(120, 'b') + "x", "by POSIX"},
                     {"x.tar: empty", ""},
                     {"x.tar: large", "lllll"}};
  for (const std::string& bytes : {tar + tar_end(), tar}) {  // some writers leave out the end
    CHECK(seen_in(folder.write("x.tar", bytes)) == all);
    write_packed(folder / "x.tar", bytes);
    CHECK(seen_in(folder / "x.tar") == all);
  }
}

TEST_CASE("models in archives: as the file alone, and shards that an index finds beside it") {
  const TemporaryFolder folder;
  const std::string config = read_file(sample("config_gpt2.json")).text;
  write_packed(folder / "config.json.gz", config);
  const ModelFile packed = read_model_file(folder / "config.json.gz"), plain = read_sample("config_gpt2.json");
  CHECK(packed.table.parameters() == 124'439'808);
  CHECK(packed.table.forward_flops() == plain.table.forward_flops());
  CHECK(packed.assumed == plain.assumed);
  CHECK(has(refusal_of(folder, tar_member("config.json", config)),
            "is an archive; unpack it and name a file in it, or let straggler import"));

  const std::string one = safetensors_start(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})"),
                    two = safetensors_start(R"({"b":{"dtype":"F32","shape":[5],"data_offsets":[0,20]}})");
  const std::string index = R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})";
  write_packed(folder / "all.tar.gz",
               tar_member("m/2.safetensors", two) + tar_member("m/i.json", index) + tar_member("m/1.safetensors", one) + tar_end());
  std::vector<GivenFile> files;
  CHECK(for_each_file(folder / "all.tar.gz", [&](const GivenFile& file, const FileStart&) { files.push_back(file); }));
  REQUIRE(files.size() == 3);
  CHECK(files[1].has_beside("2.safetensors"));
  CHECK(!files[1].has_beside("3.safetensors"));
  const ModelFile model = read_model_file(Registry<ModelFormat>::instance().at("safetensors_index"), files[1], {});
  CHECK(model.table.parameters() == 11);
  CHECK(model.table.layers[0].name == "a");
}

TEST_CASE("damaged files and archives are refused by name, wherever they are cut") {
  const TemporaryFolder folder;
  CHECK(has(refusal_of_path(folder / "nothing"), "nothing: no such file;"));
  CHECK(has(refusal_of_path(folder.path()), ": is a folder; name a file in it"));
  CHECK(has(refusal_of_path("/dev/null"), "/dev/null: is not a file"));
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i * i) + "\n";
  write_packed(folder / "whole.gz", text);
  const std::string packed = read_file(folder / "whole.gz").text;
  for (std::size_t size = 20; size < packed.size(); size += 97) {
    CAPTURE(size);
    CHECK(has(refusal_of_path(folder.write("cut.gz", packed.substr(0, size))), "is packed by gzip and cut off; get the whole file"));
  }
  std::string damaged = packed;
  damaged[damaged.size() / 2] ^= 0x55;
  CHECK(has(refusal_of_path(folder.write("damaged.gz", damaged)), "is packed by gzip and damaged"));

  const std::string tar = tar_member("one", text) + tar_member("two", text);
  const std::size_t second = tar.size() / 2;
  for (const std::size_t size : {std::size_t{1000}, second - 512, second + 512, second + 1000}) {
    CAPTURE(size);
    CHECK(has(refusal_of_path(folder.write("cut.tar", tar.substr(0, size))), size < second ? "ends inside one;" : "ends inside two;"));
  }
  CHECK(has(refusal_of_path(folder.write("cut.tar", tar.substr(0, second + 100))), "is a damaged tar archive"));
  std::string other = tar;
  other[second + 10] ^= 1;
  CHECK(has(refusal_of_path(folder.write("other.tar", other)), "is a damaged tar archive"));
  CHECK(has(refusal_of_path(folder.write("sparse.tar", tar_member("s", "", 'S'))), "holds a sparse file"));
  CHECK(refusal_of_path(folder.write("record.tar", tar_member("x", "99 path=a", 'x'))).empty());  // a record that ends beyond its header
  write_packed(folder / "bomb.gz", std::string(std::size_t{70} << 20, '\0'));
  CHECK(has(refusal_of_path(folder / "bomb.gz"), "unpacks to more than 50 times its size"));
}

TEST_CASE("what a file seems to be that no reader knows") {
  const std::pair<std::string, const char*> known[] = {
      {"", "is empty"},
      {" \n\t", "is empty"},
      {"\x89PNG\r\n\x1a\n", "is an image (PNG)"},
      {std::string("\xFF\xD8\xFF\xE0\0\x10JFIF", 10), "is an image (JPEG)"},
      {"PK\x03\x04", "is a zip archive; unpack it"},
      {R"({"a": 1})", "is JSON, but no trace (`traceEvents`), no config (`model_type`)"},
      {R"({"traceEvents": [{"name": "CrRendererMain", "ph": "M"}]})", "is a Chrome trace of a browser"},
      {R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": []})", "is a trace without events"},
      {R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": [{}]})", "is a trace of PyTorch's profiler"},
      {R"([{"name": "a", "ph": "X", "ts": 1}])", "is a Chrome trace"},
      {"<!DOCTYPE html><html>", "is a web page"},
      {std::string("ab\0cd", 5), "is binary"},
      {"# mine\n\nstraggler: 1\nname: a\n", "is a file of straggler itself"},
      {"# Title\nA scenario:\nstraggler: 1\n", "is text that begins with '# Title'"},
      {"# OSU MPI Latency Test\n", "is the output of a benchmark of messages; straggler calibrate"},
      {"\n\n  step,seconds  \n1,2\n", "is text that begins with 'step,seconds'"}};
  for (const auto& [bytes, is] : known) {
    const std::string expected = is;
    CAPTURE(expected);
    CHECK(what_it_seems({bytes, bytes.size()}).starts_with(is));
  }
  CHECK(!has(what_it_seems({"red \x1b[31m", 9}), "\x1b"));
}
