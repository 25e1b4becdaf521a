#include "validation/mpi/rank_stop.hpp"

namespace straggler {

namespace {
constexpr std::uint8_t vote_flag = 1, broken_off_flag = 2;
}

void RankStop::schedule(EventQueue& queue) {
  if (limit() && decides()) queue.at(*limit(), *this);
}

void RankStop::check_interrupt() {
  if (!has_interrupt() || !decides()) return;
  broken_off_ = true;
  stop(world_.now());
}

bool RankStop::exceeds_limit(Time when) {
  if (!limit() || !decides() || when <= *limit()) return false;
  stop(*limit());
  return true;
}

void RankStop::stop(Time end, bool tell) {
  end_ = end;
  if (!std::exchange(stopping_, true) && tell) post_.tell_all(MessageKind::stop, {});
}

void RankStop::told(const Bytes& error) {
  stopping_ = true;
  if (error_.empty()) error_.assign(reinterpret_cast<const char*>(error.data()), error.size());
}

void RankStop::fail(const std::string& error) {
  stopping_ = true;
  error_ = error;
  const auto* const text = reinterpret_cast<const std::byte*>(error.data());
  post_.tell_all(MessageKind::stop, {text, text + error.size()});
}

void RankStop::vote() {
  if (!world_.task.votes) return;
  broken_off_ = broken_off_ || has_interrupt();
  if (broken_off_ || (limit() && world_.now() >= *limit())) voted_ = true;
}

std::uint8_t RankStop::flags(bool of_all) const {
  return static_cast<std::uint8_t>((of_all && voted_ ? vote_flag : 0) | (broken_off_ ? broken_off_flag : 0));
}

void RankStop::take(std::uint8_t flags) {
  voted_ = voted_ || (flags & vote_flag) != 0;
  broken_off_ = broken_off_ || (flags & broken_off_flag) != 0;
}

}  // namespace straggler
