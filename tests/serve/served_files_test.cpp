// Which files may be read, and what a folder is said to hold.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenarios/results/live_progress.hpp"
#include "scenarios/results/result_folder.hpp"
#include "scenarios/serve/result_list.hpp"
#include "tests/support/folder.hpp"

namespace straggler::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("files of the folder are served, and no other") {
  const TemporaryFolder place;
  place.write("secret.csv", "s");
  place.write("root/run/report.html", "page");
  place.write("root/run/curve.csv", "a");
  place.write("root/run/model.safetensors", "w");
  place.write("root/run/tool.sh", "rm");
  place.write("root/.small.straggler-1-0/live.csv", "l");
  place.write("root/.hidden.csv", "h");
  place.write("rootless/curve.csv", "another folder that begins alike");
  const fs::path root = place / "root";
  fs::create_symlink(place / "secret.csv", root / "out.csv");
  fs::create_symlink("../secret.csv", root / "up.csv");
  fs::create_directory_symlink(place.path(), root / "above");
  fs::create_symlink("run/curve.csv", root / "within.csv");
  REQUIRE(::mkfifo((root / "pipe.csv").c_str(), 0600) == 0);

  CHECK(served_file(root, "run/report.html") == fs::canonical(root / "run/report.html"));
  CHECK(served_file(root, "run/curve.csv"));
  CHECK(served_file(root, "within.csv") == fs::canonical(root / "run/curve.csv"));
  for (const char* refused : {"",
                              "/",
                              ".",
                              "..",
                              "../secret.csv",
                              "run/../../secret.csv",
                              "run/../run/curve.csv",
                              "./run/curve.csv",
                              "/etc/passwd",
                              "run",
                              "run/",
                              "out.csv",
                              "up.csv",
                              "above/secret.csv",
                              "above/root/run/curve.csv",
                              "run/tool.sh",
                              "run/model.safetensors",
                              ".hidden.csv",
                              ".small.straggler-1-0/live.csv",
                              "pipe.csv",
                              "run/none.csv",
                              "run/curve.csv/",
                              "run/curve.csv/x.csv",
                              "../rootless/curve.csv",
                              "..\\secret.csv",
                              "run//../../secret.csv"}) {
    CAPTURE(refused);
    const auto file = served_file(root, refused);
    // "above/root/..." leads back into the folder, and is then one of its files.
    if (std::string_view(refused) == "above/root/run/curve.csv")
      CHECK(file == fs::canonical(root / "run/curve.csv"));
    else
      CHECK_FALSE(file);
  }
  CHECK_FALSE(served_file(root, std::string_view("run/curve.csv\0.html", 19)));
  CHECK_FALSE(served_file(root, (place / "root/run/curve.csv").string()));
  CHECK_FALSE(served_file(place / "nowhere", "run/curve.csv"));
}

TEST_CASE("results and scenarios are listed among other files") {
  const TemporaryFolder place;
  place.write("a/summary.json", R"({"name": "<script>", "scheme": "ssgd", "workers": 4, "final_test_accuracy": null})");
  place.write("a/scenario.yaml", "straggler: 1\nname: a\n");
  place.write("a/report.html", "");
  place.write("b/summary.json", "not JSON");
  place.write("c/explain.csv", "");
  place.write("c/report.html", "");
  place.write("d/e/f/g/report.html", "");
  place.write("d/e/f/g/h/report.html", "too deep");
  place.write("x/first.yaml", "# a comment\n\nstraggler: 1\n");
  place.write("x/other.yaml", "sweep: 1\n");
  place.write(".a.straggler-1-0/summary.json", "{}");
  fs::create_directory_symlink(place / "a", place / "again");
  REQUIRE(::mkfifo((place / "x/pipe.yaml").c_str(), 0600) == 0);  // whoever opened it would wait for ever
  const auto results = list_results(place.path());
  std::vector<std::string> found;
  for (const auto& one : results) found.push_back(one["path"].get<std::string>() + " " + one["kind"].get<std::string>());
  CHECK(found == std::vector<std::string>{"a run", "b run", "c explanation", "d/e/f/g comparison", "x/first.yaml scenario"});
  CHECK(results[0]["name"] == "<script>");
  CHECK(results[0]["scenario"] == "a/scenario.yaml");
  CHECK(results[0]["final_test_accuracy"].is_null());
  CHECK(results[1]["scenario"].is_null());
  CHECK(results[4]["scenario"] == "x/first.yaml");
  CHECK(list_results(place / "nowhere").empty());
}

TEST_CASE("a run is listed as long as its folder is locked, with the whole rows of its live.csv") {
  const TemporaryFolder place;
  {
    const ResultFolder folder({place / "out", "small", {}, false});
    CHECK(list_running(place.path()).empty());
    const fs::path file = folder.temporary(LiveProgress::name);
    place.write(file, "time_s,updates,samples,fraction,test_accuracy\n0.5,10,320,0.1,\n1,20,640,0.2,0.75\n1.5,30,96");
    const auto running = list_running(place.path());
    REQUIRE(running.size() == 1);
    CHECK(running[0]["name"] == "small");
    CHECK(running[0]["rows"].dump() == "[[0.5,10.0,320.0,0.1,null],[1.0,20.0,640.0,0.2,0.75]]");
    CHECK_FALSE(live_chart("small", running[0]["rows"]));
    place.write(file, "time_s,updates,samples,fraction,test_accuracy\n1,20,640,0.2,0.75\n2,40,1280,0.4,0.8\n");
    const auto chart = live_chart("small", list_running(place.path())[0]["rows"]);
    REQUIRE(chart);
    CHECK(chart->x.numbers == std::vector<double>{1, 2});
    CHECK(chart->curves.front().points.back().mean == 0.8);
    CHECK(list_results(place.path()).empty());
  }
  place.write(".small.straggler-1-0/live.csv", "time_s,updates,samples,fraction,test_accuracy\n1,20,640,0.2,0.75\n");
  CHECK(list_running(place.path()).empty());  // left by a run that was killed: nobody holds the lock
}

TEST_CASE("live.csv goes with the run") {
  const TemporaryFolder place;
  const fs::path file = place / "live.csv";
  struct Listener : ProgressListener {
    void progress(const State&) override { ++seen; }
    int seen = 0;
  } listener;
  {
    LiveProgress live(listener, file);
    ::usleep(510'000);
    live.progress({Time::from_seconds(2), 0, 7, 70, 0.25, 0.5, {}});
    CHECK(listener.seen == 1);
    CHECK(place.read("live.csv") == "time_s,updates,samples,fraction,test_accuracy\n2,7,70,0.2500,0.5\n");
  }
  CHECK_FALSE(fs::exists(file));
}

}  // namespace
}  // namespace straggler::test
