// A grammar as a table over tokens, for devices that cannot walk bytes.
//
// A state is a configuration with everything that is around it: return stack and registers included, so that following
// it takes no stack, one lookup per token. Such tables are finite for most schemas and small enough for many; where
// recursion or wide bounds make them large they are grown by those states that texts really come to (demand paging),
// and where the future depends on the text (repeated keys, unique items) there is no state at all: kHost.
//
// Tokens that lead to the same place from every state are one class, so a row has some hundred entries instead of one
// per token (classes by transition, as in minimal automata; engine study of this project). A state that is added may
// split classes; earlier rows need no change, because a split class remembers the class it was part of.
//
// The configurations of the states belong to one epoch of the constraint (constraint.hpp). In a later one they are
// found again by the tokens that led to them; rows, masks and classes are about tokens alone and stay.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/matcher.hpp"

namespace schemagen {

class TokenTable final : ForkSafe {
public:
    static constexpr uint32_t kDead = 0, kOver = 1, kHost = 2, kFirst = 3;  // kOver: EOS was read

    explicit TokenTable(std::shared_ptr<Constraint> constraint);
    TokenTable(const TokenTable&) = delete;  // states point into the arena
    TokenTable& operator=(const TokenTable&) = delete;

    uint32_t start() const { return start_; }
    // kHost where the future depends on the text.
    uint32_t state_of(const Matcher& matcher);
    // Work out the rows of up to `most` states that are known but have none yet, in the order in which they were found.
    // Returns how many there were.
    size_t expand(size_t most);
    void expand_state(uint32_t state);
    bool is_closed() const { return pending_ == states_.size(); }
    bool leads_out() const { return leads_out_; }  // whether a computed row leads to kHost
    size_t size() const { return states_.size(); }
    size_t class_count() const { return origin_.size(); }
    bool is_ready(uint32_t state) const { return state >= kFirst && states_[state].ready; }
    size_t memory_bytes() const;

    // [V], [asked states, classes], [states] (of `masks`), [states]
    void classes(int32_t* out) const;
    void transitions(const std::vector<uint32_t>& states, int32_t* out) const;
    const std::vector<std::vector<uint32_t>>& masks() const { return masks_; }
    uint32_t mask_of(uint32_t state) const { return states_[state].mask; }
    uint32_t needed(uint32_t state) const { return states_[state].needed; }
    const VocabularyTables& tables() const { return *constraint_->tables; }
    const std::shared_ptr<Constraint>& constraint() const { return constraint_; }

    mutable std::timed_mutex mutex;  // held by callers with several threads; taken before the constraint

private:
    void after_fork() override { new (&mutex) std::timed_mutex; }
    struct State {
        Configuration config;
        std::vector<uint32_t> row;  // [class], as many as there were
        uint32_t mask = 0, needed = 0;
        bool ready = false;
        uint32_t parent = kHost, token = 0;  // how it was found; kHost if by a text of `texts_`
    };
    struct Found {
        uint32_t state, token;
    };
    template <class Task>
    auto at_work(const Task& task);
    void sync();
    void drop_unfinished();
    bool read(std::string_view bytes, Configuration& config, Arena& arena);
    uint32_t intern(const Configuration& config, bool& fresh);
    void fill_row(uint32_t state);
    void read_row(uint32_t state);
    std::vector<std::pair<uint32_t, uint32_t>> follow_tokens(const Configuration& config, std::vector<Found>& found);
    std::vector<uint32_t> classes_of_groups(const std::vector<std::pair<uint32_t, uint32_t>>& ways,
                                            const std::vector<uint32_t>& sizes);
    void split_classes(const std::vector<std::pair<uint32_t, uint32_t>>& targets, std::vector<uint32_t>& row);
    uint32_t intern_mask(std::vector<uint32_t> words);

    std::shared_ptr<Constraint> constraint_;
    Arena arena_;         // frames of the states
    uint64_t epoch_ = 0;  // of the constraint, that the configurations of the states belong to
    std::deque<State> states_;
    size_t whole_ = kFirst;  // states that are more than a number; a limit may leave others unfinished
    std::unordered_map<uint32_t, std::string> texts_;  // that lead to the states which no row leads to
    std::vector<uint64_t> scratch_;
    KeyTable keys_;  // of the states from kFirst on
    HashIndex mask_index_;
    std::vector<std::vector<uint32_t>> masks_;
    std::vector<uint32_t> class_of_;  // [token]
    std::vector<uint32_t> origin_;    // [class] the one it was split off; its own number for the first two
    std::vector<uint32_t> members_;   // [class] how many tokens
    uint32_t start_ = kHost;
    size_t pending_ = kFirst;  // states before this one are ready
    bool leads_out_ = false;
};

}  // namespace schemagen
