#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/results/recorder.hpp"
#include "scenarios/results/tables.hpp"
#include "sim/record/run_recorder.hpp"
#include "tests/results/results_support.hpp"

using namespace straggler;
using namespace straggler::results_test;

namespace {

ResultFolder::Request request(const ScratchFolder& scratch) {
  ResultFolder::Request request;
  request.out = scratch / "demo";
  request.scenario_name = "demo";
  return request;
}

nlohmann::json written(const TraceSampler& trace) {
  const ScratchFolder scratch;
  OutFile file(scratch / "trace.json");
  trace.write(file, "demo");
  file.close();
  return nlohmann::json::parse(get(scratch / "trace.json"));
}

}  // namespace

TEST_CASE("texts longer than the buffer of a file stand between those before and after them") {
  const ScratchFolder scratch;
  OutFile file(scratch / "long.txt", {}, "begin\n");
  std::string expected = "begin\n";
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{300'000}, std::size_t{262'144}, std::size_t{1}, std::size_t{262'140}}) {
    const std::string text(bytes, static_cast<char>('a' + bytes % 26));
    file.write(text);
    file.print("{}\n", bytes);
    expected += text + std::to_string(bytes) + "\n";
  }
  file.close();
  CHECK(get(scratch / "long.txt") == expected);
}

