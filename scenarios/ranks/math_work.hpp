// A rank other than 0 of a run whose math ranks share: computes what rank 0 asks for.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "scenarios/ranks/rank_identity.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// Rank 0 counts as lost after such a silence.
inline constexpr std::chrono::minutes rank_0_lost_after{5};

struct MathWork {
  std::filesystem::path file;  // in which rank 0 writes its address
  unsigned rank = 1;
  RankIdentity identity;
  std::chrono::seconds patience{60};             // until rank 0 has let it in
  std::function<bool()> interrupted;             // this process was asked to end: rank 0 then ends the run
  std::function<void(const std::string&)> warn;  // one line
};

/// Works until rank 0 ends the run, and returns its exit code. Where rank 0 does not let it in, or takes it for lost, the run goes on
/// without it: Exit::done, with which mpirun does not end the run.
int compute_for_rank_0(const Scenario& scenario, const MathWork& work);

}  // namespace straggler
