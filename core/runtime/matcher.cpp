#include "runtime/matcher.hpp"

#include <algorithm>
#include <stdexcept>

#include "util/hash.hpp"
#include "util/shown.hpp"

namespace schemagen {

Matcher::Matcher(std::shared_ptr<Constraint> constraint)
    : constraint_(std::move(constraint)), arena_(std::make_shared<Arena>()) {
    const Work call;
    Work::lock_shared(constraint_->mutex);
    const std::shared_lock lock(constraint_->mutex, std::adopt_lock);
    history_.push_back({constraint_->automaton().start(), 0});
    epoch_ = constraint_->epoch();
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
auto Matcher::reading(const Task& task) {
    return constraint_->work(true, [&] { sync(); }, task);
}

template <class Task>
auto Matcher::making(const Task& task) {
    return constraint_->work(false, [&] { sync(); }, task);
}

// All of it or nothing: reading the text may come to a limit, too.
void Matcher::sync() {
    if (epoch_ == constraint_->epoch()) return;
    Automaton& automaton = constraint_->automaton();
    auto arena = std::make_shared<Arena>();
    std::vector<Step> history{{automaton.start(), 0}};
    for (size_t k = 1; k < history_.size(); ++k) {
        Configuration next = history.back().config;
        for (size_t at = history_[k - 1].read; at < history_[k].read; ++at) {
            poll();
            if (!automaton.step(next, static_cast<uint8_t>(text_[at]), *arena))
                throw std::logic_error("a text that was accepted is not accepted any more");
        }
        settle(next, *arena);
        history.push_back({next, history_[k].read});
    }
    history_ = std::move(history);
    arena_ = std::move(arena);
    shared_.clear();
    epoch_ = constraint_->epoch();
}

uint32_t Matcher::fill(uint32_t* words, uint32_t budget) {
    uint32_t allowed = 0;
    Work call(constraint_->budget.max_seconds);
    {
        Work::lock_shared(constraint_->mutex);
        std::shared_lock lock(constraint_->mutex, std::adopt_lock);
        if (epoch_ == constraint_->epoch()) {
            bool far = budget == kNoBudget || constraint_->budget_masks().is_far(config(), budget);
            if (far && constraint_->masks().fill_known(config(), words, allowed)) return allowed;
        }
    }
    if (budget == kNoBudget)
        return reading([&] {
            Scope scope(*arena_);
            return constraint_->masks().fill(config(), words, *arena_);
        });
    return making([&] {
        Scope scope(*arena_);
        const uint32_t all = constraint_->masks().fill(config(), words, *arena_);
        return constraint_->budget_masks().tighten(config(), budget, words, all, *arena_);
    });
}

uint32_t Matcher::tokens_to_finish() {
    return making([&] { return terminated_ ? 0 : constraint_->completions().tokens(config(), *arena_); });
}

uint32_t Matcher::least_bytes() {
    return making([&] { return terminated_ ? 0 : constraint_->completions().least_bytes(config()); });
}

std::string Matcher::shortest_completion() {
    return making([&] { return terminated_ ? std::string() : constraint_->completions().text(config(), *arena_); });
}

std::string Matcher::forced_bytes(size_t most) {
    if (terminated_) return {};
    return making([&] {
        std::string forced;
        const Scope scope(*arena_);
        Configuration at = config();
        while (forced.size() < most && !constraint_->automaton().accepting(at)) {
            const std::optional<uint8_t> byte = step_if_forced(at);
            if (!byte) break;
            forced.push_back(static_cast<char>(*byte));
        }
        return forced;
    });
}

// Read the one byte that can follow, if there is only one.
std::optional<uint8_t> Matcher::step_if_forced(Configuration& at) {
    Automaton& automaton = constraint_->automaton();
    const ByteSet possible = automaton.next_bytes(at);
    Configuration only;
    std::optional<uint8_t> found;
    for (unsigned b = 0; b < 256; ++b) {
        const auto byte = static_cast<uint8_t>(b);
        Configuration next = at;
        if (!possible.has(byte) || !automaton.step(next, byte, *arena_)) continue;
        if (found) return std::nullopt;
        only = next;
        found = byte;
    }
    if (found) at = only;
    return found;
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
        if (end == begin || constraint_->tables->is_eos(longest)) break;
        run.push_back(longest);
    }
    return run;
}

uint64_t Matcher::place() {
    return making([&]() -> uint64_t {
        std::vector<uint64_t> key;
        if (terminated_ || !constraint_->automaton().identity(config(), true, key)) return 0;
        uint64_t hash = mix(key.size(), epoch_);
        for (uint64_t part : key) hash = mix(hash, part);
        return hash | 1;
    });
}

void Matcher::settle(Configuration& config, Arena& arena) {
    if (ContainerView* view = constraint_->automaton().facets().containers) view->settle(config, arena);
}

bool Matcher::advance(std::string_view bytes) {
    Configuration next = config();
    Scope scope(*arena_);
    for (char c : bytes) {
        poll();
        if (!constraint_->automaton().step(next, static_cast<uint8_t>(c), *arena_)) return false;
    }
    settle(next, *arena_);
    scope.keep();
    text_.append(bytes);
    history_.push_back({next, text_.size()});
    return true;
}

bool Matcher::accept_token(uint32_t id) {
    return reading([&] {
        const VocabularyTables& tables = *constraint_->tables;
        if (terminated_ || id >= tables.size()) return false;
        const bool ends = tables.is_eos(id);
        if (!tables.token(id).empty() && advance(tables.token(id))) {
            terminated_ = ends && constraint_->automaton().accepting(config());
            return true;
        }
        if (!ends || !constraint_->automaton().accepting(config())) return false;
        history_.push_back({config(), text_.size()});
        terminated_ = true;
        return true;
    });
}

// A mark is not text: the token itself has to be accepted.
bool Matcher::accept_bytes(std::string_view bytes) {
    const bool marked = tables().has_marks() && std::any_of(bytes.begin(), bytes.end(), [](char byte) {
                            return is_mark(static_cast<uint8_t>(byte));
                        });
    if (marked) return false;
    return reading([&] { return !terminated_ && advance(bytes); });
}

bool Matcher::accepting() {
    return reading([&] { return constraint_->automaton().accepting(config()); });
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
    return making([&] {
        const Scope scope(*arena_);
        Automaton& automaton = constraint_->automaton();
        Configuration at = config();
        size_t read = 0;
        std::string why;
        for (; read < bytes.size(); ++read) {
            Configuration next = at;
            const auto byte = static_cast<uint8_t>(bytes[read]);
            if (!automaton.step(next, byte, *arena_)) {
                const std::string text = text_ + std::string(bytes.substr(0, read));
                why = automaton.refusal(at, byte, text, *arena_);
                if (automaton.facets().has_lines) why.insert(0, "at " + line_and_column(text) + ", ");
                break;
            }
            at = next;
        }
        return std::pair(read, why);
    });
}

}  // namespace schemagen
