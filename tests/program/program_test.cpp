// The program as users meet it: commands in, files, tables and exit codes out.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program/small_scenario.hpp"
#include "tests/program/workplace.hpp"

namespace program_test {

namespace fs = std::filesystem;
using straggler::test::on_small_cluster;
using straggler::test::small;
using straggler::test::Workplace;

TEST_CASE("all files but run.json are byte-identical, for any number of threads") {
  const Workplace place;
  place.write("small.yaml", small);
  for (const char* scheme : {"asgd", "{kind: nonblocking, minibatch: 16}", "ssgd"}) {
    CAPTURE(scheme);
    std::map<std::string, std::string> first;
    for (const char* threads : {"1", "2", "8", "auto"}) {
      const auto done = place.shell("straggler run small.yaml --trace --out r --force --threads " + std::string(threads) +
                                    " --set \"training.scheme=" + scheme + "\"");
      REQUIRE_MESSAGE(done.code == 0, done.err);
      auto files = place.files("r");
      for (const char* name : {"summary.json", "curve.csv", "thresholds.csv", "staleness.csv", "epochs.csv", "workers.csv", "links.csv",
                               "order.csv", "choices.csv", "trace.json", "model.safetensors", "scenario.yaml", "run.json"})
        CHECK_MESSAGE(files.count(name) == 1, name);
      CHECK(files.erase("run.json") == 1);
      if (first.empty()) first = files;
      for (const auto& file : files) CHECK_MESSAGE(first[file.first] == file.second, file.first);
    }
  }
}

TEST_CASE("check --graph refuses a folder that is not there before it explains anything") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto done = place.shell("straggler check small.yaml --graph nowhere/cluster.dot");
  CHECK(done.code == 2);
  CHECK(done.out.empty());
  CHECK(done.err.find("--graph nowhere/cluster.dot: there is no folder nowhere; ") != std::string::npos);
}

TEST_CASE("a threshold that too few evaluations have is not reached in as many in a row") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto of = [&](const std::string& threshold, const std::string& sustain) {
    const auto done =
        place.shell("straggler run small.yaml --out r --force --set \"training.evaluate={every: {epochs: 0.5}, thresholds: [" + threshold +
                    "], sustain: " + sustain + "}\"");
    REQUIRE_MESSAGE(done.code == 0, done.err);
    const std::size_t line = done.out.find("time to " + threshold);
    return done.out.substr(line, done.out.find('\n', line) - line);
  };
  CHECK(of("0.01", "100").ends_with(" not reached in 100 evaluations in a row"));  // 3 epochs have seven
  CHECK(of("0.999", "100").ends_with(" not reached"));
  CHECK(of("0.01", "2").find("not reached") == std::string::npos);
}

TEST_CASE("--threads auto says how many it took, and run.json does; of timing alone there is nothing to choose") {
  const Workplace place;
  place.write("tiny.yaml", on_small_cluster(8, 2000, 100, "  stop: {updates: 300000}\n"));
  const auto done = place.shell("straggler run tiny.yaml --out r --keep none --progress none --threads auto");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  const nlohmann::json info = nlohmann::json::parse(place.read("r/run.json"));
  const std::uint64_t threads = info["threads"], all = info["machine"]["cores"];
  const std::string line = all == 1 ? "threads: all 1; the run was too short to compare\n"
                                    : "threads: " + std::to_string(threads) + " of " + std::to_string(all) + " computed fastest\n";
  CHECK_MESSAGE(done.err.find(line) != std::string::npos, done.err);
  CHECK(threads <= all);
  const auto timing = place.shell("straggler run tiny.yaml --out t --keep none --timing-only --threads auto");
  CHECK(timing.err.find("threads:") == std::string::npos);
  CHECK(nlohmann::json::parse(place.read("t/run.json"))["threads"] == all);
  CHECK(place.shell("straggler run tiny.yaml --threads atuo")
            .err.find("--threads is 'atuo'; it must be a whole number of at least 1, or auto") != std::string::npos);
}

