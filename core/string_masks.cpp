#include "string_masks.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>

#include "hash.hpp"

namespace schemagen {

struct StringMasks::Draft {
    uint32_t from;
    bool counting;
    const VocabularyTables& tables;
    StringMask mask;
    std::vector<uint32_t> words;
};

namespace {

bool has(const std::vector<uint32_t>& words, uint32_t k) { return words[k >> 5] >> (k & 31) & 1; }

}  // namespace

size_t StringMask::memory_bytes() const {
    size_t bytes = sizeof(*this) + counted.size() * sizeof(CountedToken);
    if (inner.use_count() == 1) bytes += inner->size() * 4;
    for (const StringExit& exit : exits) bytes += exit.tails.size() * 8 + 64;
    return bytes;
}

size_t StringMasks::Hash::operator()(const Key& key) const { return mix(key.vocabulary, key.state); }

StringMasks::StringMasks(LazyDfa& dfa) : dfa_(dfa) {
    Kernel& kernel = dfa.kernel();
    for (Encoding encoding : {Encoding::kJson, Encoding::kCanonical, Encoding::kUtf8}) {
        models_.push_back(dfa.intern({kernel.any_string(encoding)}, false));
        // The dots of ECMA-262 and of Python.
        NodeId ecma = kernel.chars(encoding, {{0, 9}, {11, 12}, {14, 0x2027}, {0x202A, kMaxCodePoint}});
        NodeId python = kernel.chars(encoding, {{0, 9}, {11, kMaxCodePoint}});
        for (NodeId dot : {ecma, python}) models_.push_back(dfa.intern({kernel.repeat(dot, 0, kUnbounded)}, false));
    }
}

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
    uint32_t model = counting ? 0 : model_of(from), hub = 0;
    if (model) {
        auto known = get(model, false, tables);
        draft.mask.inner = known->inner;
        draft.mask.allowed = known->allowed;
    } else if ((hub = hub_of(from))) {
        inner_by_difference(draft, hub);
    } else {
        inner_by_walk(draft);
    }
    find_exits(draft);
    return std::move(draft.mask);
}

// A model from which the same texts can be read; 0: none.
uint32_t StringMasks::model_of(uint32_t state) {
    if (dfa_.state(state).marked || std::find(models_.begin(), models_.end(), state) != models_.end()) return 0;
    if (!dfa_.next(state, 'e') || !dfa_.next(state, '#')) return 0;
    for (uint32_t model : models_)
        if (dfa_.reads_like(state, model)) return model;
    return 0;
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
    struct Level {
        uint32_t state, other, chars, at, end;
    };
    std::vector<Level> levels;
    levels.push_back({draft.from, hub, 0, trie.first_child[trie.root()], trie.first_child[trie.root() + 1]});
    std::vector<uint32_t> differing;  // tokens that do not end where the hub's do
    auto own = [&]() -> std::vector<uint32_t>& {
        if (draft.words.empty()) draft.words = *model->inner;
        return draft.words;
    };
    while (!levels.empty()) {
        Level& level = levels.back();
        if (level.at == level.end) {
            levels.pop_back();
            continue;
        }
        uint32_t k = level.at++;
        uint8_t byte = trie.child_byte[k];
        uint32_t node = trie.child[k];
        uint32_t state = dfa_.next(level.state, byte), other = dfa_.next(level.other, byte);
        if (state == other) continue;
        if (!state) {
            for (uint32_t t = trie.first_token[node]; t < trie.first_token[trie.skip[node]]; ++t) {
                uint32_t token = trie.tokens[t];
                if (!has(*model->inner, token)) continue;
                own()[token >> 5] &= ~(1u << (token & 31));
                --draft.mask.allowed;
                if (draft.counting) differing.push_back(token);
            }
            continue;
        }
        const LazyDfa::State& at = dfa_.state(state);
        bool boundary = !draft.counting || at.boundary;
        uint32_t chars = level.chars + (draft.counting && boundary ? 1 : 0);
        for (uint32_t t = trie.first_token[node]; t < trie.first_token[node + 1]; ++t) {
            uint32_t token = trie.tokens[t];
            if (!has(*model->inner, token)) {
                own()[token >> 5] |= 1u << (token & 31);
                ++draft.mask.allowed;
            }
            if (!draft.counting) continue;
            differing.push_back(token);
            draft.mask.counted.push_back({token, chars + (boundary ? 0 : 1), !boundary || at.accepts.any()});
        }
        levels.push_back({state, other, chars, trie.first_child[node], trie.first_child[node + 1]});
    }
    if (draft.counting) {
        std::sort(differing.begin(), differing.end());
        for (const CountedToken& counted : model->counted)
            if (!std::binary_search(differing.begin(), differing.end(), counted.token)) draft.mask.counted.push_back(counted);
    }
    if (!draft.words.empty()) draft.mask.inner = std::make_shared<const std::vector<uint32_t>>(std::move(draft.words));
}

