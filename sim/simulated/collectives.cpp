#include "sim/simulated/collectives.hpp"

#include "sim/simulated/as_they_come_queue.hpp"
#include "sim/simulated/group_queue.hpp"

namespace straggler {

namespace {

const RankGroup& group_of(const Operation& operation) {
  static const RankGroup all;
  if (operation.kind() == Operation::Kind::averaged_gradient) return all;
  return static_cast<const CollectiveOperation&>(operation).group();
}

const std::vector<Rank>& list_of(const RankGroup& group) {
  static const std::vector<Rank> all;
  return group ? *group : all;
}

}  // namespace

Collectives::Collectives(const SimulatedRun& run, PostOffice& post_office) : run_(run), post_office_(post_office) { make_main(); }

void Collectives::make_main() {
  const World& world = run_.world;
  if (world.has_server() || world.cluster.peers || (!world.cluster.collective.all_reduce && world.workers > 1)) return;
  if (world.cluster.collective.as_they_come && world.workers > 1)  // a single worker waits for nobody, and may fail
    main_ = std::make_unique<AsTheyComeQueue>(run_, post_office_);
  else
    main_ = std::make_unique<TogetherQueue>(run_, post_office_);
}

Collectives::~Collectives() = default;

CollectiveQueue* Collectives::find(const Operation& operation) const {
  const RankGroup& group = group_of(operation);
  if (!group && main_) return main_.get();
  const auto found = groups_.find(list_of(group));
  return found == groups_.end() ? nullptr : found->second.get();
}

CollectiveQueue& Collectives::of(const Operation& operation) {
  const RankGroup& group = group_of(operation);
  if (run_.world.cluster.collective.as_they_come && run_.world.workers > 1 &&
      (group || !main_ || operation.kind() == Operation::Kind::all_gather || operation.kind() == Operation::Kind::reduce_scatter ||
       operation.kind() == Operation::Kind::shard))
    throw UnsupportedOperation(operation.node().name() +
                               " calls a collective over a group, beside a server, or another one than an all-reduce; these cannot use "
                               "start: as_they_come; set cluster.network.collective.start: together");
  if (CollectiveQueue* known = find(operation)) return *known;
  return *(groups_[list_of(group)] = std::make_unique<GroupQueue>(run_, post_office_, group, main_ != nullptr));
}

void Collectives::cancel(Operation& operation) noexcept {
  if (CollectiveQueue* queue = find(operation)) queue->cancel(operation);
}

void Collectives::membership_changed(Rank worker) {
  if (main_) main_->membership_changed(worker);
  for (const auto& [list, group] : groups_) group->membership_changed(worker);
}

void Collectives::start(Node& node) {
  if (main_) node.start_after_reductions(main_->start(node.self()));
  for (const auto& [list, group] : groups_) group->start(node.self());
}

std::uint64_t Collectives::bytes_under_way() const {
  std::uint64_t bytes = main_ ? main_->bytes_under_way() : 0;
  for (const auto& [list, group] : groups_) bytes += group->bytes_under_way();
  return bytes;
}

void Collectives::describe_waiting(std::vector<std::string>& who) const {
  if (main_) main_->describe_waiting(who);
  for (const auto& [list, group] : groups_) group->describe_waiting(who);
}

void Collectives::reset() {
  if (main_) main_->stop();
  for (const auto& [list, group] : groups_) group->stop();
  take_down();
  make_main();
}

void Collectives::take_down() {
  main_.reset();
  groups_.clear();
}

}  // namespace straggler
