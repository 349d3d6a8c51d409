#include "masks/completion.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "automata/token_walk.hpp"
#include "util/bits.hpp"
#include "util/hash.hpp"
#include "util/limits.hpp"

namespace schemagen {

namespace {

constexpr uint32_t kMostSteps = 50'000;         // of one search; a step takes about 1 us
constexpr uint32_t kStepsPerByte = 16;          // and for each byte of the text so far: a long way is not wrong
constexpr uint32_t kMostGreedySteps = 300'000;  // of both, where the nearest end is not sought but some near one
constexpr uint64_t kMostWork = 100'000;         // steps of all searches for one mask, except that from its place
constexpr uint32_t kStepsOfLimit = 2'000;       // that a step counts for which a limit has stopped
constexpr uint32_t kMostBytes = 200'000;        // of a text
constexpr size_t kMostKnown = 400'000;          // configurations
constexpr uint32_t kWide = 512;                 // tokens to the end from which on each place is one of its own
constexpr uint32_t kSlack = 64;  // tokens by which one token may raise the need, where the exact need is not computed

// Where much is left, hardly any two places are the same, so the results of one search do not help another. So the text
// is written out, if it can be told.
bool is_wide(uint32_t most) { return most < Automaton::kFar && most > kWide; }

}  // namespace

Completions::Completions(Automaton& automaton, const VocabularyTables& tables, StringMasks& strings)
    : automaton_(automaton),
      guide_(guide_of(automaton)),
      tables_(tables),
      strings_(strings),
      string_view_(automaton.facets().strings) {}

// Asked for when it is needed: most grammars never search, and reading the roots of a large trie takes a while.
void Completions::prepare() {
    if (spelling_) return;
    spelling_.emplace(tables_);
    longest_ = std::max(tables_.longest_token(), 1u);
    guide_.settle_shortest([this](const std::string& text) { return spelling_->count(text); });
    growth_ = guide_.growth(tables_.most_brackets());
}

// ---- configurations -------------------------------------------------------------------------------------------------

uint32_t Completions::id_of(const Configuration& config) {
    scratch_.clear();
    if (!automaton_.identity(config, false, scratch_)) return kNone;
    const uint32_t id = keys_.find(scratch_);
    if (id != KeyTable::kNone) return id;
    known_.emplace_back();
    return keys_.add(scratch_);
}

// A lower bound of the bytes to the end.
uint32_t Completions::bound(const Configuration& config, uint32_t id) {
    if (id != kNone && known_[id].lower) return known_[id].lower;
    if (automaton_.accepting(config)) {
        if (id != kNone) known_[id].upper = known_[id].tokens = 0;
        return 0;
    }
    uint32_t least = std::max(automaton_.min_bytes(config), 1u);
    if (id != kNone) known_[id].lower = least;
    return least;
}

// ---- the search -----------------------------------------------------------------------------------------------------

// The configuration after a byte. Fails if that is more than one text may ask for: an unread byte leads to no end.
bool Completions::step(Configuration& config, uint8_t byte, Arena& arena) {
    try {
        if (!automaton_.step(config, byte, arena)) return false;
        if (!automaton_.accepting(config)) automaton_.min_bytes(config);  // may make alternatives, too
        return true;
    } catch (const LimitExceeded& error) {
        if (error.worn || error.limit == Limit::kSeconds) throw;
        steps_ += kStepsOfLimit;
        gave_up_ = true;
        return false;
    }
}

// Bytes after which the end may be within `limit`. A guide that is right all the way tells them without a read.
ByteSet Completions::bytes_to_try(const Configuration& config, uint32_t limit) {
    std::optional<ByteSet> bytes;
    if (automaton_.min_bytes(config) == limit) bytes = guide_.nearer_bytes(config);
    if (bytes) overshoot_ = 1;  // of the others, perhaps
    if (!bytes) bytes = automaton_.next_bytes(config);
    for (size_t w = 0; w < 4; ++w) bytes->words[w] &= spelling_->bytes().words[w];
    return *bytes;
}

// Depth first, bytes in order, no further than `limit` bytes: at the least limit this finds the first shortest text.
Completions::Found Completions::search(const Configuration& start, uint32_t limit, Arena& arena) {
    overshoot_ = Automaton::kFar;
    levels_.clear();
    uint32_t left = 0;  // bytes after the configuration that the search ends at
    auto enter = [&](const Configuration& config, uint32_t most, const Arena::Mark& mark) {
        uint32_t id = id_of(config), least = bound(config, id);
        if (least > most) {
            overshoot_ = std::min(overshoot_, least - most);
            arena.release(mark);
            return false;
        }
        levels_.push_back({config, id, most, 0, {}, mark});
        left = least == 0 ? 0 : id != kNone ? known_[id].upper : Automaton::kFar;
        if (left <= most) return true;
        levels_.back().bytes = bytes_to_try(config, most);
        return false;
    };
    bool found = enter(start, limit, arena.mark());
    while (!found && !levels_.empty()) {
        Level& level = levels_.back();
        while (level.next < 256 && !level.bytes.has(static_cast<uint8_t>(level.next))) ++level.next;
        if (level.next >= 256) {
            if (level.id != kNone) known_[level.id].lower = std::max(known_[level.id].lower, level.limit + 1);
            arena.release(level.mark);
            levels_.pop_back();
            continue;
        }
        poll();
        if (++steps_ > kMostSteps / guide_.step_cost() + kStepsPerByte * levels_.size()) return Found::kTooFar;
        Arena::Mark mark = arena.mark();
        Configuration next = level.config;
        if (step(next, static_cast<uint8_t>(level.next++), arena))
            found = enter(next, level.limit - 1, mark);
        else
            arena.release(mark);
    }
    if (!found) return Found::kNone;
    keep_path(left);
    return Found::kYes;
}

// Note the way in `levels_`; from its end there are `left` more bytes.
void Completions::keep_path(uint32_t left) {
    path_.clear();
    for (const Level& level : levels_) path_.push_back(static_cast<char>(level.next - 1));
    path_.pop_back();  // the last one was not left
    for (size_t depth = path_.size(); depth-- > 0;) {
        ++left;
        if (levels_[depth].id == kNone) continue;
        Known& known = known_[levels_[depth].id];
        if (known.upper <= left || is_settled(levels_[depth].id)) continue;
        if (known.tokens == kNever) known.tokens = kUnasked;
        known.upper = left;
        known.byte = static_cast<uint8_t>(path_[depth]);
    }
}

// The configurations that `greedy_search` has still to try. Every other turn takes the most promising one; the turns
// between go round the types: configurations in one container, of one kind, and equally far from the end. So a plateau
// of the guide with thousands of configurations, such as the digits of a useless number, does not hide the few that
// lead out of it.
class Completions::Open {
public:
    void push(uint32_t node, const Configuration& config, uint32_t bytes, uint32_t guide) {
        best_.push({guide, bytes, node});
        const uint64_t key = mix(mix(reinterpret_cast<uintptr_t>(config.frame), config.mode), guide);
        const auto [at, is_new] = type_of_.try_emplace(key, types_.size());
        if (is_new) types_.emplace_back();
        if (types_[at->second].empty()) turns_.push_back(at->second);
        types_[at->second].push_back(node);
        taken_.push_back(false);
        ++left_;
    }
    bool is_left() const { return left_ > 0; }
    // The next one, or kNone if the queue is empty.
    uint32_t pop() {
        if (left_ == 0) return kNone;
        uint32_t node;
        do {
            by_promise_ = !by_promise_;
            node = by_promise_ ? most_promising() : of_next_type();
        } while (taken_[node]);
        taken_[node] = true;
        --left_;
        return node;
    }

private:
    struct Promise {
        uint32_t guide, bytes, node;
        bool operator<(const Promise& other) const {  // the nearest to its end comes first, then the shortest
            return std::tie(guide, bytes, node) > std::tie(other.guide, other.bytes, other.node);
        }
    };
    uint32_t most_promising() {
        const uint32_t node = best_.top().node;
        best_.pop();
        return node;
    }
    uint32_t of_next_type() {
        const size_t type = turns_.front();
        turns_.pop_front();
        const uint32_t node = types_[type].front();
        types_[type].pop_front();
        if (!types_[type].empty()) turns_.push_back(type);
        return node;
    }