TEST_CASE("every instruction set gives the same times, and losses within 1e-3") {
  const Workplace place;
  place.write("small.yaml", small);
  nlohmann::json first;
  for (const char* kernels : {"generic", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const auto done = place.shell("straggler run small.yaml --out r --force --kernels " + std::string(kernels));
    if (done.code == 2 && done.err.find("unknown --kernels") != std::string::npos) {
      MESSAGE("this processor cannot run " << kernels);
      continue;
    }
    REQUIRE_MESSAGE(done.code == 0, done.err);
    const nlohmann::json summary = place.summary("r");
    if (first.is_null()) first = summary;
    CHECK(summary["simulated_seconds"] == first["simulated_seconds"]);
    CHECK(summary["events"] == first["events"]);
    CHECK(summary["final_train_loss"].get<double>() == doctest::Approx(first["final_train_loss"].get<double>()).epsilon(1e-3));
  }
}

TEST_CASE("a target ends the run, or is only noted") {
  const Workplace place;
  place.write("small.yaml", small);
  const std::string stop = " --set \"training.stop={epochs: 40, target_accuracy: 0.4}\" --set training.evaluate.every.epochs=1";
  REQUIRE(place.shell("straggler run small.yaml --out r" + stop).code == 0);
  const nlohmann::json stopped = place.summary("r");
  CHECK(stopped["outcome"] == "target_reached");
  CHECK(stopped["target_accuracy"] == 0.4);
  CHECK(stopped["epochs"].get<double>() < 40);
  // Sustained for two evaluations: the first of them counts, and the run ends at the second, an epoch later.
  CHECK(stopped["updates_to_target"].get<int>() < stopped["updates"].get<int>());
  REQUIRE(place
              .shell("straggler run small.yaml --out r --force --set training.stop.on_target=continue" + stop +
                     " --set training.stop.on_target=continue")
              .code == 0);
  const nlohmann::json went_on = place.summary("r");
  CHECK(went_on["outcome"] == "target_reached");
  CHECK(went_on["epochs"].get<double>() >= 40);
  CHECK(went_on["time_to_target_s"] == stopped["time_to_target_s"]);
}

TEST_CASE("a diverging run says so, and exits 0") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto done = place.shell("straggler run small.yaml --out r --set training.optimizer.learning_rate=1e30");
  CHECK(done.code == 0);
  CHECK(place.summary("r")["outcome"] == "diverged");
  CHECK(place.summary("r")["final_train_loss"].is_null());
  CHECK(place.summary("r")["final_test_accuracy"].is_null());
  CHECK(done.out.find("test accuracy nan") != std::string::npos);
  CHECK(
      place.read("r/report.html").find("Outcome: diverged, the loss is no longer finite; try a smaller training.optimizer.learning_rate") !=
      std::string::npos);
}

TEST_CASE("a run whose loss grows without end, and is finite, warns in one line and on its page") {
  const Workplace place;
  place.write("small.yaml", small);
  // (1 - 3)^n of a distance after n steps.
  const auto done = place.shell(
      "straggler run small.yaml --out r --set workload.model=quadratic --set training.scheme=ssgd "
      "--set \"training.optimizer={kind: sgd, learning_rate: 3}\"");
  CHECK(done.code == 0);
  CHECK(place.summary("r")["outcome"] == "completed");
  const std::size_t at = done.err.find("warning: the training loss is ");
  REQUIRE_MESSAGE(at != std::string::npos, done.err);
  CHECK(done.err.find("smaller training.optimizer.learning_rate", at) < done.err.find('\n', at));
  CHECK(place.read("r/report.html").find("Warning: the training loss is ") != std::string::npos);
}

TEST_CASE("a run in mixed precision reports its loss scale, others do not") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto done = place.shell("straggler run small.yaml --out r --set workload.precision=mixed --set workload.loss_scale.initial=1024");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK(place.summary("r")["skipped_updates"] == 0);
  CHECK(place.summary("r")["final_loss_scale"] == 1024);
  CHECK(done.out.find("1024 at the end; no update skipped") != std::string::npos);
  const auto high =
      place.shell("straggler run small.yaml --out high --set workload.precision=mixed --set workload.loss_scale.initial=1099511627776");
  REQUIRE_MESSAGE(high.code == 0, high.err);
  CHECK(place.summary("high")["skipped_updates"].get<int>() > 0);
  CHECK(high.out.find("skipped, because a gradient overflowed") != std::string::npos);
  CHECK(place.read("r/report.html").find("loss scale at the end") != std::string::npos);
  const auto plain = place.shell("straggler run small.yaml --out plain");
  CHECK(place.summary("plain")["skipped_updates"].is_null());
  CHECK(plain.out.find("loss scale") == std::string::npos);
  CHECK(place.read("plain/report.html").find("loss scale at the end") == std::string::npos);
}

TEST_CASE("a memory budget that is too small is refused with the need, exit 3") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto done = place.shell("straggler run small.yaml --out r --memory 2MB --set workload.model.hidden=[500,500]");
  CHECK(done.code == 3);
  CHECK(done.err.find("memory") != std::string::npos);
  CHECK(done.out.empty());
}

