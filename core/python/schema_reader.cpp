#include "python/schema_reader.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "json/values.hpp"

namespace schemagen {

namespace {

// Whether an object asks for a key that it forbids.
bool lacks_required(PyObject* declared, PyObject* required, PyObject* rest) {
    return required && !each_item(required, [&](PyObject* key) {
               PyObject* schema = declared ? PyDict_GetItemWithError(declared, key) : nullptr;
               return (schema ? schema : rest) != Py_False;
           });
}

// A token of a JSON pointer, one that needs no decoding.
PyObject* member_at(PyObject* schema, std::string_view token) {
    if (!PyDict_CheckExact(schema)) return nullptr;
    nb::object name = nb::steal(PyUnicode_FromStringAndSize(token.data(), static_cast<Py_ssize_t>(token.size())));
    return name ? PyDict_GetItemWithError(schema, name.ptr()) : nullptr;
}

bool is_whole(const StringDisjunct& disjunct) { return disjunct.min_chars == 0 && disjunct.max_chars == kUnbounded; }

}  // namespace

// ---- leaves -------------------------------------------------------------------------------------------------------

Leaves::Leaves(const std::vector<std::pair<NodeId, Builder::Strings>>& basics) {
    if (basics.size() != kBasics)
        throw nb::value_error("one meaning for each of null, boolean, integer, number and string");
    for (const auto& [literal, strings] : basics) basics_.push_back(Builder::scalars(literal, strings));
}

std::optional<ValueNode> Leaves::find(const std::string& key) const {
    std::lock_guard lock(mutex_);
    auto found = known_.find(key);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void Leaves::put(const std::string& key, const ValueNode& node) {
    std::lock_guard lock(mutex_);
    if (known_.size() < kMost) known_.try_emplace(key, node);
}

size_t Leaves::size() const {
    std::lock_guard lock(mutex_);
    return known_.size();
}

// The identity of the meaning of a leaf. Empty if it is unknown or not worth a cache entry.
std::optional<std::string> SchemaReader::key_of(PyObject* schema) const {
    std::string key;
    bool known = each_member(schema, [&](PyObject* name, PyObject* value) {
        auto [word, number] = words_.find(name);
        if (word == KeywordTable::kNone) return true;
        key += static_cast<char>(number);
        return append_value(key, value, word == KeywordTable::kType || word == KeywordTable::kEnum) &&
               key.size() <= kLongestKey;
    });
    return known ? std::optional(std::move(key)) : std::nullopt;
}

// ---- shapes -------------------------------------------------------------------------------------------------------

// A schema and its keywords; those of its target, if it is a reference that can be followed.
std::optional<SchemaReader::Resolved> SchemaReader::seen(PyObject* schema) const {
    Resolved out{schema, {}};
    if (!out.keywords.at(words_, schema)) return std::nullopt;
    PyObject* reference = out.keywords[KeywordTable::kReference];
    if (!reference) return out;
    Resolved there{target_of(out.keywords), {}, reference};
    if (!there.schema || !there.keywords.at(words_, there.schema) || there.keywords[KeywordTable::kReference])
        return std::nullopt;
    return there;
}

// The target of a reference without siblings; before 2019-09 it hides its siblings. nullptr if Python has to look.
PyObject* SchemaReader::target_of(const KeywordView& keywords) const {
    if (draft_ > 7 && !keywords.only({KeywordTable::kReference})) return nullptr;
    auto pointer = text_of(keywords[KeywordTable::kReference]);
    if (!pointer || !pointer->starts_with("#/") || pointer->find_first_of("~%") != std::string_view::npos)
        return nullptr;
    PyObject* target = document_.ptr();
    for (size_t at = 2, end; target && at <= pointer->size(); at = end + 1) {
        end = std::min(pointer->find('/', at), pointer->size());
        target = member_at(target, pointer->substr(at, end - at));
    }
    return target && PyDict_CheckExact(target) && PyDict_GET_SIZE(target) ? target : nullptr;
}

// The types that a schema of a known shape may allow, as `Kinds`; nothing for another shape.
std::optional<uint8_t> SchemaReader::shape_of(const Resolved& seen, int depth, Py_ssize_t& branches_left) const {
    const KeywordView& keywords = seen.keywords;
    KeywordTable::Word word{};
    if (PyObject* branches = keywords.branches(word)) return shape_of_union(word, branches, depth, branches_left);
    if (keywords.is_typed(draft_) || keywords.is_choice()) return keywords.kinds();
    if (!keywords.is_leaf(words_) || !keywords.kinds()) return std::nullopt;
    auto key = key_of(seen.schema);
    return key && leaves_.find(*key) ? keywords.kinds() : std::nullopt;
}

std::optional<uint8_t> SchemaReader::shape_of_union(KeywordTable::Word word, PyObject* branches, int depth,
                                                    Py_ssize_t& branches_left) const {
    branches_left -= PyList_GET_SIZE(branches);
    if (depth >= deepest_ || branches_left < 0) return std::nullopt;
    uint8_t all = 0;
    bool known = each_item(branches, [&](PyObject* branch) {
        auto inside = seen(branch);
        auto kinds = inside ? shape_of(*inside, depth + 1, branches_left) : std::nullopt;
        if (!kinds || (word == KeywordTable::kOneOf && (all & *kinds)))
            return false;  // a value in two branches is in none
        all |= *kinds;
        return true;
    });
    return known ? std::optional(all) : std::nullopt;
}

// ---- reading ------------------------------------------------------------------------------------------------------

nb::list SchemaReader::read(ValueId id, const nb::dict& schema, size_t most) {
    waiting_.clear();
    trail_.clear();
    deferred_.clear();
    waiting_.push_back({id, schema.ptr(), kNowhere});
    places_.try_emplace(schema.ptr(), id);
    {
        const Builder::Call call(builder_, manner_);  // holding the automata, it waits for no other thread
        while (!waiting_.empty() && builder_.value_count() <= most) {
            poll();
            const Task task = waiting_.back();
            waiting_.pop_back();
            define(task);
        }
    }
    nb::list out;
    for (const Deferred& left : deferred_) out.append(described(left));
    return out;
}

ValueId SchemaReader::find(nb::handle schema) const {
    auto found = places_.find(schema.ptr());
    return found == places_.end() ? 0 : found->second;
}

void SchemaReader::define(const Task& task) {
    auto inside = seen(task.schema);
    Py_ssize_t branches_left = kMostBranches;
    if (!inside || !shape_of(*inside, 0, branches_left)) return hand_back(task.id, task.schema, task.trail);
    Parts parts;
    add(*inside, task.trail, parts);
    builder_.define(task.id, settled(std::move(parts)));
}

// The value of a sub-schema.
ValueId SchemaReader::child(PyObject* schema, const Step& step) {
    poll();
    if (PyBool_Check(schema)) return schema == Py_True ? any : 0;
    if (PyDict_GET_SIZE(schema) == 0) return any;
    auto inside = seen(schema);
    if (!inside) return place(schema, step);
    if (inside->reference)
        if (ValueId known = find(inside->schema)) return known;
    const Step way =
        inside->reference ? Step{.from = kNowhere, .keyword = inside->reference, .is_reference = true} : step;
    return inside->keywords.is_leaf(words_) ? leaf(*inside, way) : place(inside->schema, way);
}

ValueId SchemaReader::leaf(const Resolved& seen, const Step& step) {
    auto key = key_of(seen.schema);
    if (!key) return place(seen.schema, step);
    if (key->empty()) return any;  // annotations
    ValueId& known = leaf_values_[*key];
    if (known) return known;
    const ValueId id = known = builder_.declare_value();
    if (auto meaning = leaves_.find(*key)) {
        builder_.define(id, std::move(*meaning));
    } else if (seen.keywords.is_typed(draft_) || seen.keywords.is_choice()) {
        Parts parts;
        add(seen, kNowhere, parts);  // nothing is below
        ValueNode node = settled(std::move(parts));
        if (node.arrays.empty() && node.objects.empty()) leaves_.put(*key, node);
        builder_.define(id, std::move(node));
    } else {
        hand_back(id, seen.schema, walk(step), std::move(*key));
    }
    return id;
}

// The value of a schema that is known by its identity: two equal dicts are two schemas.
ValueId SchemaReader::place(PyObject* schema, const Step& step) {
    ValueId& known = places_[schema];
    if (known) return known;
    known = builder_.declare_value();
    waiting_.push_back({known, schema, walk(step)});
    return known;
}

// ---- the values of a schema ---------------------------------------------------------------------------------------

void SchemaReader::add(const Resolved& seen, uint32_t trail, Parts& parts) {
    if (!parts.added.insert(seen.schema).second) return;
    const uint32_t here = walk_to(seen, trail);
    KeywordTable::Word word{};
    if (PyObject* branches = seen.keywords.branches(word)) return add_union(word, branches, here, parts);
    if (seen.keywords.is_typed(draft_)) return add_typed(seen.keywords, here, parts);
    if (seen.keywords.is_choice()) return add_choice(seen.keywords, parts);
    parts.add(*leaves_.find(*key_of(seen.schema)));
}

void SchemaReader::add_union(KeywordTable::Word word, PyObject* branches, uint32_t trail, Parts& parts) {
    PyObject* name = words_.name(word);
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(branches); ++k)
        add(*seen(PyList_GET_ITEM(branches, k)), walk({.from = trail, .keyword = name, .index = k}), parts);
}

void SchemaReader::add_typed(const KeywordView& keywords, uint32_t trail, Parts& parts) {
    const uint8_t kinds = *keywords.kinds();
    if (kinds & kObjects) add_object(keywords, trail, parts);
    if (kinds & kArrays) add_array(keywords, trail, parts);
    const bool basics[Leaves::kBasics] = {(kinds & kNulls) != 0, (kinds & kBooleans) != 0,
                                          (kinds & (kIntegers | kFractions)) == kIntegers, (kinds & kFractions) != 0,
                                          (kinds & kStrings) != 0};
    for (size_t k = 0; k < Leaves::kBasics; ++k)
        if (basics[k]) parts.add(leaves_.basic(k));
}

void SchemaReader::add_object(const KeywordView& keywords, uint32_t trail, Parts& parts) {
    PyObject *declared = keywords[KeywordTable::kProperties], *required = keywords[KeywordTable::kRequired],
             *rest = keywords[KeywordTable::kAdditional];
    if (lacks_required(declared, required, rest)) return;  // there is none; inner schemas are out of reach
    std::unordered_set<std::string_view> needed;
    if (required) each_item(required, [&](PyObject* key) { return needed.insert(*text_of(key)), true; });
    std::vector<Property> members;
    auto member = [&](PyObject* key, ValueId value) {
        std::string_view text = *text_of(key);
        members.push_back({escaped(text), needed.erase(text) > 0, Builder::always(value)});
        return true;
    };
    if (declared) {
        members.reserve(static_cast<size_t>(PyDict_GET_SIZE(declared)));
        each_member(declared, [&](PyObject* key, PyObject* schema) {
            return member(key, child(schema, {trail, words_.name(KeywordTable::kProperties), key}));
        });
    }
    const ValueId extra = rest ? child(rest, {trail, words_.name(KeywordTable::kAdditional)}) : any;
    if (!needed.empty())
        each_item(required, [&](PyObject* key) { return !needed.contains(*text_of(key)) || member(key, extra); });
    parts.node.objects.push_back(builder_.plain_object(std::move(members), extra));
}

void SchemaReader::add_array(const KeywordView& keywords, uint32_t trail, Parts& parts) {
    PyObject *items = keywords[KeywordTable::kItems], *prefix = keywords[KeywordTable::kPrefix],
             *least = keywords[KeywordTable::kLeast], *most = keywords[KeywordTable::kMost];
    PyObject *name = words_.name(KeywordTable::kItems), *list = prefix;
    if (prefix) name = words_.name(KeywordTable::kPrefix);
    if (items && PyList_CheckExact(items)) {  // before 2020-12
        list = items;
        items = keywords[KeywordTable::kRest];
    }
    std::vector<ValueId> first;
    for (Py_ssize_t k = 0; list && k < PyList_GET_SIZE(list); ++k)
        first.push_back(child(PyList_GET_ITEM(list, k), {.from = trail, .keyword = name, .index = k}));
    const ValueId value =
        items ? child(items, {trail, list == keywords[KeywordTable::kItems] ? words_.name(KeywordTable::kRest)
                                                                            : words_.name(KeywordTable::kItems)})
              : any;
    const uint32_t low = least ? *count_of(least) : 0;
    int64_t high = most ? int64_t{*count_of(most)} : -1;
    if (!value && (high < 0 || high > static_cast<int64_t>(first.size()))) high = static_cast<int64_t>(first.size());
    if (high < 0 || low <= high) parts.node.arrays.push_back(builder_.plain_array(first, value, low, high));
}

void SchemaReader::add_choice(const KeywordView& keywords, Parts& parts) {
    const uint8_t kinds = *keywords.kinds();
    std::vector<std::string> texts, literals;
    each_item(keywords[KeywordTable::kEnum], [&](PyObject* value) {
        poll();
        if (auto text = text_of(value)) {
            if (kinds & kStrings) texts.push_back(escaped(*text));
        } else if (value == Py_None ? kinds & kNulls : kinds & kBooleans) {
            literals.emplace_back(value == Py_None ? "null" : value == Py_True ? "true" : "false");
        }
        return true;
    });
    auto spell = [&](std::vector<std::string>& list) { return builder_.literals_of(std::move(list)); };
    if (!literals.empty()) parts.literal.push_back(spell(literals));
    if (!texts.empty()) parts.node.strings.push_back({.regex = spell(texts), .min_chars = 0, .max_chars = kUnbounded});
}

void SchemaReader::Parts::add(const ValueNode& scalars) {
    if (scalars.literal != kEmpty) literal.push_back(scalars.literal);
    node.strings.insert(node.strings.end(), scalars.strings.begin(), scalars.strings.end());
}

// One language for the numbers and literals, and one for the strings without a count of characters.
ValueNode SchemaReader::settled(Parts parts) {
    ValueNode node = std::move(parts.node);
    node.literal = parts.literal.empty()       ? kEmpty
                   : parts.literal.size() == 1 ? parts.literal[0]
                                               : builder_.alternation(parts.literal);
    if (node.strings.size() < 2) return node;
    std::vector<NodeId> whole;
    std::vector<StringDisjunct> rest;
    for (const StringDisjunct& disjunct : node.strings)
        if (is_whole(disjunct))
            whole.push_back(disjunct.regex);
        else
            rest.push_back(disjunct);
    if (!whole.empty())
        rest.push_back({.regex = whole.size() == 1 ? whole[0] : builder_.alternation(whole),
                        .min_chars = 0,
                        .max_chars = kUnbounded});
    node.strings = std::move(rest);
    return node;
}

// ---- deferred ----------------------------------------------------------------------------------------------------

void SchemaReader::hand_back(ValueId id, PyObject* schema, uint32_t trail, std::string key) {
    deferred_.push_back({id, schema, trail, std::move(key)});
}

uint32_t SchemaReader::walk(const Step& step) {
    trail_.push_back(step);
    return static_cast<uint32_t>(trail_.size() - 1);
}

// Where a schema is that was reached by a trail and then, perhaps, by a reference.
uint32_t SchemaReader::walk_to(const Resolved& seen, uint32_t trail) {
    return seen.reference ? walk({.from = kNowhere, .keyword = seen.reference, .is_reference = true}) : trail;
}

nb::tuple SchemaReader::described(const Deferred& left) const {
    std::vector<nb::object> tokens;
    nb::object reference = nb::none();
    for (uint32_t at = left.trail; at != kNowhere; at = trail_[at].from) {
        const Step& step = trail_[at];
        if (step.is_reference) {
            reference = nb::borrow(step.keyword);
            break;
        }
        if (step.key) tokens.push_back(nb::borrow(step.key));
        if (step.index >= 0) tokens.push_back(nb::str(std::to_string(step.index).c_str()));
        tokens.push_back(nb::borrow(step.keyword));
    }
    nb::list way;
    for (size_t k = tokens.size(); k-- > 0;) way.append(tokens[k]);
    nb::object key = left.key.empty() ? nb::none() : nb::object(nb::bytes(left.key.data(), left.key.size()));
    return nb::make_tuple(left.id, nb::borrow(left.schema), reference, nb::tuple(way), key);
}

}  // namespace schemagen
