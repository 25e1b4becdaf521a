// sgd_pattern: the communication pattern of three training schemes in plain MPI, sharing no code with Straggler. One source for
// Open MPI (mpicxx: compute sleeps) and for SimGrid's SMPI (smpicxx -DUNDER_SMPI: compute advances the simulated clock).
//   ring    synchronous SGD: reduce-scatter and all-gather around the ring, all ranks are workers
//   server  synchronous SGD: rank 0 takes every worker's gradient, then sends the weights to all
//   asgd    asynchronous SGD: rank 0 answers each gradient with the weights as soon as it is there; answers share its link
//   asgd_in_turn  the same, but rank 0 sends one answer after the other before it looks at the next gradient
// sgd_pattern SCHEME BYTES STEPS COMPUTE_SECONDS [SLOW_RANK TIMES_SLOWER] prints `steps,seconds_per_step` of the steps after the
// first tenth; a step of asgd is one update.
#define OMPI_SKIP_MPICXX 1  // the C interface only
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#ifndef UNDER_SMPI
#include <sys/prctl.h>
#include <time.h>
#endif

namespace {

struct Job {
  std::string scheme;
  int values = 0;  // floats of the model
  int steps = 0;
  double compute = 0;  // seconds, of this rank
  int rank = 0;
  int ranks = 1;
};

void compute_for(double seconds) {
#ifdef UNDER_SMPI
  usleep(static_cast<useconds_t>(seconds * 1e6 + 0.5));  // SMPI's own: simulated time passes
#else
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  const long long end = until.tv_sec * 1000000000LL + until.tv_nsec + static_cast<long long>(seconds * 1e9);
  until = {static_cast<time_t>(end / 1000000000LL), static_cast<long>(end % 1000000000LL)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
#endif
}

// Sends one block on, takes one from behind.
void pass(float* out, int out_count, float* in, int in_count, int rank, int ranks) {
  MPI_Request both[2];
  MPI_Irecv(in, in_count, MPI_FLOAT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &both[0]);
  MPI_Isend(out, out_count, MPI_FLOAT, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &both[1]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

void ring_all_reduce(std::vector<float>& values, std::vector<float>& room, int rank, int ranks) {
  const int n = static_cast<int>(values.size());
  auto first = [&](int block) { return static_cast<int>(static_cast<long long>(n) * block / ranks); };
  auto count = [&](int block) { return first(block + 1) - first(block); };
  for (int step = 0; step < ranks - 1; ++step) {
    const int out = (rank - step + ranks) % ranks;
    const int in = (rank - step - 1 + ranks) % ranks;
    pass(&values[first(out)], count(out), room.data(), count(in), rank, ranks);
    for (int i = 0; i < count(in); ++i) values[first(in) + i] += room[i];
  }
  for (int step = 0; step < ranks - 1; ++step) {
    const int out = (rank + 1 - step + ranks) % ranks;
    const int in = (rank - step + ranks) % ranks;
    pass(&values[first(out)], count(out), &values[first(in)], count(in), rank, ranks);
  }
}

// Seconds per step over those after the first `skipped`; ends[i] is when step i ended.
double per_step(const std::vector<double>& ends, int skipped) {
  return (ends.back() - ends[skipped - 1]) / static_cast<double>(static_cast<int>(ends.size()) - skipped);
}

std::vector<double> run_ring(const Job& job) {
  std::vector<float> gradient(job.values, 1.0f);
  std::vector<float> room(job.values / job.ranks + 1);
  std::vector<double> ends;
  for (int step = 0; step < job.steps; ++step) {
    compute_for(job.compute);
    std::fill(gradient.begin(), gradient.end(), 1.0f);
    ring_all_reduce(gradient, room, job.rank, job.ranks);
    ends.push_back(MPI_Wtime());
  }
  if (gradient.front() != static_cast<float>(job.ranks) || gradient.back() != static_cast<float>(job.ranks)) {
    std::fprintf(stderr, "sgd_pattern: the all-reduce summed to %g instead of %d\n", gradient.front(), job.ranks);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return ends;
}

void run_worker(const Job& job, int steps) {
  std::vector<float> values(job.values, 1.0f);
  for (int step = 0; step < steps; ++step) {
    compute_for(job.compute);
    MPI_Send(values.data(), job.values, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(values.data(), job.values, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

std::vector<double> run_sync_server(const Job& job) {
  const int workers = job.ranks - 1;
  std::vector<float> weights(job.values);
  std::vector<std::vector<float>> gradients(workers, std::vector<float>(job.values));
  std::vector<MPI_Request> requests(workers);
  std::vector<double> ends;
  for (int step = 0; step < job.steps; ++step) {
    for (int w = 0; w < workers; ++w) MPI_Irecv(gradients[w].data(), job.values, MPI_FLOAT, w + 1, 0, MPI_COMM_WORLD, &requests[w]);
    MPI_Waitall(workers, requests.data(), MPI_STATUSES_IGNORE);
    for (const std::vector<float>& gradient : gradients)
      for (int i = 0; i < job.values; ++i) weights[i] -= gradient[i];
    for (int w = 0; w < workers; ++w) MPI_Isend(weights.data(), job.values, MPI_FLOAT, w + 1, 0, MPI_COMM_WORLD, &requests[w]);
    MPI_Waitall(workers, requests.data(), MPI_STATUSES_IGNORE);
    ends.push_back(MPI_Wtime());
  }
  return ends;
}

// Each worker takes as many steps as its speed allows. Once the server has applied job.steps gradients, the first value of an
// answer, otherwise 0, tells the worker to stop.
std::vector<double> run_async_server(const Job& job, bool in_turn) {
  const int workers = job.ranks - 1;
  std::vector<float> weights(job.values);
  std::vector<std::vector<float>> gradients(workers, std::vector<float>(job.values));
  std::vector<std::vector<float>> answers(workers, std::vector<float>(job.values));
  std::vector<MPI_Request> incoming(workers);
  std::vector<MPI_Request> outgoing(workers, MPI_REQUEST_NULL);
  std::vector<double> ends;
  for (int w = 0; w < workers; ++w) MPI_Irecv(gradients[w].data(), job.values, MPI_FLOAT, w + 1, 0, MPI_COMM_WORLD, &incoming[w]);
  for (int stopped = 0; stopped < workers;) {
    int w = 0;
    MPI_Waitany(workers, incoming.data(), &w, MPI_STATUS_IGNORE);
    const bool stop = static_cast<int>(ends.size()) == job.steps;
    if (!stop) {
      for (int i = 0; i < job.values; ++i) weights[i] -= gradients[w][i];
      ends.push_back(MPI_Wtime());
    }
    MPI_Wait(&outgoing[w], MPI_STATUS_IGNORE);
    answers[w] = weights;
    answers[w][0] = stop ? 1.0f : 0.0f;
    if (stop)
      ++stopped;
    else
      MPI_Irecv(gradients[w].data(), job.values, MPI_FLOAT, w + 1, 0, MPI_COMM_WORLD, &incoming[w]);
    MPI_Isend(answers[w].data(), job.values, MPI_FLOAT, w + 1, 0, MPI_COMM_WORLD, &outgoing[w]);
    if (in_turn) MPI_Wait(&outgoing[w], MPI_STATUS_IGNORE);
  }
  MPI_Waitall(workers, outgoing.data(), MPI_STATUSES_IGNORE);
  return ends;
}

void run_async_worker(const Job& job) {
  std::vector<float> values(job.values, 1.0f);
  do {
    compute_for(job.compute);
    MPI_Send(values.data(), job.values, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(values.data(), job.values, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } while (values[0] == 0.0f);
}

int refuse(int rank, const char* what) {
  if (rank == 0)
    std::fprintf(
        stderr, "sgd_pattern: %s; SCHEME BYTES STEPS COMPUTE_SECONDS [SLOW_RANK TIMES_SLOWER], SCHEME ring, server, asgd or asgd_in_turn\n",
        what);
  MPI_Finalize();
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#ifndef UNDER_SMPI
  prctl(PR_SET_TIMERSLACK, 1);  // sleeps end when they should
#endif
  Job job;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  if (argc != 5 && argc != 7) return refuse(job.rank, "needs four or six arguments");
  job.scheme = argv[1];
  job.values = std::atoi(argv[2]) / 4;
  job.steps = std::atoi(argv[3]);
  job.compute = std::atof(argv[4]);
  if (argc == 7 && job.rank == std::atoi(argv[5])) job.compute *= std::atof(argv[6]);
  if (job.values < job.ranks || job.steps < 10 || !(job.compute > 0) || job.ranks < 2)
    return refuse(job.rank, "at least 2 ranks, 4 bytes a rank, 10 steps and a positive time would do");
  std::vector<double> ends;
  MPI_Barrier(MPI_COMM_WORLD);
  if (job.scheme == "ring")
    ends = run_ring(job);
  else if (job.scheme != "server" && job.scheme != "asgd" && job.scheme != "asgd_in_turn")
    return refuse(job.rank, "unknown scheme");
  else if (job.rank > 0)
    job.scheme == "server" ? run_worker(job, job.steps) : run_async_worker(job);
  else
    ends = job.scheme == "server" ? run_sync_server(job) : run_async_server(job, job.scheme == "asgd_in_turn");
  if (job.rank == 0) {
    const int skipped = job.steps / 10;
    std::printf("steps,seconds_per_step\n%d,%.9f\n", job.steps - skipped, per_step(ends, skipped));
  }
  MPI_Finalize();
  return 0;
}
