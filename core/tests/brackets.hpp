// A machine that is neither JSON nor a regular expression: one pair of balanced brackets, `(` `)` and `[` `]`, and
// nothing after it. It implements `Automaton` and no facet; test_automata.cpp shows the features it gets for that.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "automata/automaton.hpp"

namespace schemagen {

// `hash` is the stack, one bit for each open bracket, `count` how many there are, `state` whether one was opened.
class Brackets : public Automaton {
public:
    static constexpr uint32_t kMostOpen = 60;

    std::shared_ptr<Automaton> renewed(std::shared_ptr<SharedAutomata>) override {
        return std::make_shared<Brackets>();
    }
    Configuration start() override { return {}; }
    bool step(Configuration& config, uint8_t byte, Arena&) override {
        if (!next_bytes(config).has(byte)) return false;
        if (byte == '(' || byte == '[') {
            config.hash = config.hash << 1 | (byte == '[');
            ++config.count;
        } else {
            config.hash >>= 1;
            --config.count;
        }
        config.state = 1;
        return true;
    }
    bool accepting(const Configuration& config) override { return config.state && !config.count; }
    ByteSet next_bytes(const Configuration& config) override {
        ByteSet out;
        if (config.count) out.add(config.hash & 1 ? ']' : ')');
        if (accepting(config) || config.count == kMostOpen) return out;
        out.add('(');
        out.add('[');
        return out;
    }
    uint32_t min_bytes(const Configuration& config) override { return config.state ? config.count : 2; }
    bool identity(const Configuration& config, bool, std::vector<uint64_t>& key) override {
        key.push_back(config.hash);
        key.push_back(uint64_t{config.count} << 1 | config.state);
        return true;
    }
    std::string refusal(const Configuration& config, uint8_t, std::string_view, Arena&) override {
        return std::to_string(config.count) + " brackets are open";
    }
    uint64_t memory_bytes() const override { return sizeof(*this); }
};

}  // namespace schemagen