TEST_CASE("order.csv and choices.csv are streamed") {
  const ScratchFolder scratch;
  ResultFolder folder(request(scratch));
  Recorder recorder(folder, true, false);
  recorder.contribution(1, Time::from_ticks(1'250'000'000'001), 3, 0, 64, 1, 32);
  recorder.contribution(18'446'744'073'709'551'615u, Time::limit(), 2'147'483'647, 9, 0, 0, 0);
  recorder.choice(2, 0);
  recorder.choice(4, -1);
  recorder.span(0, Phase::compute, Time(), seconds(1));  // no trace was asked for
  recorder.finish(folder, "demo");
  folder.commit();
  CHECK(get(scratch / "demo/order.csv") ==
        "update,time_s,worker,read_version,batch,steps,samples\n"
        "1,1.250000000001,3,0,64,1,32\n"
        "18446744073709551615,8640000,2147483647,9,0,0,0\n");
  CHECK(get(scratch / "demo/choices.csv") == "process,choice\n2,0\n4,-1\n");
  CHECK_FALSE(std::filesystem::exists(scratch / "demo/trace.json"));
}

TEST_CASE("epochs are streamed as the table of a record writes them") {
  // One worker: 10 samples of an epoch of 20 every second, so an epoch lasts 2 s; the last is half of one.
  const ScratchFolder scratch;
  ResultFolder folder(request(scratch));
  Recorder sink(folder, false, false);
  const auto course = [](RecordSink* to) {
    RunRecorder recorder(1, 20, StopRule(), EvaluationRule(), nullptr, to, false);
    Weights weights;
    recorder.begin(weights);
    for (std::uint64_t update = 1; update <= 5; ++update) {
      weights.edit().version = update;
      weights.edit().progress = 10 * update;
      recorder.bytes().sent += 8;
      recorder.bytes().received += 8;
      Contributions made;
      made.push_back({.worker = 0, .steps = 1, .samples = 10, .read_version = update - 1, .first_position = 0, .spent = Time()});
      recorder.published(weights, made, seconds(static_cast<double>(update)));
    }
    recorder.record().samples_drawn = 50;
    recorder.finish(seconds(5), std::nullopt);
    return std::move(recorder.record());
  };
  CHECK(course(&sink).epochs_record.empty());
  sink.finish(folder, "demo");
  const RunRecord kept = course(nullptr);
  REQUIRE(kept.epochs_record.size() == 3);
  CHECK(kept.epochs_record[1].end == seconds(4));
  CHECK(kept.epochs_record[2].bytes_sent == 8);
  OutFile table(scratch / "epochs.csv");
  write_epochs(kept, table);
  table.close();
  CHECK(get(folder.temporary("epochs.csv")) == get(scratch / "epochs.csv"));
}

TEST_CASE("rows survive many refills of the buffer") {
  const ScratchFolder scratch;
  ResultFolder folder(request(scratch));
  Recorder recorder(folder, true, false);
  constexpr std::uint64_t rows = 50'000;
  std::string expected = "update,time_s,worker,read_version,batch,steps,samples\n";
  for (std::uint64_t i = 0; i < rows; ++i) {
    recorder.contribution(i, Time::from_ticks(static_cast<std::int64_t>(i) * 1'000'000'000'000), 1, i, i, 1, 8);
    const std::string n = std::to_string(i);
    expected += n + "," + n + ",1," + n + "," + n + ",1,8\n";
  }
  recorder.finish(folder, "demo");
  CHECK(get(folder.temporary("order.csv")) == expected);
}

TEST_CASE("a recorder whose disk is full says so without throwing into the simulation") {
  const ScratchFolder scratch;
  ResultFolder folder(request(scratch));
  Recorder recorder(folder, true, false);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 16, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  for (std::uint64_t i = 0; i < 50'000 && !recorder.failed(); ++i) recorder.contribution(i, seconds(1), 0, 0, 0, 1, 8);
  recorder.contribution(0, seconds(1), 0, 0, 0, 1, 8);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(recorder.failed());
  CHECK_THROWS_AS(recorder.finish(folder, "demo"), ResultsError);
}

TEST_CASE("trace.json holds Chrome trace events in microseconds") {
  TraceSampler trace;
  trace.add(1, Phase::compute, Time::from_ticks(1), Time::from_ticks(2'500'001));
  trace.add(1, Phase::idle, seconds(1), seconds(1));  // no length
  const auto json = written(trace);
  REQUIRE(json["traceEvents"].size() == 3);  // the process, its one thread, the span
  CHECK(json["traceEvents"][1]["args"]["name"] == "worker 1");
  const auto& span = json["traceEvents"][2];
  CHECK(span["ph"] == "X");
  CHECK(span["name"] == "compute");
  CHECK(span["tid"] == 1);
  CHECK(span["ts"] == 0.000001);
  CHECK(span["dur"] == 2.5);
  CHECK(json["otherData"]["sampling"] == "none");
}

TEST_CASE("beyond its limit a trace keeps every k-th window of consecutive spans, and says so") {
  // Room for 40 spans in windows of 10; span i starts at i seconds. 95 spans are ten windows: keeping every second would be 50,
  // every fourth (windows 0, 4, 8: spans 0-9, 40-49, 80-89) is 30.
  TraceSampler trace(40, 10);
  for (int i = 0; i < 95; ++i) trace.add(0, Phase::compute, seconds(i), seconds(i + 0.5));
  CHECK(trace.seen() == 95);
  CHECK(trace.stride() == 4);
  CHECK(trace.kept() == 30);
  std::set<double> starts;
  const auto json = written(trace);
  for (const auto& event : json["traceEvents"])
    if (event["ph"] == "X") starts.insert(event["ts"].get<double>() / 1e6);
  std::set<double> expected;
  for (const int window : {0, 4, 8})
    for (int i = 0; i < 10; ++i) expected.insert(10 * window + i);
  CHECK(starts == expected);
  CHECK(json["otherData"]["kept"] == 30);
  CHECK(json["otherData"]["sampling"].get<std::string>().find("every 4th window of 10") != std::string::npos);
}

TEST_CASE("a full trace stays within a million events") {
  CHECK(TraceSampler::most_events == 1'000'000);
  TraceSampler trace;  // with a name for each of its first workers and one for the process
  for (std::uint32_t i = 0; i < 1'100'000; ++i) trace.add(i, Phase::compute, seconds(1), seconds(2));
  CHECK(trace.stride() == 2);
  CHECK(trace.kept() + TraceSampler::most_names + 1 <= TraceSampler::most_events);
}

TEST_CASE("a trace has servers, messages from sender to receiver, collectives with whom they waited for, and counters") {
  TraceSampler trace;
  trace.add(0, Phase::compute, seconds(0), seconds(1));
  MessageTrace message;
  message.from = 0;
  message.to = 2;
  message.what = "gradient";
  message.bytes = 4'000'000;
  message.version = 7;
  message.sent = seconds(1);
  message.left = seconds(2);
  message.arrived = seconds(2.5);
  trace.add(message);
  message.lost = true;
  trace.add(message);
  trace.add_served(2, "updates weights", seconds(2.5), seconds(3));
  trace.add({"all-reduce", 1, 3, 2, 25'000'000, seconds(3), seconds(4), Rank{1}});
  trace.add_staleness(seconds(3), 5);
  CHECK(trace.seen() == 6);
  RunRecord record;
  record.workers.resize(2);
  record.end = seconds(4);
  CurvePoint point;
  point.time = seconds(4);
  point.test_accuracy = 0.5;
  record.curve.push_back(point);
  const ScratchFolder scratch;
  OutFile file(scratch / "trace.json");
  trace.write(file, "demo", &record);
  file.close();
  const auto json = nlohmann::json::parse(get(scratch / "trace.json"));
  std::map<std::string, std::vector<nlohmann::json>> by_phase;
  for (const auto& event : json["traceEvents"]) by_phase[event["ph"]].push_back(event);
  // The server has a row, with what it does.
  bool server = false;
  for (const auto& name : by_phase["M"])
    server = server || (name["name"] == "thread_name" && name["tid"] == 2 && name["args"]["name"] == "server");
  CHECK(server);
  REQUIRE(by_phase["X"].size() == 2);
  CHECK(by_phase["X"][1]["name"] == "updates weights");
  CHECK(by_phase["X"][1]["tid"] == 2);
  // The flow goes from worker 0 to the server; a lost message has none.
  REQUIRE(by_phase["s"].size() == 1);
  REQUIRE(by_phase["f"].size() == 1);
  CHECK(by_phase["s"][0]["tid"] == 0);
  CHECK(by_phase["s"][0]["ts"] == 1e6);
  CHECK(by_phase["f"][0]["tid"] == 2);
  CHECK(by_phase["f"][0]["ts"] == 2.5e6);
  CHECK(by_phase["s"][0]["id"] == by_phase["f"][0]["id"]);
  // Bars: two messages and a collective.
  REQUIRE(by_phase["b"].size() == 3);
  CHECK(by_phase["e"].size() == 3);
  CHECK(by_phase["b"][0]["args"]["size"] == "4 MB");
  CHECK(by_phase["b"][0]["args"]["version"] == 7);
  CHECK(by_phase["b"][1]["args"]["lost"] == true);
  CHECK(by_phase["b"][2]["name"] == "all-reduce, piece 2 of 3");
  CHECK(by_phase["b"][2]["args"]["size"] == "25 MB");
  CHECK(by_phase["b"][2]["args"]["waited_for"] == "worker 1");
  REQUIRE(by_phase["C"].size() == 2);
  CHECK(by_phase["C"][0]["args"]["value"] == 5);
  CHECK(by_phase["C"][1]["args"]["value"] == 0.5);
}
