#include <algorithm>

#include "hash.hpp"
#include "kernel.hpp"

namespace schemagen {

LazyDfa::LazyDfa(Kernel& kernel, uint64_t max_states) : kernel_(kernel), max_states_(max_states) {
    states_.push_back({});
    row_pool_.emplace_back().fill(0);
    rows_.push_back(row_pool_.back().data());
}

uint64_t LazyDfa::memory_bytes() const { return states_.size() * (sizeof(State) + 1024 + 48) + components_.capacity() * 4; }

uint32_t LazyDfa::intern(const std::vector<NodeId>& raw, bool marked) {
    std::vector<NodeId> components(raw);
    size_t real = components.size() - (marked ? 1 : 0);
    Bits accepts, alive;
    uint64_t hash = marked ? 11 : 5;
    for (size_t k = 0; k < real; ++k) {
        if (kernel_.is_empty(components[k])) components[k] = kEmpty;
        if (components[k] != kEmpty) alive.set(k);
        if (kernel_.nullable(components[k])) accepts.set(k);
    }
    if (alive.none()) return 0;
    for (NodeId node : components) hash = mix(hash, node);
    auto [begin, end] = index_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
        const State& other = states_[it->second];
        if (other.marked == marked && other.count == real && std::equal(components.begin(), components.end(), components_.begin() + other.first))
            return it->second;
    }
    if (states_.size() >= max_states_) throw LimitExceeded("max_states", states_.size(), max_states_);
    bool boundary = marked && kernel_.is_any_string(components.back());
    uint32_t id = static_cast<uint32_t>(states_.size());
    states_.push_back({static_cast<uint32_t>(components_.size()), static_cast<uint16_t>(real), marked, boundary, accepts, alive});
    components_.insert(components_.end(), components.begin(), components.end());
    row_pool_.emplace_back().fill(kUnknown);
    rows_.push_back(row_pool_.back().data());
    index_.emplace(hash, id);
    return id;
}

uint32_t LazyDfa::compute(uint32_t id, uint8_t byte) {
    const State from = states_[id];
    size_t total = from.count + (from.marked ? 1u : 0u);
    // 1) The interval of bytes that behave alike here.
    ByteCuts cut{};
    for (size_t k = 0; k < total; ++k) {
        const ByteCuts& other = kernel_.cuts(components_[from.first + k]);
        for (int w = 0; w < 4; ++w) cut[static_cast<size_t>(w)] |= other[static_cast<size_t>(w)];
    }
    auto is_cut = [&](unsigned b) { return cut[b >> 6] >> (b & 63) & 1; };
    unsigned low = byte, high = byte + 1u;
    while (low > 0 && !is_cut(low)) --low;
    while (high < 256 && !is_cut(high)) ++high;
    // 2) One derivative for all of them.
    std::vector<NodeId> target(total);
    for (size_t k = 0; k < total; ++k) target[k] = kernel_.derivative(components_[from.first + k], byte);
    uint32_t to = intern(target, from.marked);
    for (unsigned b = low; b < high; ++b) rows_[id][b] = to;
    return to;
}

}  // namespace schemagen
