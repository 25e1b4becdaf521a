#include "tools/straggler_mpi/sweep.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "models/kernels/kernels.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/interrupt.hpp"
#include "tools/straggler/launcher.hpp"
#include "tools/straggler/program.hpp"
#include "tools/straggler/ranks.hpp"
#include "validation/mpi/rank_cores.hpp"
#include "validation/mpi/real_run.hpp"
#include "validation/sweep_ranks/sweep_rank.hpp"
#include "validation/sweep_ranks/sweep_server.hpp"

namespace straggler::cli {
namespace {

/// Rank 0, as seen by the command.
class ServedRanks final : public Ranks {
 public:
  ServedRanks(SweepServer& server, unsigned cores) : server_(server), cores_(cores) {}
  unsigned cores() override { return cores_; }
  void serve(PointPool& pool, unsigned jobs, unsigned threads, const std::string& kernels) override {
    server_.serve(pool, {jobs, threads, std::string(select_kernels(kernels).name), pool.store() != nullptr});
  }

 private:
  SweepServer& server_;
  const unsigned cores_;
};

/// MPI_Finalize waits for all ranks, including lost ones. All ranks come here within moments of each other and every result is written: a
/// rank that is lost from here on keeps the others no longer than one that is lost before.
int end(int code, bool all_there) {
  std::fflush(nullptr);
  if (!all_there) ::_exit(code);
  std::thread([code] {
    std::this_thread::sleep_for(SweepServer::lost_after);
    ::_exit(code);
  }).detach();
  return code;
}

int lead(const Mpi& mpi, const std::vector<std::string>& arguments, unsigned cores) {
  const auto warn = [](const std::string& line) { print_text(stderr, "warning: {}\n", line); };
  SweepServer server(mpi, {identity_of(arguments), request_interrupt, warn});
  ServedRanks ranks(server, cores);
  set_ranks(&ranks);
  const int code = run_program(arguments);
  set_ranks(nullptr);
  return end(code, server.close(code));
}

int follow(const Mpi& mpi, const std::vector<std::string>& arguments, unsigned cores) {
  catch_interrupts();
  SweepRank rank(mpi, {identity_of(arguments), cores, interrupt_requested});
  if (const std::optional<int> code = rank.run()) return end(*code, rank.all_there());
  print_text(stderr, "straggler: rank {} has heard nothing from rank 0 for {} minutes, and ends\n", mpi.rank(),
             SweepRank::lost_after.count());
  ::_exit(Exit::cannot_go_on);
}

}  // namespace

int sweep_on_ranks(const Mpi& mpi, const std::vector<std::string>& arguments) {
  const unsigned cores = cores_of_rank(mpi);
  if (mpi.size() > 1) return mpi.first() ? lead(mpi, arguments, cores) : follow(mpi, arguments, cores);
  return guarded(arguments, [&] {
    if (const unsigned processes = launched_processes(); processes > 1)
      throw UsageError(
          fmt::format("a launcher started {} processes, but MPI sees each of them alone: the launcher does not belong to the MPI of "
                      "straggler-mpi (under Slurm: srun --mpi=pmix); with --alone each process runs by itself",
                      processes));
    return run_program(arguments);
  });
}

}  // namespace straggler::cli
