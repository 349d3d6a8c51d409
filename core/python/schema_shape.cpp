#include "python/schema_shape.hpp"

#include <algorithm>
#include <bit>

namespace schemagen {

namespace {

bool is_schema(PyObject* object) { return PyDict_CheckExact(object) || PyBool_Check(object); }

uint8_t kind_of(std::string_view name) {
    static constexpr std::pair<std::string_view, uint8_t> kNames[] = {{"string", kStrings},
                                                                      {"object", kObjects},
                                                                      {"array", kArrays},
                                                                      {"integer", kIntegers},
                                                                      {"number", kIntegers | kFractions},
                                                                      {"boolean", kBooleans},
                                                                      {"null", kNulls}};
    for (auto [known, kind] : kNames)
        if (name == known) return kind;
    return 0;
}

void append_number(std::string& key, char kind, uint64_t bits) {
    key += kind;
    for (int k = 0; k < 8; ++k) key += static_cast<char>(bits >> 8 * k);
}

}  // namespace

std::optional<std::string_view> text_of(PyObject* object) {
    if (!PyUnicode_CheckExact(object)) return std::nullopt;
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(object, &size);
    if (!data) {
        PyErr_Clear();
        return std::nullopt;
    }
    return std::string_view(data, static_cast<size_t>(size));
}

std::optional<uint32_t> count_of(PyObject* object) {
    if (!PyLong_CheckExact(object)) return std::nullopt;
    int overflow = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow || value < 0 || value > INT32_MAX) return std::nullopt;
    return static_cast<uint32_t>(value);
}

bool append_value(std::string& key, PyObject* value, bool may_be_list) {
    if (auto text = text_of(value)) {
        append_number(key, 's', text->size());
        key += *text;
    } else if (PyBool_Check(value) || value == Py_None) {
        key += value == Py_True ? 't' : value == Py_None ? 'n' : 'f';
    } else if (PyLong_CheckExact(value)) {
        int overflow = 0;
        int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow) return false;
        append_number(key, 'i', static_cast<uint64_t>(number));
    } else if (PyFloat_CheckExact(value)) {
        append_number(key, 'd', std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(value)));
    } else if (may_be_list && PyList_CheckExact(value)) {
        append_number(key, 'l', static_cast<uint64_t>(PyList_GET_SIZE(value)));
        return each_item(value, [&](PyObject* item) { return append_value(key, item, false); });
    } else {
        return false;
    }
    return true;
}

// ---- words --------------------------------------------------------------------------------------------------------

KeywordTable::KeywordTable(const nb::list& self_contained, const nb::list& others) {
    for (std::string_view name : kNames) names_.emplace_back(name.data(), name.size());
    auto add = [&](const nb::list& names, Word otherwise) {
        for (nb::handle name : names) {
            auto known = std::find(kNames.begin() + 1, kNames.end(), text_of(name.ptr()));
            const Word word = known == kNames.end() ? otherwise : static_cast<Word>(known - kNames.begin());
            meanings_.push_back(word);
            numbers_[name] = nb::int_(meanings_.size());
            if (otherwise == kSelf) self_contained_ |= 1u << word;
        }
    };
    add(self_contained, kSelf);
    add(others, kOther);
    if (meanings_.size() > UINT8_MAX) throw nb::value_error("too many keywords");
}

std::pair<KeywordTable::Word, uint8_t> KeywordTable::find(PyObject* name) const {
    PyObject* number = PyDict_GetItemWithError(numbers_.ptr(), name);
    if (!number) return {kNone, 0};
    const long k = PyLong_AsLong(number);
    return {meanings_[static_cast<size_t>(k - 1)], static_cast<uint8_t>(k)};
}

// ---- shapes -------------------------------------------------------------------------------------------------------

