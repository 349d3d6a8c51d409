#include "context_free/lexeme_masks.hpp"

#include <algorithm>
#include <set>

#include "util/bits.hpp"
#include "util/heap.hpp"

namespace schemagen {

LexemeMasks::LexemeMasks(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer,
                         Strands& strands, const VocabularyTables& tables,
                         std::function<const RestBounds*()> find_bounds)
    : grammar_(grammar),
      parser_(parser),
      sets_(sets),
      lexer_(lexer),
      strands_(strands),
      tables_(tables),
      kept_(tables.words()),
      classes_(grammar, parser, sets, lexer, strands, tables),
      scans_(lexer, sets, classes_, tables, kept_),
      plan_ids_(parser),
      after_ids_(parser),
      plans_{{kept_.none(), {}, {}, 0}},
      find_bounds_(std::move(find_bounds)) {}

const LexemeMasks::LexerMask& LexemeMasks::lexer_mask(LexerState lexer) {
    auto it = lexer_masks_.find(lexer);
    if (it != lexer_masks_.end()) return it->second;
    LexerMask mask;
    Parts inner;
    const std::vector<Lexer::Component> components = lexer_.components(lexer);
    for (const Lexer::Component& component : components) {
        const LexemeScan& scan = scans_.of(component);
        inner.push_back(scan.inner);
        if (scan.leaving || scan.ends) mask.scans.emplace_back(component.lexeme, scan);
    }
    mask.inner = kept_.known_union(std::move(inner));
    bytes_ += heap_node(sizeof(*lexer_masks_.begin())) + heap_bytes(mask.scans);
    return lexer_masks_.emplace(lexer, std::move(mask)).first->second;
}

// ---- how much is left ---------------------------------------------------------------------------------------------

// After the end of a terminal.
uint32_t LexemeMasks::most_after_end(ParserState state, SymbolId terminal) {
    if (grammar_.is_ignored(terminal)) return parser_.most_bytes(state);
    return bytes_after(parser_.most_distances(state), terminal);
}

// After a terminal that has begun, at most.
uint32_t LexemeMasks::most_after(ParserState state, SymbolId terminal) {
    return std::min(bounds_->of_begun(terminal) + most_after_end(state, terminal), kFar);
}

// The same after any terminal that may begin.
uint32_t LexemeMasks::most_from(ParserState state) {
    if (!bounds_) return kFar;
    if (most_from_.size() <= state) most_from_.resize(state + 1, kUnknown);
    if (most_from_[state] != kUnknown) return most_from_[state];
    uint32_t most = 0;
    for (LexemeId lexeme : sets_[parser_.viable(state)])
        most = std::max(most, most_after(state, grammar_.lexemes()[lexeme].terminal));
    return most_from_[state] = most;
}

// For the first mask within a budget; plans from before have no bounds, and are made again.
void LexemeMasks::make_bounds() {
    if (!find_bounds_) return;
    bounds_ = find_bounds_();
    find_bounds_ = nullptr;
    masks_.clear();
    forget_parts();
}

uint32_t LexemeMasks::most_bytes(const Configuration& config) {
    make_bounds();
    if (!bounds_) return kFar;
    if (strands_.accepting(config.state)) return 0;
    uint32_t least = kFar;
    for (const Strand& strand : strands_[config.state]) {
        if (strand.promise) continue;
        const std::vector<Lexer::Component> components = lexer_.components(strand.lexer);
        for (const Lexer::Component& each : components) {
            const uint32_t after = most_after_end(strand.parser, grammar_.lexemes()[each.lexeme].terminal);
            if (after < least) least = std::min(least, bounds_->of_begun(each) + after);
        }
    }
    return least;
}

uint32_t LexemeMasks::most_left(const Configuration& config, Arena& arena) {
    make_bounds();
    if (!bounds_) return kFar;
    const Mask* known = masks_.find(config.state);
    if (!known) {
        Words words(tables_.words());
        fill(config, words.data(), arena);
        known = masks_.find(config.state);
    }
    return known->most_left;
}

bool LexemeMasks::add_near(const Configuration& config, uint32_t bytes, uint32_t* words) {
    make_bounds();
    if (!bounds_) return false;
    for (const Strand& strand : strands_[config.state])
        if (!strand.promise) add_near(strand.parser, strand.lexer, bytes, words);
    return true;
}

void LexemeMasks::add_near(ParserState parser, LexerState lexer, uint32_t bytes, uint32_t* words) {
    const LexerMask& mask = lexer_mask(lexer);
    const std::vector<Lexer::Component> components = lexer_.components(lexer);
    for (const Lexer::Component& each : components)
        if (most_after(parser, grammar_.lexemes()[each.lexeme].terminal) <= bytes)
            scans_.of(each).inner->add_to(words, tables_.words());
    seen_.reset();
    each_leaving(mask, [&](LexemeId lexeme, TailTree::NodeId tails) {
        if (const ParserState after = strands_.after(parser, lexeme)) add_near_tails(after, tails, bytes, words);
    });
    for (const auto& [lexeme, scan] : mask.scans) {
        const ParserState after = scan.ends ? strands_.after(parser, lexeme) : kNoParse;
        if (!after) continue;
        Words next(tables_.words()), beginning(tables_.words(), ~0u);
        add_near(after, lexer_.start(parser_.viable(after)), bytes, next.data());
        if (scan.beginning) scan.beginning->copy_to(beginning.data(), tables_.words());
        for (size_t w = 0; w < next.size(); ++w) words[w] |= next[w] & beginning[w];
    }
}

void LexemeMasks::add_near_tails(ParserState state, TailTree::NodeId node, uint32_t bytes, uint32_t* words) {
    if (seen_.find(state, node) != PairMap::kNone || seen_.size() == kMostWalked) return;
    seen_.insert(state, node, 0);
    const LexemeSets::SetId viable = parser_.viable(state);
    const auto is_near = [&](LexemeId lexeme) {
        return !sets_.has(viable, lexeme) || most_after(state, grammar_.lexemes()[lexeme].terminal) <= bytes;
    };
    const TailTree::Step& step = this->step(state, node);
    if (step.taken->count && most_from(state) <= bytes) {
        step.taken->add_to(words, tables_.words());
    } else if (step.taken->count) {
        scans_.tails().each_group(node, [&](const TailTree::Group& group) {
            if (!classes_.promises(group.tail) && sets_.meet(classes_.begun(group.tail), viable) &&
                std::ranges::all_of(sets_[classes_.begun(group.tail)], is_near))
                group.tokens->add_to(words, tables_.words());
        });
    }
    for (const auto& [lexeme, below] : step.next)
        if (const ParserState after = strands_.after(state, lexeme)) add_near_tails(after, below, bytes, words);
}

// ---- plans --------------------------------------------------------------------------------------------------------

// Makes a plan part by part. A part that looks further down the stack than some entries on top is left open, unless all
// of the plan does; the other parts depend only on these entries.
class LexemeMasks::PlanMaker {
public:
    // `lowest`: the entry that the whole plan looks at.
    PlanMaker(LexemeMasks& masks, ParserState state, uint32_t lowest)
        : masks_(masks), state_(state), lowest_(lowest), open_below_(std::min(lowest, lowest_on_top())) {}
    void add(const TokenSet* taken) {
        if (taken->count) taken_.push_back(taken);
    }
    void add(const TailTree::Group& group) {
        bool may = false;
        if (!is_decided([&] { may = masks_.classes_.may_follow(state_, group.tail); }))
            plan_.asked.push_back(group);
        else if (may)
            add(group.tokens);
    }
    // The tokens of a node after a lexeme. Tokens open at that node are open here.
    void add(LexemeId lexeme, TailTree::NodeId node) {
        const TokenSet* leaf = nullptr;
        uint32_t below = kNoTokens;
        const bool decided = is_decided([&] {
            const ParserState after = masks_.strands_.after(state_, lexeme);
            if (!after) return;
            leaf = masks_.leaf_after(after, node);
            if (!leaf) below = masks_.plan_after(after, node);
        });
        if (!decided || !masks_.plans_[below].is_decided())
            plan_.open.emplace_back(lexeme, node);
        else if (leaf)
            add(leaf);
        else
            add(masks_.plans_[last_ = below].decided);
    }
    // Stores the plan for all stacks with the same entries on top.
    uint32_t finish(StateMemo& ids, uint32_t question) {
        const uint32_t id = number();
        ids.insert(question, state_, lowest_, id);
        return id;
    }

private:
    // Many nodes lead only to one other node, after a lexeme. If this one is decided, the plan is that of the other.
    uint32_t number() {
        if (plan_.is_decided() && taken_.empty()) return kNoTokens;
        if (plan_.is_decided() && taken_.size() == 1 && taken_[0] == masks_.plans_[last_].decided) return last_;
        plan_.decided = masks_.kept_.known_union(std::move(taken_));
        plan_.open.shrink_to_fit();
        masks_.bytes_ +=
            sizeof(Plan) + plan_.open.size() * sizeof(plan_.open[0]) + plan_.asked.size() * sizeof(TailTree::Group);
        masks_.plans_.push_back(std::move(plan_));
        return static_cast<uint32_t>(masks_.plans_.size() - 1);
    }
    template <class Task>
    bool is_decided(const Task& task) {
        const uint32_t looked = masks_.after_ids_.measure(task);
        if (looked < open_below_) return false;
        lowest_ = std::min(lowest_, looked);
        return true;
    }
    uint32_t lowest_on_top() const {
        const uint32_t height = masks_.plan_ids_.height(state_);
        return height > kTop ? height - kTop + 1 : 1;
    }

