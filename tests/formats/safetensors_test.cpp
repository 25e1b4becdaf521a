// Headers of safetensors files, their index, and how formats are recognized.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/formats/files_of_models.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

nlohmann::json tensor(const char* type, const std::vector<std::size_t>& shape, std::size_t begin) {
  std::size_t count = 1;
  for (const std::size_t side : shape) count *= side;
  const std::string name = type;
  const std::size_t bytes = name.ends_with("64") ? 8 : name.ends_with("32") ? 4 : 2;
  return {{"dtype", type}, {"shape", shape}, {"data_offsets", {begin, begin + bytes * count}}};
}

/// "b.weight" comes first in the header, and last in the file.
nlohmann::json header() {
  return {{"b.weight", tensor("BF16", {5, 6}, 24)}, {"a.weight", tensor("BF16", {3, 4}, 0)}, {"__metadata__", {{"format", "pt"}}}};
}

}  // namespace

TEST_CASE("a safetensors header: sizes in the order of the file, 2 FLOPs per parameter and place, no numbers read") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("model.safetensors", safetensors_start(header().dump()));  // it ends behind its header
  const ModelFile file = read_model_file(path);
  CHECK(file.format == "safetensors");
  REQUIRE(file.table.layers.size() == 2);
  CHECK(file.table.layers[0].name == "a.weight");
  CHECK(file.table.layers[1].tensors[0].shape == std::vector<std::size_t>{5, 6});
  CHECK(file.table.layers[1].tensors[0].offset == 12);
  CHECK(file.table.parameters() == 42);
  CHECK(file.table.forward_flops() == 84);
  CHECK(!file.table.knows_activations);
  CHECK(read_model_file(path, {.sequence = 100}).table.forward_flops() == 8400);
}

TEST_CASE("running statistics, counters and masks are in the file, and are no parameters") {
  const TemporaryFolder folder;
  const nlohmann::json all = {{"bn.weight", tensor("F32", {8}, 0)},
                              {"bn.running_mean", tensor("F32", {8}, 32)},
                              {"bn.running_var", tensor("F32", {8}, 64)},
                              {"bn.num_batches_tracked", tensor("I64", {}, 96)},
                              {"h.0.attn.bias", tensor("F32", {1, 1, 16, 16}, 104)},
                              {"h.0.attn.c_attn.bias", tensor("F32", {48}, 2000)},
                              {"scale", tensor("F64", {}, 3000)}};
  const ModelFile file = read_model_file(folder.write("model.safetensors", safetensors_start(all.dump())));
  CHECK(file.table.parameters() == 8 + 48 + 1);
  CHECK(file.table.statistics == 16);
  CHECK(file.other_numbers == 8 + 8 + 1 + 256);
}

TEST_CASE("an index reads the headers of its files; without them it knows only how much there is") {
  const TemporaryFolder folder;
  const nlohmann::json second = {{"c.weight", tensor("BF16", {7}, 0)}, {"not in the index", tensor("BF16", {1000}, 14)}};
  nlohmann::json index = {{"metadata", {{"total_size", 98}}},
                          {"weight_map", {{"a.weight", "1.safetensors"}, {"b.weight", "1.safetensors"}, {"c.weight", "2.safetensors"}}}};
  folder.write("all/1.safetensors", safetensors_start(header().dump()));
  folder.write("all/2.safetensors", safetensors_start(second.dump()));
  const ModelFile all = read_model_file(folder.write("all/model.safetensors.index.json", index.dump()));
  CHECK(all.format == "safetensors_index");
  CHECK(all.table.parameters() == 49);
  REQUIRE(all.table.layers.size() == 3);
  CHECK(all.table.layers[0].name == "a.weight");
  CHECK(all.table.layers[2].tensors[0].offset == 42);

  index["weight_map"] = {{"model.embed.weight", "1.safetensors"},
                         {"model.layers.0.up.weight", "1.safetensors"},
                         {"model.layers.0.down.weight", "1.safetensors"},
                         {"model.layers.1.up.weight", "2.safetensors"},
                         {"model.layers.1.down.weight", "2.safetensors"}};
  const ModelFile alone = read_model_file(folder.write("alone/model.safetensors.index.json", index.dump()));
  CHECK(alone.table.parameters() == 49);  // 98 bytes of 16 bits
  REQUIRE(alone.table.layers.size() == 3);
  CHECK(alone.table.layers[1].name == "model.layers.0");
  CHECK(alone.table.layers[0].parameters() + alone.table.layers[1].parameters() == 32);
  CHECK(has(alone.assumed.front(), "16 bits"));
  index["metadata"]["total_parameters"] = 1000;
  CHECK(read_model_file(folder.write("alone/model.safetensors.index.json", index.dump())).table.parameters() == 1000);

  folder.write("half/1.safetensors", safetensors_start(header().dump()));
  const auto half = [&](const nlohmann::json& json) -> std::string {
    try {
      read_model_file(folder.write("half/model.safetensors.index.json", json.dump()));
    } catch (const DataError& error) {
      return error.what();
    }
    return {};
  };
  CHECK(has(half(index), "names 2 files, of which 1 are beside it; put '2.safetensors' there, too"));
  index["weight_map"] = {{"a.weight", "1.safetensors"}, {"z.weight", "1.safetensors"}};
  CHECK(has(half(index), "names 2 tensors, of which its files have 1"));
  index["weight_map"] = {{"a.weight", "../1.safetensors"}};
  CHECK(has(half(index), "is not the name of a file beside it"));
}

