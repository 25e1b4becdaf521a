// Training that starts from the weights of a file.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/program/workplace.hpp"
#include "tests/support/scenarios.hpp"

namespace weights_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using straggler::test::equal_workers;
using straggler::test::scenario_text;
using straggler::test::Workplace;

namespace {

const std::string small = scenario_text({.name = "small",
                                         .seed = 3,
                                         .node = "{compute: {affine: {overhead: 1ms, per_sample: 0.1ms}}}",
                                         .workers = equal_workers(2),
                                         .network = "{link: {bandwidth: 100Mbps, latency: 50us}}",
                                         .model = "{kind: mlp, hidden: [3]}",
                                         .data = "{kind: coordinates, samples: 400, test_samples: 100}",
                                         .scheme = "{kind: asgd}",
                                         .batch = "{per_worker: 50}",
                                         .stop = "{epochs: 2}",
                                         .evaluate = "{every: {epochs: 1}, train_samples: 400}"});

/// A safetensors file of the tensors (name, shape); the numbers count up from `first`.
std::string safetensors(const std::vector<std::pair<std::string, std::vector<std::size_t>>>& tensors, float first,
                        const std::string& counter = {}) {
  Json header = Json::object();
  std::string data;
  for (const auto& [name, shape] : tensors) {
    std::size_t count = 1;
    for (const std::size_t side : shape) count *= side;
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + 4 * count}}};
    for (std::size_t i = 0; i < count; ++i, first += 0.125f) {
      char bytes[4];
      std::memcpy(bytes, &first, 4);
      data.append(bytes, 4);
    }
  }
  if (!counter.empty()) {  // as PyTorch saves it
    header[counter] = {{"dtype", "I64"}, {"shape", Json::array()}, {"data_offsets", {data.size(), data.size() + 8}}};
    data.append(8, '\1');
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + text + data;
}

const std::vector<std::pair<std::string, std::vector<std::size_t>>> layout = {
    {"0.weight", {3, 2}}, {"0.bias", {3}}, {"2.weight", {4, 3}}, {"2.bias", {4}}};

/// Column `name` of the row of curve.csv.
std::string curve(const Workplace& place, const std::string& run, std::size_t row, const std::string& name) {
  std::istringstream lines(place.read(run + "/curve.csv"));
  std::string header, line;
  std::getline(lines, header);
  for (std::size_t i = 0; i <= row; ++i) std::getline(lines, line);
  std::istringstream names(header), cells(line);
  std::string key, cell;
  while (std::getline(names, key, ',') && std::getline(cells, cell, ','))
    if (key == name) return cell;
  return "";
}

}  // namespace

TEST_CASE("a run continues from another's final weights; the file's content is part of every key, its name is not") {
  const Workplace place;
  place.write("small.yaml", small);
  const std::string run = "straggler run small.yaml --out ";
  REQUIRE(place.shell(run + "first").code == 0);
  const std::string from = " --set workload.model.weights=first/model.safetensors";
  REQUIRE(place.shell(run + "second" + from).code == 0);
  CHECK(curve(place, "second", 0, "train_loss") == curve(place, "first", 2, "train_loss"));
  CHECK(curve(place, "second", 0, "test_accuracy") == curve(place, "first", 2, "test_accuracy"));
  CHECK(place.summary("second")["weights_key"] != place.summary("first")["weights_key"]);
  CHECK(place.read("second/scenario.yaml").find("first/model.safetensors") != std::string::npos);
  // What was written is read again, from its own folder.
  REQUIRE(place.shell("straggler run second/scenario.yaml --out again").code == 0);
  CHECK(place.read("again/model.safetensors") == place.read("second/model.safetensors"));

  fs::copy_file(place.folder() / "first/model.safetensors", place.folder() / "copy.safetensors");
  REQUIRE(place.shell(run + "third --set workload.model.weights=copy.safetensors").code == 0);
  CHECK(place.summary("third")["weights_key"] == place.summary("second")["weights_key"]);
  // The same without math: the same key.
  REQUIRE(place.shell(run + "timing --timing-only" + from).code == 0);
  // A replay, with the same file only.
  REQUIRE(place.shell(run + "replay --replay second --set cluster.network.link.bandwidth=1Mbps" + from).code == 0);
  CHECK(place.read("replay/model.safetensors") == place.read("second/model.safetensors"));
  const auto other = place.shell(run + "replay --force --replay second");
  CHECK(other.code == 2);
  CHECK(other.err.find("its workload.model.weights differs") != std::string::npos);
}

TEST_CASE("relative to the scenario's folder; PyTorch's counters of batches are passed over") {
  const Workplace place;
  fs::create_directory(place.folder() / "sub");
  std::string text = small;
  text.replace(text.find("hidden: [3]"), 11, "hidden: [3], weights: start.safetensors");
  place.write("sub/small.yaml", text);
  place.write("sub/start.safetensors", safetensors(layout, -1));
  const auto done = place.shell("straggler run sub/small.yaml --out plain");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  place.write("sub/start.safetensors", safetensors(layout, -1, "bn1.num_batches_tracked"));
  REQUIRE(place.shell("straggler run sub/small.yaml --out counted").code == 0);
  CHECK(place.read("plain/model.safetensors") == place.read("counted/model.safetensors"));
  place.write("sub/start.safetensors", safetensors(layout, -1.125f));
  REQUIRE(place.shell("straggler run sub/small.yaml --out changed").code == 0);
  CHECK(place.summary("plain")["weights_key"] != place.summary("changed")["weights_key"]);
}

TEST_CASE("weights that are not the model's: the first difference, in one line") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto refused = [&](const std::string& file, const std::string& why) {
    const auto done = place.shell("straggler run small.yaml --out r --timing-only --set workload.model.weights=" + file);
    CHECK(done.code == 2);
    CHECK_MESSAGE(done.err.find(why) != std::string::npos, done.err);
    CHECK(done.err.find("workload.model.weights") != std::string::npos);
    CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
    CHECK_FALSE(fs::exists(place.folder() / "r"));
  };
  refused("nowhere.safetensors", "no such file");
  refused("small.yaml", "safetensors");
  auto changed = layout;
  changed[2].second = {3, 4};
  place.write("w.safetensors", safetensors(changed, 0));
  refused("w.safetensors", "tensor '2.weight' has shape [3, 4], the model's has [4, 3]");
  changed = layout;
  changed[1].first = "0.bais";
  place.write("w.safetensors", safetensors(changed, 0));
  refused("w.safetensors", "has no tensor '0.bias' of shape [3], which the model has ('0.bais' is nearest)");
  changed = layout;
  changed.push_back({"4.bias", {2}});
  place.write("w.safetensors", safetensors(changed, 0));
  refused("w.safetensors", "has a tensor '4.bias' of shape [2], which the model has not");
  place.write("w.safetensors", safetensors(layout, std::numeric_limits<float>::infinity()));
  refused("w.safetensors", "tensor '0.weight' holds numbers that are not finite");
  const std::string whole = safetensors(layout, 0);
  place.write("w.safetensors", whole.substr(0, whole.size() - 4));
  refused("w.safetensors", "get the whole");
  refused("\"\"", "workload.model.weights");
}

}  // namespace weights_test
