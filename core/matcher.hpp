// A compiled constraint over a vocabulary, and the cursor of one sequence over it.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "automaton.hpp"
#include "string_masks.hpp"
#include "vocabulary.hpp"

namespace schemagen {

// The automaton is extended as it is walked, so every walk holds `mutex`.
struct Constraint {
    std::shared_ptr<Automaton> automaton;
    std::shared_ptr<const VocabularyTables> tables;
    StringMasks strings;
    std::mutex mutex;
};

class Matcher {
public:
    explicit Matcher(std::shared_ptr<Constraint> constraint);

    // Writes ceil(V/32) words. Returns how many tokens are allowed.
    uint32_t fill(uint32_t* words);
    bool accept_token(uint32_t id);
    bool accept_bytes(std::string_view bytes);
    bool accepting();
    bool terminated() const { return terminated_; }
    void rollback(size_t count);
    void reset();
    Matcher fork() const;
    size_t steps() const { return history_.size() - 1; }
    // How many bytes of the token can be read from here, and what is expected where it stops.
    std::pair<size_t, std::string> probe(std::string_view bytes);
    const VocabularyTables& tables() const { return *constraint_->tables; }

private:
    const Leaf& leaf() const { return history_.back(); }
    void fill_string(const StringBody& body, const Leaf& from, uint32_t* words);
    std::vector<uint32_t> tails_behind(const Leaf& behind);
    void walk(const Trie& trie, const Leaf& from, uint32_t* words);
    bool advance(std::string_view bytes);

    std::shared_ptr<Constraint> constraint_;
    std::vector<std::shared_ptr<const Arena>> shared_;  // frames of the matchers this one was forked from
    std::shared_ptr<Arena> arena_;
    std::vector<Leaf> history_;
    std::vector<Leaf> stack_;
    bool terminated_ = false;
};

}  // namespace schemagen
