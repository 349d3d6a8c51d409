#include "json/json_automaton.hpp"

#include <algorithm>

#include "util/limits.hpp"

namespace schemagen {

JsonAutomaton::JsonAutomaton(std::shared_ptr<SharedAutomata> shared, JsonOptions options, uint64_t max_states)
    : machine_(std::move(shared), std::move(options), max_states) {
    set_facets({.strings = &machine_.containers, .containers = &machine_.containers, .guide = this});
}

uint64_t JsonAutomaton::memory_bytes() const {
    const JsonProgram& program = machine_.program;
    uint64_t bytes =
        machine_.states.state_bytes + program.values.size() * sizeof(ValueNode) + machine_.positions.size() * 320;
    for (const auto& disjunct : program.objects) bytes += 64 + disjunct.properties.size() * 64;
    return bytes + machine_.positions.children.size() * 96;
}

void JsonAutomaton::finish(ValueId root) {
    JsonProgram& program = machine_.program;
    program.settle_productive();
    for (const ValueNode& value : program.values) {
        size_t objects = 0, arrays = 0;
        for (uint32_t id : value.objects) objects += program.objects[id].final.size();
        for (uint32_t id : value.arrays) arrays += program.arrays[id].final.size();
        size_t most = std::max({objects, arrays, value.strings.size()});
        if (most > kMaxSlots) throw LimitExceeded("alternatives in one place", most, kMaxSlots);
    }
    if (program.values[root].productive) machine_.states.surround(root);
}

std::shared_ptr<Automaton> JsonAutomaton::renewed(std::shared_ptr<SharedAutomata> shared) {
    JsonProgram& old = machine_.program;
    std::vector<NodeId> nodes;
    old.each_language([&](NodeId node) { nodes.push_back(node); });
    nodes = shared->kernel.adopt(old.kernel(), nodes);
    auto made = std::make_shared<JsonAutomaton>(std::move(shared), old.options, old.max_states);
    JsonProgram& program = made->program();
    program.values = std::move(old.values);
    program.objects = std::move(old.objects);
    program.arrays = std::move(old.arrays);
    size_t at = 0;
    program.each_language([&](NodeId& node) { node = nodes[at++]; });
    made->machine_.states.surround(old.root);
    return made;
}

}  // namespace schemagen
