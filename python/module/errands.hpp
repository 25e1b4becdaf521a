// Calls of Python's code that one thread makes for all others, as a model's, which is called from one thread alone.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace straggler::python {

/// Belongs to the thread that has made it.
class Errands {
 public:
  /// Runs `what` with the interpreter's lock held: on the owner at once, for another thread when the owner serves. Throws what it throws.
  void call(const std::function<void()>& what);
  /// On the owner, without the lock. Serves until the time is over, or all is (`finish`): true.
  bool serve(std::chrono::milliseconds most);
  /// On any thread: the last call was made.
  void finish();
  /// An exception of an errand that ends everything, such as KeyboardInterrupt; null: none.
  std::exception_ptr ending() const { return ending_; }

 private:
  struct Errand {
    const std::function<void()>& what;
    std::exception_ptr failure = nullptr;
    bool done = false;
  };
  void run(Errand& errand);

  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable asked_, answered_;
  std::deque<Errand*> waiting_;
  bool over_ = false;
  std::exception_ptr ending_;  // what the owner's thread threw
};

}  // namespace straggler::python
