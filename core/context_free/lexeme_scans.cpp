#include "context_free/lexeme_scans.hpp"

#include <algorithm>

#include "util/bits.hpp"
#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

const LexemeScan& LexemeScans::of(const Lexer::Component& component) {
    const LexerState alone = lexer_.alone(component);
    const auto it = scans_.find(alone);
    return it != scans_.end() ? it->second : scans_.emplace(alone, scan(alone)).first->second;
}

void LexemeScans::clear() {
    scans_.clear();
    tails_.clear();
    branch_index_.clear();
    branches_.clear();
    all_ = {};
    bytes_ = 0;
}

const LexemeScans::Branch& LexemeScans::branch(LexerState state, uint32_t node) {
    if (const uint32_t known = branch_index_.find(state, node); known != PairMap::kNone) return branches_[known];
    branches_.push_back(walk(state, node));
    const Branch& made = branches_.back();
    bytes_ += sizeof(Branch) + heap_bytes(made.inner) + heap_bytes(made.leaving);
    branch_index_.insert(state, node, static_cast<uint32_t>(branches_.size() - 1));
    return made;
}

LexemeScans::Branch LexemeScans::walk(LexerState state, uint32_t node) {
    struct Level {
        LexerState state;
        Slice::Set loops;  // of the state
        size_t cuts, cuts_end;
        uint32_t at, end;
    };
    const Trie& trie = tables_.all();
    const SliceTree& slices = tables_.slices();
    Branch out;
    std::vector<Level> levels;
    TailClasses::CutStack cuts;
    auto add = [&](uint32_t begin, uint32_t end) {
        if (begin == end) return;
        if (!out.inner.empty() && out.inner.back().second == begin)
            out.inner.back().second = end;
        else
            out.inner.emplace_back(begin, end);
    };
    // The cuts from `begin` on are those that were kept on the way to the node.
    auto open = [&](LexerState reached, uint32_t at, size_t begin) {
        const Slice::Set loops = classes_.loops().of(reached);
        if (slices.below[at] & loops) {
            add(trie.first_token[at], trie.first_token[trie.skip[at]]);
            return;
        }
        add(trie.first_token[at], trie.first_token[at + 1]);
        if (!trie.has_children(at)) return;
        const auto length = static_cast<uint32_t>(levels.size() + 1);
        for (const Lexer::End& end : lexer_.ends(reached))
            cuts.push_back({end.lexeme, length, end.promise, end.promise});
        levels.push_back({reached, loops, begin, cuts.size(), trie.first_child[at], trie.first_child[at + 1]});
    };
    open(state, node, 0);
    while (!levels.empty()) {
        Level& level = levels.back();
        cuts.resize(level.cuts_end);
        if (level.at == level.end) {
            levels.pop_back();
            continue;
        }
        poll();
        const uint32_t k = level.at++;
        if (slices.edges[k] & level.loops) {
            while (level.at < level.end && slices.edges[level.at] & level.loops) ++level.at;
            add(trie.first_token[trie.child[k]], trie.first_token[trie.skip[trie.child[level.at - 1]]]);
            continue;
        }
        const LexerState next = lexer_.next(level.state, trie.child_byte[k]);
        TailClasses::keep(lexer_, cuts, level.cuts, level.cuts_end, levels.size(), trie.child_byte[k]);
        if (next) {
            open(next, trie.child[k], level.cuts_end);
            continue;
        }
        for (size_t c = level.cuts_end; c < cuts.size(); ++c)
            classes_.add_below(trie.child[k], static_cast<uint32_t>(levels.size() + 1), cuts[c], out.leaving);
    }
    out.inner.shrink_to_fit();
    out.leaving.shrink_to_fit();
    return out;
}