TEST_CASE("an interrupted run writes its finished part, exit 130") {
  const Workplace place;
  place.write("small.yaml", small);
  const std::string endless = STRAGGLER_PROGRAM " run small.yaml --timing-only --force --out r --set training.stop.epochs=1000000";
  // To the program alone, and as GNU timeout does it by default: to the child and then to its whole group, so twice at once.
  for (const char* timeout : {"timeout --foreground", "timeout"}) {
    fs::remove_all(place.folder() / "r");
    const auto done = place.shell(std::string(timeout) + " --preserve-status --signal=INT 1 " + endless);
    CHECK(done.code == 130);
    CHECK(place.summary("r")["outcome"] == "interrupted");
    CHECK(place.summary("r")["updates"].get<int>() > 0);
  }
}

TEST_CASE("wrong scenarios: a line with the place, exit 2, nothing written") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto refuses = [&](const std::string& arguments, const std::string& phrase) {
    CAPTURE(arguments);
    const auto done = place.shell("straggler run " + arguments + " --out r");
    CHECK(done.code == 2);
    CHECK_MESSAGE(done.err.find(phrase) != std::string::npos, done.err);
    CHECK(done.out.empty());
    CHECK_FALSE(fs::exists(place.folder() / "r"));
  };
  refuses("missing.yaml", "missing.yaml");
  refuses("small.yaml --set cluster.network.link.bandwith=1Gbps", "did you mean 'bandwidth'");
  refuses("small.yaml --set training.scheme=asdg", "asgd");
  refuses("small.yaml --set cluster.network.link.latency=10", "10ms");
  refuses("small.yaml --set training.batch.per_worker=100000", "2000");
  refuses("small.yaml --set cluster.servers.count=0", "server");
  refuses("small.yaml --set \"workload.data={kind: fashion_mnist, path: nowhere}\"", "workload.data.path: ");
  place.write("twice.yaml", std::string(small) + "seed: 4\n");
  refuses("twice.yaml", "twice.yaml:19:1");
  place.write("deep.yaml", std::string(100'000, '['));
  refuses("deep.yaml", "deep.yaml:1:");
  place.write("bomb.yaml",
              "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d "
              "[*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
              "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n");
  refuses("bomb.yaml", "bomb.yaml:");
}

TEST_CASE("one request to stop that arrives twice at once does not cost the results") {
  const Workplace place;
  place.write("small.yaml", small);
  // timeout(1) signals its child and its group. Two different signals, so that the second is not merged with the first.
  const auto done = place.shell(STRAGGLER_PROGRAM
                                " run small.yaml --timing-only --out r --set training.stop.epochs=1000000 & p=$!; sleep 1; "
                                "kill -INT $p; kill -TERM $p; wait $p");
  CHECK(done.code == 130);
  CHECK(place.summary("r")["outcome"] == "interrupted");
}

TEST_CASE("scenario.yaml of a run with a relative path runs again, from anywhere") {
  const Workplace place;
  // MNIST's layout: big-endian magic number and dimensions, then 400 images of 28 x 28, or their labels.
  const std::string count{"\0\0\1\x90", 4}, side{"\0\0\0\x1c", 4};
  fs::create_directories(place.folder() / "data");
  fs::create_directories(place.folder() / "studies");
  for (const char* half : {"train", "t10k"}) {
    place.write("data/" + std::string(half) + "-images-idx3-ubyte",
                std::string("\0\0\x08\x03", 4) + count + side + side + std::string(400 * 28 * 28, 'x'));
    place.write("data/" + std::string(half) + "-labels-idx1-ubyte", std::string("\0\0\x08\x01", 4) + count + std::string(400, '\1'));
  }
  std::string text = small;
  const std::string data = "kind: coordinates, samples: 2000, test_samples: 500";
  text.replace(text.find(data), data.size(), "kind: fashion_mnist, path: ../data, normalize: none");
  place.write("studies/small.yaml", text);
  const auto first = place.shell("straggler run studies/small.yaml --out first");
  REQUIRE_MESSAGE(first.code == 0, first.err);
  const auto again = place.shell("cd studies && straggler run ../first/scenario.yaml --out ../again");
  REQUIRE_MESSAGE(again.code == 0, again.err);
  CHECK(place.read("first/scenario.yaml") == place.read("again/scenario.yaml"));
  CHECK(place.read("first/model.safetensors") == place.read("again/model.safetensors"));
  const auto completed_by_tab = place.shell("straggler run studies/small.yaml --set workload.data.path=data/ --out first --force");
  REQUIRE_MESSAGE(completed_by_tab.code == 0, completed_by_tab.err);
  CHECK(place.read("first/scenario.yaml") == place.read("again/scenario.yaml"));
  CHECK(place.shell("straggler run --help").out.find("in VALUE is relative to the current folder") != std::string::npos);
}

TEST_CASE("`run` and `compare` use the same words, and mark the target once") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto done = place.shell("straggler run small.yaml --out r --set \"training.stop={epochs: 40, target_accuracy: 0.4}\"");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  const auto compared = place.shell("straggler compare r");
  REQUIRE(compared.code == 0);
  for (const std::string& out : {done.out, compared.out}) {
    CAPTURE(out);
    for (const char* word : {"\ntime to 0.3 ", "\ntime to 0.4 (target) ", "target_reached", "computing", "communicating"})
      CHECK_MESSAGE(out.find(word) != std::string::npos, word);
    CHECK(out.find("(target)") == out.rfind("(target)"));
    CHECK(out.find("to 0.4") == out.rfind("to 0.4"));
  }
}

TEST_CASE("a memory budget does not decide how many workers a scenario may have") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto done = place.shell("straggler run small.yaml --out r --memory 1kB");
  CHECK(done.code == 3);
  CHECK_MESSAGE(done.err.find("small.yaml:") == std::string::npos, done.err);
  CHECK(place.shell("straggler run small.yaml --out r --timing-only --memory 1kB").code == 0);
}

