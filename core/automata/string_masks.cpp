#include "automata/string_masks.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>
#include <unordered_set>

#include "util/bits.hpp"
#include "util/hash.hpp"
#include "util/heap.hpp"

namespace schemagen {

struct StringMasks::Draft {
    uint32_t from;
    bool counting;
    const VocabularyTables& tables;
    StringInner made;
    std::vector<uint32_t> words;
    size_t budget = kBudget;  // for searches: states visited, new ones count as several; grows with their benefit
    static constexpr size_t kBudget = 256;
};

namespace {

size_t memory_of(const StringExits& exits) {
    size_t bytes = sizeof(StringExits);
    for (const StringExit& exit : exits) bytes += sizeof(exit) + heap_bytes(exit.tails);
    return bytes;
}

size_t memory_of(const StringInner& inner) {
    const size_t bytes = sizeof(inner) + heap_bytes(inner.counted);
    return inner.words.use_count() == 1 ? bytes + heap_bytes(*inner.words) : bytes;
}

size_t memory_of(const std::vector<StringClass>& inner) {
    size_t bytes = 0;
    for (const StringClass& one : inner) bytes += sizeof(one) + heap_bytes(one.tokens) + heap_bytes(one.words);
    return bytes;
}

size_t memory_of(const LiteralRest& rest) { return sizeof(rest) + memory_of(rest.inner) + heap_bytes(rest.ends); }

size_t memory_of(const StringRest& rest) {
    size_t bytes = sizeof(rest) + memory_of(rest.inner);
    for (const StringClosing& one : rest.closing) bytes += sizeof(one) + heap_bytes(one.tokens) + heap_bytes(one.first);
    return bytes;
}

}  // namespace

size_t StringMasks::Hash::operator()(const Key& key) const {
    return mix(mix(key.vocabulary, static_cast<uint64_t>(key.kind)), key.place);
}

// An entry in use is kept alive by the masks that refer to it.
template <class Made, class Make>
std::shared_ptr<const Made> StringMasks::known(const Key& key, const Make& make) {
    if (const auto* found = cache_.find(key)) return std::static_pointer_cast<const Made>(*found);
    dfa_.kernel().before_write();
    std::shared_ptr<const Made> made = make();
    const size_t bytes = made.use_count() == 1 ? memory_of(*made) : 0;  // else it is the entry of another key, too
    cache_.add(key, bytes) = made;
    return made;
}

std::shared_ptr<const StringInner> StringMasks::inner(uint32_t state, bool counting, const VocabularyTables& tables) {
    return known<StringInner>({tables.serial(), uint64_t{state} << 1 | counting, Kind::kInner}, [&] {
        if (uint32_t free = counting ? 0 : free_beside(state); free && free != state) return inner(free, false, tables);
        Draft draft{state, counting, tables, {}, {}};
        if (uint32_t hub = hub_of(state))
            inner_by_difference(draft, hub);
        else
            inner_by_walk(draft);
        return std::make_shared<const StringInner>(std::move(draft.made));
    });
}

std::shared_ptr<const StringExits> StringMasks::exits(uint32_t state, bool counting, const VocabularyTables& tables) {
    return known<StringExits>({tables.serial(), uint64_t{state} << 1 | counting, Kind::kExits},
                              [&] { return std::make_shared<const StringExits>(find_exits(state, counting, tables)); });
}

std::shared_ptr<const LiteralRest> StringMasks::literal(uint32_t state, uint32_t node, const VocabularyTables& tables) {
    return known<LiteralRest>({tables.serial(), uint64_t{state} << 32 | node, Kind::kLiteral},
                              [&] { return std::make_shared<const LiteralRest>(find_literal(state, node, tables)); });
}

std::shared_ptr<const StringRest> StringMasks::rest(uint32_t state, bool counting, uint32_t node, size_t depth,
                                                    const VocabularyTables& tables) {
    const Kind kind = counting ? Kind::kCountedRest : Kind::kRest;
    return known<StringRest>({tables.serial(), uint64_t{state} << 32 | node, kind}, [&] {
        const uint32_t hub = hub_of(state);
        return std::make_shared<const StringRest>(hub ? rest_by_difference(state, hub, counting, node, depth, tables)
                                                      : find_rest(state, counting, node, depth, tables));
    });
}

// One copy of equal bitmasks: that of the free string is the mask of many states, that of any number of many places.
std::shared_ptr<const std::vector<uint32_t>> StringMasks::shared(const std::vector<uint32_t>& words) {
    const uint64_t hash = hash_words(words.data(), words.size());
    const auto [begin, end] = pool_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
        if (auto known = it->second.lock(); known && *known == words) return known;
    dfa_.kernel().before_write();
    if (pool_.size() >= full_pool_) {
        std::erase_if(pool_, [](const auto& entry) { return entry.second.expired(); });
        full_pool_ = std::max<size_t>(1024, pool_.size() * 2);
    }
    auto made = std::make_shared<const std::vector<uint32_t>>(words);
    pool_.emplace(hash, made);
    return made;
}

// The state of the free string, if what stays inside is the same from here: in a search, nothing is refused.
uint32_t StringMasks::free_beside(uint32_t state) {
    for (uint32_t k = 0; k < dfa_.state(state).count; ++k)
        if (NodeId free = dfa_.kernel().never_ending(dfa_.component(state, k)); free != kEmpty)
            return dfa_.intern({free}, false);
    return 0;
}

// The state that most letters lead to, and stay in; 0 if there is none, or it is the state itself. A hub has none: most
// letters stay there.
uint32_t StringMasks::hub_of(uint32_t state) {
    static constexpr std::string_view kProbes = "etaoinrs 0A-";
    for (char first : kProbes.substr(0, 2)) {
        uint32_t hub = dfa_.next(state, static_cast<uint8_t>(first));
        if (!hub || hub == state) continue;
        size_t agreeing = 0;
        for (char c : kProbes)
            agreeing +=
                dfa_.next(state, static_cast<uint8_t>(c)) == hub && dfa_.next(hub, static_cast<uint8_t>(c)) == hub;
        if (agreeing * 2 > kProbes.size()) return hub;
    }
    return 0;
}

// A draft that starts as the mask of another state, and is changed where the two states differ.
struct StringMasks::Difference {
    Draft& draft;
    const StringInner& model;
    std::vector<uint32_t> tokens = {};  // that do not end where those of the model do

