// The cost models `file`, `sizes` and `even`, as a scenario names them.
#include <doctest/doctest.h>

#include "models/zoo/cost_model.hpp"
#include "tests/formats/files_of_models.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

CostTable made(const char* name, Parameters given) { return cost_table(Registry<ModelEntry>::instance().at(name), std::move(given)); }

/// What it says of these rows; empty: it takes them.
std::string refusal_of_sizes(const std::string& csv) {
  try {
    made("sizes", {{"layers", csv}});
  } catch (const DataError& error) {
    CHECK(error.key == "layers");
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("file: the table of a file, and what was assumed as notes") {
  const CostTable table = made("file", {{"path", sample("config_gpt2.json").string()}, {"sequence", std::int64_t{256}}});
  CHECK(table.parameters() == 124'439'808);
  CHECK(table.forward_flops() == read_sample("config_gpt2.json", {.sequence = 256}).table.forward_flops());
  REQUIRE(table.notes.size() == 1);
  CHECK(table.notes[0].starts_with("config_gpt2.json: assumed: attention keeps"));
  CHECK(made("file", {{"path", sample("config_gpt2.json").string()}}).notes.size() == 2);
  CHECK(made("file", {{"path", sample("config_gpt2.json").string()}, {"fused_attention", true}}).notes.size() == 1);
  const CostTable image = made("file", {{"path", sample("config_vit_base_patch16_224.json").string()}, {"classes", std::int64_t{10}}});
  CHECK(image.parameters() == 85'798'656 + 10 * 769);
  try {
    made("file", {{"path", sample("light_resnet50.onnx").string()}, {"classes", std::int64_t{10}}});
    FAIL("an option that a format does not read is taken");
  } catch (const DataError& error) {
    CHECK(error.key == "classes");
    CHECK(has(error.what(), "remove `classes`"));
  }
  CHECK_THROWS_AS(made("file", {}), std::invalid_argument);
}

TEST_CASE("sizes: rows of CSV in the scenario or in a file, amounts with k, M and G") {
  const std::string csv = "name,parameters,flops\nconv1,9408,236M\nrelu,0,0\n\"a, b\",1.5k,\n";
  const CostTable table = made("sizes", {{"layers", csv}});
  REQUIRE(table.layers.size() == 3);
  CHECK(table.parameters() == 9408 + 1500);
  CHECK(table.layers[0].name == "conv1");
  CHECK(table.layers[0].forward_flops == 236e6);
  CHECK(table.layers[1].tensors.empty());
  CHECK(table.layers[2].name == "a, b");
  CHECK(table.layers[2].forward_flops == 3000);
  CHECK(table.layers[2].tensors[0].offset == 9408);
  CHECK(!table.knows_activations);
  REQUIRE(table.notes.size() == 1);
  CHECK(has(table.notes[0], "2 per parameter in 1 layer without flops"));
  const TemporaryFolder folder;
  const CostTable read = made("sizes", {{"layers", folder.write("layers.csv", "# measured\n" + csv).string()}});
  CHECK(read.parameters() == table.parameters());
  CHECK(read.forward_flops() == table.forward_flops());
  const CostTable kept = made("sizes", {{"layers", std::string("activations,parameters\n100,5\n1k,6\n")}});
  CHECK(kept.knows_activations);
  CHECK(kept.activation_bytes() == 4400);
  CHECK(kept.layers[1].name == "layer 2");
}

TEST_CASE("sizes: what does not fit is refused with its line") {
  CHECK(has(refusal_of_sizes("name,parameter\nconv1,9408\n"), "line 1: unknown column 'parameter'; did you mean 'parameters'?"));
  CHECK(has(refusal_of_sizes("name,flops\nconv1,9408\n"), "line 1: names no column parameters"));
  CHECK(has(refusal_of_sizes("parameters,parameters\n1,2\n"), "names the column parameters twice"));
  CHECK(has(refusal_of_sizes("parameters,flops\n5,1\n6\n"), "line 3: has 1 fields, but the line of names has 2"));
  CHECK(has(refusal_of_sizes("parameters\n5.5\n"), "line 2: parameters: '5.5' is not a whole number; write an amount such as 350M"));
  CHECK(has(refusal_of_sizes("parameters\n5B\n"), "did you mean 'G'?"));
  CHECK(has(refusal_of_sizes("parameters\n-5\n"), "is negative"));
  CHECK(has(refusal_of_sizes("parameters\n11T\n"), "11T is out of range; it must be at least 0, at most 10T"));
  CHECK(has(refusal_of_sizes("parameters,flops\n,5\n"), "line 2: has no parameters"));
  CHECK(has(refusal_of_sizes("parameters\n\"5\n"), "a quote that is not closed"));
  CHECK(has(refusal_of_sizes("parameters\n"), "has no layers"));
  CHECK(has(refusal_of_sizes("parameters\n0\n0\n"), "has no parameters, so there is nothing to send"));
  CHECK(has(refusal_of_sizes("parameters\n9T\n9T\n"), "has 1.8e+13 parameters"));
  CHECK(has(refusal_of_sizes("nowhere.csv"), "no such file"));
  CHECK(refusal_of_sizes("parameters\n5\n").empty());
}

TEST_CASE("even: totals shared out to layers that differ by one parameter at most") {
  const CostTable table = made("even", {{"parameters", 350e6 + 1}, {"layers", std::int64_t{24}}, {"flops", 90e9}});
  CHECK(table.parameters() == 350'000'001);
  REQUIRE(table.layers.size() == 24);
  CHECK(table.forward_flops() == doctest::Approx(90e9).epsilon(1e-14));
  // 350,000,001 = 24 * 14,583,333 + 9
  for (std::size_t i = 0; i < 24; ++i) CHECK(table.layers[i].parameters() == 14'583'333 + (i < 9 ? 1 : 0));
  CHECK(table.layers[9].tensors[0].offset == 9 * 14'583'334);
  CHECK(table.notes.empty());
  CHECK(!table.knows_activations);
  const CostTable assumed = made("even", {{"parameters", 3.0}, {"layers", std::int64_t{5}}});
  CHECK(assumed.parameters() == 3);
  CHECK(assumed.layers[4].tensors.empty());
  CHECK(assumed.forward_flops() == doctest::Approx(6));
  REQUIRE(assumed.notes.size() == 1);
}