TEST_CASE("headers that are damaged are refused in one line") {
  const TemporaryFolder folder;
  const auto says = [&](const std::string& bytes, const std::string& part) {
    const std::string said = refusal_of(folder, bytes);
    CHECK_MESSAGE(has(said, part), said);
  };
  const auto with = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json json = header();
    json["b.weight"][key] = value;
    return safetensors_start(json.dump());
  };
  says(with("shape", {5, -6}), "shape of tensor 'b.weight' are not counts");
  says(with("shape", {1'000'000'000, 1'000'000'000}), "would have 1e+18 numbers");
  says(with("shape", 30), "has no list shape");
  says(with("dtype", nullptr), "has no dtype");
  says(with("data_offsets", nlohmann::json()), "has no list data_offsets");
  says(with("data_offsets", {24, 83}), "has 30 numbers of BF16, and data_offsets that fit others");
  says(with("data_offsets", {84, 24}), "data_offsets that fit others");
  says(with("dtype", "F32"), "has 30 numbers of F32, and data_offsets that fit others");
  says(with("dtype", "Q4"), "tensor 'b.weight' has dtype 'Q4', which safetensors files do not have");
  says(R"({"metadata": {}, "weight_map": {}})", "has an empty weight_map");
  says(safetensors_start("{\"a\": "), "is not whole JSON");
  says(safetensors_start("{\"a\": " + std::string(10'000, '[')), "nests lists and maps deeper");
  says(safetensors_start(header().dump()).substr(0, 40),
       "is a safetensors file that ends within its header");  // its length is beyond its end
  for (std::size_t length = 0; length < 150; ++length)
    CHECK_NOTHROW(refusal_of(folder, safetensors_start(header().dump()).substr(0, length)));
}

TEST_CASE("a file that describes no model is refused with what it is, and with all that can be read") {
  const TemporaryFolder folder;
  for (const auto& [bytes, what] :
       std::vector<std::pair<std::string, std::string>>{{"", "is empty"},
                                                        {"{\"a\": 1}", "is JSON, but no trace"},
                                                        {"PK\x03\x04", "is a zip archive; unpack it (of torch.save: "},
                                                        {"name,bytes\n", "is text that begins with 'name,bytes'"}}) {
    const std::string said = refusal_of(folder, bytes);
    CHECK_MESSAGE(has(said, what), said);
    for (const ModelFormat& format : Registry<ModelFormat>::instance().entries()) CHECK(has(said, format.summary));
    CHECK(said.find('\n') == std::string::npos);
  }
  CHECK_THROWS_WITH_AS(read_model_file(folder / "nothing"), doctest::Contains("no such file; give"), DataError);
  CHECK_THROWS_WITH_AS(read_model_file(folder.path()), doctest::Contains("not a file; give"), DataError);
  for (const ModelFormat& format : Registry<ModelFormat>::instance().entries()) {
    CHECK(!format.summary.empty());
    CHECK(!format.example.empty());
  }
  CHECK(Registry<ModelFormat>::instance().entries().size() == 5);
}
