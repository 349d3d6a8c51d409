#include "context_free/frame_parser.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

LexemeSets::SetId LexemeSets::intern(std::vector<LexemeId> lexemes) {
    std::sort(lexemes.begin(), lexemes.end());
    lexemes.erase(std::unique(lexemes.begin(), lexemes.end()), lexemes.end());
    const SetId set = lists_.intern(lexemes);
    if (set * words_ == bits_.size()) {
        bits_.resize(bits_.size() + words_, 0);
        for (LexemeId lexeme : lexemes) bits_[set * words_ + lexeme / 64] |= uint64_t{1} << (lexeme % 64);
    }
    return set;
}

namespace {

void sort_unique(auto& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Those of sorted pairs that begin with a rule.
template <class Pairs>
auto of_rule(const Pairs& pairs, SymbolId rule) {
    auto first = std::lower_bound(pairs.begin(), pairs.end(), rule,
                                  [](const auto& pair, SymbolId wanted) { return pair.first < wanted; });
    auto last = first;
    while (last != pairs.end() && last->first == rule) ++last;
    return std::ranges::subrange(first, last);
}

}  // namespace

FrameParser::FrameParser(const ContextFreeGrammar& grammar, LexemeSets& sets, Allowance& allowance)
    : grammar_(grammar), sets_(sets), allowance_(allowance) {
    for (SymbolId terminal = 0; terminal < grammar_.terminal_count(); ++terminal)
        if (grammar_.is_ignored(terminal))
            for (LexemeId lexeme : grammar_.lexemes_of(terminal)) ignored_.push_back(lexeme);
    frames_.push_back({0, 0, 0});  // the root, which has no items
    const FrameId frame = frame_of({{grammar_.start(), kRoot, 0}});
    start_ = intern_state({{frame, kinds_[frames_[frame].kind].initial}}, grammar_.nullable(grammar_.start()));
}

// ---- interned values ----------------------------------------------------------------------------------------------

uint32_t FrameParser::kind_of(const std::vector<SymbolId>& called) {
    const size_t known = kind_keys_.size();
    const uint32_t key = kind_keys_.intern(called);
    if (key < known) return key - 1;
    Kind kind{called, 0, {}, {}};
    std::set<SymbolId> rules(called.begin(), called.end());
    Items items;
    for (size_t k = 0; k < kind.rules.size(); ++k)
        for (ItemId item : grammar_.closure(grammar_.first_item(kind.rules[k]))) {
            items.push_back(item);
            for (const auto& edge : grammar_.edges(item)) {
                if (!grammar_.is_rule(edge.symbol)) continue;
                kind.inner.emplace_back(edge.symbol, edge.target);
                if (rules.insert(edge.symbol).second) kind.rules.push_back(edge.symbol);
            }
        }
    sort_unique(kind.rules);
    sort_unique(kind.inner);
    for (auto [_, after] : kind.inner)
        kind.after_inner.insert(kind.after_inner.end(), grammar_.closure(after).begin(), grammar_.closure(after).end());
    sort_unique(kind.after_inner);
    kind.initial = vector_of(std::move(items));
    kinds_.push_back(std::move(kind));
    return key - 1;
}

FrameId FrameParser::frame_of(std::vector<Return> returns) {
    sort_unique(returns);
    allowance_.check_alternatives(returns.size());
    std::vector<SymbolId> called;
    std::vector<uint32_t> flat;
    uint32_t level = 0;
    for (const Return& each : returns) {
        if (called.empty() || called.back() != each.rule) called.push_back(each.rule);
        flat.insert(flat.end(), {each.rule, each.parent, each.item});
        level = std::max(level, frames_[each.parent].level);
    }
    const uint32_t kind = kind_of(called), list = return_lists_.intern(flat);
    if (const uint32_t known = frame_index_.find(kind, list); known != PairMap::kNone) return known;
    allowance_.add_state();
    const auto id = static_cast<FrameId>(frames_.size());
    frames_.push_back({kind, level + 1, list});
    frame_index_.insert(kind, list, id);
    return id;
}

std::vector<FrameParser::Return> FrameParser::returns_of(FrameId frame) const {
    const auto flat = return_lists_[frames_[frame].returns];
    std::vector<Return> out;
    out.reserve(flat.size() / 3);
    for (size_t k = 0; k + 2 < flat.size(); k += 3) out.push_back({flat[k], flat[k + 1], flat[k + 2]});
    return out;
}

// The frame, or one of those that it returns to, if the same may follow there: so what calls itself in several ways, as
// `s: s s`, needs one frame for all places. That takes a return which calls at the begin of the other frame have, too.
FrameId FrameParser::same_as(FrameId frame) {
    if (frames_[frame].level < kDeep) return frame;
    if (frames_[frame].same != kUnknown) return frames_[frame].same;
    FrameId same = frame, last = kRoot;
    for (const Return& each : returns_of(frame)) {
        if (each.parent == last || each.parent == kRoot) continue;
        if (!std::ranges::binary_search(kinds_[frames_[each.parent].kind].after_inner, each.item)) continue;
        last = each.parent;
        if (!is_same(frame, last)) continue;
        same = last;
        break;
    }
    return frames_[frame].same = same;
}

// Rules that were called there come first: they distinguish most frames.
bool FrameParser::is_same(FrameId frame, FrameId other) {
    const uint32_t kind = frames_[frame].kind;
    const auto alike = [&](SymbolId rule) {
        return continuations_.within(frame, other, rule) && continuations_.within(other, frame, rule);
    };
    return std::ranges::includes(kinds_[frames_[other].kind].rules, kinds_[kind].rules) &&
           std::ranges::all_of(kind_keys_[kind + 1], alike) && std::ranges::all_of(kinds_[kind].rules, alike);
}

// Of frames where a rule is complete, those after which something may follow that may not follow at another one of
// them.
void FrameParser::keep_widest(std::vector<FrameId>& frames, SymbolId rule) {
    constexpr size_t kMostCompared = 8;
    std::ranges::sort(frames);
    std::vector<FrameId> kept;
    for (FrameId frame : frames) {
        const size_t first = kept.size() - std::min(kept.size(), kMostCompared);
        const auto newest = kept.begin() + static_cast<ptrdiff_t>(first);
        if (std::any_of(newest, kept.end(), [&](FrameId each) { return continuations_.within(frame, each, rule); }))
            continue;
        kept.erase(
            std::remove_if(newest, kept.end(), [&](FrameId each) { return continuations_.within(each, frame, rule); }),
            kept.end());
        kept.push_back(frame);
    }
    frames = std::move(kept);
}

// The same of an item that is in several frames.
void FrameParser::keep_widest(std::vector<Active>& active) {
    if (active.size() < kMany) return;
    Items twice;
    met_.resize(grammar_.item_count());
    for (const Active& each : active)
        for (ItemId item : each.items) {
            if (met_[item]) twice.push_back(item);
            met_[item] = true;
        }
    for (const Active& each : active)
        for (ItemId item : each.items) met_[item] = false;
    sort_unique(twice);
    for (ItemId item : twice) {
        std::vector<FrameId> frames;
        for (const Active& each : active)
            if (std::ranges::find(each.items, item) != each.items.end()) frames.push_back(each.frame);
        keep_widest(frames, grammar_.rule_of(item));
        for (Active& each : active)
            if (std::ranges::find(frames, each.frame) == frames.end()) std::erase(each.items, item);
    }
    if (!twice.empty()) std::erase_if(active, [](const Active& each) { return each.items.empty(); });
}

// The same of an item to which a rule returns in several frames. In any order.
void FrameParser::keep_widest(std::vector<Return>& returns) {
    std::ranges::sort(returns, {}, [](const Return& each) { return std::tuple(each.rule, each.item, each.parent); });
    std::vector<Return> kept;
    for (size_t from = 0, to = 0; from < returns.size(); from = to) {
        const Return first = returns[from];
        std::vector<FrameId> frames;
        for (; to < returns.size() && returns[to].rule == first.rule && returns[to].item == first.item; ++to)
            if (returns[to].parent != kRoot) frames.push_back(returns[to].parent);
        if (frames.size() != to - from) kept.push_back({first.rule, kRoot, first.item});
        if (frames.size() > 1) keep_widest(frames, grammar_.rule_of(first.item));
        for (FrameId frame : frames) kept.push_back({first.rule, frame, first.item});
    }
    returns = std::move(kept);
}

FrameParser::VectorId FrameParser::vector_of(Items items) {
    sort_unique(items);
    return vectors_.intern(items);
}

const FrameParser::VectorView& FrameParser::view(VectorId vector) {
    if (views_.size() <= vector) views_.resize(vectors_.size());
    VectorView& out = views_[vector];
    if (out.known) return out;
    std::vector<LexemeId> lexemes;
    std::vector<std::pair<SymbolId, ItemId>> calls;
    for (ItemId item : vectors_[vector])
        for (const auto& edge : grammar_.edges(item)) {
            if (grammar_.is_rule(edge.symbol))
                calls.emplace_back(edge.symbol, edge.target);
            else
                lexemes.insert(lexemes.end(), grammar_.lexemes_of(edge.symbol).begin(),
                               grammar_.lexemes_of(edge.symbol).end());
        }
    sort_unique(calls);
    out = {true, sets_.intern(std::move(lexemes)), std::move(calls)};
    return out;
}

ParserState FrameParser::intern_state(const std::vector<std::pair<FrameId, VectorId>>& active, bool accepting) {
    if (active.empty() && !accepting) return kNoParse;
    allowance_.check_alternatives(active.size());
    std::vector<uint32_t> flat{accepting};
    for (auto [frame, vector] : active) flat.insert(flat.end(), {frame, vector});
    const size_t known = states_.size();
    const uint32_t state = states_.intern(flat);
    if (state < known) return state;
    viable_.resize(state + 1, kUnknown);
    min_bytes_.resize(state + 1, kUnknown);
    allowance_.add_state();
    return state;
}

// ---- reading ------------------------------------------------------------------------------------------------------

// One shift. Frames go on from the highest level down, since a frame completes rules of frames at lower levels.
class FrameParser::Step {
public:
    explicit Step(FrameParser& parser) : parser_(parser), grammar_(parser.grammar_) {}

