// A machine that is no JSON and no regular expression: one pair of balanced brackets, `(` `)` and `[` `]`, and nothing behind it.
// It implements `Automaton` and no facet; what it gets for that is in test_automata.cpp.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "automata/automaton.hpp"

namespace schemagen {

// `hash` is the stack, one bit for each open bracket, `count` how many there are, `state` whether one was opened.
class Brackets final : public Automaton {
public:
    static constexpr uint32_t kMostOpen = 60;

    std::shared_ptr<Automaton> renewed(std::shared_ptr<Languages>) override { return std::make_shared<Brackets>(); }
    Leaf start() override { return {}; }
    bool step(Leaf& leaf, uint8_t byte, Arena&) override {
        if (!next_bytes(leaf).has(byte)) return false;
        if (byte == '(' || byte == '[') {
            leaf.hash = leaf.hash << 1 | (byte == '[');
            ++leaf.count;
        } else {
            leaf.hash >>= 1;
            --leaf.count;
        }
        leaf.state = 1;
        return true;
    }
    bool accepting(const Leaf& leaf) override { return leaf.state && !leaf.count; }
    ByteSet next_bytes(const Leaf& leaf) override {
        ByteSet out;
        if (leaf.count) out.add(leaf.hash & 1 ? ']' : ')');
        if (accepting(leaf) || leaf.count == kMostOpen) return out;
        out.add('(');
        out.add('[');
        return out;
    }
    uint32_t min_bytes(const Leaf& leaf) override { return leaf.state ? leaf.count : 2; }
    bool identity(const Leaf& leaf, bool, std::vector<uint64_t>& key) override {
        key.push_back(leaf.hash);
        key.push_back(uint64_t{leaf.count} << 1 | leaf.state);
        return true;
    }
    std::string refusal(const Leaf& leaf, uint8_t, std::string_view, Arena&) override {
        return std::to_string(leaf.count) + " brackets are open";
    }
    uint64_t memory_bytes() const override { return sizeof(*this); }
};

}  // namespace schemagen
