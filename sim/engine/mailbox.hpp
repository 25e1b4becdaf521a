// A mailbox: items wait for receivers, receivers wait for items.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace straggler {

/// Items are kept in order of arrival. A receiver takes the oldest item that it wants; an item goes to the receiver that has waited longest
/// among those that want it.
template <class T>
class Mailbox {
 public:
  /// A waiting receiver: embedded in an awaiter; leaves when destroyed.
  class Receiver {
   public:
    Receiver() = default;
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;
    bool waiting() const { return mailbox_ != nullptr; }
    void leave() noexcept {
      if (mailbox_) mailbox_->unlink(*this);
    }

   protected:
    ~Receiver() { leave(); }

   private:
    friend class Mailbox;
    virtual bool wants(const T& item) const = 0;
    /// Called with the item when the receiver no longer waits. Called from put(); not from receive(), which returns it.
    virtual void take(T item) = 0;
    Mailbox* mailbox_ = nullptr;
    Receiver* next_ = nullptr;
  };

  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() {
    while (first_) unlink(*first_);
  }

  /// The number of items that now wait for a receiver, if this one does; else 0.
  std::size_t put(T item) {
    for (Receiver* r = first_; r; r = r->next_) {
      if (!r->wants(item)) continue;
      unlink(*r);
      r->take(std::move(item));
      return 0;
    }
    if (!kept_) kept_ = std::make_unique<Kept>();
    kept_->add(std::move(item));
    return size();
  }
  /// The oldest item that `receiver` wants; none: it waits from now on.
  std::optional<T> receive(Receiver& receiver) {
    if (kept_) {
      if (std::optional<T> item = kept_->take_for(receiver)) return item;
    }
    receiver.mailbox_ = this;
    receiver.next_ = nullptr;
    *place_of(nullptr) = &receiver;
    return std::nullopt;
  }
  /// The i-th oldest item, if it has that many; null otherwise.
  const T* item(std::size_t i) const { return i < size() ? &kept_->items[kept_->taken + i] : nullptr; }
  std::size_t size() const { return kept_ ? kept_->items.size() - kept_->taken : 0; }
  /// The receiver that has waited longest; null if none waits.
  const Receiver* first_waiting() const { return first_; }
  /// In the order in which they began to wait.
  template <class Visit>
  void for_each_waiting(Visit visit) const {
    for (const Receiver* receiver = first_; receiver; receiver = receiver->next_) visit(*receiver);
  }
  void clear() { kept_.reset(); }
  /// Items that no receiver has taken.
  template <class Condition>
  void remove_if(Condition condition) {
    if (!kept_) return;
    std::vector<T>& items = kept_->items;
    items.erase(std::remove_if(items.begin() + static_cast<std::ptrdiff_t>(kept_->taken), items.end(), condition), items.end());
  }

 private:
  void unlink(Receiver& r) noexcept {
    *place_of(&r) = r.next_;
    r.mailbox_ = nullptr;
    r.next_ = nullptr;
  }
  /// Few wait at once: a process waits for one or two kinds.
  Receiver** place_of(const Receiver* receiver) {
    Receiver** place = &first_;
    while (*place != receiver) place = &(*place)->next_;
    return place;
  }
  /// Items that came when no receiver wanted them. Most mailboxes never have any.
  struct Kept {
    std::vector<T> items;  // the first `taken` are gone: cleared when they are half of all, or a quarter if room is short
    std::size_t taken = 0;

    void add(T item) {
      if (items.size() == items.capacity() && 4 * taken > items.size()) clear_taken();
      // By a quarter, but a large vector doubles: its unused end takes no memory, and each copy takes new pages.
      if (items.size() == items.capacity() && items.size() >= 1024 && items.size() < (1u << 18))
        items.reserve(items.size() + items.size() / 4);
      items.push_back(std::move(item));
    }
    std::optional<T> take_for(const Receiver& receiver) {
      for (std::size_t at = taken; at < items.size(); ++at) {
        if (!receiver.wants(items[at])) continue;
        std::optional<T> item(std::move(items[at]));
        if (at == taken)
          drop_first();
        else
          items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
        return item;
      }
      return std::nullopt;
    }
    void drop_first() {
      if (++taken < items.size() && 2 * taken < items.size() + 16) return;
      clear_taken();
    }
    void clear_taken() {
      items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(taken));
      taken = 0;
    }
  };

  std::unique_ptr<Kept> kept_;  // null: none yet
  Receiver* first_ = nullptr;   // has waited longest
};

}  // namespace straggler
