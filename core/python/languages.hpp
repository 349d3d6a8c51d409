// Languages of a kernel, made from Python and asked about: the part of a builder (builder.hpp) that makes nodes, and
// the place of the questions that the front end asks (schemagen/regex/language.py).
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automata/shared_automata.hpp"
#include "python/rules.hpp"
#include "rules/dialect_rules.hpp"

namespace schemagen {

namespace nb = nanobind;

inline std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

class Languages {
public:
    static constexpr double kNanoseconds = 1e9;  // in a second

    // A place of its own, whose questions have the limits that they bring.
    Languages() : Languages(SharedAutomata::apart(), 0) {}
    uint64_t generation() const { return shared_->generation; }
    size_t memory_bytes() const { return shared_->memory_bytes(); }  // about
    size_t size() const { return shared_->node_count(); }            // nodes

    NodeId chars(int encoding, const std::vector<uint32_t>& flat) {
        const Call call(*this);
        Ranges ranges;
        for (size_t k = 0; k + 1 < flat.size(); k += 2) ranges.emplace_back(flat[k], flat[k + 1]);
        return shared_->kernel.chars(static_cast<Encoding>(encoding), std::move(ranges));
    }
    NodeId concat(const std::vector<NodeId>& parts) {
        const Call call(*this);
        NodeId out = kEpsilon;
        for (size_t k = parts.size(); k-- > 0;) out = shared_->kernel.concat(parts[k], out);
        return out;
    }
    NodeId alternation(const std::vector<NodeId>& parts) {
        constexpr size_t kMany = 10'000;  // sorting them takes some milliseconds, without a poll
        const Call call(*this);
        if (parts.size() > kMany) Work::release();
        return shared_->kernel.alternation(parts);
    }
    NodeId conjunction(const std::vector<NodeId>& parts) {
        const Call call(*this);
        return shared_->kernel.conjunction(parts);
    }
    NodeId complement(NodeId inner) {
        const Call call(*this);
        return shared_->kernel.complement(inner);
    }
    NodeId repeat(NodeId inner, uint32_t low, int64_t high) {
        const Call call(*this);
        return shared_->kernel.repeat(inner, low, high < 0 ? kUnbounded : static_cast<uint32_t>(high));
    }
    NodeId any_string(int encoding) {
        const Call call(*this);
        return shared_->kernel.any_string(static_cast<Encoding>(encoding));
    }
    // Any substring of a text in UTF-8, except the empty one. Its table is made while others use the automata.
    NodeId substring(const nb::bytes& text) {
        std::shared_ptr<const SubstringTable> table;
        {
            const Work call(budget_.max_seconds, Work::Manner::kRelease, began_);
            const std::string_view given = view(text);
            table = SubstringTable::of(given);
        }
        const Call call(*this);
        return shared_->kernel.substring(std::move(table));
    }
    bool is_empty(NodeId node) {
        const Call call(*this);
        return shared_->kernel.is_empty(node);
    }

    // For the time in which the interpreter reads, without the automata.
    Work reading() const { return Work(budget_.max_seconds, Work::Manner::kKeep, began_); }
    // Tells the terminals of a grammar apart that compete.
    void resolve(DialectReading& reading, Rules& rules) {
        {
            const Work call(budget_.max_seconds, Work::Manner::kRelease, began_);
            rules.set().trees.make_tables();
        }
        const Call call(*this);
        rules.use(shared_);
        reading.resolve(shared_->kernel);
        rules.forget_exported();
    }

    // The time of a call counts from the making of a builder: all of its calls are one compilation.
    class Call {
    public:
        explicit Call(Languages& languages, Work::Manner manner = Work::Manner::kRelease)
            : work_(languages.budget_.max_seconds, manner, languages.began_),
              guard_(*languages.shared_, &languages.budget_) {}

    private:
        Work work_;
        ExclusiveLock guard_;
    };

    // ---- questions within a time limit ----

