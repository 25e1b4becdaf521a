#include "python/module/errands.hpp"

#include "python/module/gil.hpp"

namespace straggler::python {

void Errands::call(const std::function<void()>& what) {
  if (std::this_thread::get_id() == owner_) {
    const Gil gil;
    return what();
  }
  Errand errand{what};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&errand);
  asked_.notify_one();
  answered_.wait(lock, [&] { return errand.done; });
  lock.unlock();
  if (errand.failure) std::rethrow_exception(errand.failure);
}

void Errands::run(Errand& errand) {
  const Gil gil;
  try {
    errand.what();
  } catch (py::error_already_set& error) {
    errand.failure = std::current_exception();
    if (!error.matches(PyExc_Exception)) ending_ = errand.failure;
  } catch (...) {
    errand.failure = std::current_exception();
  }
}

bool Errands::serve(std::chrono::milliseconds most) {
  const auto last = std::chrono::steady_clock::now() + most;
  std::unique_lock lock(mutex_);
  while (asked_.wait_until(lock, last, [this] { return over_ || !waiting_.empty(); })) {
    if (waiting_.empty()) return true;
    Errand& errand = *waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    run(errand);
    lock.lock();
    errand.done = true;
    answered_.notify_all();
    if (ending_ || std::chrono::steady_clock::now() >= last) return false;
  }
  return false;
}

void Errands::finish() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  asked_.notify_one();
}

}  // namespace straggler::python
