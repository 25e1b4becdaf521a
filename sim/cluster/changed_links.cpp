#include "sim/cluster/changed_links.hpp"

#include <cmath>
#include <utility>

namespace straggler {
namespace {

class ChangedTopology final : public Topology {
 public:
  ChangedTopology(std::unique_ptr<Topology> of, const LinkChange& change) : of_(std::move(of)), change_(change) {}

  std::size_t endpoints() const override { return of_->endpoints(); }
  std::size_t links() const override { return of_->links(); }
  LinkDescription link(LinkId id) const override {
    LinkDescription found = of_->link(id);
    found.bytes_per_second = change_.bandwidth(found.bytes_per_second);
    found.latency = change_.latency(found.latency);
    return found;
  }
  double bytes_per_second(LinkId id) const override { return change_.bandwidth(of_->bytes_per_second(id)); }
  std::string name(std::uint32_t endpoint) const override { return of_->name(endpoint); }
  bool forwards(std::uint32_t endpoint) const override { return of_->forwards(endpoint); }
  std::size_t rack(std::uint32_t endpoint) const override { return of_->rack(endpoint); }
  bool has_racks() const override { return of_->has_racks(); }
  std::vector<LinkId> own_links(std::uint32_t endpoint) const override { return of_->own_links(endpoint); }
  void route(std::uint32_t from, std::uint32_t to, Route& out) const override {
    of_->route(from, to, out);
    out.latency = change_.latency(out.latency);
  }
  TopologyFacts facts() const override {
    TopologyFacts facts = of_->facts();
    facts.diameter_latency = change_.latency(facts.diameter_latency);
    facts.bisection_bytes_per_second = change_.bandwidth(facts.bisection_bytes_per_second);
    return facts;
  }

 private:
  std::unique_ptr<Topology> of_;
  LinkChange change_;
};

class Uncontended final : public SharingModel {
 public:
  explicit Uncontended(std::unique_ptr<SharingModel> of) : of_(std::move(of)) {}
  void prepare(const Fabric& fabric, Network& network) const override {
    of_->prepare(fabric, network);
    network.set_contention(false);
  }
  void shape(const Path& path, double bytes, std::vector<LinkId>& links, std::vector<double>& volumes, Carriage& out) const override {
    of_->shape(path, bytes, links, volumes, out);
  }
  bool plain() const override { return of_->plain(); }
  bool contention() const override { return false; }

 private:
  std::unique_ptr<SharingModel> of_;
};

}  // namespace

double LinkChange::bandwidth(double given) const {
  return std::isinf(bandwidth_factor) ? unlimited_bytes_per_second : given * bandwidth_factor;
}

TopologyEntry with_changed_links(const TopologyEntry& entry, const LinkChange& change) {
  TopologyEntry changed = entry;
  changed.make = [make = entry.make, change](const Parameters& parameters, TopologyRequest request) {
    return std::make_unique<ChangedTopology>(make(parameters, std::move(request)), change);
  };
  return changed;
}

std::unique_ptr<SharingModel> without_contention(std::unique_ptr<SharingModel> model) {
  return std::make_unique<Uncontended>(std::move(model));
}

}  // namespace straggler
