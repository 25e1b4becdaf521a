// What a sweep keeps of its points is what they came to, exactly.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "scenarios/results/out_file.hpp"
#include "tests/support/text.hpp"
#include "tests/sweep/sweep_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr std::uint64_t largest_seed = std::numeric_limits<std::uint64_t>::max();

void put_fields(const std::filesystem::path& file, const std::string& id, const std::string& fields) {
  Database database(file, DatabaseUse{.noun = "the state of the sweep"});
  Statement insert(database, "INSERT INTO points (id, fields, wall) VALUES (?, ?, 1)");
  insert.bind(0, std::string_view(id)).bind(1, std::string_view(fields)).run();
}

}  // namespace

TEST_CASE("scalars of a finished point come back from the state as they were, and people can read them there") {
  const Files files;
  const FinishedPoint point{{{"scheme", Scalar(std::string("asgd"))},
                             {"seed", Scalar(largest_seed)},
                             {"simulated_seconds", Scalar(Time::from_ticks(8'640'000'000'000'000'001))},
                             {"final_test_loss", Scalar(0.1 + 0.2)},
                             {"epochs", Scalar(2.0)},
                             {"final_train_loss", Scalar(5e-324)},
                             {"time_to_target_s", Scalar()}},
                            0.25,
                            "{\"curve\":[],\"evaluations\":0,\"thresholds\":[],\"waited_for\":\"\u00e9\"}"};
  SweepState state(files.path() / "sweep.sqlite");
  state.record("a", point);
  const std::optional<FinishedPoint> again = state.find("a");
  REQUIRE(again.has_value());
  CHECK(again->fields == point.fields);
  CHECK(again->sketch == point.sketch);
  Database database(files.path() / "sweep.sqlite", DatabaseUse{.noun = "the state of the sweep"});
  Statement select(database, "SELECT fields FROM points");
  REQUIRE(select.step());
  CHECK(has(select.text(0), "seed\tcount\t18446744073709551615\nsimulated_seconds\ttime\t8640000.000000000001\n"));
}

TEST_CASE("a state that an earlier version wrote is read; one that is damaged is refused with its place") {
  const Files files;
  const std::filesystem::path file = files.path() / "sweep.sqlite";
  SweepState state(file);
  put_fields(file, "old", "scheme\t2\tasgd\nseed\t1\t18446744073709551615\nsimulated_seconds\t1\t12.5\ntime_to_target_s\t0\t\n");
  CHECK(state.find("old").value().fields == std::vector<SummaryField>{{"scheme", Scalar(std::string("asgd"))},
                                                                      {"seed", Scalar(largest_seed)},
                                                                      {"simulated_seconds", Scalar(12.5)},
                                                                      {"time_to_target_s", Scalar()}});
  CHECK(state.find("old")->sketch.empty());
  {
    Database before(file, DatabaseUse{.noun = "the state of the sweep"});
    before.run("DROP TABLE sketches");
  }
  CHECK(SweepState::to_read(file).find("old").has_value());
  CHECK(SweepState(file).find("old").has_value());
  put_fields(file, "odd", "seed\tnumber\t1\n");
  put_fields(file, "cut", "seed\tcount\tseven\n");
  for (const auto& [id, what] : {std::pair("odd", "point odd: 'number' is no kind of scalar; run the sweep again with --force"),
                                 std::pair("cut", "point cut: 'seven' is not a scalar of kind count; run the sweep again with --force")}) {
    try {
      state.find(id);
      FAIL("no error");
    } catch (const ResultsError& error) {
      CHECK(error.what() == file.string() + ": " + what);
    }
  }
}

TEST_CASE("a state has version 1; one without a version has it, too; a later one is refused with both versions") {
  const Files files;
  const std::filesystem::path file = files.path() / "sweep.sqlite";
  const FinishedPoint point{{{"seed", Scalar(std::uint64_t{1})}}, 0.25};
  SweepState(file).record("a", point);
  const auto set = [&](int version) { Database(file, "the state of the sweep").set_version(version); };
  const auto found = [&] { return Database(file, "the state of the sweep").version(); };
  CHECK(found() == 1);
  set(0);
  CHECK(SweepState::to_read(file).find("a").has_value());
  CHECK(found() == 0);  // reading changes nothing
  CHECK(SweepState(file).find("a").has_value());
  CHECK(found() == 1);
  set(2);
  const std::string line = file.string() +
                           ": the state of the sweep has version 2 of the format; this program reads version 1; use the straggler that "
                           "wrote it";
  CHECK(error_of<ResultsError>([&] { SweepState::to_read(file); }) == line);
  CHECK(error_of<ResultsError>([&] { SweepState{file}; }) == line + ", or name another folder with --out");
  CHECK(found() == 2);
  // Where nothing can be written, too.
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  std::filesystem::permissions(files.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  CHECK(error_of<ResultsError>([&] { SweepState::to_read(file); }) == line);
  std::filesystem::permissions(files.path(), std::filesystem::perms::owner_all);
}

TEST_CASE("the largest seed is the same in the scalars, the state and the tables of a sweep") {
  const Files files;
  const Sweep sweep = sweep_of(files, "timing_only: true\naxes: {training.scheme: [ssgd, asgd]}\n");
  SweepOptions options;
  options.more = {"seed=18446744073709551615"};
  SweepState state(files.path() / "sweep.sqlite");
  state.describe(describe(sweep, options.more));
  for (int time = 0; time < 2; ++time) {  // run, then taken from the state
    const Swept swept = run(sweep, state, nullptr, options);
    CHECK(swept.outcome.progress.finished == 2);
    for (const SweepRow& row : swept.outcome.rows) {
      CHECK(row.seed == largest_seed);
      CHECK(scalar_of(row.fields, "seed").count() == largest_seed);
    }
    CHECK(has(swept.points, "\nasgd,0,18446744073709551615,"));
    for (const PlacedPoint& point : state.placed()) CHECK(point.seed == largest_seed);
  }
  SweepState merged(files.path() / "merged.sqlite");
  CHECK(has(points_csv(sweep.columns(), merge_sweeps({files.path() / "sweep.sqlite"}, merged)), ",18446744073709551615,"));
}
