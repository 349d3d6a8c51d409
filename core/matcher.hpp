// A compiled constraint over a vocabulary, and the cursor of one sequence over it.
#pragma once
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "automaton.hpp"
#include "completion.hpp"
#include "languages.hpp"
#include "masks.hpp"
#include "vocabulary.hpp"

namespace schemagen {

// The automaton is extended as it is walked, so a walk holds the constraint and then the languages, reading or alone, on the
// account of `budget`. Masks that are known already are read under a shared lock of the constraint alone.
struct Constraint final : ForkSafe {
    Constraint(std::shared_ptr<Languages> languages_, std::shared_ptr<Automaton> automaton_, std::shared_ptr<const VocabularyTables> tables_, const Budget& budget_)
        : languages(std::move(languages_)), automaton(std::move(automaton_)), tables(std::move(tables_)), masks(*automaton, *tables, languages->strings), completions(*automaton, *tables), budget(budget_) {}

    std::shared_ptr<Languages> languages;
    std::shared_ptr<Automaton> automaton;
    std::shared_ptr<const VocabularyTables> tables;
    Masks masks;
    Completions completions;
    Budget budget;
    std::shared_timed_mutex mutex;

private:
    void after_fork() override { new (&mutex) std::shared_timed_mutex; }
};

// Exclusive use of a constraint and its languages.
class Exclusive {
public:
    explicit Exclusive(Constraint& constraint) : work_(constraint.budget.max_seconds), lock_(constraint.mutex), guard_(*constraint.languages, &constraint.budget) {}

private:
    Work work_;
    WorkLock<std::shared_timed_mutex> lock_;
    Guard guard_;
};

class Matcher {
public:
    explicit Matcher(std::shared_ptr<Constraint> constraint);

    static constexpr uint32_t kNoBudget = UINT32_MAX;

    // Writes ceil(V/32) words. Returns how many tokens are allowed. With a budget only those are after which the text can be
    // finished with the rest of it.
    uint32_t fill(uint32_t* words, uint32_t budget = kNoBudget);
    // Fewest tokens that the shortest text from here takes, and that text.
    uint32_t tokens_to_finish();
    std::string shortest_completion();
    uint32_t least_bytes();  // no text from here has fewer
    // The bytes that follow without any choice, at most `most`.
    std::string forced_bytes(size_t most);
    // Tokens that spell the forced bytes, the longest first; all of them can be accepted.
    std::vector<uint32_t> forced_run(size_t most);
    // A number for the place that the text has come to: the same for texts that go on alike. 0 where that depends on the text.
    uint64_t place();
    bool accept_token(uint32_t id);
    bool accept_bytes(std::string_view bytes);
    bool accepting();
    bool terminated() const { return terminated_; }
    void rollback(size_t count);
    void reset();
    Matcher fork();
    size_t steps() const { return history_.size() - 1; }
    // How many bytes of the token can be read from here, and why not the next one.
    std::pair<size_t, std::string> probe(std::string_view bytes);
    const VocabularyTables& tables() const { return *constraint_->tables; }
    const std::shared_ptr<Constraint>& constraint() const { return constraint_; }
    const Leaf& leaf() const { return history_.back().leaf; }

private:
    // Do work that reads the languages, and may have to make something new in them.
    template <class Task>
    auto at_work(const Task& task);
    bool advance(std::string_view bytes);

    std::shared_ptr<Constraint> constraint_;
    std::vector<std::shared_ptr<const Arena>> shared_;  // frames of the matchers this one was forked from
    std::shared_ptr<Arena> arena_;
    struct Step {
        Leaf leaf;
        size_t read;  // bytes of the text
    };
    std::vector<Step> history_;
    std::string text_;  // for explanations only
    bool terminated_ = false;
};

}  // namespace schemagen
