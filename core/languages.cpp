#include "languages.hpp"

#include <thread>

namespace schemagen {

namespace {

thread_local Reading* reading_here = nullptr;

}  // namespace

Languages::Languages(uint64_t generation_) : dfa(kernel), strings(dfa), generation(generation_) {
    kernel.reclaim = &Reading::become_alone;
    kernel.lent = true;
}

std::shared_ptr<Languages> Languages::current() {
    // About 100 MB; a grammar with its own few thousand states costs well below one.
    constexpr size_t kMostNodes = 400'000, kMostStates = 60'000;
    static std::mutex mutex;
    static std::shared_ptr<Languages> languages;
    static uint64_t generations = 0;
    std::lock_guard lock(mutex);
    if (languages && languages->node_count() <= kMostNodes && languages->state_count() <= kMostStates) return languages;
    return languages = std::make_shared<Languages>(++generations);
}

// ---- alone --------------------------------------------------------------------------------------------------------

void Languages::take() {
    Work::lock(writers_);
    if (depth_++ > 0) return;
    writing_.store(true);
    wait_for_readers(0);
    kernel.lent.store(false, std::memory_order_relaxed);
}

// Never waits for another writer: that one may be waiting for this reader.
bool Languages::try_take_from_reading() {
    if (!writers_.try_lock()) return false;
    ++depth_;
    writing_.store(true);
    wait_for_readers(1);
    kernel.lent.store(false, std::memory_order_relaxed);
    return true;
}

void Languages::leave() {
    if (--depth_ == 0) {
        kernel.lent.store(true, std::memory_order_relaxed);
        node_count_.store(kernel.size(), std::memory_order_relaxed);
        state_count_.store(dfa.size(), std::memory_order_relaxed);
        writing_.store(false);
    }
    writers_.unlock();
}

// They are at work on one mask or token each. One that has come to a look may be waiting for the interpreter's lock.
void Languages::wait_for_readers(uint32_t own) {
    constexpr unsigned kPatience = 64, kLong = 1024;
    auto alone = [&] {
        uint32_t readers = 0;
        for (const Slot& slot : slots_) readers += slot.readers.load();
        return readers == own;
    };
    for (unsigned looked = 0; looked < kPatience; ++looked)
        if (alone()) return;
    try {
        Work::Waiting waiting;
        for (unsigned looked = 0; !alone(); ++looked) {
            if (looked < kLong)
                std::this_thread::yield();
            else
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            if (looked % kLong == kLong - 1 && waiting.sees_signals()) waiting.look();
        }
    } catch (...) {
        leave();
        throw;
    }
}

void Languages::after_fork() {
    new (&writers_) std::recursive_timed_mutex;
    for (Slot& slot : slots_) slot.readers.store(0);
    writing_.store(false);
    depth_ = 0;
    kernel.charge(nullptr);
    kernel.lent.store(true);
}

// ---- beside others ------------------------------------------------------------------------------------------------

Languages::Slot& Languages::my_slot() {
    static std::atomic<uint32_t> threads{0};
    thread_local const uint32_t mine = threads.fetch_add(1) % kSlots;
    return slots_[mine];
}

// A reader shows itself before it looks for a writer, a writer before it looks for readers: one of them sees the other.
Reading::Reading(Languages& languages, Budget& budget) : languages_(languages), budget_(budget), slot_(languages.my_slot()) {
    while (true) {
        slot_.readers.fetch_add(1);
        if (!languages.writing_.load()) break;
        slot_.readers.fetch_sub(1);
        WorkLock until_it_is_done(languages.writers_);
    }
    reading_here = this;
}

Reading::~Reading() {
    if (alone_) {
        languages_.kernel.charge(outer_);
        languages_.leave();
    }
    slot_.readers.fetch_sub(1);
    reading_here = nullptr;
}

void Reading::become_alone() {
    Reading& here = *reading_here;
    if (Languages::always_not_known.load(std::memory_order_relaxed) || !here.languages_.try_take_from_reading()) throw NotKnown();
    here.alone_ = true;
    here.outer_ = here.languages_.kernel.charge(&here.budget_);
}

}  // namespace schemagen
