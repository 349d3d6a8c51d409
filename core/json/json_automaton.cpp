#include "json/json_automaton.hpp"

#include <algorithm>

#include "util/heap.hpp"
#include "util/limits.hpp"

namespace schemagen {

JsonAutomaton::JsonAutomaton(std::shared_ptr<SharedAutomata> shared, JsonOptions options, uint64_t max_states)
    : machine_(std::move(shared), std::move(options), max_states) {
    set_facets({.strings = &machine_.containers, .containers = &machine_.containers, .guide = this});
}

namespace {

size_t bytes_of(const JsonProgram& program) {
    size_t bytes = heap_bytes(program.values) + heap_bytes(program.objects) + heap_bytes(program.arrays) +
                   heap_bytes(program.outlooks) +
                   program.word_counts.size() * heap_node(sizeof(*program.word_counts.begin()));
    for (const ValueNode& value : program.values)
        bytes += heap_bytes(value.strings) + heap_bytes(value.arrays) + heap_bytes(value.objects);
    for (const ObjectDisjunct& object : program.objects) {
        bytes += heap_bytes(object.properties) + heap_bytes(object.extras) + heap_bytes(object.final);
        for (const Property& property : object.properties)
            bytes += heap_bytes(property.key) + heap_bytes(property.options);
        for (const ExtraKeys& extra : object.extras) bytes += heap_bytes(extra.options);
        bytes += heap_bytes(object.groups);
        for (const Group& group : object.groups) {
            bytes += heap_bytes(group.places) + heap_bytes(group.alternatives);
            for (const Alternative& each : group.alternatives)
                bytes += heap_bytes(each.values) + heap_bytes(each.required);
        }
    }
    for (const ArrayDisjunct& array : program.arrays)
        bytes += heap_bytes(array.prefix) + heap_bytes(array.items) + heap_bytes(array.final);
    for (const ArrayOutlook& outlook : program.outlooks) bytes += heap_bytes(outlook.live) + heap_bytes(outlook.need);
    return bytes;
}

size_t bytes_of(const ObjectSet& set) {
    size_t bytes = heap_block(sizeof(set)) + heap_bytes(set.disjuncts) + heap_bytes(set.state) + heap_bytes(set.owner) +
                   heap_bytes(set.keys) + heap_bytes(set.trie) + heap_bytes(set.options) + heap_bytes(set.place) +
                   heap_bytes(set.key_at) + heap_bytes(set.required) + heap_bytes(set.components) +
                   heap_bytes(set.first_alternative);
    for (const std::string& key : set.keys) bytes += heap_bytes(key);
    return bytes;
}

size_t bytes_of(const Position& position) {
    size_t bytes = heap_block(sizeof(position)) + heap_bytes(position.values) + heap_bytes(position.strings) +
                   heap_bytes(position.string_owner) + heap_bytes(position.literal_owner);
    if (position.objects) bytes += bytes_of(*position.objects);
    if (const ArraySet* arrays = position.arrays.get())
        bytes += heap_block(sizeof(*arrays)) + heap_bytes(arrays->disjuncts) + heap_bytes(arrays->state) +
                 heap_bytes(arrays->owner);
    return bytes;
}

}  // namespace

uint64_t JsonAutomaton::memory_bytes() const {
    // The first chunk of the arena of the states, and two to four slots of 16 bytes for an entry of an index.
    constexpr size_t kFirstChunk = 2048, kOfIndex = 64;
    const Positions& positions = machine_.positions;
    size_t bytes = heap_block(sizeof(*this)) + bytes_of(machine_.program) + heap_bytes(positions.children) +
                   (positions.size() + positions.children.size()) * kOfIndex;
    for (uint32_t k = 0; k < positions.size(); ++k) bytes += bytes_of(*positions[k]);
    for (const Child& child : positions.children) bytes += heap_bytes(child.moves) + heap_bytes(child.component);
    return bytes + kFirstChunk + machine_.states.state_bytes + machine_.min_bytes.memory_bytes() +
           machine_.shortest.memory_bytes() + machine_.tokens.memory_bytes() + machine_.distinct.memory_bytes() +
           machine_.unique.memory_bytes() + machine_.growth.memory_bytes();
}

void JsonAutomaton::finish(ValueId root) {
    JsonProgram& program = machine_.program;
    program.settle_productive();
    for (const ValueNode& value : program.values) {
        size_t objects = 0, arrays = 0;
        for (uint32_t id : value.objects) objects += program.objects[id].final.size();
        for (uint32_t id : value.arrays) arrays += program.arrays[id].final.size();
        size_t most = std::max({objects, arrays, value.strings.size()});
        if (most > kMaxSlots) throw LimitExceeded(Limit::kAlternatives, most, kMaxSlots);
    }
    if (program.values[root].productive) machine_.states.surround(root);
}

std::shared_ptr<Automaton> JsonAutomaton::renewed(std::shared_ptr<SharedAutomata> shared) {
    JsonProgram& old = machine_.program;  // stays as it is
    std::vector<NodeId> nodes;
    old.each_language([&](NodeId node) { nodes.push_back(node); });
    nodes = shared->kernel.adopt(old.kernel(), nodes);
    auto made = std::make_shared<JsonAutomaton>(std::move(shared), old.options, old.max_states);
    JsonProgram& program = made->program();
    program.values = old.values;
    program.objects = old.objects;
    program.arrays = old.arrays;
    size_t at = 0;
    program.each_language([&](NodeId& node) { node = nodes[at++]; });
    made->machine_.states.surround(old.root);
    return made;
}

}  // namespace schemagen
