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
      scans_(lexer, classes_, tables, kept_) {}

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

const TokenSet& LexemeMasks::strand_mask(ParserState parser, LexerState lexer) {
    const uint64_t key = uint64_t{parser} << 32 | lexer;
    if (auto it = strand_masks_.find(key); it != strand_masks_.end()) return it->second;
    Words words(tables_.words(), 0);
    const LexerMask& mask = lexer_mask(lexer);
    mask.inner.add_to(words.data(), words.size());
    for (const auto& [lexeme, scan] : mask.scans) {
        const ParserState behind = strands_.behind(parser, lexeme);
        if (!behind) continue;
        if (scan->ends) add_next(behind, *scan, words);
        for (const LexemeScan::Group& group : scan->leaving)
            if (classes_.may_follow(behind, group.tail)) group.tokens.add_to(words.data(), words.size());
    }
    bytes_ += sizeof(TokenSet);
    return strand_masks_.emplace(key, kept_.kept(words)).first->second;
}

// The lexeme has ended before the token.
void LexemeMasks::add_next(ParserState behind, const LexemeScan& scan, Words& words) {
    const TokenSet& next = strand_mask(behind, lexer_.start(parser_.viable(behind)));
    if (!scan.beginning) return next.add_to(words.data(), words.size());
    for (size_t w = 0; next.mask && w < words.size(); ++w) words[w] |= (*next.mask)[w] & (*scan.beginning)[w];
    for (uint32_t token : next.list)
        if (has_bit(scan.beginning->data(), token)) set_bit(words.data(), token);
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
    strand_masks_.clear();
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
            strand_mask(strand.parser, strand.lexer).add_to(all.data(), all.size());
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
