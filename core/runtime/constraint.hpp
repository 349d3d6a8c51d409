// A compiled constraint over a vocabulary, shared by all texts that follow it, and how it is renewed.
//
// The automaton is extended while it is walked, within the limits of its grammar, and states made for one text are of
// little use to the next if that goes elsewhere. So that no text pays for earlier ones, a constraint that has come to
// its limits is renewed: its program (values, disjuncts, the languages they name) is copied into automata of its own,
// and everything made on the way is dropped, masks and shortest completions included. That begins a new epoch.
// Configurations of an earlier epoch are invalid; a matcher replays its text (`sync`) before going on. The task that
// came to the limit is then repeated with the constraint to itself: its text alone needs everything that it makes now,
// and if that is too much it is an error.
//
// A constraint is renewed, too, when its automata are to be given back (shared_automata.hpp).
#pragma once
#include <atomic>
#include <memory>
#include <shared_mutex>

#include "automata/automaton.hpp"
#include "automata/mask_factory.hpp"
#include "automata/shared_automata.hpp"
#include "context_free/captures.hpp"
#include "masks/budget_masks.hpp"
#include "masks/completion.hpp"
#include "masks/masks.hpp"
#include "util/work.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

struct Constraint final : ForkSafe, Tenant {
    Constraint(std::shared_ptr<SharedAutomata> shared, std::shared_ptr<Automaton> automaton,
               std::shared_ptr<const VocabularyTables> tables_, const Budget& budget_)
        : tables(std::move(tables_)),
          counts_tokens(automaton->facets().counts_tokens),
          budget(budget_),
          engine_(std::make_unique<Engine>(std::move(shared), std::move(automaton), *tables)) {}

    // For callers that hold the mutex.
    SharedAutomata& shared() { return *engine_->shared; }
    Automaton& automaton() { return *engine_->automaton; }
    MaskEngine& masks() { return *engine_->masks; }
    Completions& completions() { return engine_->completions; }
    BudgetMasks& budget_masks() { return engine_->budget_masks; }
    // Which of its parts are labelled, or null.
    CaptureGrammar* captures() { return engine_->captures.get(); }
    const std::vector<std::string>& labels() const { return labels_; }
    bool has_temperatures() const { return has_temperatures_; }
    // Label its parts, by a grammar over the nodes of `shared`. Not for callers that hold the mutex.
    void label(const std::shared_ptr<SharedAutomata>& shared, ContextFreeGrammar grammar, std::vector<Mark> marks,
               std::vector<SymbolId> embedded, std::vector<std::string> labels, const Allowance& allowance);
    uint64_t epoch() const { return epoch_; }
    uint64_t memory_bytes();
    bool lives_in(const std::shared_ptr<SharedAutomata>& shared);
    // Its automaton, for another constraint over the same shared automata, or null if it lives in others. This
    // constraint cannot be used any more.
    std::shared_ptr<Automaton> give_automaton(const std::shared_ptr<SharedAutomata>& to);
    uint64_t begin_anew();  // a new epoch, for tests; returns its number

    // Do a task that may have to make something new, beginning with `sync`, which brings the caller into this epoch.
    // With `reads` it begins beside other readers of the automata, and is repeated if that is not enough.
    template <class Sync, class Task>
    auto work(bool reads, const Sync& sync, const Task& task);

    const std::shared_ptr<const VocabularyTables> tables;
    const bool counts_tokens;  // as Automaton::Facets
    Budget budget;
    std::shared_timed_mutex mutex;

private:
    static std::unique_ptr<MaskEngine> make_masks(Automaton& automaton, const VocabularyTables& tables,
                                                  StringMasks& strings) {
        if (MaskFactory* factory = automaton.facets().masks) return factory->make_masks(tables);
        return std::make_unique<Masks>(automaton, tables, strings);
    }
    // The parts made anew in each epoch.
    struct Engine {
        Engine(std::shared_ptr<SharedAutomata> shared_, std::shared_ptr<Automaton> automaton_,
               const VocabularyTables& tables)
            : shared(std::move(shared_)),
              automaton(std::move(automaton_)),
              masks(make_masks(*automaton, tables, shared->strings)),
              completions(*automaton, tables),
              budget_masks(completions, *automaton, tables, shared->strings, masks.get()) {}
        std::shared_ptr<SharedAutomata> shared;
        std::shared_ptr<Automaton> automaton;
        std::unique_ptr<MaskEngine> masks;
        Completions completions;
        BudgetMasks budget_masks;
        std::unique_ptr<CaptureGrammar> captures;
    };
    // While one task has a new epoch for itself.
    class Alone {
    public:
        explicit Alone(Budget& budget) : budget_(budget) { budget_.alone = true; }
        ~Alone() { budget_.alone = false; }
        Alone(const Alone&) = delete;
        Alone& operator=(const Alone&) = delete;

    private:
        Budget& budget_;
    };
    void renew();
    bool move_out() override;
    void after_fork() override;

    std::unique_ptr<Engine> engine_;
    uint64_t epoch_ = 1;
    std::vector<std::string> labels_;             // [number of a label]
    std::atomic<bool> has_temperatures_ = false;  // of labelled parts
    bool given_ = false;                          // its automaton belongs to another constraint
    // As of the last call that found the constraint idle; before one, the size of the parts alone.
    std::atomic<uint64_t> memory_bytes_{sizeof(Constraint) + sizeof(Engine)};
};

template <class Sync, class Task>
auto Constraint::work(bool reads, const Sync& sync, const Task& task) {
    const Work call(budget.max_seconds);
    const WorkLock lock(mutex);
    if (shared().is_closing()) renew();
    auto begin = [&] {
        sync();
        return task();
    };
    try {
        if (reads) try {
                const SharedLock reading(shared(), budget);
                return begin();
            } catch (const UpgradeConflict&) {
                // Once more, with everything to itself.
            }
        const ExclusiveLock guard(shared(), &budget);
        return begin();
    } catch (const LimitExceeded& error) {
        if (!error.worn) throw;
    }
    renew();
    const Alone alone(budget);
    const ExclusiveLock guard(shared(), &budget);
    return begin();
}

}  // namespace schemagen
