#include "automata/languages.hpp"

#include <algorithm>
#include <thread>

namespace schemagen {

namespace {

thread_local Reading* reading_here = nullptr;

// All generations of the process.
struct Generations {
    std::mutex mutex;
    uint64_t count = 0;
    std::shared_ptr<Languages> newest;
    std::vector<std::weak_ptr<Languages>> older;  // in their order; those that are gone are taken out when another one comes
};

Generations& generations() {
    static Generations* all = new Generations;  // threads may come until the process ends
    return *all;
}

}  // namespace

Languages::Languages(uint64_t generation_) : dfa(kernel), strings(dfa), generation(generation_) {
    kernel.reclaim = &Reading::become_alone;
    kernel.lent = true;
}

bool Languages::is_full(size_t times) const {
    // About 100 MB; a grammar with its own few thousand states costs well below one.
    constexpr size_t kMostNodes = 400'000, kMostStates = 60'000;
    return node_count() > times * kMostNodes || state_count() > times * kMostStates;
}

std::shared_ptr<Languages> Languages::current() {
    Generations& all = generations();
    std::lock_guard lock(all.mutex);
    if (all.newest && !all.newest->is_full(1)) return all.newest;
    for (const auto& older : all.older)
        if (auto languages = older.lock()) languages->closing_ = true;
    std::erase_if(all.older, [](const auto& older) { return older.expired(); });
    if (all.newest) all.older.push_back(all.newest);
    return all.newest = std::make_shared<Languages>(++all.count);
}

std::shared_ptr<Languages> Languages::apart() {
    uint64_t number;
    {
        std::lock_guard lock(generations().mutex);
        number = ++generations().count;
    }
    auto languages = std::make_shared<Languages>(number);
    languages->apart_ = true;
    return languages;
}

void Languages::add_tenant(const std::shared_ptr<Tenant>& tenant) {
    std::lock_guard lock(tenants_mutex_);
    if (tenants_.size() >= full_tenants_) {
        std::erase_if(tenants_, [](const auto& other) { return other.expired(); });
        full_tenants_ = std::max<size_t>(64, tenants_.size() * 2);
    }
    tenants_.push_back(tenant);
}

void Languages::clear_out() {
    constexpr size_t kAtOnce = 8;
    std::vector<std::shared_ptr<Languages>> closing;
    {
        Generations& all = generations();
        std::lock_guard lock(all.mutex);
        for (const auto& older : all.older)
            if (auto languages = older.lock(); languages && languages->is_closing()) closing.push_back(std::move(languages));
    }
    size_t moved = 0;
    for (const auto& languages : closing) {
        for (size_t tries = 0; tries < kAtOnce && moved < kAtOnce;) {
            std::shared_ptr<Tenant> tenant;
            {
                std::lock_guard lock(languages->tenants_mutex_);
                while (!tenant && !languages->tenants_.empty()) {
                    tenant = languages->tenants_.back().lock();
                    languages->tenants_.pop_back();
                }
            }
            if (!tenant) break;
            ++tries;
            if (tenant->move_out()) {
                ++moved;
            } else {
                std::lock_guard lock(languages->tenants_mutex_);
                languages->tenants_.insert(languages->tenants_.begin(), tenant);
            }
        }
    }
}

Languages::Extent Languages::extent() {
    Extent out;
    Generations& all = generations();
    std::vector<std::shared_ptr<Languages>> alive;  // given back without the lock
    {
        std::lock_guard lock(all.mutex);
        for (const auto& older : all.older)
            if (auto languages = older.lock()) alive.push_back(std::move(languages));
        if (all.newest) alive.push_back(all.newest);
    }
    for (const auto& languages : alive) out.bytes += languages->memory_bytes();
    out.generations = alive.size();
    return out;
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
        memory_bytes_.store(kernel.memory_bytes() + dfa.memory_bytes() + strings.memory_bytes(), std::memory_order_relaxed);
        if (!apart_ && is_full(2)) closing_.store(true, std::memory_order_relaxed);
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
