// `straggler import` and `list models FILE`, as people meet them.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program/workplace.hpp"
#include "tests/support/tar.hpp"
#include "tests/support/text.hpp"

namespace import_test {

namespace fs = std::filesystem;
using straggler::test::has;
using straggler::test::Workplace;
using Json = nlohmann::json;

std::string sample(const std::string& name) { return STRAGGLER_SOURCE_DIR "/tests/formats/files/" + name; }

std::string one_line(const Workplace::Done& done) {
  CHECK(done.code == 2);
  CHECK(done.out.empty());
  CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
  return done.err;
}

TEST_CASE("import: the parameters of every sample, a table of layers, and a scenario that runs as the file itself does") {
  const Workplace place;
  struct Truth {
    const char *file, *format;
    std::size_t parameters, layers;  // layers: rows with parameters
  };
  // Published sizes; rows of torchinfo's summaries; 53 convolutions, 53 batch norms and a linear layer of ResNet-50.
  for (const Truth& truth :
       {Truth{"config_gpt2.json", "hf_config", 124'439'808, 2 + 12 * 6 + 1},
        Truth{"config_bert_base_uncased.json", "hf_config", 109'482'240, 4 + 12 * 8 + 1},
        Truth{"config_llama_2_7b.json", "hf_config", 6'738'415'616, 1 + 32 * 9 + 2},
        Truth{"config_vit_base_patch16_224.json", "hf_config", 86'567'656, 2 + 12 * 8 + 2},
        Truth{"torchinfo_resnet50.out", "torchinfo", 25'557'032, 103}, Truth{"torchinfo_bert_base.out", "torchinfo", 109'482'240, 17},
        Truth{"light_resnet50.onnx", "onnx", 25'557'032, 107}}) {
    CAPTURE(truth.file);
    const auto done = place.shell("straggler import " + sample(truth.file) + " --out in --force");
    REQUIRE_MESSAGE(done.code == 0, done.err);
    std::istringstream lines(done.out);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) CHECK(line.size() <= 80);
    CHECK(count <= 18);
    CHECK(has(done.out, "next: straggler check in/scenario.yaml\n      straggler run in/scenario.yaml --timing-only\n"));

    const Json facts = Json::parse(place.read("in/import.json"));
    CHECK(facts["format"] == truth.format);
    CHECK(facts["parameters"] == truth.parameters);
    CHECK(facts["bytes"] == 4 * truth.parameters);
    CHECK(facts["files"] == Json::array({truth.file}));
    std::size_t parameters = 0, with_parameters = 0;
    double flops = 0;
    for (const Json& layer : facts["layers"]) {
      parameters += layer["parameters"].get<std::size_t>();
      with_parameters += layer["parameters"] > 0 ? 1 : 0;
      flops += layer["flops"].get<double>();
      std::size_t of_tensors = 0;
      for (const Json& tensor : layer["tensors"]) {
        std::size_t numbers = 1;
        for (const Json& side : tensor["shape"]) numbers *= side.get<std::size_t>();
        of_tensors += numbers;
      }
      CHECK(of_tensors == layer["parameters"]);
    }
    CHECK(parameters == truth.parameters);
    CHECK(with_parameters == truth.layers);
    CHECK(facts["flops"].get<double>() == doctest::Approx(flops).epsilon(1e-12));
    CHECK(!facts["assumed"].empty());
    CHECK(has(facts["missing"].back().get<std::string>(), "the cluster"));

    // The same sizes through layers.csv and through the file: the same times, where no bucket ends inside a layer.
    const std::string simple =
        " --timing-only --quiet --force --set cluster.network.collective.overlap=false --set training.stop.updates=3";
    REQUIRE(place.shell("straggler run in/scenario.yaml --out a" + simple).code == 0);
    const auto direct = place.shell("straggler run in/scenario.yaml --out b" + simple +
                                    " --set \"workload.cost.model={kind: file, path: " + sample(truth.file) + "}\"");
    REQUIRE_MESSAGE(direct.code == 0, direct.err);
    const Json own = place.summary("a"), of_file = place.summary("b");
    CHECK(own["updates"] == 3);
    CHECK(own["simulated_seconds"].get<double>() == doctest::Approx(of_file["simulated_seconds"].get<double>()).epsilon(1e-6));
    CHECK(own["bytes_sent"] == of_file["bytes_sent"]);
  }
}

TEST_CASE("import: FLOPs forward, as they are published: two for a multiply-add") {
  const Workplace place;
  const std::pair<std::string, double> published[] = {{sample("config_llama_2_7b.json") + " --sequence 1", 13.21e9},
                                                      {sample("torchinfo_resnet50.out"), 2 * 4.09e9},  // of its batch of 2, half
                                                      {sample("light_resnet50.onnx"), 2 * 4.09e9}};
  for (const auto& [arguments, flops] : published) {
    const std::string given = arguments;
    CAPTURE(given);
    const Json facts = Json::parse(place.shell("straggler import " + given + " --json --out in --force").out);
    CHECK(facts["flops"].get<double>() == doctest::Approx(flops).epsilon(1e-3));
  }
}

TEST_CASE("import: what is assumed and missing is said in the scenario, in JSON and on the terminal") {
  const Workplace place;
  fs::create_directory(place.folder() / "tiny");
  fs::copy(sample("config_gpt2.json"), place.folder() / "tiny/config.json");
  const auto done = place.shell("straggler import tiny/config.json");
  REQUIRE(done.code == 0);
  const Json facts = Json::parse(place.read("results/tiny-import/import.json"));
  const std::string yaml = place.read("results/tiny-import/scenario.yaml");
  CHECK(has(yaml, "# Imported by straggler"));
  CHECK(has(yaml, "layers: layers.csv   # from config.json: 124,439,808 parameters, "));
  CHECK(has(yaml, "# assumed: a sample is 1,024 tokens, its n_positions; --sequence sets another number\n"));
  CHECK(has(done.out, "a sample is 1,024 tokens, its n_positions; --sequence sets"));
  CHECK(facts["assumed"][0] == "a sample is 1,024 tokens, its n_positions; --sequence sets another number");
  for (const char* key : {"device: h100", "scheme: ssgd", "optimizer: ", "updates: 400", "per_worker: ", "bandwidth: 400Gbps"}) {
    CAPTURE(key);
    const std::size_t at = yaml.find(key);
    REQUIRE(at != std::string::npos);
    CHECK(has(yaml.substr(at, yaml.find('\n', at) - at), "# assumed"));
  }

  // An option in place of the assumption.
  const auto shorter = place.shell("straggler import tiny/config.json --sequence 512 --fused-attention --json");
  REQUIRE(shorter.code == 0);
  CHECK(shorter.out == place.read("results/tiny-import/import.json"));
  const Json less = Json::parse(shorter.out);
  CHECK(less["flops"].get<double>() < facts["flops"].get<double>() / 2);
  CHECK(less["activation_bytes"].get<double>() < facts["activation_bytes"].get<double>() / 2);
  for (const Json& sentence : less["assumed"]) CHECK(!has(sentence.get<std::string>(), "--sequence"));
  CHECK(has(one_line(place.shell("straggler import tiny/config.json --sequence 2048")), "has positions for 1024 tokens"));
  CHECK(has(one_line(place.shell("straggler import tiny/config.json --sequence many")), "--sequence: 'many' is not"));
  CHECK(has(one_line(place.shell("straggler import " + sample("torchinfo_resnet50.out") + " --sequence 7")),
            "is a torchinfo summary, which does not read --sequence; remove it"));
  // Llama 2 7B in FP32 with AdamW: 16 bytes a parameter alone are more than an H100 has.
  const auto large = place.shell("straggler import " + sample("config_llama_2_7b.json") + " --out large");
  REQUIRE(large.code == 0);
  CHECK(has(place.read("large/scenario.yaml"), "node: {profile: h100, memory: "));
  CHECK(has(large.out, "an h100 has 80 GB"));
  CHECK(place.shell("straggler check large/scenario.yaml").code == 0);
}

TEST_CASE("import: archives, and what is passed over in them") {
  const Workplace place;
  const std::string config = place.read(sample("config_gpt2.json"));
  straggler::test::write_packed(place.folder() / "gpt2.tar.gz", straggler::test::tar_member("gpt2/README.md", "# GPT-2") +
                                                                    straggler::test::tar_member("gpt2/config.json", config) +
                                                                    straggler::test::tar_end());
  const auto done = place.shell("straggler import gpt2.tar.gz");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK(has(done.out, "passed over  gpt2/README.md\n"));
  CHECK(Json::parse(place.read("results/gpt2-import/import.json"))["parameters"] == 124'439'808);

  fs::copy(sample("config_gpt2.json"), place.folder() / "a.json");
  fs::copy(sample("light_resnet50.onnx"), place.folder() / "b.onnx");
  CHECK(has(one_line(place.shell("straggler import a.json b.onnx")), "a.json (hf_config) and b.onnx (onnx): can each be imported alone;"));
  fs::copy(sample("config_vit_base_patch16_224.json"), place.folder() / "c.json");
  CHECK(has(one_line(place.shell("straggler import a.json c.json")), "a.json and c.json: describe a model each"));
  CHECK(has(one_line(place.shell("straggler import a.json --as onnx")),
            "a.json: is a Hugging Face config.json (such as bert, gpt2, llama, mistral, opt or vit); give an ONNX model, or remove --as"));
  CHECK(has(one_line(place.shell("straggler import a.json --as onx")), "unknown format 'onx'; did you mean 'onnx'?"));
}

TEST_CASE("import: other files get one line, and nothing is written") {
  const Workplace place;
  const auto refused = [&](const std::string& bytes) {
    place.write("file", bytes);
    const std::string line = one_line(place.shell("straggler import file"));
    CHECK(has(line, "; see `straggler list imports`"));
    CHECK(line.size() <= 200);
    return line;
  };
  CHECK(has(refused(""), "file: is empty; "));
  CHECK(has(refused("\x89PNG\r\n"), "file: is an image (PNG); "));
  CHECK(has(refused(R"({"traceEvents": [{"cat": "devtools.timeline"}]})"), "file: is a Chrome trace of a browser; "));
  CHECK(has(refused("step,seconds\n1,2\n"), "file: is text that begins with 'step,seconds'; "));
  CHECK(has(refused(straggler::test::tar_member("a", "x") + straggler::test::tar_member("b", "y")),
            "is an archive of 2 files, none of which"));
  CHECK(has(one_line(place.shell("straggler import nowhere.json")), "nowhere.json: no such file"));
  CHECK(has(one_line(place.shell("straggler import .")), ".: is a folder; name a file in it"));
  straggler::test::write_packed(place.folder() / "cut.gz", place.read(sample("torchinfo_resnet50.out")));
  fs::resize_file(place.folder() / "cut.gz", 1000);
  CHECK(has(one_line(place.shell("straggler import cut.gz")), "cut.gz: is packed by gzip and cut off; get the whole file"));
  place.write("other.json", R"({"model_type": "t5"})");
  CHECK(has(one_line(place.shell("straggler import other.json")), "model_type 't5' is not read; known are bert"));
  CHECK(!fs::exists(place.folder() / "results"));

  // A folder of something else is left alone; an import replaces an import until its first line is removed.
  fs::create_directory(place.folder() / "mine");
  place.write("mine/notes.txt", "mine");
  CHECK(has(one_line(place.shell("straggler import " + sample("config_gpt2.json") + " --out mine")), "mine: is not empty"));
  const std::string again = "straggler import " + sample("config_gpt2.json") + " --out again";
  REQUIRE(place.shell(again).code == 0);
  CHECK(place.shell(again).code == 0);
  place.write("again/scenario.yaml", "# my cluster\n" + place.read("again/scenario.yaml"));
  CHECK(has(one_line(place.shell(again)), "again: scenario.yaml was changed, since its first line is gone; use --out again-2"));
}

TEST_CASE("list models: a file's tensors, totals and layers; a list of layers with its input") {
  const Workplace place;
  const std::string gpt2 = sample("config_gpt2.json");
  const auto totals = place.shell("straggler list models " + gpt2);
  CHECK(has(totals.out, "config_gpt2.json: gpt2 with 12 blocks of width 768\n  parameters  124,439,808 in "));
  const auto tensors = place.shell("straggler list models " + gpt2 + " --layers");
  REQUIRE(tensors.code == 0);
  CHECK(has(tensors.out, "transformer.h.0.attn.c_attn.weight"));
  CHECK(has(tensors.out, "768 x 2304"));
  const Json facts = Json::parse(place.shell("straggler list models " + gpt2 + " --layers --json --set sequence=512").out);
  CHECK(facts["parameters"] == 124'439'808);
  CHECK(facts["layers"][0]["tensors"][0]["shape"] == Json::array({50257, 768}));
  // Sizes, as YAML that is read back.
  place.write("sizes.yaml", place.shell("straggler list models " + gpt2 + " --yaml --set sequence=512").out);
  const Json back = Json::parse(place.shell("straggler list models sizes.yaml --json").out);
  for (const char* same : {"parameters", "flops", "activation_bytes", "input_bytes"}) CHECK(back[same] == facts[same]);

  place.write("net.yaml", "- {conv: 16, window: 3, pad: 1, name: stem}\n- relu\n- flatten\n- {linear: classes}\n");
  const auto net = place.shell("straggler list models net.yaml --layers --set \"input=[3, 8, 8]\" --set classes=5");
  REQUIRE_MESSAGE(net.code == 0, net.err);
  CHECK(has(net.out, "net.yaml of samples of 3 x 8 x 8\n"));
  CHECK(has(net.out, "stem.weight  16 x 3 x 3 x 3"));
  CHECK(has(net.out, "3.weight     5 x 1024"));
  CHECK(has(one_line(place.shell("straggler list models net.yaml --layers")),
            "net.yaml: input: is missing; give the shape of a sample, as --set"));
  CHECK(has(one_line(place.shell("straggler list models net.yaml --set \"input=[3, 8, 8]\" --set clases=5")),
            "--set clases=5: clases: unknown key 'clases'; did you mean 'classes'?"));
  place.write("net.yaml", "kind: layers\ninput: [3, 8, 8]\nlayers:\n  - {conv: 16}\n  - {max_pool: 9}\n");
  CHECK(has(one_line(place.shell("straggler list models net.yaml")), "net.yaml:5:5: layers[1]"));
  place.write("table.csv", "name,parameters\nfirst,1k\nsecond,2k\n");
  CHECK(has(place.shell("straggler list models table.csv").out, "3,000 in 2 layers"));
  CHECK(has(one_line(place.shell("straggler list models nowhere.yaml")), "nowhere.yaml: no such file; name a file with a model"));
  CHECK(has(one_line(place.shell("straggler list models --layers")), "are for one model: straggler list models lenet5"));
  const auto built_in = place.shell("straggler list models lenet5 --layers");
  CHECK(has(built_in.out, "conv1.weight  6 x 1 x 5 x 5"));
  CHECK(has(built_in.out, "61,706"));
}

TEST_CASE("import: names of others stay within their line") {
  const Workplace place;
  const std::string header =
      R"({"a\nstraggler: 2":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"=b,\"c":{"dtype":"F32","shape":[5],"data_offsets":[24,44]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  place.write("odd\nname: x.safetensors", bytes + header);
  const auto done = place.shell("straggler import odd* --out in");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  const std::string yaml = place.read("in/scenario.yaml"), csv = place.read("in/layers.csv");
  CHECK(!has(yaml, "\nname: x"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  CHECK(Json::parse(place.read("in/import.json"))["layers"][0]["name"] == "a\nstraggler: 2");
  CHECK(place.shell("straggler check in/scenario.yaml").code == 0);
  CHECK(Json::parse(place.shell("straggler list models in/layers.csv --json").out)["parameters"] == 11);
}

}  // namespace import_test