// The state that every character beyond ASCII leads to; 0 if there is no such state.
uint32_t StringMasks::after_character(uint32_t from) {
    static constexpr struct {
        uint8_t low, high, next_low, next_high, length;
    } kLeads[] = {{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
                  {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    uint32_t target = UINT32_MAX;
    std::vector<uint32_t> open, next;
    for (const auto& lead : kLeads) {
        open.clear();
        for (unsigned byte = lead.low; byte <= lead.high; ++byte) open.push_back(dfa_.next(from, static_cast<uint8_t>(byte)));
        for (uint8_t left = lead.length - 1; left > 0; --left) {
            std::sort(open.begin(), open.end());
            open.erase(std::unique(open.begin(), open.end()), open.end());
            if (open[0] == 0) return 0;
            next.clear();
            unsigned low = left == lead.length - 1 ? lead.next_low : 0x80, high = left == lead.length - 1 ? lead.next_high : 0xBF;
            for (uint32_t state : open)
                for (unsigned byte = low; byte <= high; ++byte)
                    if (uint32_t to = dfa_.next(state, static_cast<uint8_t>(byte)); next.empty() || next.back() != to) next.push_back(to);
            open.swap(next);
        }
        for (uint32_t state : open) {
            if (target == UINT32_MAX) target = state;
            if (state != target || !state) return 0;
        }
    }
    return target;
}

// How many characters of the slice the state takes, whichever they are, going the same way; kMixed: without end.
size_t StringMasks::chain(uint32_t state, const Slice& slice) {
    for (size_t length = 0;; ++length) {
        uint32_t to = UINT32_MAX;
        for (unsigned byte = 0; byte < 0x80; ++byte) {
            if (!slice.bytes.has(static_cast<uint8_t>(byte))) continue;
            uint32_t next = dfa_.next(state, static_cast<uint8_t>(byte));
            if (to == UINT32_MAX) to = next;
            if (!next || next != to) return length;
        }
        if (slice.beyond_ascii && after_character(state) != to) return length;
        if (to == state) return Slice::kMixed;
        if (length + 2 == Slice::kRanks) return length + 1;
        state = to;
    }
}

void StringMasks::inner_by_walk(Draft& draft) {
    const Trie& trie = draft.tables.all();
    draft.words.assign(draft.tables.words(), 0);
    // 1) What a slice settles. Two characters at least, or the walk does as well.
    const Slice* slice = nullptr;
    size_t length = 0;
    if (!draft.counting && dfa_.next_bytes(draft.from).size() > 20)
        for (const Slice& tried : draft.tables.slices()) {
            length = chain(draft.from, tried);
            if (length < 2) continue;
            slice = &tried;
            draft.words = tried.up_to[std::min(length, Slice::kRanks)];
            break;
        }
    // 2) The rest.
    struct Level {
        uint32_t state, chars, at, end;
    };
    std::vector<Level> levels;
    levels.push_back({draft.from, 0, trie.first_child[trie.root()], trie.first_child[trie.root() + 1]});
    while (!levels.empty()) {
        Level& level = levels.back();
        if (level.at == level.end) {
            levels.pop_back();
            continue;
        }
        uint32_t k = level.at++;
        uint32_t state = dfa_.next(level.state, trie.child_byte[k]);
        if (!state) continue;
        uint32_t node = trie.child[k];
        if (slice && slice->pure[node] != Slice::kMixed && slice->pure[node] <= length) continue;
        bool boundary = !draft.counting || dfa_.state(state).boundary;
        uint32_t chars = level.chars + (draft.counting && boundary ? 1 : 0);
        for (uint32_t t = trie.first_token[node]; t < trie.first_token[node + 1]; ++t) {
            uint32_t token = trie.tokens[t];
            draft.words[token >> 5] |= 1u << (token & 31);
            if (draft.counting && (!draft.tables.is_plain(token) || !dfa_.state(state).accepts.any()))
                draft.mask.counted.push_back({token, chars + (boundary ? 0 : 1), !boundary || dfa_.state(state).accepts.any()});
        }
        if (trie.first_child[node] != trie.first_child[node + 1]) levels.push_back({state, chars, trie.first_child[node], trie.first_child[node + 1]});
    }
    for (uint32_t word : draft.words) draft.mask.allowed += static_cast<uint32_t>(std::popcount(word));
    draft.mask.inner = std::make_shared<const std::vector<uint32_t>>(std::move(draft.words));
}

// The tokens that close the string, by the state at the quote and the code points before it.
void StringMasks::find_exits(Draft& draft) {
    const Trie& trie = draft.tables.quoted();
    struct Level {
        uint32_t state, chars, at, end;
    };
    std::vector<Level> levels;
    levels.push_back({draft.from, 0, trie.first_child[trie.root()], trie.first_child[trie.root() + 1]});
    std::map<std::pair<uint32_t, uint32_t>, size_t> groups;
    while (!levels.empty()) {
        Level& level = levels.back();
        if (level.at == level.end) {
            levels.pop_back();
            continue;
        }
        uint32_t k = level.at++, node = trie.child[k];
        uint32_t state = dfa_.next(level.state, trie.child_byte[k]);
        if (state) {
            uint32_t chars = level.chars + (draft.counting && dfa_.state(state).boundary ? 1 : 0);
            levels.push_back({state, chars, trie.first_child[node], trie.first_child[node + 1]});
            continue;
        }
        if (trie.child_byte[k] != '"' || dfa_.state(level.state).accepts.none()) continue;
        size_t group = SIZE_MAX, depth = levels.size();
        for (uint32_t t = trie.first_token[node]; t < trie.first_token[trie.skip[node]]; ++t) {
            uint32_t token = trie.tokens[t], tail = draft.tables.tail_of(token, depth);
            if (tail == VocabularyTables::kNoTail) continue;
            if (group == SIZE_MAX) {
                auto [it, fresh] = groups.try_emplace({level.state, level.chars}, draft.mask.exits.size());
                if (fresh) draft.mask.exits.push_back({level.state, level.chars, {}});
                group = it->second;
            }
            draft.mask.exits[group].tails.emplace_back(tail, token);
        }
    }
}

}  // namespace schemagen
