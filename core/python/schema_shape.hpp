// A first look at a JSON Schema: which of its keywords matter, and whether it is of an ordinary shape. It defines
// nothing, and no Python code runs: objects are borrowed from the schema.
#pragma once
#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schemagen {

namespace nb = nanobind;

// The names of keywords, as schemagen/schema/keyword_table.py has them. `self_contained`: those that look at nothing
// but their own value; `others`: all other keywords. Every other name is an annotation.
class KeywordTable {
public:
    enum Word : uint8_t {
        kNone,
        kType,
        kEnum,
        kProperties,
        kRequired,
        kAdditional,
        kItems,
        kPrefix,
        kRest,
        kReference,
        kLeast,
        kMost,
        kAnyOf,
        kOneOf,
        kAllOf,
        kSelf,
        kOther
    };

    // The keywords that are read here, by Word; a test holds them against Python's.
    static constexpr std::array<std::string_view, kSelf> kNames = {"",           "type",        "enum",
                                                                   "properties", "required",    "additionalProperties",
                                                                   "items",      "prefixItems", "additionalItems",
                                                                   "$ref",       "minItems",    "maxItems",
                                                                   "anyOf",      "oneOf",       "allOf"};

    static std::vector<std::string> names() { return {kNames.begin() + 1, kNames.end()}; }

    KeywordTable(const nb::list& self_contained, const nb::list& others);
    // The kind of a name, and its number among those that are not annotations; kNone for an annotation.
    std::pair<Word, uint8_t> find(PyObject* name) const;

    PyObject* name(Word word) const { return names_[word].ptr(); }  // borrowed
    // Whether all of some keywords, bits by Word, look at nothing but their own value.
    bool are_self_contained(uint32_t words) const { return (words & ~self_contained_) == 0; }

private:
    nb::dict numbers_;  // from 1 on: small ones, whose objects all threads share without counting
    std::vector<Word> meanings_;
    std::vector<nb::str> names_;
    uint32_t self_contained_ = 0;
};

// The JSON types, as bits.
enum Kinds : uint8_t {
    kNulls = 1,
    kBooleans = 2,
    kIntegers = 4,
    kFractions = 8,
    kStrings = 16,
    kArrays = 32,
    kObjects = 64,
    kEverything = 127
};

// The keywords of a schema that count, borrowed.
class KeywordView {
public:
    // False if a key is not plain text.
    bool at(const KeywordTable& words, PyObject* schema);
    PyObject* operator[](KeywordTable::Word word) const { return given_[word]; }
    bool only(std::initializer_list<KeywordTable::Word> words) const;

    bool is_leaf(const KeywordTable& words) const { return words.are_self_contained(has_); }
    // The types it names, or all if it names none. Empty if that is not a list of types.
    std::optional<uint8_t> kinds() const;
    // Objects and arrays of the plain sort, and whole types beside them. `draft`: which words for items count.
    bool is_typed(int draft) const;
    // An enum of texts, literals and null.
    bool is_choice() const;
    // The branches, if a schema is nothing but anyOf, oneOf, or an allOf of one; the word goes to `word`.
    PyObject* branches(KeywordTable::Word& word) const;

private:
    bool has_plain_members() const;
    bool has_plain_items(int draft) const;
    uint32_t has_ = 0;  // bits by Word
    PyObject* given_[KeywordTable::kOther] = {};
};

// The text of a Python string; nothing for one that UTF-8 does not have (lone surrogates), or for something else.
std::optional<std::string_view> text_of(PyObject* object);
// A length. Empty if the object is not an int, negative, or longer than any text.
std::optional<uint32_t> count_of(PyObject* object);
// Spell a value so that equal spellings mean the same to every keyword: 1, 1.0 and true are told apart. False if that
// is not known.
bool append_value(std::string& key, PyObject* value, bool may_be_list);

template <class Visit>
bool each_item(PyObject* list, const Visit& visit) {
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list); ++k)
        if (!visit(PyList_GET_ITEM(list, k))) return false;
    return true;
}

template <class Visit>
bool each_member(PyObject* dict, const Visit& visit) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);)
        if (!visit(key, value)) return false;
    return true;
}

}  // namespace schemagen
