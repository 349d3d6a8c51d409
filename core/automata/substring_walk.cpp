#include "automata/substring_walk.hpp"

#include <cstring>

#include "util/prefetch.hpp"
#include "util/work.hpp"

namespace schemagen {

SubstringWalk::SubstringWalk(LazyDfa& dfa, const LazyDfa::Track& track, const Trie& trie, TokenList& out)
    : dfa_(dfa), track_(track), table_(*track.table), trie_(trie), out_(out), leaves_(track.leaving.size() != 0) {}

std::vector<SubstringWalk::Place>& SubstringWalk::queue_of_thread() {
    static thread_local std::vector<Place> queue;
    return queue;
}

void SubstringWalk::run(uint32_t state) {
    queue_.clear();
    visit({trie_.root(), state - track_.base});
    for (size_t at = 0; at < queue_.size(); ++at) {
        poll();
        look_ahead(at);
        const Place place = queue_[at];
        for (uint32_t token : trie_.tokens_at(place.node)) out_.tokens.push_back(token);
        if (trie_.has_children(place.node)) visit(place);
    }
}

// Prefetch the data that the visit of a node will read. Its own memory was prefetched when it was put into the queue.
void SubstringWalk::look_ahead(size_t at) const {
    constexpr size_t kAhead = 4;
    if (at + kAhead >= queue_.size()) return;
    const uint32_t node = queue_[at + kAhead].node;
    prefetch(trie_.tokens.data() + trie_.first_token[node]);
    prefetch(trie_.child_byte.data() + trie_.first_child[node]);
    prefetch(trie_.child.data() + trie_.first_child[node]);
}

void SubstringWalk::put(uint32_t node, SubstringTable::State state) {
    prefetch(trie_.first_token.data() + node);
    prefetch(trie_.first_child.data() + node);
    table_.prefetch(state);
    queue_.push_back({node, state});
}

// Whether one of some sorted children has a byte. They become that one and those after it, or those after its place.
bool SubstringWalk::find(Children& children, uint8_t byte) const {
    const uint8_t* bytes = trie_.child_byte.data();
    while (children.at < children.end && bytes[children.at] < byte) ++children.at;
    return children.at < children.end && bytes[children.at] == byte;
}

// The same for many children, with a byte that few of them have; they stay if none has it.
bool SubstringWalk::search(Children& children, uint8_t byte) const {
    const uint8_t* bytes = trie_.child_byte.data();
    const void* found = std::memchr(bytes + children.at, byte, children.end - children.at);
    if (found) children.at = static_cast<uint32_t>(static_cast<const uint8_t*>(found) - bytes);
    return found;
}

// Put what every byte leads to that can be read both in the trie and in the text.
void SubstringWalk::visit(const Place& place) {
    constexpr uint32_t kMany = 4;  // children for each edge from which on it pays to search
    const bool leaving = leaves_ && table_.whole(place.state);
    if (leaving) leave(place);
    Children children = children_of(place.node);
    auto read = [&](uint8_t byte, SubstringTable::State target) {
        if (!leaving || !track_.leaving.has(byte)) put(trie_.child[children.at], target);
    };
    if (table_.is_single(place.state)) {
        const std::string_view rest = table_.rest_of(place.state);
        if (rest.empty()) return;
        const auto byte = static_cast<uint8_t>(rest[0]);
        if (find(children, byte)) read(byte, place.state + 1);
        return;
    }
    const SubstringTable::Edges edges = table_.edges_of(place.state);
    const bool many = children.end - children.at > kMany * edges.count;
    for (uint32_t k = 0; k < edges.count; ++k)
        if (many ? search(children, edges.bytes[k]) : find(children, edges.bytes[k]))
            read(edges.bytes[k], edges.targets[k]);
}

// Branches to the bytes that the text after the substring may begin with.
void SubstringWalk::leave(const Place& place) {
    for (Children children = children_of(place.node); children.at < children.end; ++children.at) {
        const uint8_t byte = trie_.child_byte[children.at];
        if (!track_.leaving.has(byte)) continue;
        Configuration config;
        config.state = dfa_.next(track_.base + place.state, byte);
        if (config.state) out_.branches.push_back({trie_.child[children.at], config});
    }
}

}  // namespace schemagen
