// How a participant's messages compress gradients and weights (docs/decisions/030, 043).
#include <array>

#include "sim/training/operations.hpp"
#include "sim/training/participant.hpp"
#include "sim/training/whole.hpp"

namespace straggler {

namespace {

/// A life that began with the run. Where lives never end they have no numbers.
bool is_first(Peer peer) { return peer.life == 0 || peer.life == Peer::any_life; }

void require_whole(const Participant& node, const Gradient& gradient) {
  if (!gradient->fragment().whole())
    throw UnsupportedOperation(node.name() +
                               " sends a fragment, whose matrices are cut; low-rank factors are of whole ones: set the scheme's "
                               "fragments: 1, or another training.compression");
}

/// Of a fragment, or of the buckets of a whole vector: how many pieces, the length that their bounds are given for, the bounds, and the
/// compressor.
std::vector<double> pieces_of(const Compression& compression, const Fragment& fragment) {
  const auto index = static_cast<double>(fragment.index);
  if (!fragment.whole()) return {1, static_cast<double>(fragment.count), index, index + 1, compression.name};
  std::vector<double> scalars = {static_cast<double>(compression.bounds.size() - 1), static_cast<double>(compression.bounds_end)};
  scalars.insert(scalars.end(), compression.bounds.begin(), compression.bounds.end());
  scalars.push_back(compression.name);
  return scalars;
}

}  // namespace

std::vector<double> Participant::compression_scalars(const std::vector<double>& scalars, std::uint64_t version) {
  std::vector<double> all = scalars;
  switch (plan().compression->draws) {
    case Draws::none:
      break;
    case Draws::run:
      all.push_back(draw_number(plan().seed, 0));
      break;
    case Draws::message:
      all.push_back(draw_number(plan().seed, self_, rare().messages));
      break;
    case Draws::version:
      all.push_back(draw_number(plan().seed, version));
      break;
  }
  ++rare().messages;
  return all;
}

Gradient Participant::outgoing(const Gradient& gradient) {
  const Compression* const compression = plan().compression;
  if (!compression || !is_worker() || gradient->value().empty()) return gradient;
  if (workers() == 1 && backend().reduces()) return gradient;
  if (compression->factors) {
    CompressedForm form{compression->bytes, compression_scalars(compression->scalars, gradient->version())};
    require_whole(*this, gradient);
    const Handle whole = with_residual(gradient->value(), &rare().residual);
    const Handle sent = as_product(whole, form, &rare().factors.of(nullptr));
    if (compression->error_feedback) rare().residual = lineage().elementwise(rules::residual, std::array{whole, sent});
    Gradient out = algebra().replaced(gradient, sent);
    out.edit().more.edit().compressed = std::move(form);
    return out;
  }
  const Fragment fragment = gradient->fragment();
  const Handle all = gradient->value();
  std::vector<Handle> inputs = {all};
  if (!rare().residual.empty()) inputs.push_back(rare().residual);
  std::vector<double> scalars = compression_scalars(compression->scalars, gradient->version());
  const bool in_buckets = fragment.whole() && !compression->bounds.empty();
  Handle sent;
  if (fragment.whole() && !in_buckets) {
    sent = lineage().elementwise(*compression->rule, inputs, scalars);
  } else {
    std::vector<double> in_pieces = pieces_of(*compression, fragment);
    in_pieces.insert(in_pieces.end(), scalars.begin(), scalars.end());
    sent = lineage().elementwise(*compression->in_pieces, inputs, in_pieces);
  }
  if (compression->error_feedback) {
    inputs.insert(inputs.begin() + 1, sent);
    rare().residual = lineage().elementwise(rules::residual, inputs);
  }
  Gradient out = algebra().replaced(gradient, sent);
  const std::uint64_t bytes = in_buckets         ? compression->bucket_bytes
                              : fragment.whole() ? compression->bytes
                                                 : compression->fragment_bytes(fragment);
  out.edit().more.edit().compressed = CompressedForm{bytes, std::move(scalars)};
  return out;
}

/// The residual is known only with the mean; until then the next message starts without it.
Gradient Participant::outgoing(const Gradient& gradient, const RankGroup& group) {
  const Compression* const compression = plan().compression;
  if (!compression || !compression->factors || !is_worker() || gradient->value().empty()) return outgoing(gradient);
  if (group ? group->size() == 1 : workers() == 1) return gradient;
  require_whole(*this, gradient);
  CompressedForm form{compression->bytes, compression_scalars(compression->scalars, gradient->version())};
  form.second = compression->second_bytes;
  const Handle whole = with_residual(gradient->value(), &rare().residual);
  rare().residual = Handle();
  form.factors = std::make_shared<const LowRank>(LowRank{left_factor(whole, form.scalars, rare().factors.of(group)), {}});
  Gradient out = algebra().replaced(gradient, whole);
  out.edit().more.edit().compressed = std::move(form);
  return out;
}

void Participant::note_averaged(Gradient& mean, const Handle& mine, const RankGroup& group) {
  const Compression& compression = *plan().compression;
  const std::shared_ptr<const LowRank> of_all = mean->more.get().product;
  if (!of_all) return;
  mean.edit().more.edit().product.reset();
  rare().factors.of(group) = of_all->both;
  if (!compression.error_feedback) return;
  rare().residual = with_residual(left_out(mine, *of_all, mean->version()), &rare().residual);
}

Handle Participant::left_out(const Handle& mine, const LowRank& of_all, std::uint64_t version) {
  const Compression& compression = *plan().compression;
  const std::vector<double> scalars = compression_scalars(compression.scalars, version);
  const Handle right = lineage().elementwise(*compression.factors->right, std::array{mine, of_all.left}, scalars);
  const Handle both = lineage().elementwise(rules::corrected, std::array{of_all.left, right}, {1.0, 1.0});
  const Handle own = lineage().elementwise(*compression.factors->product, std::array{both}, scalars);
  return lineage().elementwise(rules::residual, std::array{mine, own});
}

Handle Participant::with_residual(const Handle& v, const Handle* residual) {
  if (!residual || residual->empty()) return v;
  return lineage().elementwise(rules::corrected, std::array{v, *residual}, {1.0, 1.0});
}

Handle Participant::left_factor(const Handle& v, const std::vector<double>& scalars, const Handle& last) {
  std::vector<Handle> inputs = {v};
  if (!last.empty()) inputs.push_back(last);
  return lineage().elementwise(*plan().compression->factors->left, inputs, scalars);
}

Handle Participant::as_product(const Handle& v, CompressedForm& form, Handle* last) {
  const FactorRules& factors = *plan().compression->factors;
  const Handle product = left_factor(v, form.scalars, last ? *last : Handle());
  const Handle left = lineage().elementwise(*factors.orthogonal, std::array{product}, form.scalars);
  const Handle right = lineage().elementwise(*factors.right, std::array{v, left}, form.scalars);
  const Handle both = lineage().elementwise(rules::corrected, std::array{left, right}, {1.0, 1.0});
  form.factors = std::make_shared<const LowRank>(LowRank{left, both});
  if (last) *last = both;
  return lineage().elementwise(*factors.product, std::array{both}, form.scalars);
}

Weights Participant::as_difference(const Weights& weights, const Handle& base, Handle* residual) {
  const Compression& compression = *plan().compression;
  CompressedForm form;
  form.bytes = residual ? compression.bytes : compression.tracking_bytes;
  form.scalars = compression_scalars(residual ? compression.scalars : compression.tracking_scalars, weights->version);
  std::vector<Handle> inputs = {algebra().move(base, weights->value)};
  Handle sent;
  if (compression.factors) {
    inputs.front() = with_residual(inputs.front(), residual);
    sent = as_product(inputs.front(), form, residual ? &exchanged().factors : nullptr);
  } else {
    if (residual && !residual->empty()) inputs.push_back(*residual);
    sent = lineage().elementwise(*compression.rule, inputs, form.scalars);
  }
  if (residual && compression.error_feedback) {
    inputs.insert(inputs.begin() + 1, sent);
    *residual = lineage().elementwise(rules::residual, inputs);
  }
  return with_difference(weights, base, sent, std::move(form));
}

Weights Participant::with_difference(Weights weights, const Handle& base, const Handle& change, CompressedForm form) {
  WeightsState& state = weights.edit();
  state.value = algebra().moved(base, change);
  state.more.edit().difference =
      std::make_shared<const WeightsDifference>(WeightsDifference{base, change, std::move(form), state.value.key()});
  return weights;
}

Weights Participant::outgoing(Weights weights, Peer to) {
  if (!plan().compression) return algebra().as_sent(std::move(weights));
  const Handle& estimate = exchanged().estimate;
  if (!estimate.empty() && estimate.key() == weights->value.key()) return knows_estimate(to.rank) ? weights : whole(std::move(weights));
  weights = whole(std::move(weights));
  const bool answers = to.rank < workers() || is_server();
  if (answers) return as_answer(std::move(weights), to);
  ExchangedWeights& known = exchanged();
  const Handle last = known.received[to.rank];
  return as_difference(weights, last.empty() ? initial_weights()->value : last, &known.residual);
}

/// A life that began with the run holds the initial weights, where all began to act then. The first message to another is whole.
Weights Participant::as_answer(Weights weights, Peer to) {
  const bool worker = to.rank < workers();
  const Peer now = worker ? backend().present(to.rank) : to;
  const bool comes = !worker || (backend().is_member(to.rank) && (to.life == Peer::any_life || to.life == now.life));
  if (!plan().compression->answers || !comes) return algebra().as_sent(std::move(weights));
  ExchangedWeights::Held& held = exchanged().held[to.rank];
  if (held.life != now.life) held.value = {};
  if (held.value.empty() && plan().compression->all_begin && is_first(now)) held.value = initial_weights()->value;
  Weights sent = held.value.empty() ? algebra().as_sent(std::move(weights)) : as_difference(weights, held.value, nullptr);
  held = {now.life, sent->value};
  return sent;
}

Weights Participant::as_held_by(Rank rank, const Weights& sent) const {
  if (!plan().compression || !plan().compression->answers || !rare_ || !rare_->exchanged) return algebra().as_sent(sent);
  const ExchangedWeights& known = *rare_->exchanged;
  const auto held = known.held.find(rank);
  if (held == known.held.end()) return algebra().as_sent(sent);
  Weights own = sent;
  own.edit().value = held->second.value;
  return own;
}

Weights Participant::outgoing(Weights weights, const RankGroup& group) {
  if (!plan().compression) return weights;
  weights = whole(std::move(weights));
  const Rank members = group ? static_cast<Rank>(group->size()) : workers();
  if (members == 1) return weights;
  ExchangedWeights& known = exchanged();
  const Handle last = known.of_group(group);
  const Handle base = last.empty() ? initial_weights()->value : last;
  if (plan().compression->factors) return as_left_factor(weights, base, group);
  return as_difference(weights, base, &known.residual);
}

/// The residual is known only with the mean; until then the next message starts without it.
Weights Participant::as_left_factor(const Weights& weights, const Handle& base, const RankGroup& group) {
  const Compression& compression = *plan().compression;
  ExchangedWeights& known = exchanged();
  CompressedForm form;
  form.bytes = compression.bytes;
  form.scalars = compression_scalars(compression.scalars, weights->version);
  form.second = compression.second_bytes;
  const Handle change = with_residual(algebra().move(base, weights->value), &known.residual);
  known.residual = Handle();
  form.factors = std::make_shared<const LowRank>(LowRank{left_factor(change, form.scalars, known.of_factors.of(group)), {}});
  return with_difference(weights, base, change, std::move(form));
}

Weights Participant::estimate(const Weights& weights) {
  Handle& known = exchanged().estimate;
  Weights shown;
  if (known.empty() && begins_later())
    shown = whole(algebra().as_sent(weights));
  else
    shown = as_difference(weights, known.empty() ? initial_weights()->value : known, nullptr);
  known = shown->value;
  return shown;
}

/// Two lives that began with the run know each other's first estimate, the initial weights. Others are sent it whole at first.
bool Participant::knows_estimate(Rank rank) {
  const std::uint32_t life = backend().present(rank).life;
  if (!begins_later() && is_first({rank, life})) return true;
  const auto [place, is_new] = exchanged().estimates.try_emplace(rank, life);
  const bool knows = !is_new && place->second == life;
  place->second = life;
  return knows;
}

void Participant::note_received(Weights& weights, Rank from) {
  if (is_worker() || from == server()) exchanged().received[from] = weights->value;  // weights sent to it, or an estimate
  const WeightsDifference* const difference = weights->difference();
  if (!difference) return;
  // A server may drop what it has received, and then needs the number of bytes. Only the bytes are read later, so the base is not kept.
  auto arrived =
      is_worker() ? nullptr : std::make_shared<const WeightsDifference>(WeightsDifference{{}, {}, difference->form, difference->of});
  weights.edit().more.edit().difference = std::move(arrived);
}

void Participant::note_averaged(Weights& mean, const Handle& mine, const RankGroup& group) {
  ExchangedWeights& known = exchanged();
  known.of_group(group) = mean->value;
  const std::shared_ptr<const LowRank> of_all = mean->more.get().product;
  mean = whole(std::move(mean));
  if (!of_all) return;
  mean.edit().more.edit().product.reset();
  known.of_factors.of(group) = of_all->both;
  if (plan().compression->error_feedback) known.residual = with_residual(left_out(mine, *of_all, mean->version), &known.residual);
}

}  // namespace straggler
