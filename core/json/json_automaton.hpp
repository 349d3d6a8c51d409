// JSON texts that satisfy a schema, as a deterministic pushdown automaton with registers.
//
// A schema value is a union of alternatives by JSON type: one regex for the literal scalars (numbers, true, false,
// null), a list of string languages, a list of array disjuncts, a list of object disjuncts. A disjunct is a
// conjunction: every keyword of it must hold. Where several disjuncts are possible they are followed side by side, as a
// bit set in the frame, and a position inside them is the tuple of the values that the living disjuncts ask for (a
// lazily determinised set of schemas, the subset construction lifted to nested words; Alur & Madhusudan 2004). When a
// nested value closes it reports which of the tuple it satisfied, and the disjuncts whose value failed die.
// Alternatives over different keys are not multiplied to disjuncts, but followed by themselves (groups.hpp). One frame
// per open object or array, one configuration per text: no backtracking and no parse sets.
//
// Liveness: a text is let through only while some disjunct can still be completed: keys whose value has no instance are
// not offered, counts are looked ahead, prefixes of keys and strings are kept inside their language (kernel.hpp
// `is_empty`).
//
// This class puts the parts together (machine.hpp): the schema (program), the places of values (positions), the
// registers (frame_states, frame_moves, groups), the reading of bytes (stepper), and the answers to all queries.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/completion_guide.hpp"
#include "json/machine.hpp"

namespace schemagen {

class JsonAutomaton final : public Automaton, CompletionGuide {
public:
    JsonAutomaton(std::shared_ptr<SharedAutomata> shared, JsonOptions options, uint64_t max_states);

    // Building: values may be referred to before they are defined.
    JsonProgram& program() { return machine_.program; }
    void finish(ValueId root);  // after this the language is fixed

    std::shared_ptr<Automaton> renewed(std::shared_ptr<SharedAutomata> shared) override;
    Configuration start() override { return machine_.stepper.start(); }
    bool step(Configuration& config, uint8_t byte, Arena& arena) override {
        return machine_.stepper.step(config, byte, arena);
    }
    bool accepting(const Configuration& config) override { return machine_.stepper.accepting(config); }
    ByteSet next_bytes(const Configuration& config) override { return machine_.stepper.next_bytes(config); }
    uint32_t min_bytes(const Configuration& config) override { return machine_.min_bytes.min_bytes(config); }
    bool identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) override {
        return machine_.identities.identity(config, exact, key);
    }
    std::string refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) override {
        return machine_.explainer.refusal(config, byte, text, arena);
    }
    uint64_t memory_bytes() const override;

private:
    void settle_shortest(const VocabularyTables& tables) override {
        machine_.shortest.settle_shortest(tables);
        machine_.tokens.settle(tables);
        machine_.growth.settle(tables);
    }
    bool text_matters(const Configuration& config) const override { return machine_.identities.text_matters(config); }
    uint64_t used_up(const Configuration& config) const override { return machine_.identities.used_up(config); }
    Configuration least_constrained(const Configuration& config, Arena&) override {
        return machine_.identities.least_constrained(config);
    }
    Configuration keep(const Configuration& config, Arena& arena) override {
        return machine_.identities.keep(config, arena);
    }
    uint32_t most_tokens(const Configuration& config) override { return machine_.bounds.most_tokens(config); }
    uint32_t most_after_token(const Configuration& config) const override {
        return machine_.bounds.most_after_token(config);
    }
    uint32_t most_growth(const Configuration& config) const override { return machine_.bounds.most_growth(config); }
    uint32_t most_differing(const Configuration& from, const Configuration& next) override {
        return machine_.rest.most_differing(from, next);
    }
    std::optional<uint32_t> fewest_tokens(const Configuration& config) override {
        return machine_.rest.fewest_tokens(config);
    }
    bool write_shortest(const Configuration& config, std::string& out) override {
        return machine_.rest.write_shortest(config, out);
    }

    JsonMachine machine_;
};

}  // namespace schemagen