    std::priority_queue<Promise> best_;
    std::vector<std::deque<uint32_t>> types_;
    std::deque<size_t> turns_;  // types that have something left, the next one first
    std::unordered_map<uint64_t, size_t> type_of_;
    std::vector<bool> taken_;  // [node], from both queues
    size_t left_ = 0;
    bool by_promise_ = false;
};

// Some way to the end, not necessarily the shortest: greedy best-first search with type-based exploration (Xie et al.
// 2014). It is guided by the automaton, and not by earlier searches, which know more, but only about the places that
// they reached.
bool Completions::greedy_search(const Configuration& start, Arena& arena) {
    Open open;
    std::unordered_set<uint32_t> seen;
    std::vector<Reached> reached;
    auto enter = [&](const Configuration& config, uint32_t from, uint8_t byte) {
        const uint32_t id = id_of(config);
        if (id != kNone && !seen.insert(id).second) return false;
        const uint32_t bytes = from == kNone ? 0 : reached[from].bytes + 1,
                       guide = automaton_.accepting(config) ? 0 : automaton_.min_bytes(config);
        if (bytes > kMostBytes || guide >= Automaton::kFar) return false;
        open.push(static_cast<uint32_t>(reached.size()), config, bytes, guide);
        reached.push_back({config, id, from, bytes, byte});
        return true;
    };
    enter(start, kNone, 0);
    for (uint32_t node; steps_ < kMostGreedySteps / guide_.step_cost() && (node = open.pop()) != kNone;) {
        const Configuration config = reached[node].config;
        if (automaton_.accepting(config)) return keep_way_to(reached, node), true;
        const ByteSet bytes = automaton_.next_bytes(config);
        for (unsigned byte = 0; byte < 256; ++byte) {
            if (!bytes.has(static_cast<uint8_t>(byte)) || !spelling_->bytes().has(static_cast<uint8_t>(byte))) continue;
            poll();
            ++steps_;
            Arena::Mark before = arena.mark();
            Configuration next = config;
            if (!step(next, static_cast<uint8_t>(byte), arena) || !enter(next, node, static_cast<uint8_t>(byte)))
                arena.release(before);
        }
    }
    gave_up_ = gave_up_ || open.is_left();
    return false;
}

// Note the way from the start to an end that was reached.
void Completions::keep_way_to(const std::vector<Reached>& reached, uint32_t node) {
    levels_.clear();
    uint32_t next = 0;  // any: no byte is read after the end
    for (; node != kNone; next = reached[node].byte + 1u, node = reached[node].from)
        levels_.push_back({reached[node].config, reached[node].id, 0, next, {}, {}});
    std::reverse(levels_.begin(), levels_.end());
    keep_path(0);
}

// Find a way to the end: `path_`, then the known rest of the configuration it leads to.
bool Completions::complete(const Configuration& config, Arena& arena) {
    path_.clear();
    uint32_t id = id_of(config);
    if (id != kNone && known_[id].upper < Automaton::kFar) return true;
    if (work_ == 0) return false;
    steps_ = 0;
    Arena::Mark mark = arena.mark();
    bool found = false;
    try {
        uint32_t limit = bound(config, id);
        gave_up_ = limit >= kMostBytes && limit < Automaton::kFar;
        for (; limit < kMostBytes; limit += overshoot_) {
            Found result = search(config, limit, arena);
            found = result == Found::kYes || (result == Found::kTooFar && greedy_search(config, arena));
            if (result != Found::kNone) break;
        }
    } catch (const LimitExceeded& error) {
        // The search may not make more states, in a grammar that was new: then there is no guarantee, and no harm.
        if (error.worn || error.limit == Limit::kSeconds) throw;
        gave_up_ = true;
    }
    arena.release(mark);
    spend(steps_);
    return found;
}

// The text from here to the end, and the configurations on its way. A configuration whose tokens were counted keeps its
// text, even if a shorter one is found later: counts of texts that lead to it include these tokens. For the same reason
// the known rest of a configuration takes precedence over the way on which it was met. Unless the `whole` text is
// wanted it ends at the first configuration with a known rest; the id of that one is then the last.
bool Completions::follow(const Configuration& config, Arena& arena, std::string& text, std::vector<uint32_t>& ids,
                         bool whole) {
    Configuration at = config;
    auto go = [&](uint8_t byte) {
        text.push_back(static_cast<char>(byte));
        return automaton_.step(at, byte, arena);
    };
    while (!automaton_.accepting(at)) {
        if (text.size() > kMostBytes) return gave_up_ = true, false;
        if (!complete(at, arena)) return false;
        if (path_.empty()) {
            ids.push_back(id_of(at));
            if (!whole && is_noted(ids.back())) return true;
            if (!go(known_[ids.back()].byte)) return false;
        } else {
            for (char byte : std::string(path_)) {
                const uint32_t id = id_of(at);
                if (is_settled(id) || (id != kNone && known_[id].byte != static_cast<uint8_t>(byte))) break;
                ids.push_back(id);
                if (!go(static_cast<uint8_t>(byte))) return false;
            }
        }
    }
    ids.push_back(id_of(at));
    if (ids.back() != kNone) known_[ids.back()].upper = known_[ids.back()].tokens = 0;
    return true;
}

// Whether so much of the rest is noted as one token may have.
bool Completions::is_noted(uint32_t id) const {
    for (uint32_t bytes = 0; bytes < longest_; ++bytes, id = known_[id].next) {
        if (!is_settled(id)) return false;
        if (known_[id].tokens == 0) return true;
    }
    return is_settled(id);
}

// [k]: the fewest tokens of the text from byte k on, and of the rest that is noted of the configuration it leads to.
std::vector<uint32_t> Completions::count_tokens(std::string& text, uint32_t id) const {
    std::vector<uint32_t> suffix;
    for (uint32_t bytes = 0; id != kNone; id = known_[id].next) {
        suffix.push_back(known_[id].tokens);
        if (known_[id].tokens == 0 || bytes++ == longest_) break;
        text.push_back(static_cast<char>(known_[id].byte));
    }
    return spelling_->fewest_tokens(text, suffix);
}

std::string Completions::text(const Configuration& config, Arena& arena) {
    make_room();
    std::string out = completion_text(config, arena);
    if (out.empty() && gave_up_ && !automaton_.accepting(config)) throw LimitExceeded(Limit::kCompletion, steps_, kMostBytes);
    return out;
}

std::string Completions::completion_text(const Configuration& config, Arena& arena) {
    std::string out;
    if (automaton_.accepting(config) || (is_wide(most(config)) && guide_.write_shortest(config, out))) return out;
    out.clear();
    std::vector<uint32_t> ids;
    Arena::Mark mark = arena.mark();
    if (!follow(config, arena, out, ids, true)) out.clear();
    arena.release(mark);
    return out;
}

uint32_t Completions::tokens(const Configuration& config, Arena& arena) {
    make_room();
    return needed(config, arena);
}

uint32_t Completions::needed(const Configuration& config, Arena& arena) {
    if (automaton_.accepting(config)) return 0;
    uint32_t id = id_of(config);
    if (id != kNone && known_[id].tokens != kUnasked) return known_[id].tokens;
    std::string text;
    if (work_ > 0 && is_wide(most(config)) && guide_.write_shortest(config, text)) {
        spend(text.size());
        const uint32_t told = spelling_->fewest_tokens(text)[0];
        if (id != kNone) known_[id].tokens = told;
        return told;
    }
    text.clear();
    std::vector<uint32_t> ids;
    Arena::Mark mark = arena.mark();
    bool found = follow(config, arena, text, ids, false);
    arena.release(mark);
    spend(text.size());
    if (!found) {
        if (id != kNone && work_ > 0) known_[id].tokens = kNever;
        return kNever;
    }
    const size_t size = text.size();
    const std::vector<uint32_t> fewest = count_tokens(text, ids.back());
    for (size_t k = 0; k < size; ++k) {
        if (ids[k] == kNone || known_[ids[k]].tokens != kUnasked) continue;
        known_[ids[k]].tokens = fewest[k];
        known_[ids[k]].next = ids[k + 1];
    }
    return fewest[0];
}

// ---- masks ----------------------------------------------------------------------------------------------------------

// The tokens needed, if they are known to be at most `budget`; else kNever. It only searches for an end where the bytes
// to the nearest one leave that open. With no work left for a search, a token is allowed if it leaves `kSlack` tokens
// more than bytes.
uint32_t Completions::need_within(const Configuration& config, uint32_t budget, Arena& arena) {
    if (automaton_.accepting(config)) return 0;
    const uint32_t id = id_of(config);
    if (is_settled(id)) return known_[id].tokens;
    const uint32_t least = bound(config, id);
    if (least > uint64_t{budget} * longest_) return kNever;
    const uint32_t need = work_ > 0 ? needed(config, arena) : kNever;
    if (need != kNever || work_ > 0) return need;
    return least + kSlack <= budget ? budget : kNever;
}

// Keep the tokens after which the rest fits. Returns whether they could be determined.
bool Completions::keep_fitting(const Configuration& config, uint32_t budget, Arena& arena, uint32_t* kept) {
    uint32_t most = 0;
    const bool is_sure = each_need(
        tables_.all(), config, arena, nullptr,
        [&](const Configuration& next) { return need_within(next, budget - 1, arena); },
        [&](const Tokens& tokens, uint32_t need) {
            most = std::max(most, need);
            if (need < budget) tokens.add_to(kept, tables_.words());
        });
    const uint32_t id = id_of(config);
    if (is_sure && most < budget && id != kNone) known_[id].max_tokens_needed = most + 1;
    return is_sure;
}

// The same of a mask, but with the exact need of each token, whatever the budget, so that the result can be cached.
bool Completions::keep_needed(const Configuration& config, uint32_t budget, Arena& arena, const uint32_t* mask,
                              uint32_t* kept) {
    uint32_t most = 0;
    const bool is_sure = each_need(
        tables_.all(), config, arena, mask, [&](const Configuration& next) { return needed(next, arena); },
        [&](const Tokens& tokens, uint32_t need) {
            most = std::max(most, std::min(need, kUnknown - 2));
            if (need < budget) tokens.add_to(kept, tables_.words());
        });
    const uint32_t id = id_of(config);
    if (is_sure && id != kNone && takes_most(config, arena))
        known_[id].max_tokens_needed = most + 1, known_[id].exact = true;
    return is_sure;
}

// Whether the search for the tokens needed after each of its tokens took too long.
bool Completions::is_given_up(const Configuration& config) {
    const uint32_t id = id_of(config);
    return id != kNone && known_[id].exact && known_[id].max_tokens_needed == kUnknown;
}

bool Completions::Tokens::among(const uint32_t* allowed, size_t size) const {
    if (!words) return std::any_of(list.begin(), list.end(), [&](uint32_t token) { return has_bit(allowed, token); });
    for (size_t w = 0; w < size; ++w)
        if (words[w] & allowed[w]) return true;
    return false;
}

void Completions::Tokens::add_to(uint32_t* allowed, size_t size) const {
    for (uint32_t token : list) set_bit(allowed, token);
    for (size_t w = 0; words && w < size; ++w) allowed[w] |= words[w];
}

// Visit every readable token with the number of tokens needed after it, as computed by `ask`; with `among`, only the
// tokens of that mask have to be visited. Tokens that stay inside a string are grouped by where they end. Returns false
// if that took too long: for some tokens the number is then unknown.
template <class Ask, class Visit>
bool Completions::each_need(const Trie& trie, const Configuration& config, Arena& arena, const uint32_t* among,
                            const Ask& ask, const Visit& visit) {
    Configuration last;
    uint32_t need = kUnasked;
    work_ = kMostWork;
    walk_tokens(
        automaton_, trie, config, arena,
        [&](uint32_t node, const Configuration& next) {
            if (need == kUnasked || next.frame != config.frame || !same_place(last, next)) need = ask(next);
            visit(Tokens{trie.tokens_at(node)}, need);
            last = next;
            if (next.frame != config.frame) need = kUnasked;  // its frames go with the next step
        },
        [&](uint32_t node, const Configuration& at, size_t depth) {
            return &trie == &tables_.all() && each_class(node, at, depth, arena, among, ask, visit);
        });
    return std::exchange(work_, kNoLimit) > 0;
}

// The same of the tokens below a node of the trie, by classes: false, if it did not lead into a string.
template <class Ask, class Visit>
bool Completions::each_class(uint32_t node, const Configuration& config, size_t depth, Arena& arena,
                             const uint32_t* among, const Ask& ask, const Visit& visit) {
    constexpr size_t kFew = 16;
    const Trie& trie = tables_.all();
    if (!string_view_ || (node != trie.root() && trie.tokens_below(node).size() < kFew)) return false;
    const StringBody body = string_view_->free_of_text(config);
    if (!body.state) return false;
    const auto rest = strings_.rest(body.state, node, depth, tables_);
    for (const StringClass& one : rest->inner) {
        const Tokens tokens{one.tokens, one.words.empty() ? nullptr : one.words.data()};
        Configuration next = config;
        if ((among && !tokens.among(among, tables_.words())) || !string_view_->go_on(next, one.state, one.chars))
            continue;
        poll();
        visit(tokens, ask(next));
    }
    std::vector<uint64_t> key, read;  // of the place after the quote
    for (const StringExit& exit : rest->exits) {
        auto comes = [&](const auto& pair) { return !among || has_bit(among, pair.second); };
        if (std::none_of(exit.tails.begin(), exit.tails.end(), comes)) continue;
        if (body.key) {
            each_key_closing(exit, config, depth, arena, among, ask, visit);
            continue;
        }
        const Arena::Mark mark = arena.mark();
        Configuration next = config;
        if (string_view_->go_on(next, exit.state, exit.chars) && automaton_.step(next, '"', arena)) {
            key.clear();
            if (!automaton_.identity(next, true, key) || key != read) read_tails(next, arena, ask);
            read = key;
            for (const auto& pair : exit.tails)
                if (comes(pair) && tail_needs_[pair.first] != kUnasked)
                    visit(Tokens{{&pair.second, 1}}, tail_needs_[pair.first]);
        }
        arena.release(mark);
    }
    return true;
}

// The tokens that close a key. What may follow depends on the key, so each token is read.
template <class Ask, class Visit>
void Completions::each_key_closing(const StringExit& exit, const Configuration& config, size_t depth, Arena& arena,
                                   const uint32_t* among, const Ask& ask, const Visit& visit) {
    for (const auto& [tail, token] : exit.tails) {
        if (among && !has_bit(among, token)) continue;
        poll();
        const Arena::Mark mark = arena.mark();
        Configuration next = config;
        const std::string_view bytes = tables_.token(token).substr(depth);
        if (std::all_of(bytes.begin(), bytes.end(),
                        [&](char byte) { return automaton_.step(next, static_cast<uint8_t>(byte), arena); }))
            visit(Tokens{{&token, 1}}, ask(next));
        arena.release(mark);
    }
}

// Store the number of tokens needed after each tail.
template <class Ask>
void Completions::read_tails(const Configuration& following, Arena& arena, const Ask& ask) {
    tail_needs_.assign(tables_.tail_count(), kUnasked);
    tail_needs_[0] = ask(following);
    walk_tokens(automaton_, tables_.tails(), following, arena, [&](uint32_t node, const Configuration& next) {
        const uint32_t need = ask(next);
        for (uint32_t tail : tables_.tails().tokens_at(node)) tail_needs_[tail] = need;
    });
}

// Every token that can be read, with whether the rest fits into `budget`. Returns false if that took too long: then a
// token only fits where the bounds show it.
template <class Visit>
bool Completions::each_place(const Configuration& config, uint32_t budget, Arena& arena, const Visit& visit) {
    Configuration last;
    bool asked = false, fit = false;
    work_ = kMostWork;
    walk_tokens(automaton_, tables_.all(), config, arena, [&](uint32_t node, const Configuration& next) {
        if (!asked || next.frame != config.frame || !same_place(last, next)) fit = fits(next, budget, arena);
        visit(node, fit);
        last = next;
        asked = next.frame == config.frame;
    });
    return std::exchange(work_, kNoLimit) > 0;
}

// The greatest number of tokens needed after any token that a configuration like this one can take. Inside a string an
// exact answer would read nearly the whole vocabulary. So the places inside the string are enumerated instead of the
// tokens that lead to them: there are few, since most letters change nothing, and only the tokens that may leave the
// string are read. The result is an upper bound; `exact` reads every token.
uint32_t Completions::max_tokens_needed(const Configuration& config, Arena& arena, bool exact) {
    const uint32_t id = id_of(config);
    if (id != kNone && known_[id].max_tokens_needed != kUnasked && (!exact || known_[id].exact))
        return known_[id].max_tokens_needed;
    const Arena::Mark mark = arena.mark();
    const Configuration from = guide_.least_constrained(config, arena);
    uint32_t most = exact ? kNever : most_inside(from, arena);
    bool walk = most == kNever;
    if (walk) most = 0;
    const bool is_sure = each_need(
        walk ? tables_.all() : tables_.quoted(), from, arena, nullptr,
        [&](const Configuration& next) { return needed(next, arena); },
        [&](const Tokens&, uint32_t need) { most = std::max(most, std::min(need, kUnknown - 2)); });
    most = is_sure ? most + 1 : kUnknown;
    arena.release(mark);
    if (id != kNone) known_[id].max_tokens_needed = most, known_[id].exact = walk;
    return most;
}

// The most tokens needed at any place of the string or key that is being read; kNever where there are too many of them,
// or where few bytes are possible, so that a walk over the vocabulary is short.
uint32_t Completions::most_inside(const Configuration& from, Arena& arena) {
    constexpr size_t kWide = 48, kMostPlaces = 256;
    if (automaton_.next_bytes(from).size() < kWide || !guide_.stays_inside(from, from)) return kNever;
    Arena::Mark mark = arena.mark();
    std::vector<Configuration> places{from};
    std::unordered_set<uint32_t> seen{id_of(from)};
    uint32_t most = 0;
    work_ = kMostWork;
    for (size_t at = 0; at < places.size() && most != kNever; ++at) {
        most = std::max(most, needed(places[at], arena));
        const ByteSet bytes = automaton_.next_bytes(places[at]);
        for (unsigned byte = 0; byte < 256 && most != kNever; ++byte) {
            Configuration next = places[at];
            if (!bytes.has(static_cast<uint8_t>(byte)) || !automaton_.step(next, static_cast<uint8_t>(byte), arena) ||
                !guide_.stays_inside(from, next))
                continue;
            uint32_t id = id_of(next);
            if (id == kNone || places.size() > kMostPlaces) most = kNever;
            if (seen.insert(id).second) places.push_back(next);
        }
    }
    work_ = kNoLimit;
    arena.release(mark);
    return most;
}

// Decided by the needs of the containers, and the most that one token may add to them.
bool Completions::is_surely_far(const Configuration& config, uint32_t budget) const {
    return growth_ < Automaton::kFar && uint64_t{guide_.most_tokens_around(config)} + growth_ < budget;
}

bool Completions::is_far(const Configuration& config, uint32_t budget) const {
    if (is_surely_far(config, budget)) return true;
    std::vector<uint64_t> key;
    if (!automaton_.identity(config, false, key)) return false;
    uint32_t id = keys_.find(key);
    return id != KeyTable::kNone && known_[id].max_tokens_needed != kUnasked && known_[id].max_tokens_needed <= budget;
}

// Keep the tokens that go along the shortest text and bring the end nearer with each; returns how many.
uint32_t Completions::keep_text(const Configuration& config, uint32_t* kept, Arena& arena) {
    const Trie& trie = tables_.all();
    const std::string text = completion_text(config, arena);
    std::vector<uint32_t> fewest = spelling_->fewest_tokens(text);
    uint32_t count = 0, node = trie.root();
    for (size_t at = 0; at < text.size(); ++at) {
        node = trie.child_of(node, static_cast<uint8_t>(text[at]));
        if (node == Trie::kNone) break;
        if (fewest[at + 1] >= fewest[0]) continue;
        for (uint32_t token : trie.tokens_at(node)) kept[token >> 5] |= 1u << (token & 31), ++count;
    }
    return count;
}

// Leave only those.
uint32_t Completions::keep_to_text(const Configuration& config, uint32_t* words, Arena& arena) {
    std::fill_n(words, tables_.words(), 0);
    return keep_text(config, words, arena);
}

// The table of known configurations may be dropped between two questions, not within one.
void Completions::make_room() {
    prepare();
    work_ = kNoLimit;  // a search may have ended with an exception
    if (known_.size() <= kMostKnown) return;
    keys_.clear();
    known_.clear();
}

uint32_t Completions::most(const Configuration& config) {
    return automaton_.accepting(config)           ? 0
           : spelling_ && spelling_->spells_all() ? guide_.most_tokens(config)
                                                  : Automaton::kFar;
}

uint32_t Completions::least_bytes(const Configuration& config) {
    make_room();
    return automaton_.accepting(config) ? 0 : automaton_.min_bytes(config);
}

// Whether a text can be finished within `budget` tokens. The exact number is computed only if the bounds leave it open.
bool Completions::fits(const Configuration& config, uint32_t budget, Arena& arena) {
    if (most(config) <= budget) return true;
    if (automaton_.accepting(config)) return true;
    const uint64_t least = std::max(automaton_.min_bytes(config), 1u);
    if (least > uint64_t{budget} * longest_) return false;
    return needed(config, arena) <= budget;
}

// Whether it takes every token that any configuration with its identity takes.
bool Completions::takes_most(const Configuration& config, Arena& arena) {
    const Arena::Mark mark = arena.mark();
    const Configuration from = guide_.least_constrained(config, arena);
    const bool out = from.frame == config.frame && same_place(from, config) && !guide_.text_matters(config);
    arena.release(mark);
    return out;
}

// Whether each configuration with the identity of this one takes the same tokens, and none is known to change nothing.
bool Completions::is_alone(const Configuration& config, Arena& arena) {
    return takes_most(config, arena) && !guide_.stays_inside(config, config);
}

uint32_t Completions::tighten(const Configuration& config, uint32_t budget, uint32_t* words, uint32_t allowed,
                              Arena& arena) {
    make_room();
    const bool accepting = automaton_.accepting(config);
    const uint32_t most = this->most(config);
    if (most < Automaton::kFar && is_surely_far(config, budget)) return allowed;
    const bool wide = is_wide(most);
    const uint32_t least = wide && most <= budget ? most : needed(config, arena);
    if (least == kNever) return allowed;
    budget = std::max(budget, least);  // too late: as fast as possible
    std::vector<uint32_t> kept(tables_.words(), 0);
    auto keep = [&](uint32_t node, bool fits) {
        if (!fits) return;
        for (uint32_t token : tables_.all().tokens_at(node)) kept[token >> 5] |= 1u << (token & 31);
    };
    bool by_text = !wide && guide_.text_matters(config);
    if (wide) {
        each_place(config, budget - 1, arena, keep);
    } else if (is_alone(config, arena)) {
        if (is_far(config, budget)) return allowed;
        if (!keep_fitting(config, budget, arena, kept.data()) && !accepting) keep_text(config, kept.data(), arena);
    } else if (!by_text) {
        if (is_far(config, budget)) return allowed;
        // Near the end some token most likely does not fit, so it is not asked first whether all do.
        const bool near = budget < least + kSlack && takes_most(config, arena) && !is_given_up(config);
        if (!near || !keep_needed(config, budget, arena, words, kept.data())) {
            for (bool exact : {false, true})
                if (const uint32_t far = max_tokens_needed(config, arena, exact); far != kUnknown && budget >= far)
                    return allowed;
            by_text = is_given_up(config) || !keep_needed(config, budget, arena, words, kept.data());
        }
    }
    if (by_text) {
        if (budget > least + kSlack) return allowed;
        if (!accepting) return keep_to_text(config, words, arena);
        std::fill(kept.begin(), kept.end(), 0);
    }
    if (accepting)
        for (uint32_t id : tables_.eos()) kept[id >> 5] |= 1u << (id & 31);
    uint32_t left = 0;
    for (uint32_t w = 0; w < tables_.words(); ++w) {
        words[w] &= kept[w];
        left += static_cast<uint32_t>(std::popcount(words[w]));
    }
    // A text that is not the shortest may not be found again from the middle.
    if (!left && !accepting) return keep_to_text(config, words, arena);
    return left;
}

}  // namespace schemagen