    uint32_t* words() {
        if (draft.words.empty()) draft.words = *model.words;
        return draft.words.data();
    }
    void drop(std::span<const uint32_t> refused) {
        for (uint32_t token : refused) {
            if (!has_bit(model.words->data(), token)) continue;
            clear_bit(words(), token);
            --draft.made.allowed;
            if (draft.counting) tokens.push_back(token);
        }
    }
    void allow(uint32_t token) {
        if (has_bit(model.words->data(), token)) return;
        set_bit(words(), token);
        ++draft.made.allowed;
    }
    // The lengths of all other tokens are those of the model.
    void copy_counted() {
        std::sort(tokens.begin(), tokens.end());
        for (const CountedToken& counted : model.counted)
            if (!std::binary_search(tokens.begin(), tokens.end(), counted.token)) draft.made.counted.push_back(counted);
    }
};

// Walk the state and the hub side by side, down to where nothing differs any more.
void StringMasks::inner_by_difference(Draft& draft, uint32_t hub) {
    auto model = inner(hub, draft.counting, draft.tables);
    draft.made.words = model->words;
    draft.made.allowed = model->allowed;
    Difference difference{draft, *model};
    const Trie& trie = draft.tables.all();
    struct Place {
        uint32_t state, other, chars;
    };
    descend(trie, Place{draft.from, hub, 0}, [&](const Place& before, uint8_t byte, uint32_t node, Place& at) {
        at = {dfa_.next(before.state, byte), dfa_.next(before.other, byte), before.chars};
        if (at.state == at.other) return false;
        if (!at.state) {
            difference.drop(trie.tokens_below(node));
            return false;
        }
        at.chars += draft.counting && dfa_.boundary(at.state);
        for (uint32_t token : trie.tokens_at(node)) {
            difference.allow(token);
            if (!draft.counting) continue;
            difference.tokens.push_back(token);
            draft.made.counted.push_back({token, at.chars + needed(at.state)});
        }
        return !settled(draft, at.state, node) || !settled(draft, at.other, node);
    });
    if (draft.counting) difference.copy_counted();
    if (!draft.words.empty()) draft.made.words = shared(draft.words);
}

// Add the states that the characters of a slice lead to, one after the other. Returns false if the string refuses one
// of them, or may not end after it though it has to.
bool StringMasks::after_any(uint32_t from, const Slice& slice, bool ending, std::vector<uint32_t>& targets) {
    auto arrive = [&](uint32_t to) {
        if (!to || (ending && !dfa_.accepting(to))) return false;
        if (targets.empty() || targets.back() != to) targets.push_back(to);
        return true;
    };
    for (auto [low, high] : slice.ascii)
        if (!dfa_.each_target(from, low, high, arrive)) return false;
    if (!slice.beyond_ascii) return true;
    std::vector<uint32_t> states, next;
    for (const auto& spelling : Slice::beyond_ascii_spelled()) {
        states.assign(1, from);
        for (size_t k = 0; k + 1 < spelling.size(); ++k) {
            next.clear();
            for (uint32_t state : states)
                dfa_.each_target(state, spelling[k].first, spelling[k].second, [&](uint32_t to) {
                    if (std::find(next.begin(), next.end(), to) == next.end()) next.push_back(to);
                    return true;
                });
            states.swap(next);
        }
        for (uint32_t state : states)
            if (!state || !dfa_.each_target(state, spelling.back().first, spelling.back().second, arrive)) return false;
    }
    return true;
}

StringMasks::Safe StringMasks::known_safe(uint32_t state, size_t slice, bool ending) const {
    if (state >= safe_.size()) return {0, false};
    const size_t k = slice * 2 + ending;
    return {safe_[state].chars[k], (safe_[state].exact >> k & 1) != 0};
}

void StringMasks::note_safe(uint32_t state, size_t slice, bool ending, Safe safe) {
    if (LazyDfa::is_tracked(state)) return;
    if (state >= safe_.size()) safe_.resize(dfa_.size());
    SafeRow& row = safe_[state];
    row.chars[slice * 2 + ending] = safe.chars;
    row.exact |= uint32_t{safe.exact} << (slice * 2 + ending);
    // A property of all its characters is one of those of a narrower slice.
    for (unsigned left = Slice::within(slice); left; left &= left - 1) {
        const size_t k = static_cast<size_t>(std::countr_zero(left)) * 2 + ending;
        row.chars[k] = std::max(row.chars[k], safe.chars);
        row.exact |= uint32_t{safe.chars == Slice::kMany} << k;
    }
}

// How many characters of the slice can be read from the state, whichever they are: one less than the way to the nearest
// state that refuses one. A search in breadth, no further than `wanted` and not for long: the result may be too small.
size_t StringMasks::safe(Draft& draft, uint32_t start, size_t index, size_t wanted) {
    constexpr size_t kMostStates = 64, kNewState = 16, kMany = Slice::kMany;
    const bool ending = draft.counting;
    if (const Safe known = known_safe(start, index, ending); known.exact || known.chars >= wanted) return known.chars;
    std::vector<std::pair<uint32_t, size_t>> order{{start, 0}};  // with their distance
    std::unordered_set<uint32_t> seen{start};
    std::vector<uint32_t> after;
    size_t refused = kMany, looked = kMany;  // the nearest state that refuses, and the nearest that was not visited
    for (size_t at = 0; at < order.size(); ++at) {
        const auto [state, distance] = order[at];
        if (distance >= std::min(refused, looked)) break;
        const Safe known = known_safe(state, index, ending);
        if (known.exact) {
            if (known.chars < kMany) refused = std::min(refused, distance + known.chars);
            continue;
        }
        if (distance + known.chars >= wanted || at >= kMostStates || draft.budget == 0) {
            looked = std::min(looked, distance + known.chars);
            continue;
        }
        after.clear();
        const size_t size = dfa_.size();
        const bool all = after_any(state, Slice::all()[index], ending, after);
        draft.budget -= std::min(draft.budget, 1 + kNewState * (dfa_.size() - size));
        if (!all) {
            note_safe(state, index, ending, {0, true});
            refused = distance;
            continue;
        }
        for (uint32_t next : after)
            if (seen.insert(next).second) order.emplace_back(next, distance + 1);
    }
    const size_t found = std::min(refused, looked);
    for (auto [state, distance] : order) {
        const Safe known = known_safe(state, index, ending);
        if (known.exact || distance > found) continue;
        const bool exact = found == kMany || (distance == 0 && refused <= looked);
        const size_t chars = found == kMany ? kMany : std::max<size_t>(known.chars, found - distance);
        note_safe(state, index, ending, {static_cast<uint8_t>(chars), exact});
    }
    return known_safe(start, index, ending).chars;
}

// Whether every token below a node of the trie can be read from the state that the node led to, as far as slices tell;
// while counting, also whether the string may end after it.
bool StringMasks::settled(Draft& draft, uint32_t state, uint32_t node) {
    constexpr uint32_t kFew = 4, kSearch = 64;  // tokens from which on it pays to ask, and to search
    const SliceTree& slices = draft.tables.slices();
    if (!slices.below[node] || LazyDfa::is_tracked(state)) return false;
    const Trie& trie = draft.tables.all();
    const uint32_t tokens = trie.first_token[trie.skip[node]] - trie.first_token[node + 1];
    if (tokens < kFew) return false;
    const size_t chars = slices.chars[node];
    for (unsigned left = slices.below[node]; left; left &= left - 1) {
        const auto slice = static_cast<size_t>(std::countr_zero(left));
        if (Slice::within(slice) & left & (left - 1)) continue;  // a narrower one comes
        if (known_safe(state, slice, draft.counting).chars >= chars) return true;
        if (tokens < kSearch || safe(draft, state, slice, chars) < chars) continue;
        draft.budget = std::min(draft.budget + tokens / kSearch, Draft::kBudget);
        return true;
    }
    return false;
}

// The slice whose bitmask is worth most: the widest that can be read for long, or else the longest. Two characters at
// least, or the walk does as well.
StringMasks::Start StringMasks::start_of(Draft& draft) {
    constexpr size_t kLong = Slice::kRanks - 1, kWorth = 2, kTries = 2;
    Start best{Slice::kCount, kWorth - 1};
    size_t tries = 0;  // that took all they might
    if (dfa_.next_bytes(draft.from).size() > 20)
        for (size_t k = 0; k < Slice::kCount && best.chars < kLong && tries < kTries; ++k) {
            draft.budget = Draft::kBudget;
            if (size_t chars = safe(draft, draft.from, k, kLong); chars > best.chars) best = {k, chars};
            tries += draft.budget == 0;
        }
    draft.budget = Draft::kBudget;
    if (best.chars != Slice::kMany) best.chars = std::min(best.chars, kLong);
    return best;
}

void StringMasks::inner_by_walk(Draft& draft) {
    const Trie& trie = draft.tables.all();
    const SliceTree& slices = draft.tables.slices();
    const auto [slice, length] = start_of(draft);
    // 1) The tokens that a slice decides.
    if (slice == Slice::kCount) {
        draft.words.assign(draft.tables.words(), 0);
    } else {
        const uint32_t* words = draft.tables.slice_up_to(slice, std::min(length, Slice::kRanks));
        draft.words.assign(words, words + draft.tables.words());
    }
    // Longer tokens do not count as plain: each has to be listed with its length.
    const size_t skipped = draft.counting ? std::min<size_t>(length, VocabularyTables::kLengthRanks) : length;
    // 2) The rest.
    struct Place {
        uint32_t state, chars;
        uint32_t length, read;  // bytes, characters
    };
    auto list = [&](uint32_t token, uint32_t chars) { draft.made.counted.push_back({token, chars}); };
    descend(trie, Place{draft.from, 0, 0, 0}, [&](const Place& before, uint8_t byte, uint32_t node, Place& at) {
        const uint32_t state = dfa_.next(before.state, byte);
        if (!state) return false;
        at = {state, before.chars + (draft.counting && dfa_.boundary(state)), before.length + 1,
              before.read + begins_character(byte)};
        if ((slices.through[node] >> slice & 1) && at.read + slices.chars[node] <= skipped) return false;
        for (uint32_t token : trie.tokens_at(node)) {
            set_bit(draft.words.data(), token);
            if (draft.counting && (!draft.tables.is_plain(token) || !dfa_.accepting(state)))
                list(token, at.chars + needed(state));
        }
        if (!trie.has_children(node) || !settled(draft, state, node)) return true;
        for (uint32_t token : trie.tokens_below(node).subspan(trie.tokens_at(node).size())) {
            set_bit(draft.words.data(), token);
            if (!draft.counting || draft.tables.is_plain(token)) continue;
            std::string_view rest = draft.tables.token(token).substr(at.length);
            list(token, at.chars + static_cast<uint32_t>(std::count_if(rest.begin(), rest.end(), begins_character)));
        }
        return false;
    });
    draft.made.allowed = count_bits(draft.words.data(), draft.words.size());
    draft.made.words = shared(draft.words);
}

// Code points that a counted string needs at least from here, the one being read included.
uint32_t StringMasks::needed(uint32_t state) {
    uint32_t least = kUnbounded;
    for (uint32_t k = 0; k < dfa_.state(state).count; ++k)
        if (dfa_.state(state).alive[k]) least = std::min(least, dfa_.chars_to_accept(state, k));
    return std::min(least, 1u << 30);
}

LiteralRest StringMasks::find_literal(uint32_t from, uint32_t top, const VocabularyTables& tables) {
    struct Place {
        uint32_t state, read;
    };
    const Trie& trie = tables.all();
    LiteralRest rest;
    auto note_end = [&](const Place& at, uint32_t node) {
        if (!dfa_.accepting(at.state)) return;
        const uint8_t *begin = trie.child_byte.data() + trie.first_child[node],
                      *end = trie.child_byte.data() + trie.first_child[node + 1];
        if (std::any_of(begin, end, ends_literal)) rest.ends.push_back({node, at.state, at.read});
    };
    note_end({from, 0}, top);
    descend(trie, top, Place{from, 0}, [&](const Place& before, uint8_t byte, uint32_t node, Place& at) {
        at = {dfa_.next(before.state, byte), before.read + 1};
        if (!at.state) return false;
        if (const auto tokens = trie.tokens_at(node); !tokens.empty()) {
            auto one = std::ranges::find(rest.inner, at.state, &StringClass::state);
            if (one == rest.inner.end()) one = rest.inner.insert(one, {at.state, 0, {}, {}});
            one->tokens.insert(one->tokens.end(), tokens.begin(), tokens.end());
        }
        note_end(at, node);
        return true;
    });
    for (StringClass& one : rest.inner) one.tokens.shrink_to_fit();
    return rest;
}

// What `find_rest` has found.
struct StringMasks::RestDraft {
    const VocabularyTables& tables;
    StringRest made = {};
    std::map<std::pair<uint32_t, uint32_t>, size_t> inner = {}, closing = {};  // by state and characters
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> tails = {};        // [closing] (tail, token)
    const uint32_t* done = nullptr;                                            // the tokens of `add_slice`
    uint32_t state = 0, chars = 0;                                             // of the class of the last tokens
    size_t last = 0;