    // Nothing if more than `most` derivatives had to be visited.
    std::optional<bool> is_empty_within(NodeId node, uint64_t most, double max_seconds) {
        Budget budget;
        budget.max_nodes = most * Budget::kNodesPerState;
        const Question question(*this, max_seconds, &budget);
        try {
            return shared_->kernel.is_empty(node);
        } catch (const LimitExceeded& error) {
            if (error.limit != Limit::kStates && error.limit != Limit::kNodes) throw;
            return std::nullopt;
        }
    }
    bool is_nullable(NodeId node) {
        const Call call(*this);
        return shared_->kernel.nullable(node);
    }
    // The derivatives of a language by each of some characters.
    std::vector<NodeId> after(NodeId node, const std::vector<uint32_t>& characters, double max_seconds) {
        const Question question(*this, max_seconds);
        std::vector<NodeId> out;
        out.reserve(characters.size());
        for (uint32_t character : characters) out.push_back(derivative(node, character));
        return out;
    }
    bool matches(NodeId node, const nb::str& text, double max_seconds) {
        const Question question(*this, max_seconds);
        const Py_ssize_t length = PyUnicode_GetLength(text.ptr());
        for (Py_ssize_t at = 0; at < length && node != kEmpty; ++at) {
            if (shared_->kernel.is_any_string(node)) return true;
            node = derivative(node, PyUnicode_ReadChar(text.ptr(), at));
        }
        return shared_->kernel.nullable(node);
    }
    // Whether a text is of the language, and whether a longer one begins with it.
    std::pair<bool, bool> matches_and_goes_on(NodeId node, const nb::str& text, double max_seconds) {
        const Question question(*this, max_seconds);
        Kernel& kernel = shared_->kernel;
        const Py_ssize_t length = PyUnicode_GetLength(text.ptr());
        for (Py_ssize_t at = 0; at < length && node != kEmpty; ++at)
            node = derivative(node, PyUnicode_ReadChar(text.ptr(), at));
        const NodeId some = kernel.complement(kEpsilon);
        return {kernel.nullable(node), !kernel.is_empty(kernel.conjunction({node, some}))};
    }
    // Where a text of the language may end that begins at a place.
    std::vector<Py_ssize_t> ends(NodeId node, const nb::str& text, Py_ssize_t start, double max_seconds) {
        const Question question(*this, max_seconds);
        const Py_ssize_t length = PyUnicode_GetLength(text.ptr());
        std::vector<Py_ssize_t> out;
        for (Py_ssize_t at = start; node != kEmpty; ++at) {
            if (shared_->kernel.nullable(node)) out.push_back(at);
            if (at >= length) break;
            node = derivative(node, PyUnicode_ReadChar(text.ptr(), at));
        }
        return out;
    }

protected:
    Languages(std::shared_ptr<SharedAutomata> shared, int64_t began) : shared_(std::move(shared)), began_(began) {}

    std::shared_ptr<SharedAutomata> shared_;
    Budget budget_;
    const int64_t began_;  // the time counts from here, with the seconds already spent by the caller; 0: with each call

private:
    // A call with a time of its own.
    class Question {
    public:
        Question(Languages& languages, double max_seconds, Budget* budget = nullptr)
            : work_(max_seconds), guard_(*languages.shared_, budget) {}

    private:
        Work work_;
        ExclusiveLock guard_;
    };

    // The derivative by a character in UTF-8.
    NodeId derivative(NodeId node, uint32_t character) {
        poll();
        const uint64_t key = uint64_t{node} << 32 | character;
        if (const auto known = moves_.find(key); known != moves_.end()) return known->second;
        Kernel& kernel = shared_->kernel;
        if (character < 0x80) {
            node = kernel.derivative(node, static_cast<uint8_t>(character));
        } else {
            const uint32_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;  // bytes after the first
            const uint32_t lead = more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0;
            node = kernel.derivative(node, static_cast<uint8_t>(lead | character >> 6 * more));
            for (uint32_t left = more; left-- > 0 && node != kEmpty;)
                node = kernel.derivative(node, static_cast<uint8_t>(0x80 | (character >> 6 * left & 0x3F)));
        }
        constexpr size_t kMost = 500'000;
        if (moves_.size() >= kMost) moves_.clear();
        return moves_[key] = node;
    }

    std::unordered_map<uint64_t, NodeId> moves_;  // by node and character
};

}  // namespace schemagen