// The tokens of ranges. Where these hold most tokens, the bits of the others are cleared instead: there are fewer.
TokenSet::Words LexemeScans::words_of(const Ranges& ranges) {
    const std::vector<uint32_t>& tokens = tables_.all().tokens;
    size_t count = 0;
    for (auto [begin, end] : ranges) count += end - begin;
    if (count < tokens.size() / 2) {
        TokenSet::Words words(tables_.words(), 0);
        for (auto [begin, end] : ranges)
            for (uint32_t at = begin; at < end; ++at) set_bit(words.data(), tokens[at]);
        return words;
    }
    if (all_.empty()) {
        all_.resize(tables_.words(), 0);
        for (uint32_t token : tokens) set_bit(all_.data(), token);
    }
    TokenSet::Words words = all_;
    uint32_t last = 0;
    const auto clear_up_to = [&](uint32_t begin) {
        for (uint32_t at = last; at < begin; ++at) clear_bit(words.data(), tokens[at]);
    };
    for (auto [begin, end] : ranges) clear_up_to(begin), last = end;
    clear_up_to(static_cast<uint32_t>(tokens.size()));
    return words;
}

// By the class of their tails.
TailTree::NodeId LexemeScans::grouped(const TailClasses::Tails& leaving) {
    std::vector<Ranges> ranges;
    std::vector<TailClass> classes;
    for (auto [tail, begin, end] : leaving) {
        if (group_of_.size() <= tail) group_of_.resize(tail + 1, kNoGroup);
        if (group_of_[tail] == kNoGroup) {
            group_of_[tail] = static_cast<uint32_t>(ranges.size());
            ranges.emplace_back();
            classes.push_back(tail);
        }
        ranges[group_of_[tail]].emplace_back(begin, end);
    }
    std::vector<TailTree::Group> groups;
    groups.reserve(ranges.size());
    for (size_t k = 0; k < ranges.size(); ++k) {
        group_of_[classes[k]] = kNoGroup;
        groups.push_back({classes[k], tokens_of(ranges[k])});
    }
    return tails_.add(groups);
}

// Of ranges in any order.
const TokenSet* LexemeScans::tokens_of(const Ranges& ranges) {
    const auto tokens = tables_.all().tokens.begin();
    std::vector<uint32_t> list;
    for (auto [begin, end] : ranges) list.insert(list.end(), tokens + begin, tokens + end);
    return sets_.of_list(std::move(list));
}

LexemeScan LexemeScans::scan(LexerState alone) {
    const Trie& trie = tables_.all();
    Ranges stay;
    TailClasses::Tails leaving;
    for (uint32_t k = trie.first_child[trie.root()]; k < trie.first_child[trie.root() + 1]; ++k) {
        const LexerState next = lexer_.next(alone, trie.child_byte[k]);
        if (!next) continue;
        const Branch& below = branch(next, trie.child[k]);
        stay.insert(stay.end(), below.inner.begin(), below.inner.end());
        leaving.insert(leaving.end(), below.leaving.begin(), below.leaving.end());
    }
    const TokenSet::Words inner = words_of(stay);
    LexemeScan out{sets_.of_mask(inner), 0};
    end_before(alone, inner, out, leaving);
    out.leaving = grouped(leaving);
    return out;
}

// Where the lexeme may have ended before the token: by the first byte of it, tokens break its promise, keep it, or are
// read on.
void LexemeScans::end_before(LexerState alone, const TokenSet::Words& inner, LexemeScan& scan,
                             TailClasses::Tails& leaving) {
    if (lexer_.ends(alone).empty()) return;
    scan.ends = true;
    const Lexer::End own = lexer_.ends(alone)[0];
    if (!own.promise) return;
    const Trie& trie = tables_.all();
    Ranges kept;
    TailClasses::Tails tails;
    for (uint32_t k = trie.first_child[trie.root()]; k < trie.first_child[trie.root() + 1]; ++k) {
        const Promise next = lexer_.keep(own.promise, trie.child_byte[k]);
        if (next == kBroken) continue;
        if (next == kNoPromise)
            kept.emplace_back(trie.first_token[trie.child[k]], trie.first_token[trie.skip[trie.child[k]]]);
        else
            classes_.add_below(trie.child[k], 1, {own.lexeme, 0, own.promise, next}, tails);
    }
    for (const TailClasses::TailRange& each : tails)
        for (uint32_t at = each.begin; at < each.end; ++at)
            if (!has_bit(inner.data(), trie.tokens[at])) TailClasses::add(leaving, {each.tail, at, at + 1});
    scan.beginning = sets_.of_mask(words_of(kept));
}

}  // namespace schemagen
