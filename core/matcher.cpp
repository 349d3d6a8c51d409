#include "matcher.hpp"

#include <algorithm>
#include <stdexcept>

#include "hash.hpp"

namespace schemagen {

Matcher::Matcher(std::shared_ptr<Constraint> constraint) : constraint_(std::move(constraint)), arena_(std::make_shared<Arena>()) {
    Exclusive guard(*constraint_);
    history_.push_back({constraint_->automaton->start(), 0});
}

namespace {

// Frames made meanwhile are gone in the end, however it comes, unless they are kept.
class Scope {
public:
    explicit Scope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
    ~Scope() {
        if (!kept_) arena_.release(mark_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    void keep() { kept_ = true; }

private:
    Arena& arena_;
    Arena::Mark mark_;
    bool kept_ = false;
};

}  // namespace

template <class Task>
auto Matcher::at_work(const Task& task) {
    Work call(constraint_->budget.max_seconds);
    WorkLock lock(constraint_->mutex);
    try {
        Reading reading(*constraint_->languages, constraint_->budget);
        return task();
    } catch (const NotKnown&) {
        // Once more, with everything to itself.
    }
    Guard guard(*constraint_->languages, &constraint_->budget);
    return task();
}

uint32_t Matcher::fill(uint32_t* words, uint32_t budget) {
    uint32_t allowed = 0;
    Work call(constraint_->budget.max_seconds);
    {
        Work::lock_shared(constraint_->mutex);
        std::shared_lock lock(constraint_->mutex, std::adopt_lock);
        bool far = budget == kNoBudget || constraint_->completions.is_far(leaf(), budget);
        if (far && constraint_->masks.fill_known(leaf(), words, allowed)) return allowed;
    }
    if (budget == kNoBudget)
        return at_work([&] {
            Scope scope(*arena_);
            return constraint_->masks.fill(leaf(), words, *arena_);
        });
    Exclusive guard(*constraint_);
    Scope scope(*arena_);
    allowed = constraint_->masks.fill(leaf(), words, *arena_);
    return constraint_->completions.tighten(leaf(), budget, words, allowed, *arena_);
}

uint32_t Matcher::tokens_to_finish() {
    Exclusive guard(*constraint_);
    return terminated_ ? 0 : constraint_->completions.tokens(leaf(), *arena_);
}

uint32_t Matcher::least_bytes() {
    Exclusive guard(*constraint_);
    return terminated_ ? 0 : constraint_->completions.least_bytes(leaf());
}

std::string Matcher::shortest_completion() {
    Exclusive guard(*constraint_);
    return terminated_ ? std::string() : constraint_->completions.text(leaf(), *arena_);
}

std::string Matcher::forced_bytes(size_t most) {
    std::string forced;
    if (terminated_) return forced;
    Exclusive guard(*constraint_);
    Automaton& automaton = *constraint_->automaton;
    Arena::Mark start = arena_->mark();
    Leaf at = leaf();
    while (forced.size() < most && !automaton.accepting(at)) {
        const ByteSet possible = automaton.next_bytes(at);
        Leaf only;
        uint8_t byte = 0;
        size_t ways = 0;
        for (unsigned b = 0; b < 256 && ways < 2; ++b) {
            if (!possible.has(static_cast<uint8_t>(b))) continue;
            Leaf next = at;
            if (!automaton.step(next, static_cast<uint8_t>(b), *arena_)) continue;
            if (ways++ == 0) only = next, byte = static_cast<uint8_t>(b);
        }
        if (ways != 1) break;
        forced.push_back(static_cast<char>(byte));
        at = only;
    }
    arena_->release(start);
    return forced;
}

std::vector<uint32_t> Matcher::forced_run(size_t most) {
    std::vector<uint32_t> run;
    const std::string text = forced_bytes(most);
    const Trie& trie = constraint_->tables->all();
    for (size_t begin = 0, end; begin < text.size(); begin = end) {
        end = begin;
        uint32_t longest = 0;
        for (auto [at, node] = std::pair(begin, trie.root()); at < text.size(); ++at) {
            node = trie.child_of(node, static_cast<uint8_t>(text[at]));
            if (node == Trie::kNone) break;
            if (auto tokens = trie.tokens_at(node); !tokens.empty()) longest = tokens.front(), end = at + 1;
        }
        if (end == begin) break;
        run.push_back(longest);
    }
    return run;
}

uint64_t Matcher::place() {
    Exclusive guard(*constraint_);
    std::vector<uint64_t> key;
    if (terminated_ || !constraint_->automaton->identity(leaf(), true, key)) return 0;
    uint64_t hash = key.size();
    for (uint64_t part : key) hash = mix(hash, part);
    return hash | 1;
}

bool Matcher::advance(std::string_view bytes) {
    Leaf next = leaf();
    Scope scope(*arena_);
    for (char c : bytes) {
        poll();
        if (!constraint_->automaton->step(next, static_cast<uint8_t>(c), *arena_)) return false;
    }
    constraint_->automaton->settle(next, *arena_);
    scope.keep();
    text_.append(bytes);
    history_.push_back({next, text_.size()});
    return true;
}

bool Matcher::accept_token(uint32_t id) {
    return at_work([&] {
        const VocabularyTables& tables = *constraint_->tables;
        if (terminated_ || id >= tables.size()) return false;
        if (std::find(tables.eos().begin(), tables.eos().end(), id) != tables.eos().end()) {
            if (!constraint_->automaton->accepting(leaf())) return false;
            history_.push_back({leaf(), text_.size()});
            return terminated_ = true;
        }
        return !tables.token(id).empty() && advance(tables.token(id));
    });
}

bool Matcher::accept_bytes(std::string_view bytes) {
    return at_work([&] { return !terminated_ && advance(bytes); });
}

bool Matcher::accepting() {
    return at_work([&] { return constraint_->automaton->accepting(leaf()); });
}

void Matcher::rollback(size_t count) {
    Work call;
    WorkLock lock(constraint_->mutex);
    if (count > steps()) throw std::out_of_range("more steps than were accepted");
    if (count == 0) return;
    history_.resize(history_.size() - count);
    text_.resize(history_.back().read);
    terminated_ = false;  // EOS is always the last step
}

void Matcher::reset() {
    Work call;
    WorkLock lock(constraint_->mutex);
    history_.resize(1);
    text_.clear();
    terminated_ = false;
    shared_.clear();
    if (arena_.use_count() == 1)
        arena_->release({0, 0});
    else
        arena_ = std::make_shared<Arena>();
}

Matcher Matcher::fork() {
    Work call;
    WorkLock lock(constraint_->mutex);
    Matcher copy(*this);
    copy.shared_.push_back(arena_);
    copy.arena_ = std::make_shared<Arena>();
    return copy;
}

std::pair<size_t, std::string> Matcher::probe(std::string_view bytes) {
    Exclusive guard(*constraint_);
    Leaf at = leaf();
    Arena::Mark mark = arena_->mark();
    size_t read = 0;
    std::string why;
    for (; read < bytes.size(); ++read) {
        Leaf next = at;
        const auto byte = static_cast<uint8_t>(bytes[read]);
        if (!constraint_->automaton->step(next, byte, *arena_)) {
            why = constraint_->automaton->refusal(at, byte, text_ + std::string(bytes.substr(0, read)), *arena_);
            break;
        }
        at = next;
    }
    arena_->release(mark);
    return {read, why};
}

}  // namespace schemagen
