#include "runtime/matcher.hpp"

#include <algorithm>
#include <stdexcept>

#include "util/bits.hpp"
#include "util/hash.hpp"
#include "util/shown.hpp"

namespace schemagen {

Matcher::Matcher(std::shared_ptr<Constraint> constraint)
    : constraint_(std::move(constraint)), arena_(std::make_shared<Arena>()) {
    const Work call;
    Work::lock_shared(constraint_->mutex);
    const std::shared_lock lock(constraint_->mutex, std::adopt_lock);
    history_.push_back({constraint_->automaton().start(), 0, Automaton::kNoToken});
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

// The first if that suffices: where tokens are counted, ends are searched for.
template <class Task>
auto Matcher::stepping(const Task& task) {
    return constraint_->work(!constraint_->counts_tokens, [&] { sync(); }, task);
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
    std::vector<Step> history{{automaton.start(), 0, Automaton::kNoToken}};
    for (size_t k = 1; k < history_.size(); ++k) {
        Configuration next = history.back().config;
        for (size_t at = history_[k - 1].read; at < history_[k].read; ++at) {
            poll();
            if (!automaton.step(next, static_cast<uint8_t>(text_[at]), *arena))
                throw std::logic_error("a text that was accepted is not accepted any more");
        }
        automaton.end_token(next, history_[k].token, *arena);
        settle(next, *arena);
        history.push_back(history_[k]);
        history.back().config = next;
    }
    history_ = std::move(history);
    followed_.clear();
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
        return stepping([&] {
            Scope scope(*arena_);
            return constraint_->masks().fill(config(), words, *arena_);
        });
    return making([&] {
        Scope scope(*arena_);
        const uint32_t all = constraint_->masks().fill(config(), words, *arena_);
        const std::string before = promised();
        std::string rest = before;
        const uint32_t left = constraint_->budget_masks().tighten(config(), budget, words, all, *arena_, rest);
        if (rest != before) history_.back().promised = std::make_shared<const std::string>(text_ + rest);
        return left;
    });
}

std::string Matcher::promised() const {
    const Step& step = history_.back();
    return step.promised ? step.promised->substr(step.read) : std::string();
}

uint32_t Matcher::tokens_to_finish() {
    return making([&] { return terminated_ ? 0 : constraint_->completions().tokens(config(), *arena_, promised()); });
}

uint32_t Matcher::least_bytes() {
    return making([&] { return terminated_ ? 0 : constraint_->completions().least_bytes(config()); });
}

std::string Matcher::shortest_completion() {
    return making(
        [&] { return terminated_ ? std::string() : constraint_->completions().text(config(), *arena_, promised()); });
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
        if (!possible.has(byte) || !automaton.search_step(next, byte, *arena_)) continue;
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
    if (!constraint_->counts_tokens) return run;
    run.resize(count_allowed(run));
    return run.empty() ? only_token() : run;
}

// The token that is allowed next if it is the only one, and none that ends the text.
std::vector<uint32_t> Matcher::only_token() {
    std::vector<uint32_t> words(tables().words());
    if (terminated_ || fill(words.data()) != 1) return {};
    uint32_t only = 0;
    for_each_bit(words.data(), words.size(), [&](uint32_t token) { only = token; });
    return tables().is_eos(only) ? std::vector<uint32_t>{} : std::vector{only};
}

// How many of some tokens can be accepted one after another.
size_t Matcher::count_allowed(const std::vector<uint32_t>& tokens) {
    return making([&] {
        const Scope scope(*arena_);
        Automaton& automaton = constraint_->automaton();
        Configuration at = config();
        for (size_t k = 0; k < tokens.size(); ++k) {
            for (char byte : constraint_->tables->token(tokens[k]))
                if (!automaton.step(at, static_cast<uint8_t>(byte), *arena_)) return k;
            if (!automaton.end_token(at, tokens[k], *arena_)) return k;
        }
        return tokens.size();
    });
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

bool Matcher::advance(std::string_view bytes, uint32_t token) {
    Configuration next = config();
    Scope scope(*arena_);
    for (char c : bytes) {
        poll();
        if (!constraint_->automaton().step(next, static_cast<uint8_t>(c), *arena_)) return false;
    }
    if (!constraint_->automaton().end_token(next, token, *arena_)) return false;
    settle(next, *arena_);
    scope.keep();
    text_.append(bytes);
    Step step{next, text_.size(), token};
    const Step& before = history_.back();
    if (before.promised && std::string_view(*before.promised).substr(before.read).starts_with(bytes))
        step.promised = before.promised;
    history_.push_back(std::move(step));
    return true;
}

bool Matcher::accept_token(uint32_t id) {
    return stepping([&] {
        const VocabularyTables& tables = *constraint_->tables;
        if (terminated_ || id >= tables.size()) return false;
        const bool ends = tables.is_eos(id);
        if (!tables.token(id).empty() && advance(tables.token(id), id)) {
            terminated_ = ends && constraint_->automaton().accepting(config());
            return true;
        }
        if (!ends || !constraint_->automaton().accepting(config())) return false;
        history_.push_back({config(), text_.size(), id});
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
    return stepping([&] { return !terminated_ && advance(bytes, Automaton::kNoToken); });
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
    while (!followed_.empty() && followed_.back().steps > steps()) followed_.pop_back();
    terminated_ = false;  // EOS is always the last step
}

void Matcher::reset() {
    Work call;
    WorkLock lock(constraint_->mutex);
    history_.resize(1);
    history_[0].promised.reset();
    followed_.clear();
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

// Read the steps that captures have not read yet. Every few steps the threads are kept, for texts that are rolled back.
const CaptureGrammar::Threads& Matcher::follow_captures() {
    constexpr size_t kKeptEvery = 32;
    CaptureGrammar& captures = *constraint_->captures();
    if (followed_.empty()) followed_.push_back({0, captures.start()});
    for (size_t step = followed_.back().steps; step < steps(); ++step) {
        const size_t begin = history_[step].read;
        const std::string_view bytes = std::string_view(text_).substr(begin, history_[step + 1].read - begin);
        Followed next{step + 1,
                      captures.read(followed_.back().threads, bytes, history_[step + 1].token, {begin, step}, *arena_)};
        if (followed_.back().steps % kKeptEvery == 0)
            followed_.push_back(std::move(next));
        else
            followed_.back() = std::move(next);
    }
    return followed_.back().threads;
}

std::vector<CaptureGrammar::Events> Matcher::readings(size_t skip) {
    return stepping([&] {
        if (!constraint_->captures()) return std::vector<CaptureGrammar::Events>{};
        const CaptureGrammar::Threads& threads = follow_captures();
        const Scope scope(*arena_);
        return constraint_->captures()->readings(threads, end_of_text(), skip, *arena_);
    });
}

std::optional<CaptureGrammar::Events> Matcher::whole_reading(size_t skip) {
    return stepping([&] {
        if (!constraint_->captures()) return std::optional<CaptureGrammar::Events>{};
        const CaptureGrammar::Threads& threads = follow_captures();
        const Scope scope(*arena_);
        return constraint_->captures()->whole(threads, end_of_text(), skip, *arena_);
    });
}

std::optional<double> Matcher::temperature() {
    if (!constraint_->has_temperatures()) return std::nullopt;
    return stepping([&] {
        const CaptureGrammar::Threads& threads = follow_captures();
        const Scope scope(*arena_);
        return constraint_->captures()->temperature(threads, end_of_text(), *arena_);
    });
}

std::pair<size_t, std::string> Matcher::probe(std::string_view bytes, uint32_t token) {
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
        if (Configuration next = at; read == bytes.size() && !automaton.end_token(next, token, *arena_))
            why = automaton.refusal_of_end(at, token);
        return std::pair(read, why);
    });
}

}  // namespace schemagen
