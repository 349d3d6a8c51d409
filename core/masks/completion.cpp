#include "masks/completion.hpp"

#include <algorithm>
#include <deque>
#include <queue>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "util/hash.hpp"
#include "util/heap.hpp"
#include "util/limits.hpp"

namespace schemagen {

namespace {

static_assert(Spelling::kFar == Automaton::kFar);

constexpr uint32_t kMostSteps = 50'000;         // of one search; a step takes about 1 us
constexpr uint32_t kStepsPerByte = 16;          // and for each byte of the text so far: a long way is not wrong
constexpr uint32_t kMostGreedySteps = 300'000;  // of both, where the nearest end is not sought but some near one
constexpr uint32_t kStepsOfLimit = 2'000;       // that a step counts for which a limit has stopped
constexpr uint32_t kMostBytes = 200'000;        // of a text
constexpr size_t kMostKnown = 400'000;          // configurations
constexpr size_t kMostTextBytes = 16'000'000;   // of texts that are kept

}  // namespace

Completions::Completions(Automaton& automaton, const VocabularyTables& tables)
    : automaton_(automaton), guide_(guide_of(automaton)), tables_(tables) {}

// Asked for when it is needed: most grammars never search, and reading the roots of a large trie takes a while.
void Completions::prepare() {
    if (spelling_) return;
    guide_.settle_shortest(tables_);  // may end with an exception
    spelling_.emplace(tables_);
    longest_ = std::max(tables_.longest_token(), 1u);
}

// ---- configurations -------------------------------------------------------------------------------------------------

uint32_t Completions::number_of(const Configuration& config) {
    scratch_.clear();
    if (!automaton_.identity(config, false, scratch_)) return kNone;
    const uint32_t id = keys_.find(scratch_);
    if (id != KeyTable::kNone) return id;
    known_.emplace_back();
    return keys_.add(scratch_);
}

uint32_t Completions::known_number(const Configuration& config) const {
    std::vector<uint64_t> key;
    return automaton_.identity(config, false, key) ? keys_.find(key) : kNone;
}

uint32_t Completions::known_tokens(const Configuration& config) {
    const uint32_t id = number_of(config);
    return is_settled(id) ? known_[id].tokens : kNever;
}

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
        if (!automaton_.search_step(config, byte, arena)) return false;
        bound(config);  // may make alternatives, too
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

// Bytes of a rest that is told: the lower bound, but where it depends on the text so far.
uint32_t Completions::told_bytes(const Configuration& config, uint32_t least) {
    if (!guide_.text_matters(config)) return least;
    std::string text;
    return write(config, text) ? static_cast<uint32_t>(text.size()) : Automaton::kFar;
}

// Depth first, bytes in order, no further than `limit` bytes: at the least limit this finds the first shortest text.
Completions::Found Completions::search(const Configuration& start, uint32_t limit, Arena& arena) {
    overshoot_ = Automaton::kFar;
    levels_.clear();
    uint32_t left = 0;  // bytes after the configuration that the search ends at
    auto enter = [&](const Configuration& config, uint32_t most, const Arena::Mark& mark) {
        uint32_t id = number_of(config), least = bound(config, id);
        if (least > most) {
            overshoot_ = std::min(overshoot_, least - most);
            arena.release(mark);
            return false;
        }
        levels_.push_back({config, id, most, 0, {}, mark});
        left = least == 0 ? 0 : id != kNone ? known_[id].upper : Automaton::kFar;
        if (left > most && told(config)) left = told_bytes(config, least);
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
        const uint32_t id = number_of(config);
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

// Depth first, no further than `limit` bytes: at each place first the bytes that bring the lower bound down. Where that
// is not too low by much, this goes straight to an end.
uint32_t Completions::some_end(const Configuration& config, uint32_t limit, Arena& arena) {
    constexpr uint32_t kMost = 4'000;  // steps
    const uint32_t start = number_of(config);
    const auto known_end = [&](uint32_t id) {
        return id == kNone ? Automaton::kFar : std::min(known_[id].upper, known_[id].some);
    };
    if (known_end(start) <= limit) return known_end(start);
    if (start != kNone && known_[start].sought >= limit) return Automaton::kFar;
    levels_.clear();
    steps_ = 0;
    uint32_t left = Automaton::kFar;  // bytes after the configuration that was found
    const auto enter = [&](const Configuration& at, uint32_t most, const Arena::Mark& mark) {
        const uint32_t id = number_of(at), least = bound(at, id);
        const bool is_nearer = levels_.empty() || least < levels_.back().least;
        if (least > most || (!levels_.empty() && is_nearer == levels_.back().is_away)) {
            arena.release(mark);
            return false;
        }
        levels_.push_back({at, id, most, 0, automaton_.next_bytes(at), mark, least});
        left = least == 0 ? 0 : known_end(id);
        return left <= most;
    };
    const Arena::Mark begin = arena.mark();
    bool found = enter(config, limit, begin);
    while (!found && !levels_.empty() && steps_ < kMost / guide_.step_cost()) {
        Level& level = levels_.back();
        const auto is_readable = [&](auto byte) { return level.bytes.has(byte) && spelling_->bytes().has(byte); };
        while (level.next < 256 && !is_readable(static_cast<uint8_t>(level.next))) ++level.next;
        if (level.next < 256) {
            poll();
            ++steps_;
            const Arena::Mark mark = arena.mark();
            Configuration next = level.config;
            if (step(next, static_cast<uint8_t>(level.next++), arena))
                found = enter(next, level.limit - 1, mark);
            else
                arena.release(mark);
        } else if (!level.is_away) {
            level.is_away = true;
            level.next = 0;
        } else {
            arena.release(level.mark);
            levels_.pop_back();
        }
    }
    arena.release(begin);
    spend(steps_);
    if (!found && start != kNone) known_[start].sought = limit;
    for (size_t depth = levels_.size(); found && depth-- > 0; ++left)
        if (const uint32_t id = levels_[depth].id; id != kNone) known_[id].some = std::min(known_[id].some, left);
    return found ? left - 1 : Automaton::kFar;
}

// Find a way to the end: `path_`, then the known rest of the configuration it leads to.
bool Completions::complete(const Configuration& config, Arena& arena) {
    path_.clear();
    uint32_t id = number_of(config);
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

// Adds the text from here to the end, if it can be told without a search.
bool Completions::write(const Configuration& config, std::string& text) {
    if (most(config) >= Automaton::kFar) return false;
    const size_t before = text.size();
    if (guide_.write_shortest(config, text)) return true;
    text.resize(before);
    return false;
}

// The text from here to the end, and the configurations on its way; that of a rest which is written are left out. A
// configuration whose tokens were counted keeps its text, even if a shorter one is found later: counts of texts that
// lead to it include these tokens. For the same reason the known rest of a configuration takes precedence over the way
// on which it was met. Unless the `whole` text is wanted it ends at the first configuration with a known rest; the id
// of that one is then the last.
bool Completions::follow(const Configuration& config, Arena& arena, std::string& text, std::vector<uint32_t>& ids,
                         bool whole) {
    Configuration at = config;
    unnumbered_ = 0;
    auto go = [&](uint8_t byte) {
        text.push_back(static_cast<char>(byte));
        return automaton_.search_step(at, byte, arena);
    };
    while (!automaton_.accepting(at)) {
        if (text.size() > kMostBytes) return gave_up_ = true, false;
        const uint32_t here = number_of(at);
        if (const auto kept = texts_.find(here); kept != texts_.end()) {
            text.append(*kept->second.text, kept->second.from);
            unnumbered_ = text.size();
            ids.push_back(here);
            ids.resize(text.size() + 1, kNone);
            return true;
        }
        if ((here == kNone || known_[here].upper >= Automaton::kFar) && write(at, text)) {
            ids.push_back(here);
            ids.resize(text.size() + 1, kNone);
            return true;
        }
        if (!complete(at, arena)) return false;
        if (path_.empty()) {
            ids.push_back(number_of(at));
            if (!whole && is_noted(ids.back())) return true;
            if (!go(known_[ids.back()].byte)) return false;
        } else {
            for (char byte : std::string(path_)) {
                const uint32_t id = number_of(at);
                if (is_settled(id) || (id != kNone && known_[id].byte != static_cast<uint8_t>(byte))) break;
                ids.push_back(id);
                if (id == kNone) unnumbered_ = text.size() + 1;
                if (!go(static_cast<uint8_t>(byte))) return false;
            }
        }
    }
    ids.push_back(number_of(at));
    if (ids.back() != kNone) known_[ids.back()].upper = known_[ids.back()].tokens = 0;
    return true;
}

// Keep a text for the places on its way before one without a number.
void Completions::keep_texts(const std::string& text, const std::vector<uint32_t>& ids) {
    std::shared_ptr<const std::string> kept;  // once a place needs it
    for (size_t k = 0; k < unnumbered_; ++k) {
        if (ids[k] == kNone || known_[ids[k]].tokens != kUnasked || texts_.contains(ids[k])) continue;
        if (!kept) {
            if (text_bytes_ > kMostTextBytes) texts_.clear(), text_bytes_ = 0;
            kept = std::make_shared<const std::string>(text);
            text_bytes_ += text.size();
        }
        texts_.emplace(ids[k], KeptText{kept, k});
    }
}

// Whether so much of the rest is noted as one token may have.
bool Completions::is_noted(uint32_t id) const {
    for (uint32_t bytes = 0; bytes < longest_; ++bytes, id = known_[id].next) {
        if (!is_settled(id)) return false;
        if (known_[id].tokens == 0) return true;
    }
    return is_settled(id);
}

// [k]: the fewest tokens of the text from byte k on, and of the rest that is noted of the configuration it leads to;
// that rest is followed as far as a token goes on.
std::vector<uint32_t> Completions::count_tokens(std::string_view text, uint32_t id) const {
    const Trie& trie = tables_.all();
    std::vector<uint32_t> fewest(text.size() + 1, Automaton::kFar);
    fewest.back() = id == kNone ? 0 : known_[id].tokens;
    for (size_t k = text.size(); k-- > 0;) {
        poll();
        uint32_t node = trie.root(), noted = id;
        for (size_t end = k; node != Trie::kNone;) {
            if (end < text.size()) {
                node = trie.child_of(node, static_cast<uint8_t>(text[end++]));
            } else if (noted != kNone && known_[noted].tokens > 0) {
                node = trie.child_of(node, known_[noted].byte);
                noted = known_[noted].next;
                ++end;
            } else {
                break;
            }
            if (node == Trie::kNone || trie.tokens_at(node).empty()) continue;
            const uint32_t rest = end <= text.size() ? fewest[end] : known_[noted].tokens;
            fewest[k] = std::min(fewest[k], 1 + rest);
        }
    }
    return fewest;
}

std::string Completions::text(const Configuration& config, Arena& arena, const std::string& promised) {
    make_room();
    std::string out = completion_text(config, arena, promised);
    if (out.empty() && gave_up_ && !automaton_.accepting(config))
        throw LimitExceeded(Limit::kCompletion, steps_, kMostBytes);
    return out;
}

std::string Completions::completion_text(const Configuration& config, Arena& arena, const std::string& promised) {
    std::string out;
    if (automaton_.accepting(config)) return out;
    if (!write(config, out)) {
        std::vector<uint32_t> ids;
        Arena::Mark mark = arena.mark();
        if (follow(config, arena, out, ids, true))
            keep_texts(out, ids);
        else
            out.clear();
        arena.release(mark);
    }
    if (promised.empty()) return out;
    return out.empty() || spelling_->fewest(promised) < spelling_->fewest(out) ? promised : out;
}

uint32_t Completions::tokens(const Configuration& config, Arena& arena, const std::string& promised) {
    make_room();
    return needed(config, arena, promised);
}

uint32_t Completions::needed(const Configuration& config, Arena& arena, const std::string& promised) {
    const uint32_t own = needed(config, arena);
    return promised.empty() ? own : std::min(own, spelling_->fewest(promised));
}

uint32_t Completions::needed(const Configuration& config, Arena& arena) {
    if (const auto told = this->told(config)) return *told;
    uint32_t id = number_of(config);
    if (id != kNone && known_[id].tokens != kUnasked) return known_[id].tokens;
    std::string text;
    std::vector<uint32_t> ids;
    const bool counts = automaton_.facets().counts_tokens;
    Arena::Mark mark = arena.mark();
    bool found = follow(config, arena, text, ids, counts);
    if (found && unnumbered_ && !counts) {  // all of it is kept
        text.clear();
        ids.clear();
        found = follow(config, arena, text, ids, true);
    }
    arena.release(mark);
    spend(text.size());
    if (!found) {
        if (id != kNone && work_ > 0) known_[id].tokens = kNever;
        return kNever;
    }
    if (counts) {
        const uint32_t told = count_by_reading(config, text, arena);
        if (id != kNone) known_[id].tokens = told;
        return told;
    }
    const std::vector<uint32_t> fewest = count_tokens(text, ids.back());
    keep_texts(text, ids);
    for (size_t k = 0; k < text.size(); ++k) {
        if (ids[k] == kNone || known_[ids[k]].tokens != kUnasked) continue;
        known_[ids[k]].tokens = fewest[k];
        known_[ids[k]].next = ids[k + 1];
    }
    return fewest[0];
}

// The fewest tokens that write the text, where the automaton counts tokens: breadth first over the places of the text.
// If that takes too long, the fewest that spell it.
uint32_t Completions::count_by_reading(const Configuration& config, const std::string& text, Arena& arena) {
    constexpr size_t kMostRead = 20'000;
    struct Place {
        Configuration config;
        size_t at;
    };
    const Trie& trie = tables_.all();
    std::unordered_set<uint64_t> seen;
    std::vector<Place> places{{config, 0}}, following;
    const Arena::Mark mark = arena.mark();
    uint32_t tokens = 0;
    for (size_t read = 0; !places.empty() && read < kMostRead; places.swap(following)) {
        ++tokens;
        following.clear();
        for (const Place& place : places) {
            Configuration at = place.config;
            uint32_t node = trie.root();
            for (size_t end = place.at; end < text.size(); ++read) {
                poll();
                const auto byte = static_cast<uint8_t>(text[end++]);
                node = trie.child_of(node, byte);
                if (node == Trie::kNone || !automaton_.step(at, byte, arena)) break;
                for (uint32_t token : trie.tokens_at(node)) {
                    Configuration next = at;
                    if (!automaton_.end_token(next, token, arena)) continue;
                    if (end == text.size() && automaton_.accepting(next)) return arena.release(mark), tokens;
                    std::vector<uint64_t> key{end};
                    if (automaton_.identity(next, true, key)) {
                        uint64_t hash = key.size();
                        for (uint64_t part : key) hash = mix(hash, part);
                        if (!seen.insert(hash).second) continue;
                    }
                    following.push_back({next, end});
                }
            }
        }
    }
    arena.release(mark);
    return spelling_->fewest_tokens(text)[0];
}

std::optional<uint32_t> Completions::told(const Configuration& config) {
    if (automaton_.accepting(config)) return 0;
    return spelling_ && spelling_->spells_all() ? guide_.fewest_tokens(config) : std::nullopt;
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

uint64_t Completions::memory_bytes() const {
    const uint64_t bytes = known_.size() * sizeof(Known) + keys_.memory_bytes();
    return bytes + texts_.size() * heap_node(sizeof(*texts_.begin())) + text_bytes_;
}

void Completions::make_room() {
    prepare();
    work_ = kNoLimit;  // a search may have ended with an exception
    if (known_.size() <= kMostKnown) return;
    keep_settled();
    ++epoch_;
}

void Completions::keep_settled() {
    const KeyTable keys = std::exchange(keys_, {});
    const auto texts = std::exchange(texts_, {});
    std::vector<Known> known = std::exchange(known_, {});
    std::vector<uint32_t> number(known.size(), kNone);
    uint32_t count = 0;
    for (size_t id = 0; id < known.size(); ++id)
        if (known[id].tokens < kUnasked) number[id] = count++;
    text_bytes_ = 0;
    if (count > kMostKnown / 2) return;
    for (uint32_t id = 0; id < known.size(); ++id) {
        if (number[id] == kNone) continue;
        keys_.add(keys.key(id));
        known_.push_back(known[id]);
        if (known[id].next != kNone) known_.back().next = number[known[id].next];
        if (const auto kept = texts.find(id); kept != texts.end()) texts_.emplace(number[id], kept->second);
    }
}

}  // namespace schemagen
