#include "automata/shared_automata.hpp"

#include <algorithm>
#include <thread>

namespace schemagen {

namespace {

thread_local SharedLock* shared_lock_here = nullptr;

// All generations of the process.
struct Generations {
    std::mutex mutex;
    uint64_t count = 0;
    std::shared_ptr<SharedAutomata> newest;
    std::vector<std::weak_ptr<SharedAutomata>>
        older;  // in their order; those that are gone are taken out when another one comes
};

Generations& generations() {
    static Generations* all = new Generations;  // threads may come until the process ends
    return *all;
}

}  // namespace

SharedAutomata::SharedAutomata(uint64_t generation_) : dfa(kernel), strings(dfa), generation(generation_) {
    kernel.upgrade_lock = &SharedLock::upgrade;
    kernel.has_readers = true;
}

bool SharedAutomata::is_full(size_t times) const {
    // About 100 MB; a grammar with its own few thousand states costs well below one.
    constexpr size_t kMostNodes = 400'000, kMostStates = 60'000, kMostTextBytes = 64u << 20;
    return node_count() > times * kMostNodes || state_count() > times * kMostStates ||
           text_bytes_.load(std::memory_order_relaxed) > times * kMostTextBytes;
}

std::shared_ptr<SharedAutomata> SharedAutomata::current() {
    Generations& all = generations();
    std::lock_guard lock(all.mutex);
    if (all.newest && !all.newest->is_full(1)) return all.newest;
    for (const auto& older : all.older)
        if (auto shared = older.lock()) shared->closing_ = true;
    std::erase_if(all.older, [](const auto& older) { return older.expired(); });
    if (all.newest) all.older.push_back(all.newest);
    return all.newest = std::make_shared<SharedAutomata>(++all.count);
}

std::shared_ptr<SharedAutomata> SharedAutomata::apart() {
    uint64_t number;
    {
        std::lock_guard lock(generations().mutex);
        number = ++generations().count;
    }
    auto shared = std::make_shared<SharedAutomata>(number);
    shared->apart_ = true;
    return shared;
}

void SharedAutomata::add_tenant(const std::shared_ptr<Tenant>& tenant) {
    std::lock_guard lock(tenants_mutex_);
    if (tenants_.size() >= full_tenants_) {
        std::erase_if(tenants_, [](const auto& other) { return other.expired(); });
        full_tenants_ = std::max<size_t>(64, tenants_.size() * 2);
    }
    tenants_.push_back(tenant);
}

void SharedAutomata::clear_out() {
    constexpr size_t kAtOnce = 8;
    std::vector<std::shared_ptr<SharedAutomata>> closing;
    {
        Generations& all = generations();
        std::lock_guard lock(all.mutex);
        for (const auto& older : all.older)
            if (auto shared = older.lock(); shared && shared->is_closing()) closing.push_back(std::move(shared));
    }
    size_t moved = 0;
    for (const auto& shared : closing) {
        for (size_t tries = 0; tries < kAtOnce && moved < kAtOnce;) {
            std::shared_ptr<Tenant> tenant;
            {
                std::lock_guard lock(shared->tenants_mutex_);
                while (!tenant && !shared->tenants_.empty()) {
                    tenant = shared->tenants_.back().lock();
                    shared->tenants_.pop_back();
                }
            }
            if (!tenant) break;
            ++tries;
            if (tenant->move_out()) {
                ++moved;
            } else {
                std::lock_guard lock(shared->tenants_mutex_);
                shared->tenants_.insert(shared->tenants_.begin(), tenant);
            }
        }
    }
}

SharedAutomata::Extent SharedAutomata::extent() {
    Extent out;
    Generations& all = generations();
    std::vector<std::shared_ptr<SharedAutomata>> alive;  // given back without the lock
    {
        std::lock_guard lock(all.mutex);
        for (const auto& older : all.older)
            if (auto shared = older.lock()) alive.push_back(std::move(shared));
        if (all.newest) alive.push_back(all.newest);
    }
    for (const auto& shared : alive) out.bytes += shared->memory_bytes();
    out.generations = alive.size();
    return out;
}

// ---- alone --------------------------------------------------------------------------------------------------------

void SharedAutomata::take() {
    Work::lock(writers_);
    if (depth_++ > 0) return;
    writing_.store(true);
    wait_for_readers(0);
    kernel.has_readers.store(false, std::memory_order_relaxed);
}

// Never waits for another writer, because that one may be waiting for this reader.
bool SharedAutomata::try_take_from_reading() {
    if (!writers_.try_lock()) return false;
    ++depth_;
    writing_.store(true);
    wait_for_readers(1);
    kernel.has_readers.store(false, std::memory_order_relaxed);
    return true;
}

void SharedAutomata::leave() {
    if (--depth_ == 0) {
        kernel.has_readers.store(true, std::memory_order_relaxed);
        node_count_.store(kernel.size(), std::memory_order_relaxed);
        state_count_.store(dfa.size(), std::memory_order_relaxed);
        text_bytes_.store(kernel.substring_bytes(), std::memory_order_relaxed);
        memory_bytes_.store(kernel.memory_bytes() + dfa.memory_bytes() + strings.memory_bytes(),
                            std::memory_order_relaxed);
        if (!apart_ && is_full(2)) closing_.store(true, std::memory_order_relaxed);
        writing_.store(false);
    }
    writers_.unlock();
}

// Each of them computes one mask or token. One that has come to a look may be waiting for the interpreter's lock.
void SharedAutomata::wait_for_readers(uint32_t own) {
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

void SharedAutomata::after_fork() {
    new (&writers_) std::recursive_timed_mutex;
    for (Slot& slot : slots_) slot.readers.store(0);
    writing_.store(false);
    depth_ = 0;
    kernel.charge(nullptr);
    kernel.has_readers.store(true);
}

// ---- beside others ------------------------------------------------------------------------------------------------

SharedAutomata::Slot& SharedAutomata::my_slot() {
    static std::atomic<uint32_t> threads{0};
    thread_local const uint32_t mine = threads.fetch_add(1) % kSlots;
    return slots_[mine];
}

// A reader shows itself before it looks for a writer, a writer before it looks for readers: one of them sees the other.
SharedLock::SharedLock(SharedAutomata& shared, Budget& budget)
    : shared_(shared), budget_(budget), slot_(shared.my_slot()) {
    while (true) {
        slot_.readers.fetch_add(1);
        if (!shared.writing_.load()) break;
        slot_.readers.fetch_sub(1);
        WorkLock until_it_is_done(shared.writers_);
    }
    shared_lock_here = this;
}

SharedLock::~SharedLock() {
    if (alone_) {
        shared_.kernel.charge(outer_);
        shared_.leave();
    }
    slot_.readers.fetch_sub(1);
    shared_lock_here = nullptr;
}

void SharedLock::upgrade() {
    SharedLock& here = *shared_lock_here;
    if (SharedAutomata::always_conflict.load(std::memory_order_relaxed) || !here.shared_.try_take_from_reading())
        throw UpgradeConflict();
    here.alone_ = true;
    here.outer_ = here.shared_.kernel.charge(&here.budget_);
}

}  // namespace schemagen
