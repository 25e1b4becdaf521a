// What ranks wrote down, booked: the accounts of docs/model.md, from times that are known.
#include "validation/mpi/rank_log.hpp"

#include <doctest/doctest.h>

using namespace straggler;

namespace {

using Kind = LogEntry::Kind;

constexpr std::int64_t ms = 1'000'000'000;  // ticks

LogEntry at(std::int64_t milliseconds, Kind kind, Rank peer = 0, std::uint64_t bytes = 0) { return {milliseconds * ms, bytes, peer, kind}; }

Time after(std::int64_t milliseconds) { return Time::from_ticks(milliseconds * ms); }

/// One worker, rank 0, and a server, rank 1. The worker computes for 10 ms, sends for 3, waits for 4, gets weights for 2; computes on, and
/// gives that up.
RunCourse course() {
  RunCourse course;
  course.initial.edit().value = Handle(Key{1, 1});
  course.logs.resize(2);
  course.logs[0].entries = {at(0, Kind::compute_begins), at(10, Kind::compute_ends),   at(10, Kind::sent, 1, 400),
                            at(19, Kind::arrived, 1),    at(19, Kind::compute_begins), at(24, Kind::compute_discarded),
                            at(30, Kind::compute_begins)};
  course.logs[1].entries = {at(13, Kind::arrived, 0), at(17, Kind::sent, 0, 500)};
  course.logs[0].samples_drawn = 100;
  Publication published;
  published.when = after(16);
  published.weights.edit().version = 1;
  published.weights.edit().progress = 50;
  published.weights.edit().value = Handle(Key{2, 3});
  Contribution made;
  made.steps = 1;
  made.samples = 50;
  published.made.push_back(made);
  course.publications.push_back(published);
  course.end = after(25);
  return course;
}

RunRecord booked(const RunCourse& course, std::optional<Time> evaluate_every = std::nullopt) {
  EvaluationRule rule;
  rule.every_time = evaluate_every;
  RunRecorder recorder(1, 50, StopRule(), rule, nullptr, nullptr, false);
  book(course, evaluate_every, recorder);
  return recorder.record();
}

}  // namespace

TEST_CASE("a log survives its way to the rank that writes") {
  RankLog log;
  log.entries = {at(1, Kind::sent, 3, 1'000'000'000'000), at(2, Kind::compute_discarded)};
  log.choices = {4, 0, 1};
  log.samples_drawn = 77;
  log.events = 12;
  log.overruns = {10, 3, 5 * ms, 4 * ms};
  log.interrupted = true;
  const RankLog got = log_from(to_bytes(log));
  REQUIRE(got.entries.size() == 2);
  CHECK(got.entries[0].ticks == ms);
  CHECK(got.entries[0].bytes == 1'000'000'000'000);
  CHECK(got.entries[0].peer == 3);
  CHECK(got.entries[1].kind == Kind::compute_discarded);
  CHECK(got.choices == log.choices);
  CHECK(got.samples_drawn == 77);
  CHECK(got.events == 12);
  CHECK(got.overruns.late == 3);
  CHECK(got.overruns.worst == 4 * ms);
  CHECK(got.interrupted);
  CHECK_FALSE(log_from(to_bytes(RankLog())).interrupted);
  const Bytes all = to_bytes(log);
  for (std::size_t size = 0; size < all.size(); ++size) CHECK_THROWS_AS(log_from(std::span(all).first(size)), std::logic_error);
}

TEST_CASE("phases and bytes are booked up to the end, and no further") {
  const RunRecord record = booked(course());
  const TimeSplit& split = record.workers[0].split;
  CHECK(record.end == after(25));
  CHECK(split[Phase::compute] == after(10));
  CHECK(split[Phase::wasted] == after(5));             // 19 to 24
  CHECK(split[Phase::communication] == after(3 + 2));  // 10 to 13, 17 to 19
  CHECK(split[Phase::idle] == after(4 + 1));           // 13 to 17, 24 to 25
  CHECK(record.workers[0].bytes_sent == 400);
  CHECK(record.workers[0].bytes_received == 500);
  CHECK(record.bytes_sent == 900);
  CHECK(record.bytes_lost == 0);
  CHECK(record.samples == 50);
  CHECK(record.samples_drawn == 100);
  REQUIRE(record.epochs_record.size() == 2);
  CHECK(record.epochs_record[0].end == after(16));
  CHECK(record.epochs_record[0].mean_seconds[static_cast<std::size_t>(Phase::communication)] == doctest::Approx(0.003));
}

TEST_CASE("running statistics are a separate message, after the one they belong to") {
  RunCourse two = course();
  auto& worker = two.logs[0].entries;
  auto& server = two.logs[1].entries;
  worker.insert(worker.begin() + 3, at(11, Kind::statistics_sent, 1, 40));
  server.insert(server.begin() + 1, at(14, Kind::arrived, 0));
  server.push_back(at(26, Kind::statistics_sent, 0, 50));  // after the end
  const RunRecord record = booked(two);
  CHECK(record.bytes_sent == 940);
  CHECK(record.statistics_bytes == 40);
  CHECK(record.bytes_lost == 0);
  CHECK(record.workers[0].split[Phase::communication] == after(4 + 2));  // 10 to 14, 17 to 19
  CHECK(log_from(to_bytes(two.logs[0])).entries[3].kind == Kind::statistics_sent);
}

