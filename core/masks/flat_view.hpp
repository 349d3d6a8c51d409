// The views of a machine that has none of its own: no containers, no strings, no keys. Caches about a configuration are
// keyed by its exact identity.
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

    // The whole identity is the key: two identities with the same hash are not the same configuration.
    LocalKey local_key(const Configuration& config, uint32_t) const override {
        LocalKey out;
        out.usable = automaton_.identity(config, true, out.words);
        if (!out.usable) out.words.clear();
        out.a = out.words.size();
        for (uint64_t word : out.words) out.a = mix(out.a, word);
        return out;
    }
    void settle(Configuration&, Arena&) override {}
    Configuration detached(const Configuration& config, Arena&) override { return config; }
    bool after_close(const Configuration&, uint32_t, Configuration&, Arena&) override { return false; }
    uint32_t& tails_of(const Configuration&) const override { return tails_; }
    bool leave(Configuration&) const override { return false; }
    uint32_t literal_state(const Configuration&) const override { return 0; }
    bool close_string(Configuration&, uint32_t, uint32_t, Arena&) override { return false; }
    Configuration as_declared_key(const Configuration& config) override { return config; }
    ByteSet declared_bytes(const Configuration&) override { return {}; }
    void declared_closings(const Configuration&, const Trie&, std::vector<uint32_t>&) override {}
    bool has_used_keys(const Configuration&) const override { return false; }
    std::vector<std::string> used_key_suffixes(const Configuration&) override { return {}; }
    bool is_text_dependent(const Configuration&) const override { return false; }
    StringBody string_body(const Configuration&, uint32_t) override { return {}; }

private:
    Automaton& automaton_;
    mutable uint32_t tails_ = 0;  // nothing is closed
};

}  // namespace schemagen
