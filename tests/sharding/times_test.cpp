// Times of updates whose workers share states, in closed form.
#include "tests/sharding/shared_states.hpp"

namespace sharding_times_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr int p = 4, count = 4;                                                                // equal units
constexpr double forward = step_seconds / 3 / count, backward = 2 * step_seconds / 3 / count;  // c_f, c_b
constexpr double small = 120'000, large = 1'200'000;  // parameters of a unit: 3.2 ms to gather it, and 29 ms

std::vector<double> equal(double parameters) { return std::vector<double>(count, parameters); }

/// Within 0.1 %.
void check_seconds(const Result& result, double seconds) { CHECK(seconds_of_update(result) == doctest::Approx(seconds).epsilon(1e-3)); }

/// A collective waits for the one before it; a unit's computing waits for the one before it and for its weights. From the times at which
/// units begin.
double seconds_of_units(double g, double r) {
  double begins = g;  // forward of unit 0
  for (int unit = 1; unit < count; ++unit) begins += std::max(forward, g);
  begins += forward;  // backward of the last unit, whose weights are there
  begins += std::max(backward, g);
  for (int unit = count - 3; unit >= 0; --unit) begins += std::max(backward, r + g);  // behind the reduction of the unit before the last
  return begins + std::max(backward, r) + r;
}

const char* const fidelities[] = {"fluid", "stepwise"};

std::string ring(const char* fidelity) { return std::string("algorithm: ring, fidelity: ") + fidelity; }

}  // namespace

TEST_CASE("stage 3 with gathers and reductions that computing hides: g + L (c_f + c_b) + r") {
  const double g = ring_seconds(p, 4 * small), r = g;
  REQUIRE(g <= forward);
  REQUIRE(g + r <= backward);
  for (const char* fidelity : fidelities) {
    CAPTURE(fidelity);
    const Result result = run_timing(cluster(p), sharded("stage: 3", equal(small), {}, ring(fidelity)));
    check_seconds(result, g + step_seconds + r);
    // It waits for the first gather and for the last reduction with bytes in flight, and for nothing else.
    for (const WorkerRecord& worker : result.record.workers) {
      CHECK(worker.split[Phase::communication].seconds() == doctest::Approx(updates * (g + r)).epsilon(1e-6));
      CHECK(worker.split[Phase::compute].seconds() == doctest::Approx(updates * step_seconds).epsilon(1e-9));
      CHECK(worker.overlapped.seconds() == doctest::Approx(updates * ((2 * count - 2) * g + (count - 1) * r)).epsilon(1e-6));
    }
    check_books(result, true);
    // Pieces of the backward pass are two thirds of each batch, within its spans of computing.
    double passes = 0;
    for (const Span& pass : result.sink.backward) {
      passes += (pass.end - pass.start).seconds();
      CHECK(std::ranges::any_of(result.sink.spans, [&](const Span& span) {
        return span.worker == pass.worker && span.phase == Phase::compute && span.start <= pass.start && pass.end <= span.end;
      }));
    }
    CHECK(passes == doctest::Approx(p * updates * step_seconds * 2 / 3).epsilon(1e-9));
  }
}

