#include "sim/training/codec.hpp"

#include <array>

#include "sim/training/whole.hpp"

namespace straggler {

namespace {
/// A life that began with the run. Where lives never end they have no numbers.
bool is_first(Peer peer) { return peer.life == 0 || peer.life == Peer::any_life; }
}  // namespace

void MessageCodec::forget() {
  gradients_ = Residual();
  held_.reset();
}

// Vectors

CompressedForm MessageCodec::next_form(std::uint64_t bytes, const std::vector<double>& scalars, std::uint64_t version) {
  CompressedForm form{bytes, scalars};
  switch (compression_.draws) {
    case Draws::none:
      break;
    case Draws::run:
      form.scalars.push_back(draw_number(plan().seed, 0));
      break;
    case Draws::message:
      form.scalars.push_back(draw_number(plan().seed, self_, messages_));
      break;
    case Draws::version:
      form.scalars.push_back(draw_number(plan().seed, version));
      break;
  }
  ++messages_;
  return form;
}

Handle MessageCodec::compressed(const Handle& v, CompressedForm& form, Handle* residual, Handle* factors, std::vector<double> pieces) {
  std::vector<Handle> inputs = {v};
  Handle sent;
  if (compression_.factors) {
    if (residual) inputs.front() = plus(v, *residual);
    sent = product(inputs.front(), form, factors);
  } else {
    if (residual && !residual->empty()) inputs.push_back(*residual);
    const Rule& rule = pieces.empty() ? *compression_.rule : *compression_.in_pieces;
    pieces.insert(pieces.end(), form.scalars.begin(), form.scalars.end());
    sent = lineage().elementwise(rule, inputs, pieces);
  }
  if (residual && compression_.error_feedback) {
    inputs.insert(inputs.begin() + 1, sent);
    *residual = lineage().elementwise(rules::residual, inputs);
  }
  return sent;
}

/// The residual is known only with the mean; until then the next message starts without it.
Handle MessageCodec::with_left_factor(const Handle& v, CompressedForm& form, Residual& residual, const RankGroup& group) {
  form.right_bytes = compression_.right_bytes;
  const Handle whole = plus(v, residual.vector);
  residual.vector = Handle();
  form.factors = std::make_shared<const LowRank>(LowRank{left_factor(whole, form.scalars, residual.factors.of(group)), {}});
  return whole;
}

/// v - P Q^T with the common P and its own Q.
void MessageCodec::note_product(const LowRank& of_all, const Handle& mine, std::uint64_t version, Residual& residual,
                                const RankGroup& group) {
  residual.factors.of(group) = of_all.both;
  if (!compression_.error_feedback) return;
  const FactorRules& factors = *compression_.factors;
  const std::vector<double> scalars = next_form(0, compression_.scalars, version).scalars;
  const Handle right = lineage().elementwise(*factors.right, std::array{mine, of_all.left}, scalars);
  const Handle own = lineage().elementwise(*factors.product, std::array{plus(of_all.left, right)}, scalars);
  residual.vector = plus(lineage().elementwise(rules::residual, std::array{mine, own}), residual.vector);
}

Handle MessageCodec::plus(const Handle& v, const Handle& residual) {
  return residual.empty() ? v : lineage().elementwise(rules::corrected, std::array{v, residual}, {1.0, 1.0});
}

Handle MessageCodec::left_factor(const Handle& v, const std::vector<double>& scalars, const Handle& last) {
  std::vector<Handle> inputs = {v};
  if (!last.empty()) inputs.push_back(last);
  return lineage().elementwise(*compression_.factors->left, inputs, scalars);
}

Handle MessageCodec::product(const Handle& v, CompressedForm& form, Handle* last) {
  const FactorRules& factors = *compression_.factors;
  const Handle left =
      lineage().elementwise(*factors.orthogonal, std::array{left_factor(v, form.scalars, last ? *last : Handle())}, form.scalars);
  const Handle both = plus(left, lineage().elementwise(*factors.right, std::array{v, left}, form.scalars));
  form.factors = std::make_shared<const LowRank>(LowRank{left, both});
  if (last) *last = both;
  return lineage().elementwise(*factors.product, std::array{both}, form.scalars);
}

// Gradients

std::vector<double> MessageCodec::pieces_of(const Fragment& fragment) const {
  const auto index = static_cast<double>(fragment.index);
  if (!fragment.whole()) return {1, static_cast<double>(fragment.count), index, index + 1, compression_.name};
  if (compression_.buckets.bounds.empty()) return {};
  std::vector<double> pieces = {static_cast<double>(compression_.buckets.bounds.size() - 1), static_cast<double>(compression_.buckets.end)};
  pieces.insert(pieces.end(), compression_.buckets.bounds.begin(), compression_.buckets.bounds.end());
  pieces.push_back(compression_.name);
  return pieces;
}

CompressedForm MessageCodec::next_form(const Gradient& gradient) {
  const Fragment fragment = gradient->fragment();
  if (compression_.factors && !fragment.whole())
    throw UnsupportedOperation(plan().name_of(self_) +
                               " sends a fragment, whose matrices are cut; low-rank factors are of whole ones: set the scheme's "
                               "fragments: 1, or another training.compression");
  const std::uint64_t whole = compression_.buckets.bounds.empty() ? compression_.bytes : compression_.buckets.bytes;
  return next_form(fragment.whole() ? whole : compression_.fragment_bytes(fragment), compression_.scalars, gradient->version());
}

Gradient MessageCodec::with_form(const Gradient& gradient, const Handle& sent, CompressedForm form) {
  Gradient out = algebra().replaced(gradient, sent);
  out.edit().more.edit().compressed = std::move(form);
  return out;
}

Gradient MessageCodec::encode(const Gradient& gradient, Peer) {
  if (!is_worker() || gradient->value().empty()) return gradient;
  if (plan().workers == 1 && context_.backend.reduces()) return gradient;
  CompressedForm form = next_form(gradient);
  const Handle sent =
      compressed(gradient->value(), form, &gradients_.vector, &gradients_.factors.of(nullptr), pieces_of(gradient->fragment()));
  return with_form(gradient, sent, std::move(form));
}

Gradient MessageCodec::encode(const Gradient& gradient, const RankGroup& group) {
  if (!compression_.factors || !is_worker() || gradient->value().empty()) return encode(gradient, Peer(self_, Peer::any_life));
  if (alone_in(group)) return gradient;
  CompressedForm form = next_form(gradient);
  const Handle whole = with_left_factor(gradient->value(), form, gradients_, group);
  return with_form(gradient, whole, std::move(form));
}

void MessageCodec::averaged(Gradient& mean, const Handle& mine, const RankGroup& group) {
  const std::shared_ptr<const LowRank> of_all = mean->more.get().product;
  if (!of_all) return;
  mean.edit().more.edit().product.reset();
  note_product(*of_all, mine, mean->version(), gradients_, group);
}

// Weights

Weights MessageCodec::encode(Weights weights, Peer to) {
  HeldWeights& known = held();
  if (!known.estimate.empty() && known.estimate.key() == weights->value.key())
    return knows_estimate(to.rank) ? weights : whole(std::move(weights));
  weights = whole(std::move(weights));
  if (to.rank < plan().workers || is_server()) return answer(std::move(weights), to);
  const Handle last = known.received[to.rank];
  return difference(std::move(weights), last.empty() ? initial() : last, &known.residual.vector);
}

Weights MessageCodec::encode(Weights weights, const RankGroup& group) {
  weights = whole(std::move(weights));
  if (alone_in(group)) return weights;
  HeldWeights& known = held();
  const Handle last = known.of_groups.of(group);
  const Handle base = last.empty() ? initial() : last;
  if (!compression_.factors) return difference(std::move(weights), base, &known.residual.vector);
  CompressedForm form = next_form(compression_.bytes, compression_.scalars, weights->version);
  const Handle change = with_left_factor(algebra().move(base, weights->value), form, known.residual, group);
  return with_difference(std::move(weights), base, change, std::move(form));
}

Weights MessageCodec::difference(Weights weights, const Handle& base, Handle* residual) {
  CompressedForm form = residual ? next_form(compression_.bytes, compression_.scalars, weights->version)
                                 : next_form(compression_.tracking.bytes, compression_.tracking.scalars, weights->version);
  const Handle sent = compressed(algebra().move(base, weights->value), form, residual, residual ? &held().factors : nullptr);
  return with_difference(std::move(weights), base, sent, std::move(form));
}

Weights MessageCodec::with_difference(Weights weights, const Handle& base, const Handle& change, CompressedForm form) {
  WeightsState& state = weights.edit();
  state.value = algebra().moved(base, change);
  state.more.edit().difference =
      std::make_shared<const WeightsDifference>(WeightsDifference{base, change, std::move(form), state.value.key()});
  return weights;
}

/// A life that began with the run holds the initial weights, where all began to act then. The first message to another is whole.
Weights MessageCodec::answer(Weights weights, Peer to) {
  const bool worker = to.rank < plan().workers;
  const Peer now = worker ? context_.backend.present(to.rank) : to;
  const bool comes = !worker || (context_.backend.is_member(to.rank) && (to.life == Peer::any_life || to.life == now.life));
  if (!compression_.exchange.answers || !comes) return algebra().as_sent(std::move(weights));
  HeldWeights::Held& theirs = held().held[to.rank];
  if (theirs.life != now.life) theirs.value = {};
  if (theirs.value.empty() && compression_.exchange.all_begin && is_first(now)) theirs.value = initial();
  Weights sent = theirs.value.empty() ? algebra().as_sent(std::move(weights)) : difference(std::move(weights), theirs.value, nullptr);
  theirs = {now.life, sent->value};
  return sent;
}

bool MessageCodec::begins_differences(const TrainingPlan& plan, Rank from, const Payload& payload) {
  if (!plan.compression) return false;
  const Compression::Exchange& exchange = plan.compression->exchange;
  if (!exchange.answers && !(exchange.of_weights && from < plan.workers)) return false;
  const auto* const weights = std::get_if<Weights>(&payload);
  return weights && !(*weights)->kept() && !(*weights)->difference();
}

Weights MessageCodec::held_by(Rank rank, const Weights& sent) const {
  if (!held_) return algebra().as_sent(sent);
  const auto theirs = held_->held.find(rank);
  if (theirs == held_->held.end()) return algebra().as_sent(sent);
  Weights own = sent;
  own.edit().value = theirs->second.value;
  return own;
}

Weights MessageCodec::estimate(const Weights& weights) {
  Handle& known = held().estimate;
  const bool whole_first = known.empty() && begins_later();
  Weights shown = whole_first ? whole(algebra().as_sent(weights)) : difference(weights, known.empty() ? initial() : known, nullptr);
  known = shown->value;
  return shown;
}

/// Two lives that began with the run know each other's first estimate, the initial weights. Others are sent it whole at first.
bool MessageCodec::knows_estimate(Rank rank) {
  const std::uint32_t life = context_.backend.present(rank).life;
  if (!begins_later() && is_first({rank, life})) return true;
  const auto [place, is_new] = held().estimates.try_emplace(rank, life);
  const bool knows = !is_new && place->second == life;
  place->second = life;
  return knows;
}

void MessageCodec::arrived(Weights& weights, Rank from) {
  if (!compression_.exchange.differences()) return;
  if (is_worker() || from == plan().workers) held().received[from] = weights->value;  // weights sent to it, or an estimate
  const WeightsDifference* const came = weights->difference();
  if (!came) return;
  // A server may drop what it has received, and then needs the number of bytes. Only the bytes are read later, so the base is not kept.
  auto arrived = is_worker() ? nullptr : std::make_shared<const WeightsDifference>(WeightsDifference{{}, {}, came->form, came->of});
  weights.edit().more.edit().difference = std::move(arrived);
}

void MessageCodec::averaged(Weights& mean, const Handle& mine, const RankGroup& group) {
  if (!compression_.exchange.differences()) return;
  HeldWeights& known = held();
  known.of_groups.of(group) = mean->value;
  const std::shared_ptr<const LowRank> of_all = mean->more.get().product;
  mean = whole(std::move(mean));
  if (!of_all) return;
  mean.edit().more.edit().product.reset();
  note_product(*of_all, mine, mean->version, known.residual, group);
}

void MessageCodec::published(const Weights& weights) {
  if (compression_.exchange.differences() && compression_.exchange.common_versions) held().of_groups.of(nullptr) = weights->value;
}

}  // namespace straggler
