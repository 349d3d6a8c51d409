// The cursor of one sequence over a constraint.
//
// Its configurations belong to one epoch of the constraint (constraint.hpp). In a later one it reads its text again,
// step by step, before it goes on.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/constraint.hpp"

namespace schemagen {

// A bool that one thread may read while another one writes it: calls look at it before they take the mutex.
class Flag {
public:
    Flag() = default;
    Flag(const Flag& other) : value_(bool{other}) {}
    Flag& operator=(bool value) { return value_.store(value, std::memory_order_relaxed), *this; }
    Flag& operator=(const Flag& other) { return *this = bool{other}; }
    operator bool() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> value_ = false;
};

class Matcher {
public:
    explicit Matcher(std::shared_ptr<Constraint> constraint);

    static constexpr uint32_t kNoBudget = UINT32_MAX;

    // Writes ceil(V/32) words. Returns how many tokens are allowed. With a budget only those are after which the text
    // can be finished with the rest of it.
    uint32_t fill(uint32_t* words, uint32_t budget = kNoBudget);
    // Fewest tokens that the shortest text from here takes, and that text.
    uint32_t tokens_to_finish();
    std::string shortest_completion();
    uint32_t least_bytes();  // no text from here has fewer
    // The bytes that follow without any choice, at most `most`.
    std::string forced_bytes(size_t most);
    // Tokens that spell the forced bytes, the longest first; all of them can be accepted.
    std::vector<uint32_t> forced_run(size_t most);
    // A number for the current place: the same for texts with the same continuations. 0 if that depends on the text.
    uint64_t place();
    bool accept_token(uint32_t id);
    bool accept_bytes(std::string_view bytes);
    bool accepting();
    bool terminated() const { return terminated_; }
    void rollback(size_t count);
    void reset();
    Matcher fork();
    size_t steps() const { return history_.size() - 1; }
    // How many bytes of the token can be read from here, and why not the next one, or why it cannot end; empty if it
    // can. Where the labelled parts are (captures.hpp): the events of each reading of the text so far; of the best one
    // of the whole text, nothing if it may not end; without the first `skip` events.
    std::vector<CaptureGrammar::Events> readings(size_t skip);
    std::optional<CaptureGrammar::Events> whole_reading(size_t skip);
    std::optional<double> temperature();
    const std::string& label(uint32_t number) const { return constraint_->labels().at(number); }
    std::pair<size_t, std::string> probe(std::string_view bytes, uint32_t token = Automaton::kNoToken);
    const VocabularyTables& tables() const { return *constraint_->tables; }
    const std::shared_ptr<Constraint>& constraint() const { return constraint_; }
    // For callers that hold the mutex of the constraint: the text, and its configuration in an epoch, or nullptr if it
    // is of another one.
    const std::string& text() const { return text_; }
    const Configuration* config_in(uint64_t epoch) const { return epoch == epoch_ ? &config() : nullptr; }

private:
    const Configuration& config() const { return history_.back().config; }
    // Do work that reads the shared automata and may have to make something new in them, or much that is new.
    template <class Task>
    auto reading(const Task& task);
    const CaptureGrammar::Threads& follow_captures();
    CaptureGrammar::Place end_of_text() const { return {text_.size(), steps() - (terminated_ ? 1 : 0)}; }  // before EOS
    template <class Task>
    auto stepping(const Task& task);
    template <class Task>
    auto making(const Task& task);
    void sync();
    void settle(Configuration& config, Arena& arena);
    bool advance(std::string_view bytes, uint32_t token);
    std::optional<uint8_t> step_if_forced(Configuration& at);
    std::vector<uint32_t> only_token();
    size_t count_allowed(const std::vector<uint32_t>& tokens);

    std::shared_ptr<Constraint> constraint_;
    std::vector<std::shared_ptr<const Arena>> shared_;  // frames of the matchers this one was forked from
    std::shared_ptr<Arena> arena_;
    struct Step {
        Configuration config;
        size_t read;     // bytes of the text
        uint32_t token;  // that led here; Automaton::kNoToken for a text
        // The text so far and a way to its end, which a mask within a budget was reduced to at an earlier step; null if
        // none was, or if the text went on in another way.
        std::shared_ptr<const std::string> promised = nullptr;
    };
    std::string promised() const;  // the rest of that text
    std::vector<Step> history_;
    // What captures have read: the threads after some steps.
    struct Followed {
        size_t steps;
        CaptureGrammar::Threads threads;
    };
    std::vector<Followed> followed_;
    std::string text_;
    uint64_t epoch_ = 0;  // that the configurations belong to
    Flag terminated_;
};

}  // namespace schemagen