    LexemeMasks& masks_;
    const ParserState state_;
    uint32_t lowest_;
    const uint32_t open_below_;
    Parts taken_;                // none is empty
    uint32_t last_ = kNoTokens;  // plan that was added
    Plan plan_{};
};

const TailTree::Step& LexemeMasks::step(ParserState state, TailTree::NodeId node) {
    return scans_.tails().step(node, parser_.viable(state));
}

// The tokens of a leaf that the parser takes. Null if the node has others below it, or tokens that have to be asked
// for.
const TokenSet* LexemeMasks::leaf_after(ParserState state, TailTree::NodeId node) {
    if (scans_.tails().depth(node)) return nullptr;
    const TailTree::Step& own = step(state, node);
    return own.asked.empty() ? own.taken : nullptr;
}

// The plan for a node: its own tokens, and those of the nodes below it, as far as the parser takes them.
uint32_t LexemeMasks::plan_after(ParserState state, TailTree::NodeId node) {
    if (const uint32_t known = after_ids_.find(node, state); known != StateMemo::kNone) return known;
    poll();
    const TailTree::Step* own = nullptr;
    const uint32_t looked = after_ids_.measure([&] { own = &step(state, node); });
    PlanMaker maker(*this, state, looked);
    maker.add(own->taken);
    for (const TailTree::Group& group : own->asked) maker.add(group);
    for (const auto& [lexeme, below] : own->next) maker.add(lexeme, below);
    return maker.finish(after_ids_, node);
}

void LexemeMasks::add_after(ParserState state, TailTree::NodeId node, Parts& parts) {
    if (const TokenSet* leaf = leaf_after(state, node)) return parts.push_back(leaf);
    if (seen_.find(state, node) != PairMap::kNone) return;
    seen_.insert(state, node, 0);
    add_plan(state, plans_[plan_after(state, node)], parts);
}

void LexemeMasks::add_plan(ParserState state, const Plan& plan, Parts& parts) {
    parts.push_back(plan.decided);
    most_left_ = std::max(most_left_, plan.most_left);
    for (const TailTree::Group& group : plan.asked)
        if (classes_.may_follow(state, group.tail)) parts.push_back(group.tokens);
    for (const auto& [lexeme, node] : plan.open)
        if (const ParserState after = strands_.after(state, lexeme)) add_after(after, node, parts);
}

// The lexemes of a scan that leave other tails than those before: lexemes of a terminal may leave the same.
template <class Add>
void LexemeMasks::each_leaving(const LexerMask& mask, const Add& add) {
    std::set<std::pair<SymbolId, TailTree::NodeId>> done;
    for (const auto& [lexeme, scan] : mask.scans)
        if (done.emplace(grammar_.lexemes()[lexeme].terminal, scan.leaving).second) add(lexeme, scan.leaving);
}

uint32_t LexemeMasks::make_plan(ParserState parser, LexerState lexer) {
    const LexerMask& mask = lexer_mask(lexer);
    if (!plan_ids_.height(parser)) return make_whole_plan(parser, lexer);
    PlanMaker maker(*this, parser, UINT32_MAX);
    maker.add(mask.inner);
    each_leaving(mask, [&](LexemeId lexeme, TailTree::NodeId tails) { maker.add(lexeme, tails); });
    return maker.finish(plan_ids_, lexer);
}

// For states that are not stacks everything is decided.
uint32_t LexemeMasks::make_whole_plan(ParserState parser, LexerState lexer) {
    const LexerMask& mask = lexer_mask(lexer);
    Parts parts{mask.inner};
    const uint32_t around = std::exchange(most_left_, bounds_ ? 0 : kFar);
    for (const Lexer::Component& component : lexer_.components(lexer))
        if (bounds_)
            most_left_ = std::max(most_left_, most_after(parser, grammar_.lexemes()[component.lexeme].terminal));
    std::vector<std::pair<ParserState, TailTree::NodeId>> begin;
    each_leaving(mask, [&](LexemeId lexeme, TailTree::NodeId tails) {
        if (const ParserState after = strands_.after(parser, lexeme)) begin.emplace_back(after, tails);
    });
    if (!begin.empty()) add_tails(begin, parts);
    bytes_ += sizeof(Plan);
    plans_.push_back({kept_.known_union(std::move(parts)), {}, {}, std::exchange(most_left_, around)});
    const auto id = static_cast<uint32_t>(plans_.size() - 1);
    plan_ids_.insert(lexer, parser, 0, id);
    return id;
}

// The tokens of nodes that go on from states there. In an ambiguous grammar very many states come to the same node:
// then they are walked level by level, where all but a few are one, if the parser can unite them.
void LexemeMasks::add_tails(const std::vector<std::pair<ParserState, TailTree::NodeId>>& begin, Parts& parts) {
    seen_.reset();
    const auto walk = [&](const auto& at) { return walk_tails(at.first, at.second, parts); };
    if (std::all_of(begin.begin(), begin.end(), walk)) return;
    seen_.reset();
    Meetings meetings;
    for (auto [state, node] : begin) meet(state, node, meetings);
    while (!meetings.empty()) {
        const auto [key, states] = *meetings.begin();
        meetings.erase(meetings.begin());
        for (ParserState state : states) {
            for (const auto& [lexeme, below] : add_step(state, key.second, parts).next)
                if (const ParserState after = strands_.after(state, lexeme)) meet(after, below, meetings);
        }
    }
}

// Returns false if there are too many states and nodes.
bool LexemeMasks::walk_tails(ParserState state, TailTree::NodeId node, Parts& parts) {
    if (seen_.find(state, node) != PairMap::kNone) return true;
    if (seen_.size() == kMostWalked) return false;
    seen_.insert(state, node, 0);
    const auto& next = add_step(state, node, parts).next;
    return std::all_of(next.begin(), next.end(), [&](const auto& each) {
        const ParserState after = strands_.after(state, each.first);
        return !after || walk_tails(after, each.second, parts);
    });
}

void LexemeMasks::meet(ParserState state, TailTree::NodeId node, Meetings& meetings) {
    if (seen_.find(state, node) != PairMap::kNone) return;
    seen_.insert(state, node, 0);
    std::vector<ParserState>& states = meetings[{scans_.tails().depth(node), node}];
    const ParserState united = states.size() < kMostApart ? kNoParse : parser_.united(states.back(), state);
    if (united)
        states.back() = united;
    else
        states.push_back(state);
}

// The tokens of a node that are taken there; returns what else there is.
const TailTree::Step& LexemeMasks::add_step(ParserState state, TailTree::NodeId node, Parts& parts) {
    const TailTree::Step& step = this->step(state, node);
    if (step.taken->count) {
        parts.push_back(step.taken);
        most_left_ = std::max(most_left_, most_from(state));
    }
    for (const TailTree::Group& group : step.asked)
        if (classes_.may_follow(state, group.tail)) parts.push_back(group.tokens), most_left_ = kFar;
    return step;
}

void LexemeMasks::add_strand(ParserState parser, LexerState lexer, Parts& parts) {
    uint32_t id = plan_ids_.find(lexer, parser);
    if (id == StateMemo::kNone) id = make_plan(parser, lexer);
    seen_.reset();
    add_plan(parser, plans_[id], parts);
    for (const auto& [lexeme, scan] : lexer_mask(lexer).scans) {
        const ParserState after = scan.ends ? strands_.after(parser, lexeme) : kNoParse;
        if (after) add_next(after, scan, parts);
    }
}

// The lexeme has ended before the token.
void LexemeMasks::add_next(ParserState after, const LexemeScan& scan, Parts& parts) {
    const LexerState begun = lexer_.start(parser_.viable(after));
    if (!scan.beginning) return add_strand(after, begun, parts);
    Parts next;
    add_strand(after, begun, next);
    parts.push_back(kept_.known_union(std::move(next), scan.beginning));
}

// Token by token.
void LexemeMasks::read_all(const Strand& strand, uint32_t* words) {
    descend(tables_.all(), strands_.set_of(strand), [&](StrandSet at, uint8_t byte, uint32_t node, StrandSet& next) {
        poll();
        next = strands_.step(at, byte);
        if (!next) return false;
        for (uint32_t token : tables_.all().tokens_at(node)) set_bit(words, token);
        return true;
    });
}

// Masks share their parts, so all parts go at once. The masks that texts came back to are put together anew.
void LexemeMasks::make_room() {
    const size_t most = most_mask_bytes.load(std::memory_order_relaxed);
    if (memory_bytes() < most) return;
    masks_.sweep();
    const TokenSets before = forget_parts();
    masks_.each([&](Mask& mask) { mask.tokens = kept_.same_as(*mask.tokens); });
    if (memory_bytes() < most / 2) return;
    masks_.clear();
    forget_parts();
}

// Returns the sets that the masks are among.
TokenSets LexemeMasks::forget_parts() {
    plan_ids_.clear();
    after_ids_.clear();
    plans_.clear();
    lexer_masks_.clear();
    scans_.clear();
    TokenSets before = std::exchange(kept_, TokenSets(tables_.words()));
    plans_.push_back({kept_.none(), {}, {}, 0});
    classes_.forget();
    most_from_ = {};
    bytes_ = 0;
    return before;
}

uint32_t LexemeMasks::fill(const Configuration& config, uint32_t* words, Arena&) {
    const StrandSet set = config.state;
    uint32_t allowed = 0;
    if (fill_known(config, words, allowed)) return allowed;
    make_room();
    Words read;  // token by token
    Parts parts;
    most_left_ = 0;
    for (const Strand& strand : strands_[set]) {
        if (!strand.promise && strands_.is_lively()) {
            add_strand(strand.parser, strand.lexer, parts);
        } else {
            read.resize(tables_.words(), 0);
            read_all(strand, read.data());
            most_left_ = kFar;
        }
    }
    if (!read.empty()) parts.push_back(kept_.of_mask(read));
    if (strands_.accepting(set)) parts.push_back(kept_.of_list(tables_.eos()));
    const TokenSet* mask = kept_.known_union(std::move(parts));
    mask->copy_to(words, tables_.words());
    masks_.add(set, 0) = {mask, most_left_};
    return mask->count;
}

bool LexemeMasks::stays(const Configuration& config, Slice::Set slices) {
    for (const Strand& strand : strands_[config.state]) {
        if (strand.promise) return false;
        slices &= classes_.loops().without_cuts(strand.lexer);
    }
    return slices != 0;
}

bool LexemeMasks::fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const {
    const Mask* known = masks_.find(config.state);
    if (!known) return false;
    allowed = known->tokens->count;
    known->tokens->copy_to(words, tables_.words());
    return true;
}

}  // namespace schemagen
