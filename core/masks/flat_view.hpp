// The views of a machine that has none of its own: no containers, no strings, no keys. What is remembered of a configuration is
// remembered by its exact identity.
#pragma once
#include <string>
#include <vector>

#include "automata/container_view.hpp"
#include "automata/string_view.hpp"
#include "util/hash.hpp"

namespace schemagen {

class FlatView final : public ContainerView, public StringView {
public:
    explicit FlatView(Automaton& automaton) : automaton_(automaton) {}

    // Up to three words as they are; of longer keys three hashes, which are taken for the key.
    LocalKey local_key(const Leaf& leaf, uint32_t) const override {
        std::vector<uint64_t> key;
        if (!automaton_.identity(leaf, true, key)) return {};
        if (key.size() <= 3) {
            key.resize(3, 0);
            return {true, key[0], key[1], key[2]};
        }
        LocalKey out{true, mix(1, key.size()), mix(2, key.size()), mix(3, key.size())};
        for (uint64_t word : key) out.a = mix(out.a, word), out.b = mix(out.b, word), out.c = mix(out.c, word);
        return out;
    }
    void settle(Leaf&, Arena&) override {}
    Leaf detached(const Leaf& leaf, Arena&) override { return leaf; }
    bool after_close(const Leaf&, uint32_t, Leaf&, Arena&) override { return false; }
    uint32_t& tails_of(const Leaf&) const override { return tails_; }
    uint32_t literal_state(const Leaf&) const override { return 0; }
    bool close_string(Leaf&, uint32_t, uint32_t, Arena&) override { return false; }
    Leaf as_declared_key(const Leaf& leaf) override { return leaf; }
    void declared_closings(const Leaf&, const Trie&, std::vector<uint32_t>&) override {}
    bool has_used_keys(const Leaf&) const override { return false; }
    std::vector<std::string> used_key_suffixes(const Leaf&) override { return {}; }
    bool is_text_dependent(const Leaf&) const override { return false; }
    StringBody string_body(const Leaf&, uint32_t) override { return {}; }

private:
    Automaton& automaton_;
    mutable uint32_t tails_ = 0;  // nothing is closed
};

}  // namespace schemagen
