#include "context_free/lexeme_masks.hpp"

#include <algorithm>
#include <cstring>

#include "util/bits.hpp"

namespace schemagen {

LexemeMasks::LexemeMasks(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer,
                         Strands& strands, const VocabularyTables& tables)
    : parser_(parser),
      lexer_(lexer),
      strands_(strands),
      tables_(tables),
      classes_(grammar, parser, sets, lexer, strands, tables),
      scans_(lexer, classes_, tables, kept_),
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

// Few tails look far down the stack of a parser, those that close many brackets: they are left open, so that the rest
// is decided by a few states on top.
uint32_t LexemeMasks::make_plan(ParserState parser, LexerState lexer) {
    struct Answer {
        uint32_t lowest;
        bool may;
        LexemeId lexeme;
        const LexemeScan::Group* group;
    };
    std::vector<Answer> answers;
    for (const auto& [lexeme, scan] : lexer_mask(lexer).scans)
        for (const LexemeScan::Group& group : scan->leaving) {
            bool may = false;
            const uint32_t lowest = plan_ids_.measure([&] {
                const ParserState behind = strands_.behind(parser, lexeme);
                may = behind && classes_.may_follow(behind, group.tail);
            });
            answers.push_back({lowest, may, lexeme, &group});
        }
    uint32_t lowest = plan_ids_.height(parser) + 1;
    if (answers.size() > kMostOpen && plan_ids_.height(parser)) {
        std::nth_element(answers.begin(), answers.begin() + kMostOpen, answers.end(),
                         [](const Answer& a, const Answer& b) { return a.lowest < b.lowest; });
        lowest = std::min(lowest, answers[kMostOpen].lowest);
    }
    Plan plan;
    Words words(tables_.words(), 0);
    lexer_mask(lexer).inner.add_to(words.data(), words.size());
    for (const Answer& answer : answers) {
        if (plan_ids_.height(parser) && answer.lowest < lowest)
            plan.open.emplace_back(answer.lexeme, answer.group);
        else if (answer.may)
            answer.group->tokens.add_to(words.data(), words.size());
    }
    plan.decided = kept_.kept(words);
    bytes_ += sizeof(Plan) + plan.open.capacity() * sizeof(plan.open[0]);
    plans_.push_back(std::move(plan));
    const auto id = static_cast<uint32_t>(plans_.size() - 1);
    plan_ids_.insert(lexer, parser, lowest, id);
    return id;
}

void LexemeMasks::add_strand(ParserState parser, LexerState lexer, Words& words) {
    uint32_t id = plan_ids_.find(lexer, parser);
    if (id == StateMemo::kNone) id = make_plan(parser, lexer);
    plans_[id].decided.add_to(words.data(), words.size());
    for (const auto& [lexeme, group] : plans_[id].open) {
        const ParserState behind = strands_.behind(parser, lexeme);
        if (behind && classes_.may_follow(behind, group->tail)) group->tokens.add_to(words.data(), words.size());
    }
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
    const TokenSet& mask = it->second;
    allowed = mask.count;
    if (mask.mask) {
        std::memcpy(words, mask.mask->data(), tables_.words() * sizeof(uint32_t));
        return true;
    }
    std::memset(words, 0, tables_.words() * sizeof(uint32_t));
    for (uint32_t token : mask.list) set_bit(words, token);
    return true;
}

}  // namespace schemagen