    void add(uint32_t at, uint32_t read, std::span<const uint32_t> tokens) {
        if (at != state || read != chars || made.inner.empty()) {
            const auto [it, is_new] = inner.try_emplace({at, read}, made.inner.size());
            if (is_new) made.inner.push_back({at, read, {}, {}});
            state = at, chars = read, last = it->second;
        }
        StringClass& one = made.inner[last];
        if (one.words.empty() && one.tokens.size() + tokens.size() > tables.words()) {
            one.words.assign(tables.words(), 0);
            for (const uint32_t token : one.tokens) set_bit(one.words.data(), token);
            one.tokens = {};
        }
        for (const uint32_t token : tokens) {
            if (done && has_bit(done, token)) continue;
            if (one.words.empty())
                one.tokens.push_back(token);
            else
                set_bit(one.words.data(), token);
        }
    }
    // The tokens of at most as many characters of a slice, without those of `fewer`.
    void add_slice(uint32_t at, uint32_t read, const uint32_t* up_to, const uint32_t* fewer) {
        std::vector<uint32_t> words(up_to, up_to + tables.words());
        for (size_t w = 0; fewer && w < words.size(); ++w) words[w] &= ~fewer[w];
        const size_t count = count_bits(words.data(), words.size());
        if (!count) return;
        inner.emplace(std::pair{at, read}, made.inner.size());
        StringClass& one = made.inner.emplace_back(at, read);
        if (count > words.size()) {
            one.words = std::move(words);
            return;
        }
        for (uint32_t w = 0; w < words.size(); ++w)
            for (uint32_t left = words[w]; left; left &= left - 1)
                one.tokens.push_back(w * 32 + static_cast<uint32_t>(std::countr_zero(left)));
    }
    // The tokens that close the string there, with their tails.
    std::vector<std::pair<uint32_t, uint32_t>>& closed(uint32_t at, uint32_t read) {
        const auto [it, is_new] = closing.try_emplace({at, read}, tails.size());
        if (is_new) tails.emplace_back(), made.closing.push_back({at, read, {}, {}});
        return tails[it->second];
    }
    // `length`: bytes of each token up to its tail.
    void close(uint32_t at, uint32_t read, size_t length, std::span<const uint32_t> tokens) {
        auto& out = closed(at, read);
        for (const uint32_t token : tokens)
            if (const uint32_t tail = tables.tail_of(token, length); tail != VocabularyTables::kNoTail)
                out.emplace_back(tail, token);
    }
    // Begin with the rest of another state, without some tokens.
    void copy(const StringRest& model, const std::vector<uint32_t>& without) {
        for (const StringClass& one : model.inner) {
            inner.emplace(std::pair{one.state, one.chars}, made.inner.size());
            made.inner.push_back({one.state, one.chars, {}, one.words});
            StringClass& copied = made.inner.back();
            for (size_t w = 0; w < copied.words.size(); ++w) copied.words[w] &= ~without[w];
            std::ranges::copy_if(one.tokens, std::back_inserter(copied.tokens),
                                 [&](uint32_t token) { return !has_bit(without.data(), token); });
        }
        for (const StringClosing& one : model.closing)
            for (uint32_t tail = 0; tail < tables.tail_count(); ++tail)
                for (const uint32_t token : one.of(tail))
                    if (!has_bit(without.data(), token)) closed(one.state, one.chars).emplace_back(tail, token);
    }
    StringRest finish() {
        for (size_t k = 0; k < tails.size(); ++k) {
            StringClosing& closed = made.closing[k];
            std::sort(tails[k].begin(), tails[k].end());
            closed.first.assign(tables.tail_count() + 1, 0);
            for (const auto& [tail, token] : tails[k]) {
                closed.tokens.push_back(token);
                ++closed.first[tail + 1];
            }
            for (size_t tail = 0; tail < tables.tail_count(); ++tail) closed.first[tail + 1] += closed.first[tail];
        }
        return std::move(made);
    }
};

// The slices whose characters all lead from a state back to it.
Slice::Set StringMasks::loops(uint32_t state) {
    Slice::Set out = 0;
    std::vector<uint32_t> targets;
    for (size_t slice = 0; slice < Slice::kCount; ++slice) {
        targets.clear();
        if (after_any(state, Slice::all()[slice], false, targets) && targets == std::vector<uint32_t>{state})
            out |= static_cast<Slice::Set>(1u << slice);
    }
    return out;
}

// The tokens that stay in the string by where they end, and those that close it. Where characters are not counted,
// subtrees whose characters all lead back to a state are not walked.
// Tokens of one slice whose characters all lead back to `from` are known, up to a number of characters.
StringRest StringMasks::find_rest(uint32_t from, bool counting, uint32_t top, size_t depth,
                                  const VocabularyTables& tables) {
    constexpr size_t kFew = 4;  // tokens from which on it pays to ask
    struct Place {
        uint32_t state, chars;
        size_t length, begun;  // bytes, characters
    };
    const Trie& trie = tables.all();
    const SliceTree& slices = tables.slices();
    RestDraft draft{tables};
    std::unordered_map<uint32_t, Slice::Set> known;
    auto loops_of = [&](uint32_t state) {
        const auto it = known.find(state);
        return it != known.end() ? it->second : known.emplace(state, loops(state)).first->second;
    };
    const Slice::Set looping = top == trie.root() ? loops_of(from) : Slice::Set{0};
    const auto slice = static_cast<size_t>(std::countr_zero(looping));
    const size_t most = counting ? Slice::kRanks - 1 : Slice::kMany;  // characters of the tokens that are known
    if (looping) draft.done = tables.slice_up_to(slice, std::min(most, Slice::kRanks));
    if (looping && !counting) draft.add_slice(from, 0, draft.done, nullptr);
    for (uint32_t chars = 1; looping && counting && chars <= most; ++chars)
        draft.add_slice(from, chars, tables.slice_up_to(slice, chars), tables.slice_up_to(slice, chars - 1));
    descend(trie, top, Place{from, 0, depth, 0}, [&](const Place& before, uint8_t byte, uint32_t node, Place& at) {
        at = {dfa_.next(before.state, byte), before.chars, before.length + 1, before.begun + begins_character(byte)};
        if (at.state) {
            at.chars += counting && dfa_.boundary(at.state);
            if (looping && (slices.through[node] >> slice & 1) && at.begun + slices.chars[node] <= most) return false;
            const Slice::Set below = counting ? Slice::Set{0} : slices.whole[node];
            if (below && trie.tokens_below(node).size() >= kFew && (below & loops_of(at.state))) {
                draft.add(at.state, at.chars, trie.tokens_below(node));
                return false;
            }
            if (const auto tokens = trie.tokens_at(node); !tokens.empty()) draft.add(at.state, at.chars, tokens);
            return true;
        }
        if (byte == '"' && dfa_.accepting(before.state))
            draft.close(before.state, before.chars, at.length, trie.tokens_below(node));
        return false;
    });
    return draft.finish();
}

// Walk the state and the hub side by side, down to where nothing differs any more.
StringRest StringMasks::rest_by_difference(uint32_t from, uint32_t hub, bool counting, uint32_t top, size_t depth,
                                           const VocabularyTables& tables) {
    struct Place {
        uint32_t state, other, chars;
        size_t length;
    };
    struct Found {
        uint32_t state, chars;
        size_t length;  // up to the tails of the tokens; 0 if they stay inside
        std::span<const uint32_t> tokens;
    };
    const auto model = rest(hub, counting, top, depth, tables);
    const Trie& trie = tables.all();
    std::vector<uint32_t> differ(tables.words(), 0);
    std::vector<Found> found;
    descend(trie, top, Place{from, hub, 0, depth}, [&](const Place& before, uint8_t byte, uint32_t node, Place& at) {
        at = {dfa_.next(before.state, byte), dfa_.next(before.other, byte), before.chars, before.length + 1};
        if (at.state && at.state == at.other) return false;
        at.chars += at.state && counting && dfa_.boundary(at.state);
        const std::span<const uint32_t> tokens = at.state ? trie.tokens_at(node) : trie.tokens_below(node);
        for (const uint32_t token : tokens) set_bit(differ.data(), token);
        if (at.state)
            found.push_back({at.state, at.chars, 0, tokens});
        else if (byte == '"' && dfa_.accepting(before.state))
            found.push_back({before.state, before.chars, at.length, tokens});
        return at.state != 0;
    });
    RestDraft draft{tables};
    draft.copy(*model, differ);
    for (const Found& one : found) {
        if (one.length)
            draft.close(one.state, one.chars, one.length, one.tokens);
        else if (!one.tokens.empty())
            draft.add(one.state, one.chars, one.tokens);
    }
    return draft.finish();
}

// The tokens that close the string, by the state at the quote and the code points before it.
StringExits StringMasks::find_exits(uint32_t from, bool counting, const VocabularyTables& tables) {
    struct Place {
        uint32_t state, chars;
    };
    StringExits exits;
    std::map<std::pair<uint32_t, uint32_t>, size_t> groups;
    descend(tables.quoted(), Place{from, 0}, [&](const Place& before, uint8_t byte, uint32_t node, Place& at) {
        at = {dfa_.next(before.state, byte), before.chars};
        if (at.state) {
            at.chars += counting && dfa_.boundary(at.state);
            return true;
        }
        if (byte != '"' || !dfa_.accepting(before.state)) return false;
        auto endings = tables.endings(node);
        if (endings.empty()) return false;
        auto [it, fresh] = groups.try_emplace({before.state, before.chars}, exits.size());
        if (fresh) exits.push_back({before.state, before.chars, {}});
        auto& tails = exits[it->second].tails;
        tails.insert(tails.end(), endings.begin(), endings.end());
        return false;
    });
    return exits;
}

}  // namespace schemagen