TEST_CASE("a message that has not arrived at the end is lost; one that seems to arrive before it was sent arrives at once") {
  RunCourse cut = course();
  cut.end = after(18);
  const RunRecord record = booked(cut);
  CHECK(record.bytes_sent == 900);
  CHECK(record.bytes_lost == 500);
  CHECK(record.workers[0].split[Phase::communication] == after(3 + 1));

  RunCourse skewed = course();
  skewed.logs[1].entries[0].ticks = 8 * ms;  // another machine's clock
  CHECK(booked(skewed).workers[0].split[Phase::communication] == after(2));
}

TEST_CASE("a run is interrupted if any of its ranks was") {
  CHECK(booked(course()).outcome == Outcome::completed);
  RunCourse broken_off = course();
  broken_off.logs.back().interrupted = true;
  CHECK(booked(broken_off).outcome == Outcome::interrupted);
}

TEST_CASE("evaluations by time look at the version of their moment") {
  const RunRecord record = booked(course(), after(10));
  REQUIRE(record.curve.size() == 3);  // the start, 10 ms, 20 ms, whose version is the last
  CHECK(record.curve[1].time == after(10));
  CHECK(record.curve[1].update == 0);
  CHECK(record.curve[2].time == after(20));
  CHECK(record.curve[2].update == 1);
}

// A real run in which all that a slow worker computed was dropped ended with "an account of time is below 0": the server's clock went
// behind the worker's, so that the drop was booked and the end of what it dropped was not.
TEST_CASE("contributions dropped at a run's end are booked no earlier than they were computed and arrived, with any clocks") {
  constexpr std::uint64_t spent = 10;
  RunCourse course;
  course.initial.edit().value = Handle(Key{1, 1});
  course.logs.resize(2);
  course.logs[0].entries = {{0, 0, 0, Kind::compute_begins}, {spent, 0, 0, Kind::compute_ends}, {spent, 400, 1, Kind::sent}};
  course.logs[0].samples_drawn = 50;
  course.logs[1].entries = {
      {7, 0, 0, Kind::arrived}, {8, 400, 0, Kind::dropped}, {8, 50, 0, Kind::dropped_samples}, {8, spent, 0, Kind::dropped_time}};
  const auto wasted = [&](std::int64_t end) {
    course.end = Time::from_ticks(end);
    RunRecorder recorder(1, 50, StopRule(), EvaluationRule(), nullptr, nullptr, false);
    book(course, std::nullopt, recorder);  // throws if an account is below 0
    return std::pair{recorder.record().workers[0].split[Phase::wasted].ticks(), recorder.record().dropped.samples};
  };
  CHECK(wasted(9) == std::pair{std::int64_t{0}, std::uint64_t{0}});  // the gradient ends behind the end: nothing was dropped in the run
  CHECK(wasted(11) == std::pair{std::int64_t{spent}, std::uint64_t{50}});
}

TEST_CASE("a job that continues has its earlier time as down, its earlier samples, and no evaluation before its start") {
  RunCourse late = course();
  for (RankLog& log : late.logs)
    for (LogEntry& entry : log.entries) entry.ticks += 40 * ms;
  late.start = after(40);
  late.end = after(65);
  late.initial.edit().version = 3;
  late.initial.edit().progress = 150;
  late.publications[0].when = after(56);
  late.publications[0].weights.edit().version = 4;
  late.publications[0].weights.edit().progress = 200;
  late.publications[0].made[0].read_version = 3;
  late.earlier_samples = {150};
  late.logs[0].samples_drawn = 250;
  const RunRecord record = booked(late, after(20)), alone = booked(course());
  const WorkerRecord& worker = record.workers[0];
  CHECK(worker.split[Phase::down] == after(40));
  CHECK(worker.split[Phase::compute] == alone.workers[0].split[Phase::compute]);
  CHECK(worker.split[Phase::idle] == alone.workers[0].split[Phase::idle]);
  CHECK(record.end == after(65));
  CHECK(record.updates == 4);
  CHECK(record.samples == 200);
  CHECK(worker.samples == 200);
  CHECK(worker.updates == 4);
  std::vector<std::pair<std::int64_t, std::uint64_t>> curve;
  for (const CurvePoint& point : record.curve) curve.emplace_back(point.time.ticks() / ms, point.update);
  CHECK(curve == std::vector<std::pair<std::int64_t, std::uint64_t>>{{40, 3}, {60, 4}});
  REQUIRE(record.epochs_record.size() == 2);  // of 50 samples: the fourth, and what was begun of the fifth
  CHECK(record.epochs_record[0].epoch == 4);
}