    void read(ParserState state, SymbolId terminal) {
        const auto flat = parser_.states_[state];
        for (size_t k = 1; k + 1 < flat.size(); k += 2)
            for (ItemId item : parser_.vectors_[flat[k + 1]])
                for (const auto& edge : grammar_.edges(item))
                    if (edge.symbol == terminal) add(flat[k], edge.target);
    }
    ParserState finish() {
        for (size_t done = 0; done < active_.size(); ++done) {
            poll();
            // Those added last are of lower levels than the one that was completed, in any order among themselves.
            auto next = std::max_element(active_.begin() + static_cast<ptrdiff_t>(done), active_.end(),
                                         [&](const Active& a, const Active& b) { return level(a) < level(b); });
            std::swap(active_[done], *next);
            complete(done);
        }
        parser_.keep_widest(active_);
        std::vector<std::pair<FrameId, VectorId>> out;
        out.reserve(active_.size() + 1);
        for (Active& active : active_) out.emplace_back(active.frame, parser_.vector_of(std::move(active.items)));
        call(out);
        std::sort(out.begin(), out.end(), [&](auto a, auto b) {
            return std::pair(parser_.frames_[b.first].level, a.first) <
                   std::pair(parser_.frames_[a.first].level, b.first);
        });
        return parser_.intern_state(out, accepting_);
    }

private:
    uint32_t level(const Active& active) const { return parser_.frames_[active.frame].level; }
    void add(FrameId frame, ItemId item) {
        auto at = std::find_if(active_.begin(), active_.end(), [&](const Active& a) { return a.frame == frame; });
        if (at == active_.end()) at = active_.insert(active_.end(), {frame, {}});
        const auto closure = grammar_.closure(item);
        at->items.insert(at->items.end(), closure.begin(), closure.end());
    }
    // Rules that may end here are complete: their callers go on.
    void complete(size_t at) {
        sort_unique(active_[at].items);
        const FrameId frame = active_[at].frame;
        const Kind& kind = parser_.kinds_[parser_.frames_[frame].kind];
        std::vector<SymbolId> completed;
        for (size_t k = 0; k < active_[at].items.size(); ++k) {
            const ItemId item = active_[at].items[k];
            const SymbolId rule = grammar_.rule_of(item);
            if (!grammar_.accepting(item) || std::find(completed.begin(), completed.end(), rule) != completed.end())
                continue;
            completed.push_back(rule);
            for (auto [_, after] : of_rule(kind.inner, rule))
                for (ItemId each : grammar_.closure(after)) {
                    Items& items = active_[at].items;
                    if (std::find(items.begin(), items.end(), each) == items.end()) items.push_back(each);
                }
            const auto flat = parser_.return_lists_[parser_.frames_[frame].returns];
            for (size_t r = 0; r + 2 < flat.size(); r += 3) {
                if (flat[r] != rule) continue;
                if (flat[r + 1] == kRoot)
                    accepting_ = true;
                else
                    add(flat[r + 1], flat[r + 2]);
            }
        }
    }
    // The rules that may begin here are called, all in one new frame.
    void call(std::vector<std::pair<FrameId, VectorId>>& active) {
        std::vector<Return> returns;
        std::vector<SymbolId> seen;
        for (auto [frame, vector] : active)
            for (auto [rule, item] : parser_.view(vector).calls) {
                seen.clear();
                add_return(returns, {rule, frame, item}, seen);
            }
        if (returns.empty()) return;
        if (returns.size() >= kMany) parser_.keep_widest(returns);
        const FrameId called = parser_.frame_of(std::move(returns)), frame = parser_.same_as(called);
        const VectorId initial = parser_.kinds_[parser_.frames_[called].kind].initial;
        for (auto& [known, vector] : active) {
            if (known != frame) continue;
            const auto one = parser_.vectors_[vector], other = parser_.vectors_[initial];
            Items items(one.begin(), one.end());
            items.insert(items.end(), other.begin(), other.end());
            vector = parser_.vector_of(std::move(items));
            return;
        }
        active.emplace_back(frame, initial);
    }
    // Where calls are ambiguous the same ones come again and again.
    static void insert(std::vector<Return>& returns, const Return& each) {
        const auto at = std::ranges::lower_bound(returns, each);
        if (at == returns.end() || *at != each) returns.insert(at, each);
    }
    // A call with nothing left after it returns to where its caller returns to.
    void add_return(std::vector<Return>& returns, const Return& call, std::vector<SymbolId>& seen) {
        const auto [rule, frame, item] = call;
        if (!grammar_.ends(item)) {
            insert(returns, call);
            return;
        }
        for (ItemId each : grammar_.closure(item))
            if (!grammar_.edges(each).empty()) {
                insert(returns, call);
                break;
            }
        const SymbolId caller = grammar_.rule_of(item);
        if (std::find(seen.begin(), seen.end(), caller) != seen.end()) return;
        seen.push_back(caller);
        const auto flat = parser_.return_lists_[parser_.frames_[frame].returns];
        for (size_t r = 0; r + 2 < flat.size(); r += 3)
            if (flat[r] == caller) insert(returns, {rule, flat[r + 1], flat[r + 2]});
        tried_ += flat.size() / 3;
        parser_.allowance_.check_alternatives(std::max(returns.size(), tried_ / kTriesPerReturn));
        const Kind& kind = parser_.kinds_[parser_.frames_[frame].kind];
        for (auto [_, after] : of_rule(kind.inner, caller)) add_return(returns, {rule, frame, after}, seen);
    }

