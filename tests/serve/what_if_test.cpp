// Sliders and previews: closed forms, every scheme, and what may not be turned.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scenarios/schema/reader.hpp"
#include "scenarios/serve/desk.hpp"
#include "scenarios/serve/knobs.hpp"
#include "scenarios/serve/preview.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenarios.hpp"

namespace straggler::test {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

constexpr double batch_seconds = 0.1;      // of 100 samples of 1 ms
constexpr double bytes = 8e6, rate = 1e8;  // of a message; of a link
constexpr milliseconds no_hurry{600'000};

const std::string four_workers =
    scenario_text({.name = "four",
                   .network = "{topology: star, link: {bandwidth: 100MB/s, latency: 0s}, collective: {algorithm: ring}}",
                   .model = "softmax",
                   .data = "{kind: coordinates, samples: 100000, test_samples: 100}",
                   .cost = "{bytes: 8MB}",
                   .scheme = "ssgd",
                   .stop = "{updates: 20}"});

Scenario base(const std::vector<std::string>& sets = {}) { return read_scenario_text(four_workers, "four.yaml", sets); }

Scenario turned(const Scenario& scenario, const Json& settings) {
  std::vector<std::string> notes;
  return changed(scenario, settings, notes);
}

double seconds_per_update(const Json& settings) {
  const Preview seen = preview(turned(base(), settings), no_hurry, {});
  CHECK(seen.complete);
  CHECK(seen.updates == 20);
  CHECK(seen.fraction == 1);
  return seen.seconds_per_update();
}

double ring(double workers, double bytes_per_second) { return 2 * (workers - 1) / workers * bytes / bytes_per_second; }

TEST_CASE("a preview has the rates of the closed form, for each knob") {
  const auto about = [](double seconds) { return doctest::Approx(seconds).epsilon(1e-6); };
  CHECK(seconds_per_update(Json::object()) == about(batch_seconds + ring(4, rate)));
  CHECK(seconds_per_update({{"workers", 8}}) == about(batch_seconds + ring(8, rate)));
  CHECK(seconds_per_update({{"workers", 1}}) == about(batch_seconds));
  CHECK(seconds_per_update({{"bandwidth", 4 * rate}}) == about(batch_seconds + ring(4, 4 * rate)));
  CHECK(seconds_per_update({{"slow_workers", 1}, {"times_slower", 3}}) == about(3 * batch_seconds + ring(4, rate)));
  CHECK(seconds_per_update({{"slow_workers", 0}, {"times_slower", 3}}) == about(batch_seconds + ring(4, rate)));
  CHECK(seconds_per_update({{"batch", 50}}) == about(batch_seconds / 2 + ring(4, rate)));
  // 2 (p - 1) messages one after another, each over two links.
  CHECK(seconds_per_update({{"latency", 0.001}}) == about(batch_seconds + ring(4, rate) + 6 * 2 * 0.001));
  // Four gradients pass the server's link, then four answers; the last answers come after the last update.
  CHECK(seconds_per_update({{"scheme", "ssgd"}, {"scheme.via", "server"}}) == about(batch_seconds + (8 - 4.0 / 20) * bytes / rate));

  const Preview seen = preview(base(), no_hurry, {});
  CHECK(seen.samples_per_second() == about(400 / (batch_seconds + ring(4, rate))));
  CHECK(seen.shares[static_cast<std::size_t>(Phase::compute)] == about(batch_seconds / (batch_seconds + ring(4, rate))));
  CHECK((seen.timeline + seen.still).find("worker 3") != std::string::npos);
  CHECK(seen.timeline_label.ends_with(": 4 workers"));
  CHECK(extent_sentence(seen).starts_with("Shows the whole run: 20 updates, simulated in "));
}

TEST_CASE("a preview is cut by wall time, says what it shows, and its rates are those of whole updates") {
  const Preview seen = preview(base({"training.stop.updates=100000000"}), milliseconds(1), {});
  CHECK_FALSE(seen.complete);
  CHECK(seen.fraction < 1);
  REQUIRE(seen.updates > 0);  // the clock is asked every few hundred events
  CHECK(seen.seconds_per_update() == doctest::Approx(batch_seconds + ring(4, rate)).epsilon(1e-6));
  CHECK(extent_sentence(seen).find("stopped after ") != std::string::npos);
  CHECK(extent_sentence(seen).find("it shows the first ") != std::string::npos);
  CHECK(preview(base({"training.stop.updates=100000000"}), no_hurry, [] { return true; }).superseded);
}

TEST_CASE("a cut preview of workers that do not wait has the rates of the run, or says that they are those of its start") {
  const auto seen_of = [](const char* workers, milliseconds budget) {
    return preview(base({workers, "training.scheme=asgd", "workload.cost.bytes=8B", "training.stop.updates=100000000"}), budget, {});
  };
  constexpr double own_rate = 100 / batch_seconds;  // samples per second of one worker
  const Preview seen = seen_of("cluster.workers=[{count: 1000, device: node}]", milliseconds(20));
  CHECK_FALSE(seen.complete);
  // All contribute at the same moments: a cut within one has the time of all of it, and the samples of a part.
  const double rounds = seen.samples / (1000 * 100);
  CHECK((seen.early || rounds >= 2));
  CHECK((seen.early || seen.samples_per_second() == doctest::Approx(1000 * own_rate * rounds / std::ceil(rounds)).epsilon(0.02)));
  const Preview start = seen_of("cluster.workers=[{count: 50000, device: node}]", milliseconds(1));  // to build it takes longer
  CHECK(start.early);
  for (const auto& [workers, batches] :
       {std::pair<std::uint64_t, std::uint64_t>{1, 16}, {8, 16}, {62, 16}, {100, 10}, {500, 2}, {100'000, 2}})
    CHECK(settled_contributions(workers) == workers * batches);
  // Seven others step between two batches of a worker, and 3.5 on average before its first: (3.5 + 15 * 7) / 16.
  const Preview few = seen_of("cluster.workers=[{count: 8, device: node}]", milliseconds(1));
  CHECK((few.early || few.staleness_mean >= 7 * (1 - 1 / 32.0)));
  CHECK(few.staleness_mean <= 7);
  CHECK((start.updates == 0 || extent_sentence(start).find("workers have just begun") != std::string::npos));
}

TEST_CASE("groups keep their shares when the number of workers moves, and hosts stay whole") {
  const Scenario two = base({"cluster.workers=[{count: 6, device: node}, {count: 2, device: node, slowdown: 3}]"});
  const auto counts = [&](const Json& settings) {
    std::vector<std::pair<std::int64_t, double>> out;
    for (const WorkerGroup& group : turned(two, settings).cluster.workers) out.emplace_back(group.count, group.slowdown);
    return out;
  };
  using Counts = std::vector<std::pair<std::int64_t, double>>;
  CHECK(counts({{"workers", 64}}) == Counts{{48, 1}, {16, 3}});
  CHECK(counts({{"workers", 9}}) == Counts{{7, 1}, {2, 3}});
  CHECK(counts({{"workers", 1}}) == Counts{{1, 1}});
  CHECK(counts({{"slow_workers", 1}}) == Counts{{6, 1}, {1, 1}, {1, 3}});
  CHECK(counts({{"times_slower", 2}}) == Counts{{6, 1}, {2, 2}});
  const Scenario hosts =
      turned(base({"cluster.workers=[{count: 4, device: node, per_host: 4}]"}), {{"slow_workers", 1}, {"times_slower", 2}});
  CHECK(hosts.cluster.workers.at(1).same_host);
  CHECK(hosts.cluster.seats_taken() == std::vector<std::int64_t>{0, 3});
  const Scenario full =  // where slow workers begin on a host of their own
      turned(base({"cluster.workers=[{count: 8, device: node, per_host: 4}]"}), {{"slow_workers", 4}, {"times_slower", 2}});
  CHECK_FALSE(full.cluster.workers.at(1).same_host);
  CHECK(full.cluster.seats_taken() == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("every scheme can be turned on, and each of its knobs to both ends, or the reason is given") {
  const Scenario scenario = base();
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) {
    CAPTURE(entry.name);
    Scenario now;
    try {
      now = turned(scenario, {{"scheme", entry.name}});
    } catch (const ScenarioErrors& refused) {
      CHECK(refused.problems.front().remedy != "");
      continue;
    }
    CHECK(now.training.scheme.name == entry.name);
    std::vector<std::string> keys;
    for (const Knob& knob : knobs_of(now, scenario)) {
      CAPTURE(knob.key);
      keys.push_back(knob.key);
      CHECK_FALSE(knob.label.empty());
      if (!knob.choices.empty() || knob.type == ValueType::boolean) continue;
      CHECK((knob.low <= knob.value || (knob.zero && knob.value == 0)));
      CHECK(knob.value <= knob.high);
      for (const double value : {knob.low, knob.high}) {
        Json settings = {{"scheme", entry.name}};
        settings[knob.key] = value;
        try {
          turned(scenario, settings);
        } catch (const ScenarioErrors&) {
        } catch (const std::invalid_argument& refused) {
          CHECK(std::string(refused.what()).find(';') != std::string::npos);
        }
      }
    }
    CHECK(std::ranges::find(keys, "scheme") != keys.end());
    try {
      const Preview seen = preview(now, no_hurry, {});
      CHECK(seen.updates > 0);
      CHECK(figures_of(seen).size() > 4);
    } catch (const std::runtime_error& refused) {
      CHECK((entry.only_workers || std::string(refused.what()).find(';') != std::string::npos));
    }
  }
}

TEST_CASE("nothing but knobs can be set, and no path") {
  const Scenario scenario = base();
  for (const Json& settings : std::vector<Json>{
           {{"cluster.workers[0].population", "/etc/passwd"}},
           {{"name", "x"}},
           {{"workload.data", {{"kind", "fashion_mnist"}, {"path", "/"}}}},
           {{"scheme", "none of these"}},
           {{"scheme", {{"kind", "asgd"}}}},
           {{"jitter", "trace"}},
           {{"jitter.path", "/etc/passwd"}},
           {{"scheme.nothing", 1}},
           {{"workers", 0}},
           {{"workers", 1e12}},
           {{"workers", 2.5}},
           {{"workers", "8"}},
           {{"workers", nullptr}},
           {{"bandwidth", 0}},
           {{"bandwidth", -1}},
           {{"latency", -1}},
           {{"times_slower", 0.5}},
           {{"batch", 0}},
           Json::array(),
           Json("x"),
       }) {
    CAPTURE(settings.dump());
    CHECK_THROWS_AS(turned(scenario, settings), std::invalid_argument);
  }
  CHECK(turned(scenario, Json::object()) == scenario);
}

/// A desk over a folder, asked as a browser would.
class Asked {
 public:
  Asked() {
    place_.write("root/four.yaml", four_workers);
    place_.write("root/run/report.html", "<h1>page</h1>");
    place_.write("secret.csv", "secret");
  }
  WebAnswer operator()(const std::string& method, const std::string& target, const std::string& body = {},
                       const std::string& token = "good", const std::string& type = "application/json") {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<WebAnswer> answer;
    desk_.answer({method, target, type, body, {"127.0.0.1:80", token, "", ""}}, [&](WebAnswer given) {
      const std::lock_guard lock(mutex);
      answer = std::move(given);
      came.notify_one();
    });
    std::unique_lock lock(mutex);
    came.wait(lock, [&] { return answer.has_value(); });
    return *answer;
  }

 private:
  TemporaryFolder place_;
  Desk desk_{std::filesystem::canonical((place_.write("root/.keep", ""), place_ / "root")), Gate(80, "good"), 2};
};

TEST_CASE("without the token nothing is answered") {
  Asked ask;
  for (const char* target :
       {"/", "/page.js", "/page.css", "/api/results", "/api/running", "/api/math", "/files/good2/run/report.html", "/files/",
        "/files/run/report.html", "/nothing", "/?token=", "/?token=bad", "/api/results?token=bad&token=good"})
    for (const char* method : {"GET", "POST", "PUT", "DELETE", "OPTIONS"}) {
      CAPTURE(target);
      CHECK(ask(method, target, "{}", "").status == 403);
    }
  CHECK(ask("POST", "/api/preview", R"({"scenario":"four.yaml"})", "").status == 403);
  CHECK(ask("GET", "/?token=good", "", "").status == 200);
  CHECK(ask("GET", "/files/good/run/report.html", "", "").file.has_value());
}

TEST_CASE("which addresses are answered, and which are not") {
  Asked ask;
  const WebAnswer page = ask("GET", "/");
  CHECK(page.policy.find("default-src 'none'; script-src 'self'") == 0);
  CHECK(page.body.find("/page.js?token=good") != std::string::npos);
  for (const char* filled : {"%TOKEN%", "%FOLDER%", "%LICENCES%"}) CHECK(page.body.find(filled) == std::string::npos);
  CHECK(ask("GET", "/files/good/run/report.html").policy.find("sandbox ") == 0);
  for (const char* hidden : {"/files/good/../secret.csv", "/files/good/%2e%2e/secret.csv", "/files/good/run/..%2f..%2fsecret.csv",
                             "/files/good//etc/passwd", "/files/good/", "/files/good", "/nothing", "/api/preview"})
    CHECK(ask("GET", hidden).status == 404);
  CHECK(ask("PUT", "/").status == 405);
  CHECK(ask("POST", "/api/preview", "{}", "good", "text/plain").status == 415);
  CHECK(ask("POST", "/api/preview", "[").status == 400);
  CHECK(ask("POST", "/").status == 400);
  CHECK(ask("POST", "/", "{}").status == 404);
  CHECK(ask("GET", "/%zz").status == 400);
  for (const char* asked : {R"({})", R"({"scenario":"../secret.csv"})", R"({"scenario":"run/report.html"})", R"({"scenario":3})",
                            R"({"scenario":"four.yaml","settings":{"x":1}})", R"({"scenario":"four.yaml","settings":[]})"})
    CHECK(ask("POST", "/api/preview", asked).status == 422);
  CHECK(ask("POST", "/api/math", R"({"scenario":"four.yaml"})").status == 422);  // nothing is changed

  const Json own = Json::parse(ask("POST", "/api/preview", R"({"scenario":"four.yaml"})").body);
  CHECK(own["as_it_is"] == true);
  CHECK(own["updates"] == 20);
  const Json fast = Json::parse(ask("POST", "/api/preview", R"({"scenario":"four.yaml","settings":{"scheme":"asgd","workers":8}})").body);
  CHECK(fast["as_it_is"] == false);
  CHECK(fast["scheme"] == "asgd");
  CHECK(fast["split"].dump().find("as it is") != std::string::npos);
  CHECK_FALSE(fast.contains("winner"));
}

TEST_CASE("the math runs both, and only then there is a winner") {
  Asked ask;
  CHECK(Json::parse(ask("GET", "/api/math").body)["state"] == "idle");
  CHECK(ask("POST", "/api/math", R"({"scenario":"four.yaml","settings":{"bandwidth":4e8}})").status == 200);
  Json state;
  do state = Json::parse(ask("GET", "/api/math").body);
  while (state["state"] == "running");
  CAPTURE(state.dump());
  REQUIRE(state["state"] == "done");
  CHECK(state["verdict"].get<std::string>().size() > 20);
  CHECK(ask("GET", "/files/good/" + state["page"].get<std::string>()).file.has_value());
  CHECK(state["folders"].dump() == R"(["what-if/four-1/as-it-is","what-if/four-1/changed"])");
  // A run that has its math is taken as it is.
  CHECK(ask("POST", "/api/math", R"({"scenario":"what-if/four-1/as-it-is/scenario.yaml","settings":{"workers":2}})").status == 200);
  do state = Json::parse(ask("GET", "/api/math").body);
  while (state["state"] == "running");
  REQUIRE(state["state"] == "done");
  CHECK(state["folders"].dump() == R"(["what-if/four-1/as-it-is","what-if/four-2/changed"])");
}

}  // namespace
}  // namespace straggler::test
