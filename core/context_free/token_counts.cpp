#include "context_free/token_counts.hpp"

#include <algorithm>
#include <unordered_set>

#include "automata/token_walk.hpp"
#include "util/bits.hpp"
#include "util/hash.hpp"

namespace schemagen {

TokenCounter::TokenCounter(const TokenCount& count, Automaton& automaton, const VocabularyTables& tables,
                           StringMasks& strings, uint32_t reach)
    : count_(count),
      ends_(automaton, tables),
      budgets_(ends_, automaton, tables, strings, nullptr),
      automaton_(automaton),
      tables_(tables),
      reach_(count.most == TokenCount::kNoBound ? 0
             : reach == kUnknown                ? find_reach()
                                                : reach) {}

uint32_t TokenCounter::find_reach() {
    constexpr size_t kMostPlaces = 256;
    Arena arena;
    std::vector<Configuration> places{automaton_.start()};
    std::unordered_set<uint64_t> seen;
    uint32_t most = 0;
    for (size_t at = 0; at < places.size(); ++at) {
        const Configuration place = places[at];
        if (places.size() > kMostPlaces || place.frame) return kMany;
        const uint32_t needed = automaton_.accepting(place) ? 0 : ends_.tokens(place, arena);
        if (needed == Completions::kNever) return kMany;
        most = std::max(most, needed);
        const ByteSet bytes = automaton_.next_bytes(place);
        for (unsigned byte = 0; byte < 256; ++byte) {
            Configuration next = place;
            std::vector<uint64_t> key;
            if (!bytes.has(static_cast<uint8_t>(byte)) || !automaton_.step(next, static_cast<uint8_t>(byte), arena))
                continue;
            if (!automaton_.identity(next, true, key)) return kMany;
            uint64_t hash = key.size();
            for (uint64_t part : key) hash = mix(hash, part);
            if (seen.insert(hash).second) places.push_back(next);
        }
    }
    return most;
}

bool TokenCounter::is_live(const Configuration& inner, uint32_t taken, Arena& arena) {
    const uint32_t left = this->left(taken);
    if (is_far(taken) || automaton_.accepting(inner)) return true;
    if (left == 0) return false;
    const uint32_t needed = ends_.tokens(inner, arena);
    return needed <= left || needed == Completions::kNever;  // a text without a known end is never given up
}

uint32_t TokenCounter::tighten(const Configuration& inner, uint32_t taken, uint32_t* words, uint32_t allowed,
                               Arena& arena) {
    if (is_far(taken)) return allowed;
    const bool is_known = ends_.tokens(inner, arena) != Completions::kNever;
    if (is_known && (reach_ < kMany || ends_.spelling().spells_all()))
        return budgets_.tighten(inner, left(taken), words, allowed, arena);
    return keep_live(inner, taken, words, arena);
}

// Where an end may be unknown: the tokens after which the text is alive, one by one.
uint32_t TokenCounter::keep_live(const Configuration& inner, uint32_t taken, uint32_t* words, Arena& arena) {
    std::vector<uint32_t> kept(tables_.words(), 0);
    walk_tokens(automaton_, tables_.all(), inner, arena, [&](uint32_t node, const Configuration& at) {
        for (uint32_t token : tables_.all().tokens_at(node)) {
            Configuration next = at;
            if (automaton_.end_token(next, token, arena) && is_live(next, taken + 1, arena))
                set_bit(kept.data(), token);
        }
    });
    for (uint32_t w = 0; w < tables_.words(); ++w) words[w] &= kept[w];
    return count_bits(words, tables_.words());
}

}  // namespace schemagen
