// Points that workers elsewhere take from the pool, and shards that are put together.
#include <doctest/doctest.h>

#include <set>

#include "tests/sweep/sweep_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const char* const body =
    "timing_only: true\naxes: {training.scheme: [asgd, {kind: ssgd, via: server}], \"cluster.workers[0].count\": [1, 2]}\nrepeats: 2\n";

/// Takes points as a rank does, and loses every second one the first time that it has it.
class LossyRank {
 public:
  explicit LossyRank(PointPool& pool) : pool_(pool), desk_(*this) {}
  void serve() {
    while (!pool_.over()) {
      DataCache data;
      work_at(desk_, {}, data);
    }
  }
  std::size_t lost = 0;

 private:
  struct Desk final : PointDesk {
    explicit Desk(LossyRank& of) : rank(of) {}
    std::optional<PointWork> next() override {
      std::optional<PointWork> work;
      return rank.pool_.take(work) == PointPool::Turn::work ? std::move(work) : std::nullopt;
    }
    TrajectoryStore* store() override { return rank.pool_.store(); }
    bool promise(std::uint64_t ticket, const std::vector<Key>& missing) override { return rank.pool_.promise(ticket, missing); }
    void finish(std::uint64_t ticket, FinishedPoint point, AskedEvaluations asked) override {
      if (++finished % 2 == 1 && rank.lost < 3) {
        ++rank.lost;
        rank.pool_.put_back(ticket);
        // It was not lost after all, but nobody waits for it any more.
        point.fields.clear();
      }
      rank.pool_.finish(ticket, std::move(point), asked);
    }
    void fail(std::uint64_t ticket, const std::string& what) override { rank.pool_.fail(ticket, what); }
    void give_up(std::uint64_t ticket) override { rank.pool_.give_up(ticket); }
    bool ended() override { return rank.pool_.ended(); }
    LossyRank& rank;
    std::size_t finished = 0;
  };
  PointPool& pool_;
  Desk desk_;
};

}  // namespace

TEST_CASE("a point whose worker is lost is given to another, and a late result of the first is ignored") {
  const Files files;
  const Sweep sweep = sweep_of(files, body);
  SweepState state(":memory:");
  PoolOptions options;
  options.jobs = 0;  // none here
  PointPool pool(options, state, nullptr, {});
  LossyRank rank(pool);
  pool.serve_by([&] { rank.serve(); });
  const std::uint64_t changes = pool.changes();
  const SweepOutcome outcome = run_sweep(sweep, {}, state, pool);
  CHECK(rank.lost == 3);
  CHECK(pool.changes() > changes);
  CHECK(outcome.progress.finished == 8);
  CHECK(outcome.progress.running == 0);
  CHECK(points_csv(sweep.columns(), outcome) == run_afresh(sweep).points);
}

TEST_CASE("an error in serving remote workers ends the sweep") {
  const Files files;
  const Sweep sweep = sweep_of(files, body);
  SweepState state(":memory:");
  PoolOptions options;
  options.jobs = 2;
  PointPool pool(options, state, nullptr, {});
  pool.serve_by([] { throw ResultsError("the wire is cut"); });
  CHECK_THROWS_WITH_AS(run_sweep(sweep, {}, state, pool), "the wire is cut", ResultsError);
}

TEST_CASE("a merge lists the points that no shard has, in their order") {
  const Files files;
  const Sweep sweep = sweep_of(files, body);
  std::vector<std::filesystem::path> shards;
  for (const std::size_t shard : {3, 1}) {
    shards.push_back(files.folder() / ("shard" + std::to_string(shard)));
    SweepState state(shards.back());
    SweepOptions options;
    options.shard = {shard, 3};
    run(sweep, state, nullptr, options);
    state.describe(describe(sweep, {}));
  }
  SweepState whole(":memory:");
  const SweepOutcome merged = merge_sweeps(shards, whole);
  CHECK(merged.progress.points == 8);
  CHECK(merged.progress.finished == 5);
  REQUIRE(merged.missing.size() == 3);
  const std::vector<std::pair<std::size_t, std::int64_t>> expected{{0, 1}, {2, 0}, {3, 1}};  // points 1, 4 and 7, of two repeats a setting
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(merged.missing[i].group == expected[i].first);
    CHECK(merged.missing[i].repeat == expected[i].second);
  }
  CHECK(point_name(sweep.columns(), merged.missing[1].labels, merged.missing[1].repeat) ==
        "training.scheme=ssgd, cluster.workers[0].count=1, repeat 0");
  // They are run where the shards were put together.
  const Swept rest = run(sweep, whole, nullptr);
  CHECK(rest.outcome.progress.found == 5);
  CHECK(rest.points == run_afresh(sweep).points);
}
