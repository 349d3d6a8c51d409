#include "languages.hpp"

namespace schemagen {

std::shared_ptr<Languages> Languages::current() {
    // About 100 MB; a grammar with its own few thousand states costs well below one.
    constexpr size_t kMostNodes = 400'000, kMostStates = 60'000;
    static std::mutex mutex;
    static std::shared_ptr<Languages> languages;
    static uint64_t generations = 0;
    std::lock_guard lock(mutex);
    if (languages) {
        Guard guard(*languages);
        if (languages->kernel.size() <= kMostNodes && languages->dfa.size() <= kMostStates) return languages;
    }
    return languages = std::make_shared<Languages>(++generations);
}

bool Languages::try_take() {
    if (!writers_.try_lock()) return false;
    if (depth_ == 0 && !readers_.try_lock()) return writers_.unlock(), false;
    ++depth_;
    return true;
}

void Languages::take() {
    waiting_.fetch_add(1);
    writers_.lock();
    if (depth_ == 0) readers_.lock();
    ++depth_;
    waiting_.fetch_sub(1);
}

void Languages::leave() {
    if (--depth_ == 0) readers_.unlock();
    writers_.unlock();
}

}  // namespace schemagen
