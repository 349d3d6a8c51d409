#include "context_free/parser.hpp"

#include <algorithm>

namespace schemagen {

std::vector<Distance> nearest(std::vector<Distance> all) {
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all, {}, &Distance::terminal).begin(), all.end());
    all.shrink_to_fit();
    return all;
}

uint32_t bytes_after(std::span<const Distance> nearest, SymbolId terminal) {
    const auto at = std::ranges::lower_bound(nearest, terminal, {}, &Distance::terminal);
    return at != nearest.end() && at->terminal == terminal ? at->bytes : ContextFreeGrammar::kFar;
}

}  // namespace schemagen