    FrameParser& parser_;
    const ContextFreeGrammar& grammar_;
    static constexpr size_t kTriesPerReturn = 16;  // of ambiguous calls, which come to the same returns by many ways
    std::vector<Active> active_;
    bool accepting_ = false;
    size_t tried_ = 0;
};

ParserState FrameParser::shift(ParserState state, SymbolId terminal) {
    if (const uint32_t known = shifts_.find(state, terminal); known != PairMap::kNone) return known;
    Step step(*this);
    step.read(state, terminal);
    const ParserState next = step.finish();
    shifts_.insert(state, terminal, next);
    return next;
}

ParserState FrameParser::united(ParserState one, ParserState other) {
    if (one == other) return one;
    if (one > other) std::swap(one, other);
    if (const uint32_t known = unions_.find(one, other); known != PairMap::kNone) return known;
    std::map<std::pair<uint32_t, FrameId>, Items> frames;  // by falling level
    for (ParserState state : {one, other}) {
        const auto flat = states_[state];
        for (size_t k = 1; k + 1 < flat.size(); k += 2) {
            const auto items = vectors_[flat[k + 1]];
            Items& all = frames[{UINT32_MAX - frames_[flat[k]].level, flat[k]}];
            all.insert(all.end(), items.begin(), items.end());
        }
    }
    std::vector<Active> all;
    all.reserve(frames.size());
    for (auto& [key, items] : frames) {
        sort_unique(items);
        all.push_back({key.second, std::move(items)});
    }
    keep_widest(all);
    std::vector<std::pair<FrameId, VectorId>> active;
    active.reserve(all.size());
    for (Active& each : all) active.emplace_back(each.frame, vector_of(std::move(each.items)));
    const ParserState out = intern_state(active, accepting(one) || accepting(other));
    unions_.insert(one, other, out);
    return out;
}

LexemeSets::SetId FrameParser::viable(ParserState state) {
    if (viable_[state] != kUnknown) return viable_[state];
    std::vector<LexemeId> lexemes(ignored_);
    const auto flat = states_[state];
    for (size_t k = 1; k + 1 < flat.size(); k += 2) {
        const auto own = sets_[view(flat[k + 1]).viable];
        lexemes.insert(lexemes.end(), own.begin(), own.end());
    }
    return viable_[state] = sets_.intern(std::move(lexemes));
}

bool FrameParser::reads(ParserState state, SymbolId terminal) const {
    const auto flat = states_[state];
    for (size_t k = 1; k + 1 < flat.size(); k += 2)
        for (ItemId item : vectors_[flat[k + 1]])
            for (const auto& edge : grammar_.edges(item))
                if (edge.symbol == terminal) return true;
    return false;
}

// ---- how much is left ---------------------------------------------------------------------------------------------

uint32_t FrameParser::min_bytes_after(FrameId frame, SymbolId rule) {
    const auto& rules = kinds_[frames_[frame].kind].rules;
    const auto at = std::lower_bound(rules.begin(), rules.end(), rule) - rules.begin();
    uint32_t begin = frames_[frame].min_bytes_after;
    if (begin == kUnknown) begin = find_min_bytes_after(frame);
    return min_bytes_after_[begin + static_cast<size_t>(at)];
}

// The fewest bytes after each rule of a frame, to the end of the text: shortest paths, within the frame and below it.
uint32_t FrameParser::find_min_bytes_after(FrameId frame) {
    const Kind& kind = kinds_[frames_[frame].kind];
    auto index = [&](SymbolId rule) {
        return static_cast<size_t>(std::lower_bound(kind.rules.begin(), kind.rules.end(), rule) - kind.rules.begin());
    };
    constexpr uint32_t far = ContextFreeGrammar::kFar;
    std::vector<uint32_t> best(kind.rules.size(), far);
    for (const Return& each : returns_of(frame)) {
        const uint32_t rest = each.parent == kRoot ? 0
                                                   : grammar_.min_bytes(each.item) +
                                                         min_bytes_after(each.parent, grammar_.rule_of(each.item));
        best[index(each.rule)] = std::min(best[index(each.rule)], std::min(rest, far));
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (auto [rule, item] : kind.inner) {
            const uint32_t rest = std::min(grammar_.min_bytes(item) + best[index(grammar_.rule_of(item))], far);
            if (rest >= best[index(rule)]) continue;
            best[index(rule)] = rest;
            changed = true;
        }
    }
    const auto begin = static_cast<uint32_t>(min_bytes_after_.size());
    min_bytes_after_.insert(min_bytes_after_.end(), best.begin(), best.end());
    return frames_[frame].min_bytes_after = begin;
}

uint32_t FrameParser::min_bytes(ParserState state) {
    if (min_bytes_[state] != kUnknown) return min_bytes_[state];
    uint32_t best = accepting(state) ? 0 : ContextFreeGrammar::kFar;
    const std::vector<uint32_t> flat(states_[state].begin(), states_[state].end());
    for (size_t k = 1; k + 1 < flat.size(); k += 2)
        for (ItemId item : vectors_[flat[k + 1]])
            best = std::min(best, grammar_.min_bytes(item) + min_bytes_after(flat[k], grammar_.rule_of(item)));
    return min_bytes_[state] = best;
}

std::span<const Distance> FrameParser::distances(ParserState state) {
    if (const auto known = distances_.find(state); known != distances_.end()) return known->second;
    std::vector<Distance> all;
    const std::vector<uint32_t> flat(states_[state].begin(), states_[state].end());
    for (size_t k = 1; k + 1 < flat.size(); k += 2)
        for (ItemId item : vectors_[flat[k + 1]]) {
            const uint32_t after = min_bytes_after(flat[k], grammar_.rule_of(item));
            for (const auto& edge : grammar_.edges(item))
                if (!grammar_.is_rule(edge.symbol))
                    all.push_back(
                        {edge.symbol, std::min(grammar_.min_bytes(edge.target) + after, ContextFreeGrammar::kFar)});
        }
    return distances_[state] = nearest(std::move(all));
}

// The rules that go on with the terminal, or are partly read; then those that called them.
std::vector<SymbolId> FrameParser::open_rules(ParserState state, SymbolId terminal) {
    constexpr size_t kMostCalls = 1000;
    std::vector<std::pair<FrameId, SymbolId>> calls;
    auto note = [&](FrameId frame, SymbolId rule) {
        if (std::find(calls.begin(), calls.end(), std::pair(frame, rule)) == calls.end())
            calls.emplace_back(frame, rule);
    };
    const auto flat = states_[state];
    for (size_t k = 1; k + 1 < flat.size(); k += 2)
        for (ItemId item : vectors_[flat[k + 1]])
            for (const auto& edge : grammar_.edges(item))
                if (edge.symbol == terminal) note(flat[k], grammar_.rule_of(item));
    for (size_t k = 1; k + 1 < flat.size() && calls.empty(); k += 2) {
        const FrameId frame = flat[k];
        if (flat[k + 1] != kinds_[frames_[frame].kind].initial)
            for (ItemId item : vectors_[flat[k + 1]]) {  // without those that begin here, in a frame that is reused
                const auto first = grammar_.closure(grammar_.first_item(grammar_.rule_of(item)));
                if (!std::ranges::binary_search(first, item)) note(frame, grammar_.rule_of(item));
            }
        else if (flat.size() == 3)  // nothing was read
            for (const Return& each : returns_of(frame)) note(frame, each.rule);
    }
    std::vector<SymbolId> rules;
    for (size_t k = 0; k < std::min(calls.size(), kMostCalls); ++k) {
        const auto [frame, rule] = calls[k];
        if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
        for (auto [called, after] : kinds_[frames_[frame].kind].inner)
            if (called == rule) note(frame, grammar_.rule_of(after));
        for (const Return& each : returns_of(frame))
            if (each.rule == rule && each.parent != kRoot) note(each.parent, grammar_.rule_of(each.item));
    }
    return rules;
}

size_t FrameParser::memory_bytes() const {
    size_t bytes = continuations_.memory_bytes() +
                   (rests_ ? heap_block(sizeof(FrameRests)) + rests_->memory_bytes() : 0) + met_.capacity() / 8 +
                   kind_keys_.memory_bytes() + return_lists_.memory_bytes() + vectors_.memory_bytes() +
                   states_.memory_bytes() + frame_index_.memory_bytes() + shifts_.memory_bytes() +
                   unions_.memory_bytes() + (viable_.capacity() + min_bytes_.capacity()) * sizeof(uint32_t);
    bytes += heap_bytes(frames_) + heap_bytes(min_bytes_after_) + heap_bytes(views_) + heap_bytes(kinds_) +
             heap_bytes(ignored_);
    for (const auto& [_, all] : distances_) bytes += heap_node(sizeof(*distances_.begin())) + heap_bytes(all);
    for (const VectorView& each : views_) bytes += heap_bytes(each.calls);
    for (const Kind& kind : kinds_)
        bytes += heap_bytes(kind.rules) + heap_bytes(kind.after_inner) + heap_bytes(kind.inner);
    return bytes;
}

}  // namespace schemagen