TEST_CASE("stage 3 with gathers that computing does not hide") {
  for (const double parameters : {large, 400'000.0}) {
    const double g = ring_seconds(p, 4 * parameters), r = g;
    REQUIRE(g > forward);
    for (const char* fidelity : fidelities) {
      CAPTURE(fidelity);
      check_seconds(run_timing(cluster(p), sharded("stage: 3", equal(parameters), {}, ring(fidelity))), seconds_of_units(g, r));
    }
  }
  CHECK(seconds_of_units(0.001, 0.001) == doctest::Approx(0.002 + step_seconds));
}

TEST_CASE("prefetch 0: each gather is exposed; a far prefetch queues gathers ahead of reductions") {
  const double g = ring_seconds(p, 4 * small), r = g;
  // Backward's gathers wait for the reduction of the unit before.
  const double none = count * (g + forward) + backward + (count - 1) * (r + g + backward) + r;
  check_seconds(run_timing(cluster(p), sharded("stage: 3, prefetch: 0", equal(small))), none);
  check_seconds(run_timing(cluster(p), sharded("stage: 3, prefetch: 100", equal(small))), g + step_seconds + r);
}

TEST_CASE("stages 1 and 2: computing, the reduction, the gather; with overlap only the last bucket's reduction") {
  const double all = 4 * count * small, unit = ring_seconds(p, 4 * small);
  for (const char* stage : {"stage: 1", "stage: 2"})
    for (const char* fidelity : fidelities) {
      CAPTURE(stage);
      CAPTURE(fidelity);
      check_seconds(run_timing(cluster(p), sharded(stage, equal(small), {}, ring(fidelity))), step_seconds + 2 * ring_seconds(p, all));
      check_seconds(run_timing(cluster(p), sharded(stage, equal(small), {}, ring(fidelity) + ", overlap: true, bucket: 480kB")),
                    step_seconds + unit + count * unit);
    }
}

TEST_CASE("micro-batches") {
  const double g = ring_seconds(p, 4 * small), r = g;
  REQUIRE(g <= forward / 2);
  const Sets two = {"training.batch.accumulate=2"};
  const auto seconds = [&](const std::string& sharding, double expected) {
    CAPTURE(sharding);
    check_seconds(run_timing(cluster(p), sharded(sharding, equal(small), two)), expected);
  };
  // The second micro-batch's first gather follows the first one's last reduction.
  seconds("stage: 3", g + step_seconds + r + g + r);
  seconds("stage: 3, reduce: last", g + step_seconds + g + r);
  seconds("stage: 3, keep_gathered: true", g + step_seconds + r);
  seconds("stage: 3, keep_gathered: true, reduce: last", g + step_seconds + r);
  const double all = ring_seconds(p, 4 * count * small);
  seconds("stage: 1", step_seconds + 2 * all);
  seconds("stage: 2", step_seconds + 3 * all);
  seconds("stage: 2, reduce: last", step_seconds + 2 * all);
}

TEST_CASE("a unit that computes nothing takes no time, first or last, in each micro-batch") {
  for (const std::string flops : {"0, 1, 1", "1, 1, 0", "0, 1, 0"}) {
    std::string layers;
    for (const char each : flops)
      if (each == '0' || each == '1')
        layers += (layers.empty() ? "" : ", ") + std::string("{name: unit") + std::to_string(layers.size()) +
                  ", parameters: 8, flops: " + each + "}";
    Sets sets = sharded("stage: 3", {8}, {"training.batch.accumulate=4", "cluster.network.link={bandwidth: 1000GB/s, latency: 0s}"});
    sets[1] = "workload.cost={model: {kind: sizes, layers: [" + layers + "]}}";
    CAPTURE(layers);
    const Result result = run_timing(cluster(p), sets);
    CHECK(seconds_of_update(result) == doctest::Approx(step_seconds).epsilon(1e-6));
    for (const WorkerRecord& worker : result.record.workers)
      CHECK(worker.split[Phase::compute].seconds() == doctest::Approx(updates * step_seconds).epsilon(1e-9));
  }
}

TEST_CASE("a slow worker delays all, who wait for it idle") {
  const double g = ring_seconds(p, 4 * small);
  const Result result = run_timing(
      cluster(p), sharded("stage: 3", equal(small), {"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 2}]"}));
  check_seconds(result, 2 * step_seconds + 2 * g);
  CHECK(result.record.workers[0].split[Phase::compute].seconds() == doctest::Approx(updates * step_seconds));
  // Of each unit but what moves meanwhile, it waits for a rank, not for bytes.
  CHECK(result.record.workers[0].split[Phase::idle].seconds() > 0.5 * updates * step_seconds);
  CHECK(result.record.workers[3].split[Phase::idle].seconds() < 1e-6);
}

TEST_CASE("jitter is of the batch: on a free network an update takes as long as ssgd's") {
  const Sets jitter = {"devices.node.jitter={kind: gamma, shape: 4}", "cluster.network.link={bandwidth: 1000GB/s, latency: 0s}"};
  const double whole = run_timing(cluster(p), sharded("", {8}, jitter)).record.end.seconds();
  // Each worker's units wait for the slowest of each unit: not shorter, and longer by what others' gathers hold up.
  const double shared = run_timing(cluster(p), sharded("stage: 1", {8}, jitter)).record.end.seconds();
  CHECK(shared == doctest::Approx(whole).epsilon(1e-6));
  CHECK(run_timing(cluster(p), sharded("stage: 3", equal(8), jitter)).record.end.seconds() >= whole - 1e-6);
}

TEST_CASE("traffic on a link shares it with gathers and reductions") {
  // As one flow a collective has half of the link of worker 0.
  const double fast = ring_seconds(p, 4 * small), slow = (p - 1) * alpha + 2 * (p - 1.0) / p * 4 * small / bandwidth;
  const Result result = run_timing(
      cluster(p), sharded("stage: 3", equal(small), {"cluster.network.background=[{from: worker/0, to: worker/1, on: 1000s, off: 1s}]"}));
  REQUIRE(slow > fast);
  check_seconds(result, slow + step_seconds + slow);
}

TEST_CASE("HSDP: shards are all-reduced between hosts behind their reduction") {
  // Inside a host moves take no time; between two hosts an all-reduce of a quarter of a unit by each of four pairs, over one card each way:
  // as one flow each, four at once.
  const double between = 2 * alpha + 4 * 2 * 0.5 * 4 * small / 4 / bandwidth;
  check_seconds(run_timing(cluster(8), sharded("stage: 3, across: host", equal(small), on_hosts())), step_seconds + between);
}

TEST_CASE("a worker steps on its shard") {
  // 4 bytes a parameter at 100 MB/s.
  const double step = 4 * count * small / 100e6, g = ring_seconds(p, 4 * small);
  const Sets update = {"devices.node.update=100MB/s"};
  check_seconds(run_timing(cluster(p), sharded("stage: 3", equal(small), update)), 2 * g + step_seconds + step / p);
  const double hosts = seconds_of_update(run_timing(cluster(8), sharded("stage: 3, across: host", equal(small), on_hosts())));
  Sets both = on_hosts();
  both.push_back(update.front());
  check_seconds(run_timing(cluster(8), sharded("stage: 3, across: host", equal(small), both)), hosts + step / 4);
}

TEST_CASE("numbers that a step needs of all shards: an all-reduce of one for a clipped norm, of one a tensor for lars, of a flag") {
  const double g = ring_seconds(p, 4 * small), without = 2 * g + step_seconds;
  const auto all_reduce = [](double bytes) { return 2 * ((p - 1) * alpha + (p - 1.0) / p * bytes / bandwidth); };
  const auto extra = [&](const Sets& sets) { return seconds_of_update(run_timing(cluster(p), sharded("stage: 3", equal(small), sets))); };
  CHECK(extra({"training.clip=1"}) - without == doctest::Approx(all_reduce(4)).epsilon(1e-4));
  const std::string lars = "training.optimizer={kind: lars, learning_rate: 0.1}";
  CHECK(extra({lars}) - without == doctest::Approx(all_reduce(4 * count)).epsilon(1e-4));
  CHECK(extra({lars, "training.clip=1"}) - without == doctest::Approx(all_reduce(4 * count) + all_reduce(4)).epsilon(1e-4));
  CHECK(extra({"workload.precision=mixed"}) - extra({"workload.precision=bf16"}) == doctest::Approx(all_reduce(4)).epsilon(1e-4));
}

TEST_CASE("muon steps on whole matrices: the largest share binds") {
  // Matrices of 3, 1, 1 and 1 parts for two workers: 3 and 3; of 4, 1 and 1: 4 and 2.
  const auto step_of = [](const std::vector<double>& units) {
    const Sets muon = {"training.optimizer={kind: muon, learning_rate: 0.1, adamw_learning_rate: 0.01}",
                       "cluster.network.link={bandwidth: 1000GB/s, latency: 0s}", "devices.node.update=100MB/s"};
    return seconds_of_update(run_timing(cluster(2), sharded("stage: 1", units, muon))) - step_seconds;
  };
  CHECK(step_of({360'000, 120'000, 120'000, 120'000}) == doctest::Approx(4 * 360'000 / 100e6).epsilon(1e-3));
  CHECK(step_of({480'000, 120'000, 120'000}) == doctest::Approx(4 * 480'000 / 100e6).epsilon(1e-3));
}

TEST_CASE("the price of being distributed is in the last slice") {
  const double g = ring_seconds(p, 4 * small);
  check_seconds(run_timing(cluster(p), sharded("stage: 3", equal(small), {}, "algorithm: ring, per_step: 10ms")),
                2 * g + step_seconds + 0.01);
}

TEST_CASE("with auto each collective has the algorithm that is fastest for its size") {
  const Result result = run_timing(cluster(8), sharded("stage: 3", equal(8), {}, "algorithm: auto"));
  // Three rounds where a ring has seven.
  CHECK(seconds_of_update(result) < step_seconds + 2 * 7 * alpha);
}

}  // namespace sharding_times_test
