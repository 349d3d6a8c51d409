#include "runtime/constraint.hpp"

#include <algorithm>

#include "context_free/counting_automaton.hpp"
#include "util/heap.hpp"

namespace schemagen {

// Either unchanged or new: everything that may fail comes first. The new automata have no other users yet.
void Constraint::renew() {
    std::shared_ptr<SharedAutomata> shared = SharedAutomata::apart();
    std::shared_ptr<Automaton> automaton;
    std::unique_ptr<CaptureGrammar> captures;
    {
        const SharedLock reading(*engine_->shared, budget);
        const ExclusiveLock guard(*shared);
        automaton = engine_->automaton->renewed(shared);
        if (engine_->captures) captures = engine_->captures->renewed(shared, embedded_in(*automaton));
    }
    engine_ = std::make_unique<Engine>(std::move(shared), std::move(automaton), *tables);
    engine_->captures = std::move(captures);
    budget.nodes = budget.states = 0;
    ++epoch_;
}

bool Constraint::lives_in(const std::shared_ptr<SharedAutomata>& shared) {
    const Work call(budget.max_seconds);
    const WorkLock lock(mutex);
    return engine_->shared == shared;
}

std::shared_ptr<Automaton> Constraint::give_automaton(const std::shared_ptr<SharedAutomata>& to) {
    const Work call(budget.max_seconds);
    const WorkLock lock(mutex);
    if (engine_->shared != to) return nullptr;
    given_ = true;
    return engine_->automaton;
}

// Returns false if it is busy: it then finds out by itself that it has to move.
bool Constraint::move_out() {
    if (!mutex.try_lock()) return false;
    const std::unique_lock lock(mutex, std::adopt_lock);
    if (!given_ && engine_->shared->is_closing()) renew();
    return true;
}

void Constraint::label(const std::shared_ptr<SharedAutomata>& shared, ContextFreeGrammar grammar,
                       std::vector<Mark> marks, std::vector<SymbolId> embedded, std::vector<std::string> labels,
                       const Allowance& allowance) {
    const Work call(budget.max_seconds);
    const WorkLock lock(mutex);
    auto make = [&](ContextFreeGrammar own) {
        has_temperatures_ = std::any_of(marks.begin(), marks.end(), [](const Mark& mark) { return mark.temperature; });
        EmbeddedAutomaton* languages = embedded_in(*engine_->automaton);
        engine_->captures = std::make_unique<CaptureGrammar>(engine_->shared, std::move(own), std::move(marks),
                                                             std::move(embedded), languages, allowance);
        labels_ = std::move(labels);
    };
    if (engine_->shared == shared) {
        const ExclusiveLock guard(*shared);
        return make(std::move(grammar));
    }
    const SharedLock reading(*shared, budget);
    const ExclusiveLock guard(*engine_->shared);
    make(grammar.moved_to(engine_->shared->kernel, shared->kernel));
}

uint64_t Constraint::begin_anew() {
    const Work call(budget.max_seconds);
    const WorkLock lock(mutex);
    renew();
    return epoch_;
}

// While a constraint is busy, the figure of the last call, so that the caller does not wait.
uint64_t Constraint::memory_bytes() {
    if (mutex.try_lock_shared()) {
        const std::shared_lock lock(mutex, std::adopt_lock);
        uint64_t bytes = heap_block(sizeof(*this)) + heap_block(sizeof(*engine_)) + engine_->automaton->memory_bytes() +
                         engine_->masks->memory_bytes() + engine_->completions.memory_bytes() +
                         engine_->budget_masks.memory_bytes() +
                         (engine_->captures ? engine_->captures->memory_bytes() : 0);
        if (engine_->shared->is_apart()) bytes += engine_->shared->memory_bytes();
        memory_bytes_.store(bytes, std::memory_order_relaxed);
    }
    return memory_bytes_.load(std::memory_order_relaxed);
}

void Constraint::after_fork() {
    new (&mutex) std::shared_timed_mutex;
    budget.alone = false;
}

}  // namespace schemagen
