#include "string_masks.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "bits.hpp"
#include "hash.hpp"

namespace schemagen {

struct StringMasks::Draft {
    uint32_t from;
    bool counting;
    const VocabularyTables& tables;
    StringMask mask;
    std::vector<uint32_t> words;
};

size_t StringMask::memory_bytes() const {
    size_t bytes = sizeof(*this) + counted.size() * sizeof(CountedToken);
    if (inner.use_count() == 1) bytes += inner->size() * 4;
    for (const StringExit& exit : exits) bytes += exit.tails.size() * 8 + 64;
    return bytes;
}

size_t StringMasks::Hash::operator()(const Key& key) const { return mix(key.vocabulary, key.state); }

std::shared_ptr<const StringMask> StringMasks::get(uint32_t state, bool counting, const VocabularyTables& tables) {
    Key key{tables.serial(), uint64_t{state} << 1 | (counting ? 1 : 0)};
    auto it = masks_.find(key);
    if (it != masks_.end()) return it->second;
    auto made = std::make_shared<const StringMask>(build(state, counting, tables));
    if (bytes_ + made->memory_bytes() > kMostBytes) {
        masks_.clear();  // those in use are kept alive by the masks that refer to them
        bytes_ = 0;
    }
    bytes_ += made->memory_bytes();
    masks_.emplace(key, made);
    return made;
}

StringMask StringMasks::build(uint32_t from, bool counting, const VocabularyTables& tables) {
    Draft draft{from, counting, tables, {}, {}};
    if (uint32_t hub = hub_of(from))
        inner_by_difference(draft, hub);
    else
        inner_by_walk(draft);
    find_exits(draft);
    return std::move(draft.mask);
}

// One copy of equal bitmasks: that of the free string is the mask of many states.
std::shared_ptr<const std::vector<uint32_t>> StringMasks::shared(std::vector<uint32_t> words) {
    uint64_t hash = 5;
    for (uint32_t word : words) hash = mix(hash, word);
    auto [begin, end] = pool_.equal_range(hash);
    for (auto it = begin; it != end;) {
        auto known = it->second.lock();
        if (known && *known == words) return known;
        it = known ? std::next(it) : pool_.erase(it);
    }
    auto made = std::make_shared<const std::vector<uint32_t>>(std::move(words));
    pool_.emplace(hash, made);
    return made;
}

// The state that most letters lead to, and stay in; 0: there is none, or it is the state itself.
uint32_t StringMasks::hub_of(uint32_t state) {
    static constexpr std::string_view kProbes = "etaoinrs 0A-";
    for (char first : kProbes.substr(0, 2)) {
        uint32_t hub = dfa_.next(state, static_cast<uint8_t>(first));
        if (!hub || hub == state) continue;
        size_t agreeing = 0;
        for (char c : kProbes) agreeing += dfa_.next(state, static_cast<uint8_t>(c)) == hub && dfa_.next(hub, static_cast<uint8_t>(c)) == hub;
        if (agreeing * 2 >= kProbes.size()) return hub;
    }
    return 0;
}

// Walk the state and the hub side by side, down to where nothing differs any more.
void StringMasks::inner_by_difference(Draft& draft, uint32_t hub) {
    auto model = get(hub, draft.counting, draft.tables);
    draft.mask.inner = model->inner;
    draft.mask.allowed = model->allowed;
    const Trie& trie = draft.tables.all();
    struct Place {
        uint32_t state, other, chars;
    };
    std::vector<uint32_t> differing;  // tokens that do not end where the hub's do
    auto own = [&] {
        if (draft.words.empty()) draft.words = *model->inner;
        return draft.words.data();
    };
    descend(trie, Place{draft.from, hub, 0}, [&](const Place& before, uint8_t byte, uint32_t node, Place& at) {
        at = {dfa_.next(before.state, byte), dfa_.next(before.other, byte), before.chars};
        if (at.state == at.other) return false;
        if (!at.state) {
            for (uint32_t token : trie.tokens_below(node)) {
                if (!has_bit(model->inner->data(), token)) continue;
                clear_bit(own(), token);
                --draft.mask.allowed;
                if (draft.counting) differing.push_back(token);
            }
            return false;
        }
        at.chars += draft.counting && dfa_.state(at.state).boundary;
        for (uint32_t token : trie.tokens_at(node)) {
            if (!has_bit(model->inner->data(), token)) {
                set_bit(own(), token);
                ++draft.mask.allowed;
            }
            if (!draft.counting) continue;
            differing.push_back(token);
            draft.mask.counted.push_back({token, at.chars + needed(at.state)});
        }
        return true;
    });
    if (draft.counting) {
        std::sort(differing.begin(), differing.end());
        for (const CountedToken& counted : model->counted)
            if (!std::binary_search(differing.begin(), differing.end(), counted.token)) draft.mask.counted.push_back(counted);
    }
    if (!draft.words.empty()) draft.mask.inner = shared(std::move(draft.words));
}

// Add the states that the characters beyond ASCII lead to, line and paragraph separators aside; false: some is refused.
bool StringMasks::after_characters(uint32_t from, std::vector<uint32_t>& targets) {
    struct Bytes {
        uint8_t low, high;
    };
    static const std::vector<std::vector<Bytes>> kSpellings = {
        {{0xC2, 0xDF}, {0x80, 0xBF}},
        {{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}},
        {{0xE1, 0xE1}, {0x80, 0xBF}, {0x80, 0xBF}},
        {{0xE2, 0xE2}, {0x80, 0x80}, {0x80, 0xA7}},
        {{0xE2, 0xE2}, {0x80, 0x80}, {0xAA, 0xBF}},
        {{0xE2, 0xE2}, {0x81, 0xBF}, {0x80, 0xBF}},
        {{0xE3, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}},
        {{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}},
        {{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}},
        {{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
        {{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}},
        {{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}},
    };
    std::vector<uint32_t> states, next;
    for (const auto& spelling : kSpellings) {
        states.assign(1, from);
        for (auto [low, high] : spelling) {
            next.clear();
            for (uint32_t state : states)
                for (unsigned byte = low; byte <= high; ++byte)
                    if (uint32_t to = dfa_.next(state, static_cast<uint8_t>(byte)); next.empty() || next.back() != to) next.push_back(to);
            std::sort(next.begin(), next.end());
            next.erase(std::unique(next.begin(), next.end()), next.end());
            if (next[0] == 0) return false;
            states.swap(next);
        }
        for (uint32_t state : states)
            if (std::find(targets.begin(), targets.end(), state) == targets.end()) targets.push_back(state);
    }
    return true;
}

// The states that the characters of a slice lead to; the first one is 0 if some character is refused.
std::vector<uint32_t> StringMasks::after_any(uint32_t state, const Slice& slice) {
    std::vector<uint32_t> out;
    for (unsigned byte = 0x20; byte < 0x80; ++byte) {
        if (!slice.bytes.has(static_cast<uint8_t>(byte))) continue;
        uint32_t next = dfa_.next(state, static_cast<uint8_t>(byte));
        if (!next) return {0};
        if (std::find(out.begin(), out.end(), next) == out.end()) out.push_back(next);
    }
    if (slice.beyond_ascii && !after_characters(state, out)) return {0};
    return out;
}

// How many characters of the slice can be read from the state, whichever they are: one less than the way to the nearest
// state that refuses one. Looks at a few dozen states; those it did not look at may refuse everything.
size_t StringMasks::safe(uint32_t start, const VocabularyTables& tables, size_t index) {
    constexpr size_t kMost = 64, kEnough = Slice::kRanks - 1;
    const Slice& slice = tables.slices()[index];
    auto key = [index](uint32_t state) { return uint64_t{state} << 8 | index; };
    if (auto it = safe_.find(key(start)); it != safe_.end() && (it->second.exact || it->second.chars >= kEnough)) return it->second.chars;
    // 1) The states around.
    std::vector<uint32_t> order{start};
    std::unordered_map<uint32_t, uint32_t> place{{start, 0}};
    std::vector<std::vector<uint32_t>> before(1);
    std::vector<std::pair<uint32_t, uint8_t>> ends;  // states with what is known of them: the sources of the second search
    bool complete = true;
    for (uint32_t at = 0; at < order.size(); ++at) {
        if (auto it = safe_.find(key(order[at])); it != safe_.end() && it->second.exact) {
            ends.emplace_back(at, it->second.chars);
            continue;
        }
        std::vector<uint32_t> after;
        if (at < kMost) after = after_any(order[at], slice);
        if (at >= kMost || after[0] == 0) {
            complete &= at < kMost;
            ends.emplace_back(at, 0);
            continue;
        }
        for (uint32_t next : after) {
            auto [it, fresh] = place.try_emplace(next, static_cast<uint32_t>(order.size()));
            if (fresh) order.push_back(next), before.emplace_back();
            before[it->second].push_back(at);
        }
    }
    // 2) From the ends backwards, the nearest first.
    std::vector<uint8_t> chars(order.size(), Slice::kMixed);
    std::vector<std::vector<uint32_t>> waiting(Slice::kMixed);
    for (auto [at, known] : ends)
        if (known != Slice::kMixed) waiting[known].push_back(at);
    for (size_t distance = 0; distance < waiting.size(); ++distance)
        for (size_t k = 0; k < waiting[distance].size(); ++k) {
            uint32_t at = waiting[distance][k];
            if (chars[at] <= distance) continue;
            chars[at] = static_cast<uint8_t>(distance);
            if (distance + 1 < waiting.size())
                for (uint32_t previous : before[at]) waiting[distance + 1].push_back(previous);
        }
    if (safe_.size() > 200'000) safe_.clear();
    for (size_t at = 0; at < std::min(order.size(), kMost); ++at) safe_[key(order[at])] = {chars[at], complete || (at == 0 && chars[0] == 0)};
    return chars[0];
}

size_t StringMasks::known_safe(uint32_t state, size_t slice) const {
    auto it = safe_.find(uint64_t{state} << 8 | slice);
    return it == safe_.end() ? 0 : it->second.chars;
}

void StringMasks::inner_by_walk(Draft& draft) {
    const Trie& trie = draft.tables.all();
    draft.words.assign(draft.tables.words(), 0);
    // 1) What a slice settles. Two characters at least, or the walk does as well.
    constexpr size_t kNoSlice = SIZE_MAX;
    size_t chosen = kNoSlice;
    const bool always_whole = !draft.counting || dfa_.kernel().is_any_string(dfa_.component(draft.from, 0));
    if (always_whole && dfa_.next_bytes(draft.from).size() > 20)
        for (size_t k = 0; k < draft.tables.slices().size() && chosen == kNoSlice; ++k)
            if (safe(draft.from, draft.tables, k) >= 2) chosen = k;
    const Slice* slice = chosen == kNoSlice ? nullptr : &draft.tables.slices()[chosen];
    size_t length = slice ? safe(draft.from, draft.tables, chosen) : 0;  // that the bitmask of the slice is taken for
    length = length == Slice::kMixed ? length : std::min(length, Slice::kRanks - 1);
    if (slice) draft.words = slice->up_to[std::min(length, Slice::kRanks)];
    // 2) The rest.
    struct Place {
        uint32_t state, chars, read;  // read: characters, as slices count them
    };
    descend(trie, Place{draft.from, 0, 0}, [&](const Place& before, uint8_t byte, uint32_t node, Place& at) {
        const uint32_t state = dfa_.next(before.state, byte);
        if (!state) return false;
        at = {state, before.chars, before.read + ((byte & 0xC0) != 0x80)};
        if (slice && slice->pure[node] != Slice::kMixed) {
            if (draft.counting && slice->pure[node] > VocabularyTables::kLengthRanks) {
                // Longer tokens do not count as plain: each has to be listed with its length.
            } else if (slice->pure[node] <= length) {
                return false;
            } else if (byte < 0x80 && at.read + known_safe(state, chosen) >= slice->pure[node]) {
                for (uint32_t token : trie.tokens_below(node)) set_bit(draft.words.data(), token);
                return false;
            }
        }
        at.chars += draft.counting && dfa_.state(state).boundary;
        for (uint32_t token : trie.tokens_at(node)) {
            set_bit(draft.words.data(), token);
            if (draft.counting && (!draft.tables.is_plain(token) || !dfa_.state(state).accepts.any()))
                draft.mask.counted.push_back({token, at.chars + needed(state)});
        }
        return true;
    });
    draft.mask.allowed = count_bits(draft.words.data(), draft.words.size());
    draft.mask.inner = shared(std::move(draft.words));
}

// Code points that a counted string needs at least from here, the one being read included.
uint32_t StringMasks::needed(uint32_t state) {
    uint32_t least = kUnbounded;
    for (uint32_t k = 0; k < dfa_.state(state).count; ++k)
        if (dfa_.state(state).alive[k]) least = std::min(least, dfa_.chars_to_accept(state, k));
    return std::min(least, 1u << 30);
}

// The tokens that close the string, by the state at the quote and the code points before it.
void StringMasks::find_exits(Draft& draft) {
    const Trie& trie = draft.tables.quoted();
    struct Place {
        uint32_t state, chars, length;  // length: bytes read
    };
    std::map<std::pair<uint32_t, uint32_t>, size_t> groups;
    descend(trie, Place{draft.from, 0, 0}, [&](const Place& before, uint8_t byte, uint32_t node, Place& at) {
        at = {dfa_.next(before.state, byte), before.chars, before.length + 1};
        if (at.state) {
            at.chars += draft.counting && dfa_.state(at.state).boundary;
            return true;
        }
        if (byte != '"' || dfa_.state(before.state).accepts.none()) return false;
        size_t group = SIZE_MAX;
        for (uint32_t token : trie.tokens_below(node)) {
            const uint32_t tail = draft.tables.tail_of(token, at.length);
            if (tail == VocabularyTables::kNoTail) continue;
            if (group == SIZE_MAX) {
                auto [it, fresh] = groups.try_emplace({before.state, before.chars}, draft.mask.exits.size());
                if (fresh) draft.mask.exits.push_back({before.state, before.chars, {}});
                group = it->second;
            }
            draft.mask.exits[group].tails.emplace_back(tail, token);
        }
        return false;
    });
}

}  // namespace schemagen
