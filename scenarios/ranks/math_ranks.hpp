// Rank 0 of a run whose math ranks share: lets the others in, and hands chains, lanes and chunks to their threads.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/executor/remote.hpp"
#include "scenarios/ranks/rank_messages.hpp"

namespace straggler {

class RankPeer;

class MathRanks final : public RemoteThreads {
 public:
  struct Options {
    std::filesystem::path file;  // where the address is written; removed when all have come
    unsigned ranks = 1;
    bool this_machine = false;  // all of them run here
    RankIdentity identity;
    std::string kernels = "auto";
    unsigned threads = 0;                          // of each rank; 0: its share of its machine
    std::chrono::seconds patience{60};             // until all have come
    std::function<bool()> interrupted;             // this process was asked to end
    std::function<void()> interrupt;               // another rank was interrupted; from any thread
    std::function<void(const std::string&)> warn;  // one line; from any thread
  };
  /// Waits for the other ranks; does without those that do not come. Throws Refusal if one has another program or other arguments, or lacks
  /// the kernels.
  explicit MathRanks(Options options);
  ~MathRanks() override;

  /// What all have: the fastest of them for `auto`.
  const std::string& kernels() const { return kernels_; }
  /// Of this rank.
  unsigned threads() const { return threads_; }
  std::span<RemoteThread* const> begin(const Key& root, std::size_t length) override;
  /// What the others have computed, and what travelled: a sentence.
  std::string shared() const;
  /// All ranks end with this code. Without it, with Exit::cannot_go_on.
  void close(int code);

 private:
  void let_in();
  void agree();

  const Options options_;
  std::vector<RankOffer> offers_;  // this rank's first, then those of the peers
  std::vector<std::unique_ptr<RankPeer>> peers_;
  std::vector<RemoteThread*> all_;
  std::string kernels_;
  unsigned threads_ = 0;
  bool closed_ = false;
};

}  // namespace straggler
