#include "masks/masks.hpp"

#include <algorithm>
#include <cstring>

#include "util/bits.hpp"
#include "util/hash.hpp"
#include "util/heap.hpp"

namespace schemagen {

size_t Masks::KeyHash::operator()(const LocalKey& key) const { return mix(mix(key.a, key.b), key.c); }

Masks::Masks(Automaton& automaton, const VocabularyTables& tables, StringMasks& strings)
    : automaton_(automaton),
      flat_(automaton),
      view_(automaton.facets().containers ? *automaton.facets().containers : flat_),
      string_view_(automaton.facets().strings ? *automaton.facets().strings : flat_),
      tables_(tables),
      strings_(strings),
      sets_(1) {
    sets_[0].assign(tables.tail_count() / 32 + 1, 0);  // set 0: no tail, not even the empty one
    set_index_.insert(0, 0);
}

// Depth-first over the trie; a rejected byte skips its subtree (llguidance, docs/toktrie.md, describes the same idea).
// `hit(tokens)` where a prefix can be read, `out(node, how, length)` where it closes the container: not followed any
// further.
template <class Hit, class Out>
void Masks::walk(const Trie& trie, uint32_t top, const Configuration& from, Arena& arena, const Hit& hit,
                 const Out& out) {
    auto& levels = workspace_->levels;
    if (levels.size() < trie.max_depth + 2) levels.resize(trie.max_depth + 2);
    walk_below(trie, top, 0, from, arena, hit, out);
}

// The same for the tokens below a node, `depth` bytes down.
template <class Hit, class Out>
void Masks::walk_below(const Trie& trie, uint32_t top, size_t base, const Configuration& from, Arena& arena,
                       const Hit& hit, const Out& out) {
    constexpr uint32_t kMany = 8;  // children from which on it pays to ask for the possible bytes first
    auto open = [&](Workspace::Level& level, uint32_t node) {
        level.at = trie.first_child[node];
        level.end = trie.first_child[node + 1];
        if (level.end - level.at > kMany)
            level.bytes = automaton_.next_bytes(level.config);
        else
            level.bytes.words.fill(~0ull);
    };
    if (uint32_t state = scalar_state(trie, top, from))
        return walk_scalar(trie, top, base, from, state, arena, hit, out);
    auto& levels = workspace_->levels;
    size_t depth = base;
    levels[depth].config = from;
    open(levels[depth], top);
    while (true) {
        Workspace::Level& level = levels[depth];
        if (level.at == level.end) {
            if (depth-- == base) return;
            continue;
        }
        uint32_t k = level.at++;
        if (!level.bytes.has(trie.child_byte[k])) continue;
        poll();
        Configuration& next = levels[depth + 1].config;
        next = level.config;
        if (!automaton_.step(next, trie.child_byte[k], arena)) continue;
        uint32_t node = trie.child[k];
        if (next.outside) {
            out(node, next.state, depth + 1);
            continue;
        }
        hit(trie.tokens_at(node));
        if (!trie.has_children(node)) continue;
        if (uint32_t state = scalar_state(trie, node, next))
            walk_scalar(trie, node, depth + 1, next, state, arena, hit, out);
        else
            open(levels[++depth], node);
    }
}

// The state, if the subtree is the rest of a number or literal name and large enough to be looked up; else 0.
uint32_t Masks::scalar_state(const Trie& trie, uint32_t node, const Configuration& config) const {
    constexpr size_t kFew = 16;
    if (&trie != &tables_.all() || (node != trie.root() && trie.tokens_below(node).size() < kFew)) return 0;
    return view_.literal_state(config);
}

// Tokens that go on within a number or literal name are the same in every place; only those that end it are walked.
template <class Hit, class Out>
void Masks::walk_scalar(const Trie& trie, uint32_t top, size_t base, const Configuration from, uint32_t state,
                        Arena& arena, const Hit& hit, const Out& out) {
    const auto rest = strings_.literal(state, top, tables_);
    for (const StringClass& one : rest->inner) hit(std::span<const uint32_t>(one.tokens));
    for (const LiteralEnd& end : rest->ends) {
        const size_t length = base + end.read + 1;
        for (uint32_t k = trie.first_child[end.node]; k < trie.first_child[end.node + 1]; ++k) {
            if (!StringMasks::ends_literal(trie.child_byte[k])) continue;
            Configuration next = from;
            next.state = end.state;
            if (!automaton_.step(next, trie.child_byte[k], arena)) continue;
            const uint32_t node = trie.child[k];
            if (next.outside) {
                out(node, next.state, length);
                continue;
            }
            hit(trie.tokens_at(node));
            if (trie.has_children(node)) walk_below(trie, node, length, next, arena, hit, out);
        }
    }
}

bool Masks::reads(const Configuration& from, std::string_view bytes, Arena& arena) {
    poll();
    Configuration config = from;
    for (char c : bytes)
        if (!automaton_.step(config, static_cast<uint8_t>(c), arena)) return false;
    return true;
}

Masks::Exits& Masks::exits_of(std::vector<Exits>& all, uint32_t how) {
    for (Exits& exits : all)
        if (exits.how == how) return exits;
    all.push_back({how, {}, {}});
    return all.back();
}

// ---- the next token -----------------------------------------------------------------------------------------------

std::shared_ptr<const Masks::LocalTails> Masks::local_tails(const Configuration& following, Arena& arena) {
    LocalKey key = view_.local_key(following, tables_.longest_token());
    if (key.usable)
        if (const Local* known = cache_.find(key); known && known->tails) return known->tails;
    auto made = std::make_shared<LocalTails>();
    made->words.assign(tables_.tail_count() / 32 + 1, 0);
    set_bit(made->words.data(), 0);
    const Trie& trie = tables_.tails();
    walk(
        trie, trie.root(), view_.detached(following, arena), arena,
        [&](std::span<const uint32_t> tails) {
            for (uint32_t tail : tails) set_bit(made->words.data(), tail);
        },
        [&](uint32_t node, uint32_t how, size_t length) {
            for (uint32_t tail : trie.tokens_below(node)) {
                if (how == ContainerView::kUnclear) {
                    made->unclear.push_back(tail);
                    continue;
                }
                uint32_t rest = tables_.rest_of(tail, length);
                if (rest != VocabularyTables::kNoTail) exits_of(made->exits, how).pairs.emplace_back(rest, tail);
            }
        });
    for (Exits& exits : made->exits)
        std::sort(exits.pairs.begin(), exits.pairs.end(), [](auto a, auto b) { return a.second < b.second; });
    if (key.usable) cache_.add(key, memory_of(*made) + key.memory_bytes()).tails = made;
    return made;
}

// The set of tails that may follow the container around `inside` when it was closed in that way. That depends on those
// of the containers around it, which come first: any number of them may be open.
uint32_t Masks::tails(const Configuration& inside, uint32_t how, Arena& arena) {
    if (how == ContainerView::kFirst && view_.tails_of(inside) != UINT32_MAX) return view_.tails_of(inside);
    std::vector<Configuration> around;
    for (Configuration at = inside; view_.leave(at) && view_.tails_of(at) == UINT32_MAX;) around.push_back(at);
    for (; !around.empty(); around.pop_back()) {
        const Arena::Mark mark = arena.mark();
        find_tails(around.back(), ContainerView::kFirst, arena);
        arena.release(mark);
    }
    return find_tails(inside, how, arena);
}

uint32_t Masks::find_tails(const Configuration& inside, uint32_t how, Arena& arena) {
    Configuration following;
    const uint32_t found = view_.after_close(inside, how, following, arena) ? tails_after(following, arena) : 0;
    if (how == ContainerView::kFirst) view_.tails_of(inside) = found;
    return found;
}

uint32_t Masks::tails_after(const Configuration& following, Arena& arena) {
    poll();
    auto local = local_tails(following, arena);
    std::vector<uint32_t> words(local->words);
    for (const Exits& exits : local->exits) {
        const uint32_t* after = sets_[tails(following, exits.how, arena)].data();
        for (auto [rest, tail] : exits.pairs)
            if (has_bit(after, rest)) set_bit(words.data(), tail);
    }
    for (uint32_t tail : local->unclear)
        if (reads(following, tables_.tail_text(tail), arena)) set_bit(words.data(), tail);
    if (may_repeat_key(following))
        for (uint32_t tail : tables_.tails_with_key())
            if (has_bit(words.data(), tail) && !reads(following, tables_.tail_text(tail), arena))
                clear_bit(words.data(), tail);
    const uint64_t hash = hash_words(words.data(), words.size());
    uint32_t known = set_index_.find(hash, [&](uint32_t other) { return sets_[other] == words; });
    if (known != HashIndex::kNone) return known;
    uint32_t id = static_cast<uint32_t>(sets_.size());
    set_bytes_ += words.size() * 4 + 64;
    sets_.push_back(std::move(words));
    set_index_.insert(hash, id);
    return id;
}

// The tokens of exits, of the mask of a configuration, that go on with a tail of the set.
const std::vector<uint32_t>& Masks::through(Exits& exits, uint32_t set_id, const Configuration& config) {
    for (const auto& [known, tokens] : exits.through)
        if (known == set_id) return tokens;
    std::vector<uint32_t> tokens;
    const uint32_t* words = sets_[set_id].data();
    for (auto [tail, token] : exits.pairs)
        if (has_bit(words, tail)) tokens.push_back(token);
    if (const LocalKey key = view_.local_key(config, tables_.longest_token()); key.usable)
        cache_.grow(key, tokens.size() * 4 + 32);
    return exits.through.emplace_back(set_id, std::move(tokens)).second;
}

// ---- local masks --------------------------------------------------------------------------------------------------

void Masks::add(LocalMask& mask, uint32_t token) {
    if (has_bit(workspace_->words.data(), token)) return;
    set_bit(workspace_->words.data(), token);
    mask.tokens.push_back(token);
}

// The tokens below a node of the vocabulary's trie. The node is the root only for machines without containers.
void Masks::add_walk(LocalMask& mask, uint32_t top, const Configuration& from, Arena& arena) {
    const Trie& trie = tables_.all();
    walk(
        trie, top, from, arena,
        [&](std::span<const uint32_t> tokens) {
            for (uint32_t token : tokens) add(mask, token);
        },
        [&](uint32_t node, uint32_t how, size_t length) {
            for (uint32_t token : trie.tokens_below(node)) {
                if (how == ContainerView::kUnclear) {
                    mask.unclear.push_back(token);
                    continue;
                }
                uint32_t tail = tables_.tail_of(token, length);
                if (tail != VocabularyTables::kNoTail) exits_of(mask.exits, how).pairs.emplace_back(tail, token);
            }
        });
}

// The tokens that stay inside a string of bounded languages: in any of them, each with the room that it has.
void Masks::add_inner(const StringBody& body, uint32_t* words) {
    std::vector<uint32_t> own(tables_.words());
    for (const StringBody::Language& language : body.languages) {
        const auto inner = strings_.inner(language.state, language.bounded, tables_);
        own = *inner->words;
        if (language.bounded) {
            const uint32_t* plain = tables_.plain_up_to(language.room);
            for (uint32_t w = 0; w < tables_.words(); ++w) own[w] &= plain[w];
            for (const CountedToken& counted : inner->counted) {
                clear_bit(own.data(), counted.token);
                if (counted.chars <= language.room) set_bit(own.data(), counted.token);
            }
        }
        for (uint32_t w = 0; w < tables_.words(); ++w) words[w] |= own[w];
    }
}

// The tokens of a string: those that stay inside, and by the state at its closing quote those that leave it.
void Masks::add_string(LocalMask& mask, const StringBody& body, const Configuration& config, Arena& arena) {
    if (body.bounded()) {
        add_inner(body, workspace_->words.data());
        mask.allowed = count_bits(workspace_->words.data(), tables_.words());
    } else {
        mask.inner = strings_.inner(body.state, false, tables_);
        mask.base = mask.inner->words->data();
        mask.allowed = mask.inner->allowed;
        std::copy_n(mask.base, tables_.words(), workspace_->words.begin());
    }
    const std::vector<uint32_t> declared = declared_keys(config);
    const auto all_exits = strings_.exits(body.state, body.counting, tables_);
    for (const StringExit& exit : *all_exits) {
        Configuration following = config;
        if (view_.close_string(following, exit.state, exit.chars, arena))
            add_exit(mask, exit, declared, following, arena);
    }
}

// The tokens that close a declared key, sorted: they do not close an extra one.
std::vector<uint32_t> Masks::declared_keys(const Configuration& config) {
    std::vector<uint32_t> nodes, declared;
    view_.declared_closings(config, tables_.all(), nodes);
    for (uint32_t node : nodes) {
        auto below = tables_.all().tokens_below(node);
        declared.insert(declared.end(), below.begin(), below.end());
    }
    std::sort(declared.begin(), declared.end());
    return declared;
}

// The tokens, except those of `declared`, that leave a string at one state, by the text allowed after its closing
// quote.
void Masks::add_exit(LocalMask& mask, const StringExit& exit, const std::vector<uint32_t>& declared,
                     const Configuration& following, Arena& arena) {
    auto is_extra = [&](uint32_t token) {
        return declared.empty() || !std::binary_search(declared.begin(), declared.end(), token);
    };
    if (following.outside) {
        for (auto [tail, token] : exit.tails)
            if (is_extra(token)) mask.unclear.push_back(token);
        return;
    }
    auto follow = local_tails(following, arena);
    for (uint32_t tail : follow->unclear)
        for (auto [own, token] : exit.tails)
            if (own == tail && is_extra(token)) mask.unclear.push_back(token);
    for (auto [tail, token] : exit.tails)
        if (has_bit(follow->words.data(), tail) && is_extra(token)) add(mask, token);
    for (const Exits& exits : follow->exits) {
        Exits& own = exits_of(mask.exits, exits.how);
        for (auto [tail, token] : exit.tails) {
            auto it = std::lower_bound(exits.pairs.begin(), exits.pairs.end(), tail,
                                       [](auto pair, uint32_t wanted) { return pair.second < wanted; });
            if (it != exits.pairs.end() && it->second == tail && is_extra(token))
                own.pairs.emplace_back(it->first, token);
        }
    }
}

// The tokens that the machine lists itself, and those below the branches of its list. Returns false if it lists none.
bool Masks::add_listed(LocalMask& mask, const Configuration& from, Arena& arena) {
    TokenLister* lister = automaton_.facets().lister;
    if (!lister) return false;
    const Trie& trie = tables_.all();
    TokenList& list = workspace_->list;
    list.tokens.clear();
    list.branches.clear();
    if (!lister->list_tokens(from, trie, list)) return false;
    mask.tokens.reserve(list.tokens.size());
    for (uint32_t token : list.tokens) add(mask, token);
    for (const auto& [node, config] : list.branches) {
        for (uint32_t token : trie.tokens_at(node)) add(mask, token);
        add_walk(mask, node, config, arena);
    }
    return true;
}

std::shared_ptr<Masks::LocalMask> Masks::build(const Configuration& config, Arena& arena) {
    auto mask = std::make_shared<LocalMask>();
    workspace_->words.assign(tables_.words(), 0);
    Configuration from = view_.detached(config, arena);
    StringBody body = string_view_.string_body(from, tables_.longest_token());
    if (body.state) {
        add_string(*mask, body, from, arena);
        if (body.key) add_walk(*mask, tables_.all().root(), view_.as_declared_key(from), arena);
    } else if (!add_listed(*mask, from, arena)) {
        add_walk(*mask, tables_.all().root(), from, arena);
    }
    if (automaton_.accepting(config))
        for (uint32_t id : tables_.eos()) add(*mask, id);
    mask->allowed += static_cast<uint32_t>(mask->tokens.size());
    if (body.bounded() ||
        mask->tokens.size() > tables_.words() / 8) {  // setting these bits takes longer than copying a row
        mask->dense = strings_.shared(workspace_->words);
        mask->tokens.clear();
    }
    mask->tokens.shrink_to_fit();
    return mask;
}

size_t Masks::memory_of(const std::vector<Exits>& all) {
    size_t bytes = heap_bytes(all);
    for (const Exits& exits : all) bytes += heap_bytes(exits.pairs);
    return bytes;
}

// The lists of exits count when they are made.
size_t Masks::memory_of(const LocalMask& mask) {
    const size_t own = mask.dense.use_count() == 1 ? heap_bytes(*mask.dense) : 0;
    return heap_block(sizeof(mask) + 16) + own + heap_bytes(mask.tokens) + heap_bytes(mask.unclear) +
           memory_of(mask.exits);
}

size_t Masks::memory_of(const LocalTails& tails) {
    return heap_block(sizeof(tails) + 16) + heap_bytes(tails.words) + heap_bytes(tails.unclear) +
           memory_of(tails.exits);
}

std::shared_ptr<Masks::LocalMask> Masks::local(const Configuration& config, Arena& arena) {
    LocalKey key = view_.local_key(config, tables_.longest_token());
    if (!key.usable) return build(config, arena);
    if (const Local* known = cache_.find(key); known && known->mask) return known->mask;
    auto made = build(config, arena);
    cache_.add(key, memory_of(*made) + key.memory_bytes()).mask = made;
    return made;
}

// ---- filling ------------------------------------------------------------------------------------------------------

void Masks::copy_base(const LocalMask& mask, uint32_t* words) const {
    const uint32_t* base = mask.dense ? mask.dense->data() : mask.base;
    if (base)
        std::memcpy(words, base, tables_.words() * sizeof(uint32_t));
    else
        std::memset(words, 0, tables_.words() * sizeof(uint32_t));
    for (uint32_t token : mask.tokens) set_bit(words, token);
}

bool Masks::fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const {
    if (view_.is_text_dependent(config) || may_repeat_key(config)) return false;
    LocalKey key = view_.local_key(config, tables_.longest_token());
    if (!key.usable) return false;
    const Local* known = cache_.find(key);
    if (!known || !known->mask || !known->mask->unclear.empty()) return false;
    const LocalMask& mask = *known->mask;
    // At most one way out of a container is the common case; others take the careful way.
    const std::vector<uint32_t>* tokens = nullptr;
    if (!mask.exits.empty()) {
        const uint32_t set = view_.tails_of(config);
        if (mask.exits.size() > 1 || mask.exits[0].how != ContainerView::kFirst || set == UINT32_MAX) return false;
        for (const auto& [set_id, listed] : mask.exits[0].through)
            if (set_id == set) tokens = &listed;
        if (!tokens) return false;
    }
    copy_base(mask, words);
    allowed = mask.allowed;
    if (tokens) {
        for (uint32_t token : *tokens) set_bit(words, token);
        allowed += static_cast<uint32_t>(tokens->size());
    }
    return true;
}

uint32_t Masks::fill(const Configuration& config, uint32_t* words, Arena& arena) {
    workspace_ = &Workspace::mine();
    if (view_.is_text_dependent(config)) return fill_tracking(config, words, arena);
    auto mask = local(config, arena);
    copy_base(*mask, words);
    uint32_t allowed = mask->allowed;
    for (Exits& exits : mask->exits) {
        const auto& tokens = through(exits, tails(config, exits.how, arena), config);
        for (uint32_t token : tokens) set_bit(words, token);
        allowed += static_cast<uint32_t>(tokens.size());
    }
    for (uint32_t token : mask->unclear)
        if (reads(config, tables_.token(token), arena)) set_bit(words, token), ++allowed;
    if (may_repeat_key(config)) allowed -= take_repeated_keys(config, words, arena);
    return allowed;
}

// Whether a token may write a key that was used, or that it wrote itself.
bool Masks::may_repeat_key(const Configuration& config) const {
    return view_.has_used_keys(config) || !tables_.tokens_with_member().empty();
}

// Take out the tokens that would write a key a second time: those that close the key being read there, and among those
// that hold a whole key the ones that cannot be read. Returns how many.
uint32_t Masks::take_repeated_keys(const Configuration& config, uint32_t* words, Arena& arena) {
    uint32_t taken = 0;
    auto take = [&](uint32_t token) {
        taken += has_bit(words, token);
        clear_bit(words, token);
    };
    const Trie& trie = tables_.all();
    for (const std::string& rest : view_.used_key_suffixes(config)) {
        uint32_t node = trie.find(rest + '"');
        if (node == Trie::kNone) continue;
        for (uint32_t token : trie.tokens_below(node)) take(token);
    }
    for (uint32_t token : tables_.tokens_with_key())
        if (has_bit(words, token) && !reads(config, tables_.token(token), arena)) take(token);
    return taken;
}

// Inside an array with unique items: every token that leaves a string is read in full.
uint32_t Masks::fill_tracking(const Configuration& config, uint32_t* words, Arena& arena) {
    std::memset(words, 0, tables_.words() * sizeof(uint32_t));
    const Trie& trie = tables_.all();
    auto walk_all = [&](const Configuration& from) {
        walk(
            trie, trie.root(), from, arena,
            [&](std::span<const uint32_t> tokens) {
                for (uint32_t token : tokens) set_bit(words, token);
            },
            [](uint32_t, uint32_t, size_t) {});
    };
    StringBody body = string_view_.string_body(config, tables_.longest_token());
    if (!body.state) {
        walk_all(config);
    } else {
        if (body.bounded())
            add_inner(body, words);
        else
            std::memcpy(words, strings_.inner(body.state, false, tables_)->words->data(),
                        tables_.words() * sizeof(uint32_t));
        const auto exits = strings_.exits(body.state, body.counting, tables_);
        for (const StringExit& exit : *exits)
            for (auto [tail, token] : exit.tails)
                if (reads(config, tables_.token(token), arena)) set_bit(words, token);
        if (body.key) walk_all(view_.as_declared_key(config));
    }
    return count_bits(words, tables_.words());
}

}  // namespace schemagen
