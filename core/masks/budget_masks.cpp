#include "masks/budget_masks.hpp"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "automata/token_walk.hpp"
#include "util/bits.hpp"
#include "util/hash.hpp"

namespace schemagen {

namespace {

constexpr uint64_t kMostWork = 100'000;  // steps of all searches for one mask, except that from its place
constexpr size_t kMostUsedUp = 100'000;  // configurations where something is used up that are remembered
constexpr uint32_t kSlack = 64;          // tokens by which one token may raise the need,
                                         // where the exact need is not computed

// Whether another key may have to come after the text that follows a key.
bool asks_for_key(std::string_view tail) { return tail.find(',') != std::string_view::npos; }

}  // namespace

BudgetMasks::BudgetMasks(Completions& ends, Automaton& automaton, const VocabularyTables& tables, StringMasks& strings,
                         MaskEngine* engine)
    : ends_(ends),
      automaton_(automaton),
      guide_(guide_of(automaton)),
      tables_(tables),
      strings_(strings),
      engine_(engine),
      string_view_(automaton.facets().strings),
      containers_(automaton.facets().containers),
      longest_(std::max(tables.longest_token(), 1u)) {}

// The numbers of configurations may change between two masks, not within one.
void BudgetMasks::prepare() {
    ends_.make_room();
    if (epoch_ != ends_.epoch()) most_.clear();
    if (epoch_ != ends_.epoch() || most_used_up_.size() > kMostUsedUp) most_used_up_.clear();
    epoch_ = ends_.epoch();
}

uint32_t BudgetMasks::known_most(const Configuration& config, uint32_t id) const {
    if (id == Completions::kNone) return kUnasked;
    const uint64_t used_up = guide_.used_up(config);
    if (!used_up) return id < most_.size() ? most_[id] : kUnasked;
    const auto known = most_used_up_.find(mix(used_up, id));
    return known == most_used_up_.end() ? kUnasked : known->second;
}

void BudgetMasks::note_most(const Configuration& config, uint32_t most) {
    const uint32_t id = ends_.number_of(config);
    if (id == Completions::kNone) return;
    if (const uint64_t used_up = guide_.used_up(config)) {
        most_used_up_[mix(used_up, id)] = most;
        return;
    }
    if (id >= most_.size()) most_.resize(id + 1, kUnasked);
    most_[id] = most;
}

// The tokens needed, or a number on the same side of a budget; kNever stands for more than that. An end is only
// searched for where bounds leave that open. With no work left for a search, a token is allowed if it leaves `kSlack`
// tokens more than bytes.
uint32_t BudgetMasks::need_within(const Configuration& config, uint32_t budget, Arena& arena) {
    const auto suffices = [&](uint32_t most) {
        if (most <= budget) needs_.first = std::max(needs_.first, most + 1);
        return most <= budget;
    };
    if (automaton_.accepting(config)) return 0;
    if (const auto exact = ends_.told(config)) return *exact;
    const uint32_t most = ends_.most(config);
    if (suffices(most)) return most;
    if (const uint32_t known = ends_.known_tokens(config); known != kNever) return known;
    const uint32_t told = most_told(config);
    if (suffices(told)) return told;
    const uint32_t least = ends_.bound(config);
    if (least > uint64_t{budget} * longest_) {
        needs_.last = std::min(needs_.last, budget + 1);
        return kNever;
    }
    if (told == kNever && ends_.has_work())
        if (const uint32_t some = some_end(config, budget, arena); suffices(some)) return some;
    const uint32_t need = ends_.has_work() ? ends_.needed(config, arena) : kNever;
    if (need != kNever || ends_.has_work()) return need;
    return least + kSlack <= budget ? budget : kNever;
}

// Split the tokens by whether the rest fits after them. Returns whether that could be determined. On machines whose
// places are alone, the needs after most tokens are known without a search, and there are too many places to keep them.
bool BudgetMasks::split(const Configuration& config, uint32_t budget, bool is_alone, Arena& arena) {
    constexpr size_t kMostPlaces = 512;
    std::vector<uint64_t> key;
    const bool is_kept = !is_alone && automaton_.identity(config, true, key);
    const uint32_t known = is_kept ? place_keys_.find(key) : KeyTable::kNone;
    if (known != KeyTable::kNone && known_needs_[known].first <= budget && budget <= known_needs_[known].last) {
        split_by(known_needs_[known], budget);
        return true;
    }
    const bool is_sure = find_needs(config, budget, arena);
    split_by(needs_, budget);
    if (!is_sure && !is_alone && takes_most(config, arena)) note_most(config, kGivenUp);
    if (!is_sure || !is_kept) return is_sure;
    if (known != KeyTable::kNone) {
        known_needs_[known] = needs_;
        return true;
    }
    if (known_needs_.size() >= kMostPlaces) place_keys_.clear(), known_needs_.clear();
    place_keys_.add(key);
    known_needs_.push_back(needs_);
    return true;
}

// Find the needs of a place. Returns whether the work sufficed.
bool BudgetMasks::find_needs(const Configuration& config, uint32_t budget, Arena& arena) {
    const bool is_sure = each_need(
        config, arena,
        [&](const Configuration& next) {
            const uint32_t need = need_within(next, budget - 1, arena);
            return need == kNever ? need : need + guide_.most_differing(config, next);
        },
        [&](const Tokens& tokens, uint32_t need) { needs_.add(tokens, need); });
    if (is_sure && needs_.most < budget && takes_most(config, arena)) note_most(config, needs_.most + 1);
    return is_sure;
}

// The same of the tokens of a mask, where the engine knows that most of them fit: only the others are read.
bool BudgetMasks::split_told(const Configuration& config, uint32_t budget, const uint32_t* words, Arena& arena) {
    told_.assign(tables_.words(), 0);
    if (!is_told() || !engine_->add_near(config, budget - 1, told_.data())) return split(config, budget, true, arena);
    if (!find_open(words)) return split(config, budget, true, arena);
    ends_.limit_work(kMostWork);
    keep_far(config, budget - 1, arena);
    split_.clear();
    split_.fit.add(Tokens{{}, told_.data()});
    split_.far.add(Tokens{open_});
    return ends_.end_work();
}

// The tokens of a mask that the engine does not know to fit, in the order of their bytes. Returns false if there are so
// many that a walk over the vocabulary is shorter.
bool BudgetMasks::find_open(const uint32_t* words) {
    constexpr size_t kMostOpen = 16'384;
    constexpr size_t kMostSorted = 1024;  // from which on reading all tokens in that order takes less time
    open_.clear();
    for (uint32_t w = 0; w < tables_.words() && open_.size() <= kMostOpen; ++w)
        for (uint32_t left = words[w] & ~told_[w]; left; left &= left - 1)
            open_.push_back(w * 32 + static_cast<uint32_t>(std::countr_zero(left)));
    if (open_.size() > kMostOpen) return false;
    std::erase_if(open_, [&](uint32_t token) { return tables_.is_eos(token); });
    if (open_.size() <= kMostSorted) {
        std::ranges::sort(open_, {}, [&](uint32_t token) { return tables_.token(token); });
        return true;
    }
    open_.clear();
    for (uint32_t token : tables_.all().tokens)
        if (has_bit(words, token) && !has_bit(told_.data(), token)) open_.push_back(token);
    return true;
}

// Take the open tokens out after which the rest fits: bytes that a token shares with the one before it are not read
// again, and a place that several tokens lead to is asked once.
void BudgetMasks::keep_far(const Configuration& config, uint32_t budget, Arena& arena) {
    struct Level {
        Configuration config;
        Arena::Mark mark;  // before it
    };
    std::vector<Level> path;  // [bytes read - 1]
    std::unordered_map<uint32_t, bool> known;
    const Arena::Mark begin = arena.mark();
    const auto fits_after = [&](const Configuration& next) {
        const uint32_t number = ends_.number_of(next);
        if (number == Completions::kNone) return need_within(next, budget, arena) <= budget;
        const auto [at, is_new] = known.try_emplace(number);
        if (is_new) at->second = need_within(next, budget, arena) <= budget;
        return at->second;
    };
    std::string_view before;
    std::erase_if(open_, [&](uint32_t token) {
        poll();
        const std::string_view bytes = tables_.token(token);
        size_t common = 0;
        while (common < std::min(before.size(), bytes.size()) && before[common] == bytes[common]) ++common;
        before = bytes;
        for (; path.size() > common; path.pop_back()) arena.release(path.back().mark);
        for (size_t at = path.size(); at < bytes.size(); ++at) {
            const Arena::Mark mark = arena.mark();
            Configuration next = path.empty() ? config : path.back().config;
            if (!automaton_.step(next, static_cast<uint8_t>(bytes[at]), arena)) return false;
            path.push_back({next, mark});
        }
        return fits_after(path.empty() ? config : path.back().config);
    });
    arena.release(begin);
}

// The same where places are not alone. Where searches were given up before, it goes by bounds alone.
bool BudgetMasks::split_shared(const Configuration& config, uint32_t budget, Arena& arena) {
    if (known_most(config, ends_.number_of(config)) != kGivenUp) return split(config, budget, false, arena);
    split_by_bounds(config, ends_.bound(config), budget, arena);
    return false;
}

// Split the tokens without a search: where nothing tells the need after a token, it is that before it and as many
// tokens as a lower bound of the bytes rises, and `kSlack` more tokens have to be left.
void BudgetMasks::split_by_bounds(const Configuration& config, uint32_t need, uint32_t budget, Arena& arena) {
    const uint64_t least = ends_.bound(config);
    each_need(
        config, arena,
        [&](const Configuration& next) -> uint32_t {
            if (automaton_.accepting(next)) return 0;
            if (const auto exact = ends_.told(next)) return *exact + guide_.most_differing(config, next);
            return need + std::max<uint64_t>(ends_.bound(next), least) - least + kSlack < budget ? 0 : kNever;
        },
        [&](const Tokens& tokens, uint32_t after) { needs_.add(tokens, after); });
    split_by(needs_, budget);
}

void BudgetMasks::split_by(const Needs& needs, uint32_t budget) {
    split_.clear();
    for (const auto& [tokens, need] : needs.each) split_.add(tokens, need < budget);
}

void BudgetMasks::Tokens::add_to(uint32_t* allowed, size_t size) const {
    for (uint32_t token : list) set_bit(allowed, token);
    for (size_t w = 0; words && w < size; ++w) allowed[w] |= words[w];
}

void BudgetMasks::Part::add(const Tokens& tokens) {
    if (!tokens.list.empty()) lists.push_back(tokens.list);
    if (tokens.words) bitmasks.push_back(tokens.words);
    size += tokens.list.size();
}

void BudgetMasks::Split::add(const Tokens& tokens, bool fits) {
    if (!tokens.again)
        (fits ? fit : far).add(tokens);
    else
        for (const uint32_t token : tokens.list) again.emplace_back(token, fits);
}

void BudgetMasks::Part::collect(const uint32_t* mask, std::vector<uint32_t>& out) const {
    for (const auto& list : lists)
        for (uint32_t token : list)
            if (has_bit(mask, token)) out.push_back(token);
}

// By the part that is smaller; a whole bitmask is read only where the lists of neither part tell.
uint32_t BudgetMasks::Split::apply_all(uint32_t* mask, uint32_t allowed, size_t words, std::span<const uint32_t> ends) {
    some.clear();
    if (far.bitmasks.empty() && far.size <= std::max(fit.size, words)) {
        far.collect(mask, some);
        for (uint32_t token : some) clear_bit(mask, token);
        return allowed - static_cast<uint32_t>(some.size());
    }
    if (fit.bitmasks.empty()) {
        fit.collect(mask, some);
        for (uint32_t token : ends)
            if (has_bit(mask, token)) some.push_back(token);
        std::fill_n(mask, words, 0);
        for (uint32_t token : some) set_bit(mask, token);
        return static_cast<uint32_t>(some.size());
    }
    for (const auto& list : far.lists)
        for (uint32_t token : list) clear_bit(mask, token);
    for (const uint32_t* bitmask : far.bitmasks)
        for (size_t w = 0; w < words; ++w) mask[w] &= ~bitmask[w];
    return count_bits(mask, words);
}

uint32_t BudgetMasks::Split::apply(uint32_t* mask, uint32_t allowed, size_t words, std::span<const uint32_t> ends) {
    std::erase_if(again, [&](const auto& one) { return !has_bit(mask, one.first); });
    allowed = apply_all(mask, allowed, words, ends);
    for (const auto& [token, fits] : again) {
        allowed = allowed - has_bit(mask, token) + fits;
        fits ? set_bit(mask, token) : clear_bit(mask, token);
    }
    return allowed;
}

// The ends of the tokens at a node: `visit(tokens, config)`. Where tokens are counted, those of one text may differ.
template <class Visit>
void BudgetMasks::each_end(const Trie& trie, uint32_t node, const Configuration& config, Arena& arena,
                           const Visit& visit) {
    const std::span<const uint32_t> tokens = trie.tokens_at(node);
    if (!automaton_.facets().counts_tokens) return visit(Tokens{tokens}, config);
    for (size_t k = 0; k < tokens.size(); ++k)
        if (Configuration next = config; automaton_.end_token(next, tokens[k], arena))
            visit(Tokens{tokens.subspan(k, 1)}, next);
}

// Visit every readable token with the number of tokens needed after it, as computed by `ask`. Tokens that stay inside a
// string or number are grouped by where they end, and a gap is asked once. Returns false if that took too long: for
// some tokens the number is then unknown.
template <class Ask, class Visit>
bool BudgetMasks::each_need(const Configuration& config, Arena& arena, const Ask& ask, const Visit& visit) {
    Configuration last;  // in the frame of `config`: frames of others go with the next step
    uint32_t known = kUnasked;
    needs_.clear();
    ends_.limit_work(kMostWork);
    const auto ask_once = [&](const Configuration& next) {
        if (next.frame != config.frame || next.mode != config.mode) return ask(next);
        const Configuration same = guide_.least_constrained(next, arena);
        if (known == kUnasked || !same_place(last, same)) known = ask(next);
        last = same;
        return known;
    };
    each_below(tables_.all().root(), config, 0, arena, ask_once, visit);
    return ends_.end_work();
}

// The same of the tokens below a node of the trie.
template <class Ask, class Visit>
void BudgetMasks::each_below(uint32_t top, const Configuration& config, size_t depth, Arena& arena, const Ask& ask,
                             const Visit& visit) {
    const Trie& trie = tables_.all();
    walk_tokens(
        automaton_, trie, top, depth, config, arena,
        [&](uint32_t node, const Configuration& at) {
            each_end(trie, node, at, arena,
                     [&](const Tokens& tokens, const Configuration& next) { visit(tokens, ask(next)); });
        },
        [&](uint32_t node, const Configuration& at, size_t deep) {
            if (engine_ && node != trie.root() && engine_->stays(at, tables_.slices().whole[node])) {
                visit(Tokens{trie.tokens_below(node).subspan(trie.tokens_at(node).size())}, ask(at));
                return true;
            }
            return each_class(node, at, deep, arena, ask, visit);
        });
}

// The same by classes: false, if the node did not lead into a string or number.
template <class Ask, class Visit>
bool BudgetMasks::each_class(uint32_t node, const Configuration& config, size_t depth, Arena& arena, const Ask& ask,
                             const Visit& visit) {
    constexpr size_t kFew = 16;
    const Trie& trie = tables_.all();
    if (!string_view_ || (node != trie.root() && trie.tokens_below(node).size() < kFew)) return false;
    if (containers_ && containers_->literal_state(config)) {
        each_in_literal(node, config, depth, arena, ask, visit);
        return true;
    }
    const StringBody body = string_view_->free_of_text(config);
    if (!body.state) return false;
    const auto rest = strings_.rest(body.state, body.counting, node, depth, tables_);
    needs_.owners.push_back(rest);
    for (const StringClass& one : rest->inner) {
        Configuration next = config;
        if (!string_view_->go_on(next, one.state, one.chars)) continue;
        poll();
        visit(Tokens{one.tokens, one.words.empty() ? nullptr : one.words.data()}, ask(next));
    }
    for (const StringClosing& closing : rest->closing) {
        if (body.in_full) {
            each_in_full(closing.tokens, config, depth, arena, ask, visit);
            continue;
        }
        const Arena::Mark mark = arena.mark();
        Configuration next = config;
        if (string_view_->go_on(next, closing.state, closing.chars) && automaton_.step(next, '"', arena)) {
            read_tails(next, arena, ask);
            for (const auto& [tail, need] : tail_needs_) {
                const std::span<const uint32_t> tokens = closing.of(tail);
                if (body.key && asks_for_key(tables_.tail_text(tail)))
                    each_in_full(tokens, config, depth, arena, ask, visit);
                else if (!tokens.empty())
                    visit(Tokens{tokens}, need);
            }
        }
        arena.release(mark);
    }
    if (body.key) {
        each_declared_key(node, config, false, arena, ask, visit);
        each_used_key(node, config, arena, ask, visit);
    }
    return true;
}

// The tokens that go on within a number or literal name, and those that end it and go on.
template <class Ask, class Visit>
void BudgetMasks::each_in_literal(uint32_t top, const Configuration& config, size_t depth, Arena& arena, const Ask& ask,
                                  const Visit& visit) {
    const Trie& trie = tables_.all();
    const auto rest = strings_.literal(containers_->literal_state(config), top, tables_);
    needs_.owners.push_back(rest);
    const auto in_state = [&](uint32_t state) {
        Configuration next = config;
        next.state = state;
        return next;
    };
    for (const StringClass& one : rest->inner) visit(Tokens{one.tokens}, ask(in_state(one.state)));
    for (const LiteralEnd& end : rest->ends) {
        for (uint32_t k = trie.first_child[end.node]; k < trie.first_child[end.node + 1]; ++k) {
            if (!StringMasks::ends_literal(trie.child_byte[k])) continue;
            const Arena::Mark mark = arena.mark();
            Configuration next = in_state(end.state);
            if (automaton_.step(next, trie.child_byte[k], arena)) {
                const uint32_t node = trie.child[k];
                if (const auto tokens = trie.tokens_at(node); !tokens.empty()) visit(Tokens{tokens}, ask(next));
                each_below(node, next, depth + end.read + 1, arena, ask, visit);
            }
            arena.release(mark);
        }
    }
}

// The tokens that close a key after which another one has to come, which may not be like the first: each is read.
template <class Ask, class Visit>
void BudgetMasks::each_in_full(std::span<const uint32_t> tokens, const Configuration& config, size_t depth,
                               Arena& arena, const Ask& ask, const Visit& visit) {
    for (const uint32_t& token : tokens) {
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

// The tokens that go on like a declared key, or close it as that one; `is_closed`: they did.
template <class Ask, class Visit>
void BudgetMasks::each_declared_key(uint32_t from, const Configuration& config, bool is_closed, Arena& arena,
                                    const Ask& ask, const Visit& visit) {
    const Trie& trie = tables_.all();
    const ByteSet bytes = is_closed ? ByteSet{} : containers_->declared_bytes(config);
    for (uint32_t k = trie.first_child[from]; k < trie.first_child[from + 1]; ++k) {
        if (!is_closed && !bytes.has(trie.child_byte[k])) continue;
        poll();
        const Arena::Mark mark = arena.mark();
        Configuration next = config;
        if (automaton_.step(next, trie.child_byte[k], arena)) {
            if (const auto tokens = trie.tokens_at(trie.child[k]); !tokens.empty())
                visit(Tokens{tokens, nullptr, true}, ask(next));
            each_declared_key(trie.child[k], next, is_closed || trie.child_byte[k] == '"', arena, ask, visit);
        }
        arena.release(mark);
    }
}

// The tokens that a key which was used goes on with: the key may not end there.
template <class Ask, class Visit>
void BudgetMasks::each_used_key(uint32_t from, const Configuration& config, Arena& arena, const Ask& ask,
                                const Visit& visit) {
    if (!containers_) return;
    const Trie& trie = tables_.all();
    for (const std::string& rest : containers_->used_key_suffixes(config)) {
        const Arena::Mark mark = arena.mark();
        Configuration next = config;
        uint32_t node = from;
        for (const char byte : rest) {
            node = trie.child_of(node, static_cast<uint8_t>(byte));
            if (node == Trie::kNone || !automaton_.step(next, static_cast<uint8_t>(byte), arena)) break;
            if (const auto tokens = trie.tokens_at(node); !tokens.empty())
                visit(Tokens{tokens, nullptr, true}, ask(next));
        }
        arena.release(mark);
    }
}

// Store the tails that can be read after a string, with the number of tokens needed after each.
template <class Ask>
void BudgetMasks::read_tails(const Configuration& following, Arena& arena, const Ask& ask) {
    tail_needs_.clear();
    tail_needs_.emplace_back(0, ask(following));
    walk_tokens(automaton_, tables_.tails(), following, arena, [&](uint32_t node, const Configuration& next) {
        const uint32_t need = ask(next);
        for (uint32_t tail : tables_.tails().tokens_at(node)) tail_needs_.emplace_back(tail, need);
    });
}

bool BudgetMasks::is_far(const Configuration& config, uint32_t budget) const {
    if (guide_.most_after_token(config) < budget) return true;
    if (epoch_ != ends_.epoch()) return false;
    return known_most(config, ends_.known_number(config)) <= budget;
}

// The tokens that suffice by the engine of the masks; kNever if it does not know.
uint32_t BudgetMasks::most_told(const Configuration& config) const {
    const uint32_t bytes = is_told() ? engine_->most_bytes(config) : Automaton::kFar;
    return bytes < Automaton::kFar ? bytes : kNever;
}

// Tokens that suffice for some text to the end, if they do within a budget; else kNever. A search for the shortest text
// that is cut off may find a longer one: hence the slack.
uint32_t BudgetMasks::some_end(const Configuration& config, uint32_t budget, Arena& arena) {
    if (automaton_.facets().counts_tokens || !ends_.spelling().spells_all()) return kNever;
    if (uint64_t{ends_.bound(config)} + kSlack > budget) return kNever;
    const uint32_t bytes = ends_.some_end(config, budget - kSlack, arena);
    return bytes < Automaton::kFar ? bytes + kSlack : kNever;
}

// Whether a budget is far by the engine.
bool BudgetMasks::is_told_far(const Configuration& config, uint32_t budget, Arena& arena) {
    if (!is_told()) return false;
    const uint32_t most = engine_->most_left(config, arena);
    if (most >= Automaton::kFar) return false;
    if (most < budget) note_most(config, most + 1);
    return most < budget;
}

// Keep the tokens that go along the shortest text and bring the end nearer with each; returns how many.
uint32_t BudgetMasks::keep_text(const Configuration& config, uint32_t* kept, Arena& arena) {
    const Trie& trie = tables_.all();
    const std::string text = ends_.completion_text(config, arena, promised_);
    const bool counts = automaton_.facets().counts_tokens;
    const uint32_t needed = counts ? ends_.needed(config, arena) : 0;
    if (!counts) promised_ = text;  // the tokens that a text takes may depend on those before it
    std::vector<uint32_t> fewest = ends_.spelling().fewest_tokens(text);
    const Arena::Mark mark = arena.mark();
    Configuration here = config;
    uint32_t count = 0, node = trie.root();
    for (size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<uint8_t>(text[at]);
        node = trie.child_of(node, byte);
        if (node == Trie::kNone || (counts && !automaton_.step(here, byte, arena))) break;
        if (!counts && fewest[at + 1] >= fewest[0]) continue;
        each_end(trie, node, here, arena, [&](const Tokens& tokens, const Configuration& next) {
            if (counts && ends_.needed(next, arena) >= needed) return;
            tokens.add_to(kept, tables_.words());
            count += static_cast<uint32_t>(tokens.list.size());
        });
    }
    arena.release(mark);
    return count;
}

// Leave only those.
uint32_t BudgetMasks::keep_to_text(const Configuration& config, uint32_t* words, Arena& arena) {
    std::fill_n(words, tables_.words(), 0);
    return keep_text(config, words, arena);
}

// Whether it takes every token that any configuration with its identity takes.
bool BudgetMasks::takes_most(const Configuration& config, Arena& arena) {
    const Arena::Mark mark = arena.mark();
    const Configuration from = guide_.least_constrained(config, arena);
    const bool out = from.frame == config.frame && same_place(from, config) && !guide_.text_matters(config);
    arena.release(mark);
    return out;
}

// Whether each configuration with the identity of this one takes the same tokens, and none is known to change nothing.
bool BudgetMasks::is_alone(const Configuration& config, Arena& arena) {
    return takes_most(config, arena) && !guide_.stays_inside(config, config);
}

uint32_t BudgetMasks::tighten(const Configuration& config, uint32_t budget, uint32_t* words, uint32_t allowed,
                              Arena& arena, std::string& promised) {
    prepare();
    promised_ = std::move(promised);
    const uint32_t left = tighten_by_need(config, budget, words, allowed, arena);
    promised = std::move(promised_);
    return left;
}

uint32_t BudgetMasks::tighten_by_need(const Configuration& config, uint32_t budget, uint32_t* words, uint32_t allowed,
                                      Arena& arena) {
    if (is_told_far(config, budget, arena)) return allowed;
    const bool accepting = automaton_.accepting(config);
    const uint32_t most = ends_.most(config);
    if (most < Automaton::kFar && guide_.most_after_token(config) < budget) return allowed;
    if (guide_.text_matters(config)) return tighten_by_bounds(config, budget, words, allowed, arena);
    const uint32_t told = most_told(config);
    uint32_t least = std::min(most, told);
    if (least > budget && told == kNever) least = some_end(config, budget, arena);
    if (least > budget) least = std::min(told, ends_.needed(config, arena, promised_));
    if (least == kNever) return allowed;
    budget = std::max(budget, least);  // too late: as fast as possible
    if (is_far(config, budget)) return allowed;
    if (is_alone(config, arena)) {
        if (!split_told(config, budget, words, arena) && !accepting) return keep_text_beside(config, words, arena);
    } else if (!split_shared(config, budget, arena) && budget <= uint64_t{least} + kSlack) {
        return accepting ? keep_ends(words) : keep_to_text(config, words, arena);
    }
    const uint32_t left = split_.apply(words, allowed, tables_.words(), tables_.eos());
    // A text that is not the shortest may not be found again from the middle.
    return left || accepting ? left : keep_to_text(config, words, arena);
}

// The same where the shortest text depends on the text so far, so that an end would be searched for after each token:
// tokens are taken out where the rest is told to be too long, or by its lower bounds. Near the end of the budget the
// shortest text is kept besides.
uint32_t BudgetMasks::tighten_by_bounds(const Configuration& config, uint32_t budget, uint32_t* words, uint32_t allowed,
                                        Arena& arena) {
    const uint32_t need = enough(config, budget, arena);
    if (need == kNever || budget > uint64_t{need} + kSlack + guide_.most_growth(config)) return allowed;
    const bool accepting = automaton_.accepting(config), is_near = budget <= uint64_t{need} + kSlack;
    if (!string_view_) {  // without classes of tokens each one would be read
        if (!is_near) return allowed;
        return accepting ? keep_ends(words) : keep_to_text(config, words, arena);
    }
    split_by_bounds(config, need, std::max(budget, need), arena);
    if (is_near && !accepting) return keep_text_beside(config, words, arena);
    const uint32_t left = split_.apply(words, allowed, tables_.words(), tables_.eos());
    return left || accepting ? left : keep_to_text(config, words, arena);
}

// Tokens that suffice for a text to the end: the one that was promised, some end that is found soon, or the shortest.
uint32_t BudgetMasks::enough(const Configuration& config, uint32_t budget, Arena& arena) {
    const uint32_t promised = promised_.empty() ? kNever : ends_.spelling().fewest(promised_);
    if (const auto told = ends_.told(config)) return std::min(*told, promised);
    if (promised != kNever) return promised;
    const uint32_t some = some_end(config, budget, arena);
    return some != kNever ? some - kSlack : ends_.needed(config, arena);
}

// Leave the ends of the text alone.
uint32_t BudgetMasks::keep_ends(uint32_t* words) {
    std::vector<uint32_t> ends;
    for (uint32_t id : tables_.eos())
        if (has_bit(words, id)) ends.push_back(id);
    std::fill_n(words, tables_.words(), 0);
    for (uint32_t id : ends) set_bit(words, id);
    return static_cast<uint32_t>(ends.size());
}

// Take out the tokens after which the rest does not fit, except those that go along the shortest text.
uint32_t BudgetMasks::keep_text_beside(const Configuration& config, uint32_t* words, Arena& arena) {
    std::vector<uint32_t> along(tables_.words(), 0);
    keep_text(config, along.data(), arena);
    for (uint32_t w = 0; w < tables_.words(); ++w) along[w] &= words[w];
    split_.apply(words, 0, tables_.words(), {});
    for (uint32_t w = 0; w < tables_.words(); ++w) words[w] |= along[w];
    const uint32_t left = count_bits(words, tables_.words());
    return left ? left : keep_to_text(config, words, arena);
}

}  // namespace schemagen
