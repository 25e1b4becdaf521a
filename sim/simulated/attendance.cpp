#include "sim/simulated/attendance.hpp"

#include <algorithm>
#include <vector>

#include "sim/base/readable.hpp"

namespace straggler {

/// One worker, from its invitation until its reply has left; or, once it was lost, until it is present again.
class Attendance::Participation final : public Event {
 public:
  Participation(Attendance& attendance, Rank worker) : attendance_(attendance), worker_(worker) {}
  ~Participation() = default;
  bool away = false, invited = false;

 private:
  void happen() override { away ? attendance_.readmit(worker_) : attendance_.lose(worker_); }
  Attendance& attendance_;
  Rank worker_;
};

/// An absent worker is present again and may be invited.
class Attendance::Comer final : public Event {
 public:
  explicit Comer(PostOffice& post_office) : post_office_(post_office) {}
  ~Comer() = default;

 private:
  void happen() override { post_office_.notify_of_members(); }
  PostOffice& post_office_;
};

Attendance::Attendance(const SimulatedRun& run, PostOffice& post_office, Computations& computations)
    : run_(run), post_office_(post_office), computations_(computations), comer_(std::make_unique<Comer>(post_office)) {
  post_office_.watch_invitations(*this);
}

Attendance::~Attendance() = default;

void Attendance::begin() {
  for (Rank worker = 0; worker < run_.world.workers; ++worker)
    if (run_.workers.has_begun(worker)) await_departure(worker);
}

void Attendance::invited(Rank worker) {
  if (const auto known = participations_.find(worker); known != participations_.end()) {
    known->second->invited = true;
    if (!known->second->away) return;
    readmit(worker);  // at this very moment
  }
  if (Participation* const participation = await_departure(worker)) participation->invited = true;
}

Attendance::Participation* Attendance::await_departure(Rank worker) {
  const Time until = run_.workers.presence().until(worker, run_.world.now());
  if (until >= Time::limit()) return nullptr;
  Participation& participation = *participations_.emplace(worker, std::make_unique<Participation>(*this, worker)).first->second;
  run_.world.queue().at(until, participation);
  return &participation;
}

void Attendance::answered(Rank worker) {
  losses_ = 0;
  lost_.clear();
  const auto known = participations_.find(worker);
  if (known != participations_.end() && !known->second->away) participations_.erase(known);
}

/// It is lost to the round: its work is wasted, and its sends break off.
void Attendance::lose(Rank worker) {
  Participation& participation = *participations_.at(worker);
  if (!participation.invited && run_.workers.node(worker).drawn() == 0 && post_office_.waits_for_message(worker)) {
    participations_.erase(worker);  // it took no part
    return;
  }
  participation.away = true;
  run_.books.client_lost();
  ++losses_;
  lost_.insert(worker);
  run_.workers.rest(worker);
  post_office_.remove_worker(worker, true);
  run_.books.times().set_down(worker, run_.world.now(), true);
  computations_.set_down(worker, true);
  const Time back = run_.workers.presence().until(worker, run_.world.now());
  if (back < Time::limit()) run_.world.queue().at(back, participation);
  post_office_.notify_of_members();
}

void Attendance::readmit(Rank worker) {
  run_.books.times().set_down(worker, run_.world.now(), false);
  computations_.set_down(worker, false);
  participations_.erase(worker);
}

std::string Attendance::why_none_answers() const {
  constexpr std::uint64_t least = 10;  // UpdatePatience allows the work of at least that many contributions
  constexpr std::size_t most = 3;
  if (losses_ < least) return {};
  std::vector<std::string> who;
  for (auto rank = lost_.begin(); rank != lost_.end() && who.size() < most; ++rank) who.push_back(std::to_string(*rank));
  if (lost_.size() > most) who.push_back(std::to_string(lost_.size() - most) + " more");
  const std::string group = std::to_string(run_.world.cluster.presence.group_of[index_of(*lost_.begin())]);
  return (lost_.size() == 1 ? "worker " + who[0] + " goes before its contribution has left, "
                            : "workers " + listed(who) + " go before their contributions have left, ") +
         readable_count(losses_) + " times one after another; write longer times of presence in cluster.workers[" + group +
         "].availability, or a smaller training.scheme.local_steps or local_epochs";
}

void Attendance::await_comers() {
  Time next = Time::never();
  for (Rank worker = 0; worker < run_.world.workers; ++worker)
    if (!run_.workers.is_member(worker)) next = std::min(next, run_.workers.presence().until(worker, run_.world.now()));
  comer_->cancel();
  if (next < Time::limit()) run_.world.queue().at(next, *comer_);
}

}  // namespace straggler
