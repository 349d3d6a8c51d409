#include "context_free/lexeme_masks.hpp"

#include <algorithm>
#include <set>

#include "util/bits.hpp"

namespace schemagen {

LexemeMasks::LexemeMasks(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer,
                         Strands& strands, const VocabularyTables& tables)
    : grammar_(grammar),
      parser_(parser),
      lexer_(lexer),
      strands_(strands),
      tables_(tables),
      classes_(grammar, parser, sets, lexer, strands, tables),
      scans_(lexer, sets, classes_, tables, kept_),
      plan_ids_(parser) {}

const LexemeMasks::LexerMask& LexemeMasks::lexer_mask(LexerState lexer) {
    auto it = lexer_masks_.find(lexer);
    if (it != lexer_masks_.end()) return it->second;
    LexerMask mask;
    Words inner(tables_.words(), 0);
    const std::vector<Lexer::Component> components = lexer_.components(lexer);
    for (const Lexer::Component& component : components) {
        auto scan = scans_.of(component);
        scan->inner.add_to(inner.data(), inner.size());
        if (!scan->leaving.empty() || scan->ends) mask.scans.emplace_back(component.lexeme, std::move(scan));
    }
    mask.inner = kept_.kept(inner);
    bytes_ += sizeof(LexerMask) + mask.scans.size() * sizeof(mask.scans[0]);
    return lexer_masks_.emplace(lexer, std::move(mask)).first->second;
}

// The tokens of a node behind a lexeme, and of those below it.
void LexemeMasks::add_parts(ParserState before, const Part& at, std::vector<Part>& parts) {
    ParserState behind = kNoParse;
    const TailTree::Step* step = nullptr;
    const uint32_t own = plan_ids_.measure([&] {
        behind = strands_.behind(before, at.lexeme);
        if (behind) step = &scans_.tails().step(at.node, parser_.viable(behind));
    });
    const uint32_t lowest = std::min(at.lowest, own);
    const auto parent = static_cast<uint32_t>(parts.size());
    const uint32_t same = seen_.find(behind, at.node);
    parts.push_back({lowest, at.parent, same, at.lexeme, at.node, {}, nullptr});
    if (!step || same != kNoPart) return;
    seen_.insert(behind, at.node, parent);
    parts.back().taken = &step->taken;
    for (const TailTree::Group& group : step->asked) {
        bool may = false;
        const uint32_t looked = plan_ids_.measure([&] { may = classes_.may_follow(behind, group.tail); });
        parts.push_back({std::min(lowest, looked), parent, kNoPart, 0, 0, group, may ? group.tokens : nullptr});
    }
    for (const auto& [lexeme, node] : step->next)
        add_parts(behind, {lowest, parent, kNoPart, lexeme, node, {}, nullptr}, parts);
}

// Few parts look far down the stack of a parser, as tails that close many brackets: they are left open, so that the
// rest is decided by a few states on top. Returns how far down these are.
uint32_t LexemeMasks::lowest_of(const std::vector<Part>& parts, uint32_t height) const {
    if (parts.size() <= kMostOpen) return height + 1;
    std::vector<uint32_t> looks;
    looks.reserve(parts.size());
    for (const Part& part : parts) looks.push_back(part.lowest);
    std::nth_element(looks.begin(), looks.begin() + kMostOpen, looks.end());
    return std::min(height + 1, looks[kMostOpen]);
}

// `words`: the tokens that stay.
LexemeMasks::Plan LexemeMasks::plan_of(const std::vector<Part>& parts, uint32_t lowest, Words words) {
    Plan plan;
    std::vector<bool> within(parts.size());  // something open
    for (uint32_t k = 0; k < parts.size(); ++k) {
        const Part& part = parts[k];
        within[k] = part.lowest < lowest || (part.same != kNoPart && within[part.same]);
        if (part.parent != kNoPart && within[part.parent]) continue;
        if (!within[k]) {
            if (part.taken) part.taken->add_to(words.data(), words.size());
            continue;
        }
        Open open{{}, part.node, part.group};
        for (uint32_t at = part.group ? part.parent : k; at != kNoPart; at = parts[at].parent)
            open.path.push_back(parts[at].lexeme);
        std::reverse(open.path.begin(), open.path.end());
        bytes_ += sizeof(Open) + open.path.size() * sizeof(LexemeId);
        plan.open.push_back(std::move(open));
    }
    plan.decided = kept_.kept(words);
    bytes_ += sizeof(Plan);
    return plan;
}

uint32_t LexemeMasks::make_plan(ParserState parser, LexerState lexer) {
    const LexerMask& mask = lexer_mask(lexer);
    Words words(tables_.words(), 0);
    mask.inner.add_to(words.data(), words.size());
    const uint32_t height = plan_ids_.height(parser);
    std::vector<Part> parts;
    std::vector<std::pair<ParserState, TailTree::NodeId>> tails;
    seen_.reset();
    std::set<std::pair<SymbolId, TailTree::NodeId>> done;  // lexemes of a terminal may leave the same tails
    for (const auto& [lexeme, scan] : mask.scans) {
        if (!done.emplace(grammar_.lexemes()[lexeme].terminal, scan->tails).second) continue;
        if (height)
            add_parts(parser, {UINT32_MAX, kNoPart, kNoPart, lexeme, scan->tails, {}, nullptr}, parts);
        else if (const ParserState behind = strands_.behind(parser, lexeme))
            tails.emplace_back(behind, scan->tails);
    }
    if (!tails.empty()) add_tails(tails, words);
    const uint32_t lowest = lowest_of(parts, height);
    plans_.push_back(plan_of(parts, lowest, std::move(words)));
    const auto id = static_cast<uint32_t>(plans_.size() - 1);
    plan_ids_.insert(lexer, parser, lowest, id);
    return id;
}

// The tokens of nodes that go on from states there. In an ambiguous grammar ever so many states come to the same node:
// then they are walked level by level, where all but a few are one, if the parser can unite them.
void LexemeMasks::add_tails(const std::vector<std::pair<ParserState, TailTree::NodeId>>& begin, Words& words) {
    seen_.reset();
    const auto walk = [&](const auto& at) { return walk_tails(at.first, at.second, words); };
    if (std::all_of(begin.begin(), begin.end(), walk)) return;
    seen_.reset();
    Meetings meetings;
    for (auto [state, node] : begin) meet(state, node, meetings);
    while (!meetings.empty()) {
        const auto [key, states] = *meetings.begin();
        meetings.erase(meetings.begin());
        for (ParserState state : states) {
            for (const auto& [lexeme, below] : add_step(state, key.second, words).next)
                if (const ParserState behind = strands_.behind(state, lexeme)) meet(behind, below, meetings);
        }
    }
}

// false: there are too many states and nodes.
bool LexemeMasks::walk_tails(ParserState state, TailTree::NodeId node, Words& words) {
    if (seen_.find(state, node) != PairMap::kNone) return true;
    if (seen_.size() == kMostWalked) return false;
    seen_.insert(state, node, 0);
    const auto& next = add_step(state, node, words).next;
    return std::all_of(next.begin(), next.end(), [&](const auto& each) {
        const ParserState behind = strands_.behind(state, each.first);
        return !behind || walk_tails(behind, each.second, words);
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
const TailTree::Step& LexemeMasks::add_step(ParserState state, TailTree::NodeId node, Words& words) {
    const TailTree::Step& step = scans_.tails().step(node, parser_.viable(state));
    step.taken.add_to(words.data(), words.size());
    for (const TailTree::Group& group : step.asked)
        if (classes_.may_follow(state, group.tail)) group.tokens->add_to(words.data(), words.size());
    return step;
}

void LexemeMasks::add_open(ParserState parser, const Open& open, Words& words) {
    for (LexemeId lexeme : open.path)
        if (parser) parser = strands_.behind(parser, lexeme);
    if (!parser) return;
    if (!open.group)
        add_tails({{parser, open.node}}, words);
    else if (classes_.may_follow(parser, open.group->tail))
        open.group->tokens->add_to(words.data(), words.size());
}

void LexemeMasks::add_strand(ParserState parser, LexerState lexer, Words& words) {
    uint32_t id = plan_ids_.find(lexer, parser);
    if (id == StateMemo::kNone) id = make_plan(parser, lexer);
    plans_[id].decided.add_to(words.data(), words.size());
    for (const Open& open : plans_[id].open) add_open(parser, open, words);
    for (const auto& [lexeme, scan] : lexer_mask(lexer).scans) {
        const ParserState behind = scan->ends ? strands_.behind(parser, lexeme) : kNoParse;
        if (behind) add_next(behind, *scan, words);
    }
}

// The lexeme has ended before the token.
void LexemeMasks::add_next(ParserState behind, const LexemeScan& scan, Words& words) {
    const LexerState begun = lexer_.start(parser_.viable(behind));
    if (!scan.beginning) return add_strand(behind, begun, words);
    Words next(words.size(), 0);
    add_strand(behind, begun, next);
    for (size_t w = 0; w < words.size(); ++w) words[w] |= next[w] & (*scan.beginning)[w];
}

// Token by token.
void LexemeMasks::read_all(const Strand& strand, uint32_t* words) {
    descend(tables_.all(), strands_.place_of(strand), [&](PlaceId at, uint8_t byte, uint32_t node, PlaceId& next) {
        poll();
        next = strands_.step(at, byte);
        if (!next) return false;
        for (uint32_t token : tables_.all().tokens_at(node)) set_bit(words, token);
        return true;
    });
}

void LexemeMasks::make_room() {
    if (memory_bytes() < kMostBytes) return;
    masks_.clear();
    plan_ids_.clear();
    plans_.clear();
    lexer_masks_.clear();
    scans_.clear();
    kept_.clear();
    classes_.forget();
    bytes_ = 0;
}

uint32_t LexemeMasks::fill(const Configuration& config, uint32_t* words, Arena&) {
    const PlaceId place = config.state;
    uint32_t allowed = 0;
    if (fill_known(config, words, allowed)) return allowed;
    make_room();
    Words all(tables_.words(), 0);
    for (const Strand& strand : strands_[place]) {
        if (strand.promise || !strands_.is_lively())
            read_all(strand, all.data());
        else
            add_strand(strand.parser, strand.lexer, all);
    }
    if (strands_.accepting(place))
        for (uint32_t token : tables_.eos()) set_bit(all.data(), token);
    std::copy(all.begin(), all.end(), words);
    bytes_ += sizeof(TokenSet);
    return masks_.emplace(place, kept_.kept(all)).first->second.count;
}

bool LexemeMasks::fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const {
    const auto it = masks_.find(config.state);
    if (it == masks_.end()) return false;
    allowed = it->second.count;
    it->second.copy_to(words, tables_.words());
    return true;
}

}  // namespace schemagen
