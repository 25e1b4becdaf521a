// Another rank, as rank 0 sees it.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "models/executor/remote.hpp"
#include "scenarios/ranks/connection.hpp"
#include "scenarios/ranks/rank_messages.hpp"

namespace straggler {

class RankPeer {
 public:
  /// It is lost after such a silence.
  static constexpr std::chrono::seconds lost_after{10};

  struct Listener {
    std::function<void()> interrupt;
    std::function<void(const std::string&)> warn;
  };
  RankPeer(unsigned rank, std::unique_ptr<Connection> connection, Listener listener);
  ~RankPeer();

  unsigned rank() const { return rank_; }
  void set_up(const std::string& kernels, unsigned threads);
  struct Ready {
    Key root;
    std::uint64_t length = 0;
    std::string problem;  // why it cannot take part
  };
  /// Waits until it has its data. None: it is lost.
  std::optional<Ready> wait_until_ready();
  /// After wait_until_ready().
  std::vector<RemoteThread*> begin();
  void leave(int code);
  /// What it has done so far, and what travelled.
  struct Done {
    std::uint64_t gradients = 0, lanes = 0, chunks = 0, sent_bytes = 0, received_bytes = 0;
  };
  Done done() const;

 private:
  class Thread;
  struct Asked {
    const RemoteChain* chain = nullptr;
    ChunkSums* sums = nullptr;
    bool answered = false;
  };
  bool is_there() const;
  bool holds(const Key& value) const;
  /// `put` writes the question, after its number.
  bool ask(RankTalk what, std::span<const RemoteValue> needed, Asked& asked, const std::function<void(Packer&)>& put);
  /// Sends values that are missing there, before that which needs them.
  void bring(std::span<const RemoteValue> needed);
  void note_held(const Key& value);
  void listen();
  void hear(Unpacker& from);
  void take_result(RankTalk what, Unpacker& from);

  const unsigned rank_;
  const std::unique_ptr<Connection> connection_;
  const Listener listener_;
  unsigned threads_ = 0;
  std::atomic<std::uint64_t> length_ = 0;  // of its vectors
  std::vector<std::unique_ptr<Thread>> all_;

  std::mutex asking_;  // a question follows what it needs

  // All below: under mutex_.
  mutable std::mutex mutex_;
  std::condition_variable news_;
  bool lost_ = false, leaving_ = false;
  std::optional<Ready> ready_;
  std::uint64_t next_number_ = 1, gradients_ = 0, lanes_ = 0, chunks_ = 0;
  std::unordered_map<std::uint64_t, Asked*> asked_;
  std::list<Key> recent_;  // values that it holds, the last used first
  std::unordered_map<Key, std::list<Key>::iterator, KeyHash> held_;
  std::vector<Key> to_drop_;  // it has not been told yet

  std::thread listening_;
};

}  // namespace straggler
