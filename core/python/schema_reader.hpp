// The ordinary part of a JSON Schema, read in one crossing.
//
// Most schemas are objects, arrays, leaves ({"type": "string"}, an enum of texts, a number with bounds), local
// references and unions of these, with an occasional other keyword. schemagen/schema defines them; reading them there
// costs some microseconds a property, nearly all of it for Python objects that are used once. A reader walks the same
// dicts and defines the same values. Any part that it is not certain about, an invalid schema too, it hands back as
// deferred, with the way that leads there: reading that, and every error, is Python's.
//
// Invariants: a reader reads only documents without base URIs (a place is its dict), and enforces all that it reads; it
// runs no Python code, so its borrowed references stay valid. It lets other threads run between two schemas only where
// `gives_way` says that no other thread can change the document. The shape of a schema is examined
// (`shape_of`) before any part of it is defined; two dicts have one value only if they are one object, or equal leaves.
#pragma once
#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "python/builder.hpp"
#include "python/schema_shape.hpp"

namespace schemagen {

// The values of leaves, by content, for one generation of the kernel and one reading (draft, dialect, style of
// numbers). Shared by all threads; the first entry stays.
class Leaves {
public:
    static constexpr size_t kBasics = 5;  // null, boolean, integer, number, string

    explicit Leaves(const std::vector<std::pair<NodeId, Builder::Strings>>& basics);
    const ValueNode& basic(size_t kind) const { return basics_[kind]; }
    std::optional<ValueNode> find(const std::string& key) const;
    void put(const std::string& key, const ValueNode& node);
    size_t size() const;

private:
    static constexpr size_t kMost = 20'000;
    std::vector<ValueNode> basics_;
    mutable std::mutex mutex_;
    std::unordered_map<std::string, ValueNode> known_;
};

class SchemaReader {
public:
    // `anything`: the node of all numbers and literals; `deepest`: how far unions may be nested here. Declares a value
    // for anything at all, and one for the root, which is still to be read.
    SchemaReader(Builder& builder, const KeywordTable& words, Leaves& leaves, nb::dict root, int draft, NodeId anything,
                 int deepest, bool gives_way)
        : root(builder.declare_value()),
          any(builder.declare_value()),
          builder_(builder),
          words_(words),
          leaves_(leaves),
          document_(std::move(root)),
          draft_(draft),
          deepest_(std::min(deepest, kDeepest)),
          manner_(gives_way ? Work::Manner::kGiveWay : Work::Manner::kKeep) {
        builder_.define_any(any, anything);
    }
    const ValueId root, any;

    // Define a value as a schema, and everything below it; stop early beyond `most` values. Returns the deferred parts:
    // (value, schema, reference or None, tokens, key or None), the tokens leading from the schema that was read, or
    // from the one that the reference names; no tokens and no reference: the schema itself.
    nb::list read(ValueId id, const nb::dict& schema, size_t most);
    ValueId find(nb::handle schema) const;  // 0: not met yet
    void note(nb::handle schema, ValueId id) { places_.try_emplace(schema.ptr(), id); }
    // Cache the value of a deferred leaf.
    void keep(const nb::bytes& key, NodeId literal, const Builder::Strings& strings) {
        leaves_.put(std::string(view(key)), Builder::scalars(literal, strings));
    }

private:
    static constexpr size_t kLongestKey = 600;
    static constexpr Py_ssize_t kMostBranches = 64;  // of a union and those in it, together: references multiply them
    static constexpr int kDeepest = 4;
    static constexpr uint32_t kNowhere = UINT32_MAX;
    // A step from one schema to one below: `keyword`, then perhaps a key or an index; or a reference, from anywhere.
    struct Step {
        uint32_t from;
        PyObject *keyword, *key = nullptr;
        Py_ssize_t index = -1;
        bool is_reference = false;
    };
    struct Task {
        ValueId id;
        PyObject* schema;
        uint32_t trail;
    };
    struct Deferred {
        ValueId id;
        PyObject* schema;
        uint32_t trail;
        std::string key;
    };
    // A schema with its keywords, after following a reference if it was one.
    struct Resolved {
        PyObject* schema;
        KeywordView keywords;
        PyObject* reference = nullptr;
    };

    std::optional<Resolved> seen(PyObject* schema) const;
    PyObject* target_of(const KeywordView& keywords) const;
    std::optional<uint8_t> shape_of(const Resolved& seen, int depth, Py_ssize_t& branches_left) const;
    std::optional<uint8_t> shape_of_union(KeywordTable::Word word, PyObject* branches, int depth,
                                          Py_ssize_t& branches_left) const;

    ValueId child(PyObject* schema, const Step& step);
    ValueId leaf(const Resolved& seen, const Step& step);
    ValueId place(PyObject* schema, const Step& step);
    void define(const Task& task);
    void hand_back(ValueId id, PyObject* schema, uint32_t trail, std::string key = {});
    uint32_t walk(const Step& step);
    uint32_t walk_to(const Resolved& seen, uint32_t trail);
    nb::tuple described(const Deferred& left) const;

    // The parts of a value, until it is settled.
    struct Parts {
        ValueNode node;
        std::vector<NodeId> literal;
        std::unordered_set<PyObject*> added;  // a schema twice in a union adds nothing, but costs matchers time
        void add(const ValueNode& scalars);
    };
    // Add the values that a schema of a known shape allows.
    void add(const Resolved& seen, uint32_t trail, Parts& parts);
    void add_union(KeywordTable::Word word, PyObject* branches, uint32_t trail, Parts& parts);
    void add_typed(const KeywordView& keywords, uint32_t trail, Parts& parts);
    void add_object(const KeywordView& keywords, uint32_t trail, Parts& parts);
    void add_array(const KeywordView& keywords, uint32_t trail, Parts& parts);
    void add_choice(const KeywordView& keywords, Parts& parts);
    ValueNode settled(Parts parts);
    std::optional<std::string> key_of(PyObject* schema) const;

    Builder& builder_;
    const KeywordTable& words_;
    Leaves& leaves_;
    nb::dict document_;
    int draft_, deepest_;
    Work::Manner manner_;
    std::unordered_map<PyObject*, ValueId> places_;
    std::unordered_map<std::string, ValueId> leaf_values_;
    // Of one `read`.
    std::vector<Task> waiting_;
    std::vector<Step> trail_;
    std::vector<Deferred> deferred_;
};

}  // namespace schemagen