TEST_CASE("check shows the effect of a protocol's segments on a link") {
  const Workplace place;
  place.write("small.yaml", small);
  CHECK(place.shell("straggler check small.yaml").out.find("segments") == std::string::npos);
  // The model's 4 (2 16 + 16 + 16 c + c) bytes for c classes are more than 100 B and less than 1 MB: 100 Mbps x 0.5, 50 us x 3.
  const std::string all =
      place
          .shell(
              "straggler check small.yaml --set \"cluster.network.protocol.segments=[{up_to: 100B, latency_factor: 2}, {up_to: 1MB, "
              "latency_factor: 3, bandwidth_factor: 0.5}, {bandwidth_factor: 0.9}]\"")
          .out;
  CHECK_MESSAGE(
      all.find("up to 100B: latency x 2, bandwidth x 1; up to 1MB: latency x 3, bandwidth x 0.5; larger: latency x 1, bandwidth x "
               "0.9; for a message of ") != std::string::npos,
      all);
  CHECK(all.find("the link above is 50Mbps, latency 150 us\n") != std::string::npos);
}

TEST_CASE("check shows the bandwidth and the jitter as a scenario has them") {
  const Workplace place;
  place.write("small.yaml", small);
  const std::string out = place.shell("straggler check small.yaml").out;
  CHECK_MESSAGE(out.find("jitter {kind: lognormal, sigma: 0.4, every: batch}; link 100Mbps, latency 50 us") != std::string::npos, out);
  CHECK(out.find("three quarters") == std::string::npos);
  // Four workers, a server: 19 vectors of 4 bytes for each of 1e5 * 1e5 weights, 760 GB; a machine with more would not warn.
  const auto large = place.shell("straggler check small.yaml --set workload.model.hidden=[100000,100000]");
  CHECK(large.err.find("warning: the math needs about ") != std::string::npos);
  CHECK(large.out.find("warning") == std::string::npos);  // a script may read it
}

TEST_CASE("the libraries of the math are loaded only when needed") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto timed = place.shell("LD_DEBUG=files straggler run small.yaml --timing-only --out timed");
  REQUIRE(timed.code == 0);
  CHECK(timed.err.find("libc.so") != std::string::npos);  // the linker tells what it loads
  for (const char* const late : {"libdnnl", "libgomp"}) {
    CAPTURE(late);
    CHECK(timed.err.find(late) == std::string::npos);
  }
}

TEST_CASE("what Boost.Graph throws is caught by the program") {
  const Workplace place;
  place.write("small.yaml", small);
  const auto check = [&](const std::string& file, const std::string& text) {
    place.write(file, text);
    return place.shell("straggler check small.yaml --set \"cluster.network.topology={kind: file, path: " + file + "}\"");
  };
  const std::string nodes = "hub [kind=switch]; node [kind=host]; edge [bandwidth=\"100MB/s\", latency=\"1us\"];\n";
  std::string both_ways;  // read as an undirected graph first, at whose first arrow the library throws
  for (const char* name : {"worker/0", "worker/1", "worker/2", "worker/3", "server/0"}) {
    const std::string quoted = '"' + std::string(name) + '"';
    both_ways += quoted + " -> hub; hub -> " + quoted + ";\n";
  }
  const auto directed = check("directed.dot", "digraph { " + nodes + both_ways + "}\n");
  CHECK_MESSAGE(directed.code == 0, directed.err);
  const auto cut_off = check("cut_off.dot", "graph { a -- ");
  CHECK(cut_off.code == 2);
  CHECK_MESSAGE(cut_off.err.find("is not DOT that can be read (") != std::string::npos, cut_off.err);
  const auto open = check("open.graphml", "<graphml><graph><node id=\"a\"/>");
  CHECK(open.code == 2);
  CHECK_MESSAGE(open.err.find("is not GraphML that can be read (") != std::string::npos, open.err);
}

}  // namespace program_test