bool KeywordView::at(const KeywordTable& words, PyObject* schema) {
    return each_member(schema, [&](PyObject* name, PyObject* value) {
        if (!PyUnicode_CheckExact(name)) return false;
        auto word = words.find(name).first;
        if (word == KeywordTable::kNone) return true;
        has_ |= 1u << word;
        if (word < KeywordTable::kOther) given_[word] = value;
        return true;
    });
}

bool KeywordView::only(std::initializer_list<KeywordTable::Word> words) const {
    uint32_t rest = has_;
    for (auto word : words) rest &= ~(1u << word);
    return rest == 0;
}

std::optional<uint8_t> KeywordView::kinds() const {
    PyObject* type = given_[KeywordTable::kType];
    if (!type) return kEverything;
    uint8_t found = 0;
    auto add = [&](PyObject* name) {
        auto text = text_of(name);
        uint8_t kind = text ? kind_of(*text) : 0;
        found |= kind;
        return kind != 0;
    };
    bool valid = PyList_CheckExact(type) ? PyList_GET_SIZE(type) && each_item(type, add) : add(type);
    return valid ? std::optional(found) : std::nullopt;
}

bool KeywordView::has_plain_members() const {
    using W = KeywordTable;
    PyObject *declared = given_[W::kProperties], *required = given_[W::kRequired], *additional = given_[W::kAdditional];
    if (additional && !is_schema(additional)) return false;
    if (declared && !PyDict_CheckExact(declared)) return false;
    if (declared &&
        !each_member(declared, [](PyObject* key, PyObject* value) { return text_of(key) && is_schema(value); }))
        return false;
    return !required ||
           (PyList_CheckExact(required) && each_item(required, [](PyObject* key) { return text_of(key).has_value(); }));
}

bool KeywordView::has_plain_items(int draft) const {
    using W = KeywordTable;
    PyObject *items = given_[W::kItems], *prefix = given_[W::kPrefix], *rest = given_[W::kRest];
    auto low = given_[W::kLeast] ? count_of(given_[W::kLeast]) : 0;
    auto high = given_[W::kMost] ? count_of(given_[W::kMost]) : INT32_MAX;
    if (!low || !high || *low > *high) return false;
    auto is_list = [](PyObject* list) {
        return PyList_CheckExact(list) && PyList_GET_SIZE(list) &&
               each_item(list, [](PyObject* item) { return PyDict_CheckExact(item); });
    };
    if (draft > 2019) return !rest && (!items || is_schema(items)) && (!prefix || is_list(prefix));
    return !prefix && (!items || is_schema(items) ? !rest : is_list(items) && (!rest || is_schema(rest)));
}

bool KeywordView::is_typed(int draft) const {
    using W = KeywordTable;
    return only({W::kType, W::kProperties, W::kRequired, W::kAdditional, W::kItems, W::kPrefix, W::kRest, W::kLeast,
                 W::kMost}) &&
           kinds() && has_plain_members() && has_plain_items(draft);
}

bool KeywordView::is_choice() const {
    using W = KeywordTable;
    PyObject* values = given_[W::kEnum];
    if (!values || !only({W::kType, W::kEnum}) || !kinds() || !PyList_CheckExact(values) || !PyList_GET_SIZE(values))
        return false;
    return each_item(values, [](PyObject* value) { return text_of(value) || value == Py_None || PyBool_Check(value); });
}

PyObject* KeywordView::branches(KeywordTable::Word& word) const {
    using W = KeywordTable;
    for (W::Word way : {W::kAnyOf, W::kOneOf, W::kAllOf}) {
        PyObject* list = given_[way];
        if (!list || !only({way}) || !PyList_CheckExact(list) || !PyList_GET_SIZE(list)) continue;
        if (way == W::kAllOf && PyList_GET_SIZE(list) > 1) continue;
        word = way;
        return each_item(list, [](PyObject* branch) { return PyDict_CheckExact(branch) && PyDict_GET_SIZE(branch); })
                   ? list
                   : nullptr;
    }
    return nullptr;
}

}  // namespace schemagen
