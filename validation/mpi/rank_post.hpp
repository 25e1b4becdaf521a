// A rank's messages: payloads of the scheme, packed in parts and logged; and words between the back ends of ranks, in no account.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "validation/mpi/rank_world.hpp"

namespace straggler {

class RankPost {
 public:
  explicit RankPost(RankWorld& world);

  /// `operation`, if not null, is completed when all of the message has left.
  void send(Rank to, const Payload& payload, Operation* operation);
  /// A part of a message; with the last part the message is there. Null: others are still to come.
  MessagePointer arrived(Rank from, Bytes part, bool last);
  /// A vector of the next message.
  void arrived(Rank from, LentFloats vector) { coming_[index_of(from)].vectors.push_back(std::move(vector)); }
  /// A step of a collective.
  void send_step(Rank to, Bytes bytes, const Part& part, double spared);
  /// A contribution that has arrived goes into no version.
  void drop(const Payload& contribution);

  void tell(Rank to, MessageKind kind, Bytes word) { tell(to, to + 1, kind, std::move(word)); }
  void tell_workers(MessageKind kind, Bytes word) { tell(0, world_.task.plan.workers, kind, std::move(word)); }
  void tell_all(MessageKind kind, Bytes word) { tell(0, world_.channel.ranks(), kind, std::move(word)); }
  /// Says goodbye; words after it are dropped.
  void close();

  const WireBytes& wire_bytes() const { return wire_bytes_; }

 private:
  struct Packed {
    std::vector<std::shared_ptr<const float>> vectors;  // apart
    std::vector<std::shared_ptr<const Bytes>> parts;
  };
  Packed packed(const Payload& payload);
  /// To the ranks from `first` to before `end`, but to this one.
  void tell(Rank first, Rank end, MessageKind kind, Bytes word);
  void note_sent(Rank to, const Part& part, double spared);
  void keep_sent(Rank to, const Payload& payload);
  void forget_sent(Rank from, const Payload& payload);

  RankWorld& world_;
  const WireBytes wire_bytes_;
  struct {
    Payload payload = MembershipNotice();
    Packed packed;
  } last_packed_;  // a broadcast is packed once
  struct Coming {
    std::vector<LentFloats> vectors;
    std::vector<Bytes> parts;
  };
  std::vector<Coming> coming_;  // [ranks]: of a message of which others are still to come
  /// Weights sent from a server or an aggregator to a rank below it, where messages are compressed: kept until a message arrives that
  /// builds on later ones.
  std::map<Rank, std::deque<Handle>> sent_;
  bool closed_ = false;
};

}  // namespace straggler
