// The Python face of the core: thin, every error mapped to a class of schemagen.errors.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "python/builder.hpp"
#include "python/dialect.hpp"
#include "python/interpreter.hpp"
#include "python/lark.hpp"
#include "python/rules.hpp"
#include "python/schema_reader.hpp"
#include "python/trees.hpp"
#include "runtime/logits.hpp"
#include "runtime/matcher.hpp"
#include "runtime/token_table.hpp"
#include "vocabulary/vocabulary.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace schemagen {

namespace {

struct ShapeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct TerminatedError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct OptionMisuse : std::runtime_error {
    OptionMisuse(const std::string& fact, const char* why_, const char* fix_, const char* kind_ = "OptionError")
        : std::runtime_error(fact), why(why_), fix(fix_), kind(kind_) {}
    const char* why;
    const char* fix;
    const char* kind;  // of error
};
struct DeadEnd : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// A dead end at which the text might end, had the vocabulary an EOS id.
struct NoEnd : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void raise_ours(const char* name, const std::string& fact, const std::string& why, const std::string& fix) {
    nb::object type = nb::module_::import_("schemagen.errors").attr(name);
    nb::object error = type(nb::str(fact.c_str()), "why"_a = why, "fix"_a = fix);
    PyErr_SetObject(type.ptr(), error.ptr());
}

// A number as Python writes it.
std::string shown(double number) {
    char text[64];
    const bool whole = number == std::floor(number);
    const auto end = whole ? std::to_chars(text, text + sizeof text, number, std::chars_format::fixed, 0).ptr
                           : std::to_chars(text, text + sizeof text, number, std::chars_format::fixed).ptr;
    return {text, end};
}

void raise_too_long(const LimitExceeded& e) {
    char passed[64];
    const auto end = std::to_chars(passed, passed + sizeof passed, e.reached, std::chars_format::fixed, 1).ptr;
    raise_ours("LimitError",
               "one call has worked for " + std::string(passed, end) + " s, limit " + shown(e.most) + " s",
               "each call on a grammar may take as long as its limits allow, whatever the schema",
               "raise schemagen.Limits(max_seconds=...) or make the schema smaller");
}

void raise_no_completion(const LimitExceeded& e) {
    raise_ours(
        "LimitError",
        "no end of the text was found in " + shown(e.reached) + " steps of a search within " + shown(e.most) + " bytes",
        "the grammar is very ambiguous, or its shortest text is long; masks go on without a budget",
        "bound the text by a counter of your own, or split the grammar");
}

void raise_long_text(const LimitExceeded& e) {
    raise_ours("LimitError",
               "a text of " + shown(e.reached) + " bytes whose substrings are meant, limit " + shown(e.most),
               "every place in it where a substring may begin is kept in memory",
               "split it, and let one call choose the part");
}

void raise_many_readings(const LimitExceeded& e) {
    raise_ours(
        "LimitError",
        shown(e.reached) + " ways to read one text are followed side by side, the limit is " + shown(e.most) +
            " (max_alternatives)",
        "the text has many places at which the grammar allows more than one rule",
        "raise schemagen.Limits(max_alternatives=...), or let a terminal say sooner which rule it begins or ends");
}

// States, patterns or alternatives: the first two may be raised.
void raise_much_work(const LimitExceeded& e) {
    const std::string fact =
        e.limit == Limit::kNodes
            ? shown(e.reached) + " parts of patterns were needed, the limit is " +
                  shown(e.most / Budget::kNodesPerState) + " states, of " + std::to_string(Budget::kNodesPerState) +
                  " parts each"
            : shown(e.reached) + " automaton states or alternatives were needed, the limit is " + shown(e.most);
    const bool may_be_raised = e.limit == Limit::kNodes || e.limit == Limit::kStates;
    raise_ours("LimitError", fact,
               e.alone ? "this one text needs more than the limits of its grammar allow; other texts go on"
                       : "the constraint needs more work than its limits allow",
               may_be_raised ? "raise schemagen.Limits(max_states=...) or make the schema smaller"
                             : "tell alternatives apart sooner, by the first key or terminal, or split the schema");
}

void raise_limit(const LimitExceeded& e) {
    switch (e.limit) {
        case Limit::kSeconds: return raise_too_long(e);
        case Limit::kReadings: return raise_many_readings(e);
        case Limit::kSubstringBytes: return raise_long_text(e);
        case Limit::kCompletion: return raise_no_completion(e);
        case Limit::kStates:
        case Limit::kNodes:
        case Limit::kAlternatives:
        case Limit::kLiteralBytes: return raise_much_work(e);
    }
}

void translate_to_ours(const std::exception_ptr& pointer) {
    try {
        std::rethrow_exception(pointer);
    } catch (const Interrupted&) {
        // Python has the error of the signal handler.
    } catch (const Reentered&) {
        raise_ours("MatcherError", "schemagen was called while the same thread was inside a call of it",
                   "a signal handler interrupted the call and came back",
                   "let the handler set a flag, and use it when the call has returned");
    } catch (const LimitExceeded& e) {
        raise_limit(e);
    } catch (const TooManyPositions&) {
        static_assert(kMostPositions == 50'000);
        raise_ours("LimitError", "a rule of more than 50,000 symbols", "repetitions are written out",
                   "lower their bounds, or use rules for their parts");
    } catch (const TooManyNeighbours&) {
        static_assert(kMostNeighbours == 1'000'000);
        raise_ours("LimitError", "a rule in which more than 1,000,000 pairs of symbols may be neighbours",
                   "many optional symbols in a row, or large alternatives one after the other",
                   "use rules for parts of it");
    } catch (const NotLively& e) {
        raise_ours(
            "UnsupportedGrammarError", e.what(),
            "the longest match of a terminal takes the text that has to follow it; grammars with values of other "
            "specs inside are not searched for such matches",
            "let the next terminal begin with characters that this one cannot hold, or ignore white space between "
            "them");
    } catch (const ShapeError& e) {
        raise_ours("BitmaskShapeError", e.what(), "",
                   "use schemagen.allocate_token_bitmask(batch_size, vocabulary.size)");
    } catch (const TerminatedError& e) {
        raise_ours("MatcherTerminatedError", e.what(), "nothing can follow the end of the text",
                   "call reset(), rollback() or take a new matcher");
    } catch (const UsageError& e) {
        raise_ours("MatcherError", e.what(), "only accepted steps can be undone", "count the steps, or call reset()");
    } catch (const OptionMisuse& e) {
        raise_ours(e.kind, e.what(), e.why, e.fix);
    } catch (const NoEnd& e) {
        raise_ours("DeadEndError", e.what(), "the text is complete, and the vocabulary has no EOS id to end it with",
                   "stop at matcher.is_accepting(), or build the vocabulary with eos_token_ids=[...]");
    } catch (const DeadEnd& e) {
        raise_ours("DeadEndError", e.what(), "no token of the vocabulary continues the text and it may not end here",
                   "use a vocabulary with every byte as a token");
    }
}

// Making an error runs Python code, and a signal may come there, too: then its error is the one.
void translate(const std::exception_ptr& pointer, void*) {
    try {
        translate_to_ours(pointer);
    } catch (nb::python_error& error) {
        error.restore();
    }
}

using Bitmask = nb::ndarray<nb::device::cpu>;

Bitmask bitmask_of(const nb::object& object) {
    Bitmask bitmask;
    if (!nb::try_cast(object, bitmask)) throw ShapeError("a bitmask is a writable int32 tensor or array on the CPU");
    return bitmask;
}

uint32_t* row_of(const Bitmask& bitmask, const VocabularyTables& tables, int64_t row) {
    if (bitmask.dtype() != nb::dtype<int32_t>()) throw ShapeError("the bitmask is not of dtype int32");
    if (bitmask.ndim() != 2)
        throw ShapeError("the bitmask has " + std::to_string(bitmask.ndim()) + " dimensions instead of 2");
    if (bitmask.shape(1) != tables.words())
        throw ShapeError("the bitmask has " + std::to_string(bitmask.shape(1)) + " words a row, a vocabulary of " +
                         std::to_string(tables.size()) + " tokens needs " + std::to_string(tables.words()));
    if (bitmask.shape(1) > 1 && bitmask.stride(1) != 1) throw ShapeError("the rows of the bitmask are not contiguous");
    if (row < 0 || static_cast<size_t>(row) >= bitmask.shape(0))
        throw ShapeError("row " + std::to_string(row) + " of a bitmask with " + std::to_string(bitmask.shape(0)) +
                         " rows");
    return static_cast<uint32_t*>(bitmask.data()) + row * bitmask.stride(0);
}

uint32_t budget_of(std::optional<int64_t> budget) {
    if (!budget) return Matcher::kNoBudget;
    if (*budget < 0)
        throw OptionMisuse("budget=" + std::to_string(*budget), "it cannot be negative",
                           "give how many tokens may still come");
    return static_cast<uint32_t>(std::min<int64_t>(*budget, Matcher::kNoBudget - 1));
}

[[noreturn]] void refuse_dead_end(Matcher& matcher, const std::string& fact) {
    if (matcher.tables().eos().empty() && matcher.accepting()) throw NoEnd(fact);
    throw DeadEnd(fact);
}

bool fill(Matcher& matcher, const nb::object& bitmask, int64_t row, std::optional<int64_t> budget) {
    const Bitmask array = bitmask_of(bitmask);
    uint32_t* words = row_of(array, matcher.tables(), row);
    if (matcher.terminated()) throw TerminatedError("the matcher has accepted EOS");
    uint32_t allowed = matcher.fill(words, budget_of(budget));
    if (!allowed) refuse_dead_end(matcher, "no token is allowed after " + std::to_string(matcher.steps()) + " steps");
    return allowed != matcher.tables().size();
}

std::vector<uint32_t> allowed_tokens(Matcher& matcher) {
    if (matcher.terminated()) throw TerminatedError("the matcher has accepted EOS");
    Work call;
    std::vector<uint32_t> words(matcher.tables().words());
    matcher.fill(words.data());
    std::vector<uint32_t> ids;
    for (uint32_t id = 0; id < matcher.tables().size(); ++id)
        if (words[id >> 5] >> (id & 31) & 1) ids.push_back(id);
    return ids;
}

// Follow the text while every mask allows a single token that is not EOS.
std::vector<uint32_t> forced_tokens(Matcher& matcher) {
    constexpr size_t kMost = 1024;
    Work call(matcher.constraint()->budget.max_seconds);
    std::vector<uint32_t> forced;
    if (matcher.terminated()) return forced;
    while (forced.size() < kMost) {
        std::vector<uint32_t> words(matcher.tables().words());
        if (matcher.fill(words.data()) != 1) break;
        uint32_t id = 0;
        while (!(words[id >> 5] >> (id & 31) & 1)) ++id;
        if (matcher.tables().token(id).empty() || matcher.tables().is_eos(id)) break;
        matcher.accept_token(id);
        forced.push_back(id);
    }
    matcher.rollback(forced.size());
    return forced;
}

std::string explanation(Matcher& matcher, int64_t id) {
    const VocabularyTables& tables = matcher.tables();
    const bool is_wide = id == INT64_MAX || id == INT64_MIN;
    std::string name = is_wide ? "a token beyond 64 bits" : "token " + std::to_string(id);
    if (matcher.terminated()) return name + " is not allowed: EOS was already accepted";
    if (id < 0 || id >= tables.size())
        return name + " is not allowed: the vocabulary has " + std::to_string(tables.size()) + " ids";
    std::string_view bytes = tables.token(static_cast<uint32_t>(id));
    auto [read, why] = matcher.probe(bytes, static_cast<uint32_t>(id));
    const bool marked = tables.has_marks() && !bytes.empty() && is_mark(static_cast<uint8_t>(bytes[0]));
    if (marked && read == bytes.size() && why.empty()) return name + " is allowed: the grammar names it here";
    if (tables.is_eos(static_cast<uint32_t>(id)))
        return name + " (EOS) is " +
               (matcher.accepting() ? "allowed: the text may end here" : "not allowed: the text is not complete");
    if (bytes.empty()) return name + " is not allowed: it is a special or padding id without text";
    if (marked) return name + " is not allowed: " + why;
    name += " " + std::string(nb::repr(nb::bytes(bytes.data(), bytes.size())).c_str());
    if (read == bytes.size()) return name + (why.empty() ? " is allowed" : " is not allowed: " + why);
    return name + " is not allowed: after " + std::to_string(read) + " of its " + std::to_string(bytes.size()) +
           " bytes, " + why;
}

// "a str", "an int", "None", as schemagen.arguments.kind_of says it.
std::string kind_of(const nb::handle& given) {
    if (given.is_none()) return "None";
    const std::string type = nb::cast<std::string>(nb::getattr(given.type(), "__name__"));
    return (std::string("aeioAEIO").find(type[0]) == std::string::npos ? "a " : "an ") + type;
}

OptionMisuse wrong_type(const char* method, const nb::handle& given, const char* why, const char* fix) {
    return {std::string(method) + "() got " + kind_of(given), why, fix, "OptionTypeError"};
}

// A whole number of any type, numpy's included; beyond 64 bits the largest or smallest one. Each method with a number
// has a second overload that takes any object, and reads it so: what nanobind would say of other types is about C++.
std::optional<int64_t> index_of(const nb::handle& given) {
    if (!PyIndex_Check(given.ptr())) return std::nullopt;
    const nb::object number = nb::steal(PyNumber_Index(given.ptr()));
    if (!number.is_valid()) {
        PyErr_Clear();  // an array with several elements
        return std::nullopt;
    }
    int overflow = 0;
    const long long found = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    return overflow == 0 ? found : overflow > 0 ? INT64_MAX : INT64_MIN;
}

int64_t token_of(const char* method, const nb::handle& given) {
    const std::optional<int64_t> id = index_of(given);
    if (!id)
        throw wrong_type(method, given, "a token is given by its id, a whole number",
                         "give the id; a text goes to accept_bytes(text.encode())");
    return *id;
}

bool accept_token(Matcher& matcher, int64_t id) {
    return id >= 0 && id < UINT32_MAX && matcher.accept_token(static_cast<uint32_t>(id));
}

void roll_back(Matcher& matcher, int64_t count) {
    if (count < 0 || static_cast<size_t>(count) > matcher.steps())
        throw UsageError("cannot undo " + std::to_string(count) + " of " + std::to_string(matcher.steps()) + " steps");
    matcher.rollback(static_cast<size_t>(count));
}

void roll_back_object(Matcher& matcher, const nb::object& given) {
    const std::optional<int64_t> count = index_of(given);
    if (!count) throw wrong_type("rollback", given, "it undoes a number of steps", "give a whole number");
    roll_back(matcher, *count);
}

bool refuse_bytes(Matcher&, const nb::object& given) {
    const bool is_text = PyUnicode_Check(given.ptr());
    throw wrong_type("accept_bytes", given, "a matcher reads bytes of UTF-8",
                     is_text ? "give text.encode()" : "give bytes, as bytes(data)");
}

bool fill_object(Matcher& matcher, const nb::object& bitmask, const nb::object& given_row,
                 const nb::object& given_budget) {
    const std::optional<int64_t> row = index_of(given_row), budget = index_of(given_budget);
    if (!row)
        throw wrong_type("fill_next_token_bitmask", given_row, "a row of the bitmask is a whole number",
                         "give the row of this matcher, as row=0");
    if (!budget && !given_budget.is_none())
        throw wrong_type("fill_next_token_bitmask", given_budget, "a budget is a whole number",
                         "give how many tokens may still come, or None");
    return fill(matcher, bitmask, *row, budget);
}

nb::object explain(Matcher& matcher, int64_t id) {
    const std::string text = explanation(matcher, id);  // it may end within a character of the text that it quotes
    return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

struct Row {
    Matcher& matcher;
    int64_t number;  // in the bitmask
    uint32_t* words;
    uint32_t budget;
};

// Masks of several rows, made by several threads without the interpreter's lock.
class RowFiller {
public:
    explicit RowFiller(std::vector<Row> rows) : rows_(std::move(rows)) {}
    // An error in any row is thrown in the end.
    void fill(size_t threads);

private:
    static constexpr size_t kAtOnce = 4;
    void help();  // the work of a further thread
    void fill_some();
    bool fill_row(const Row& row);
    void wait_for_helpers();

    std::vector<Row> rows_;
    std::atomic<size_t> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;  // of the following
    std::condition_variable ended_;
    std::exception_ptr failed_;
    size_t running_ = 0;  // helpers
};

void RowFiller::fill(size_t threads) {
    {
        Work call;
        Work::release();
        const size_t together = std::min(threads, (rows_.size() + 2 * kAtOnce - 1) / (2 * kAtOnce));
        running_ = together ? together - 1 : 0;
        std::vector<std::thread> helpers;
        for (size_t k = 1; k < together; ++k) helpers.emplace_back([this] { help(); });
        fill_some();
        wait_for_helpers();
        for (std::thread& helper : helpers) helper.join();
    }
    if (failed_) std::rethrow_exception(failed_);
}

void RowFiller::help() {
    Helper helper(stop_);
    fill_some();
    std::lock_guard lock(mutex_);
    --running_;
    ended_.notify_one();
}

void RowFiller::fill_some() {
    for (size_t begin; !stop_ && (begin = next_.fetch_add(kAtOnce)) < rows_.size();)
        for (size_t k = begin; k < std::min(begin + kAtOnce, rows_.size()); ++k)
            if (!fill_row(rows_[k])) return;
}

// Returns false where the others need not be filled any more.
bool RowFiller::fill_row(const Row& row) try {
    if (!row.matcher.fill(row.words, row.budget))
        refuse_dead_end(row.matcher, "no token is allowed in row " + std::to_string(row.number));
    return true;
} catch (const Stopped&) {
    return false;
} catch (const Interrupted&) {
    std::lock_guard lock(mutex_);
    failed_ = std::current_exception();  // counts more than what went wrong in a row
    stop_ = true;
    return false;
} catch (...) {
    std::lock_guard lock(mutex_);
    if (!failed_) failed_ = std::current_exception();
    return true;
}

// Until none runs any more. A signal meanwhile makes them stop.
void RowFiller::wait_for_helpers() {
    Work::Waiting waiting;
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(20), [this] { return running_ == 0; })) {
        if (stop_ || !waiting.sees_signals()) continue;
        lock.unlock();
        std::exception_ptr interrupted;
        try {
            waiting.look();
        } catch (...) {
            interrupted = std::current_exception();
        }
        lock.lock();
        if (!interrupted) continue;
        failed_ = interrupted;
        stop_ = true;
    }
}

// The mask of a text that has ended: EOS alone.
void allow_eos_alone(const VocabularyTables& tables, uint32_t* words) {
    std::fill_n(words, tables.words(), 0);
    for (uint32_t eos : tables.eos()) set_bit(words, eos);
}

void fill_rows(const std::vector<Matcher*>& matchers, const nb::object& bitmask, const std::vector<int64_t>& numbers,
               size_t threads, const std::vector<std::optional<int64_t>>& budgets) {
    if (numbers.size() != matchers.size() || (!budgets.empty() && budgets.size() != matchers.size()))
        throw nb::value_error("each matcher needs a row and a budget");
    const Bitmask array = bitmask_of(bitmask);
    std::vector<uint32_t> most(matchers.size(), Matcher::kNoBudget);
    for (size_t k = 0; k < budgets.size(); ++k) most[k] = budget_of(budgets[k]);
    std::vector<Row> rows;
    for (size_t k = 0; k < matchers.size(); ++k) {
        const VocabularyTables& tables = matchers[k]->tables();
        uint32_t* words = row_of(array, tables, numbers[k]);
        if (matchers[k]->terminated())
            allow_eos_alone(tables, words);
        else
            rows.push_back({*matchers[k], numbers[k], words, most[k]});
    }
    RowFiller(std::move(rows)).fill(threads);
}

// Approximate bytes of JSON values when written out: a value in several places counts in each. It stops above `most`.
// Returns false where they are nested deeper than `marshal` goes. Only dicts and lists are looked into, and no Python
// code runs.
bool add_size(PyObject* value, size_t most, size_t& size, int depth) {
    constexpr size_t kEach = 8;
    constexpr int kDeepest = 2000;  // MAX_MARSHAL_STACK_DEPTH
    if (depth > kDeepest) return false;
    size += kEach + (PyUnicode_CheckExact(value) ? static_cast<size_t>(PyUnicode_GET_LENGTH(value)) : 0);
    if (PyDict_CheckExact(value)) {
        PyObject *key, *member;
        Py_ssize_t at = 0;
        while (size <= most && PyDict_Next(value, &at, &key, &member))
            if (!add_size(key, most, size, depth + 1) || !add_size(member, most, size, depth + 1)) return false;
    } else if (PyList_CheckExact(value)) {
        for (Py_ssize_t at = 0; size <= most && at < PyList_GET_SIZE(value); ++at)
            if (!add_size(PyList_GET_ITEM(value, at), most, size, depth + 1)) return false;
    }
    return true;
}

bool is_larger(const nb::object& value, size_t most) {
    size_t size = 0;
    return add_size(value.ptr(), most, size, 0) && size > most;
}

using Floats = nb::ndarray<nb::device::cpu>;

std::optional<FloatFormat> format_of(nb::dlpack::dtype type) {
    if (type.lanes != 1) return std::nullopt;
    if (type == nb::dlpack::dtype{static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1})
        return FloatFormat::kBrain;
    if (type.code != static_cast<uint8_t>(nb::dlpack::dtype_code::Float)) return std::nullopt;
    switch (type.bits) {
        case 16: return FloatFormat::kHalf;
        case 32: return FloatFormat::kSingle;
        case 64: return FloatFormat::kDouble;
        default: return std::nullopt;
    }
}

// Whether a matrix is rows of logits one after another; rows that are written must not share memory.
bool is_rows(const Floats& logits, bool written) {
    if (logits.ndim() != 2 || (logits.shape(1) > 1 && logits.stride(1) != 1)) return false;
    return !written || logits.shape(0) < 2 || logits.stride(0) >= static_cast<int64_t>(logits.shape(1));
}

void check_masks(const Bitmask& bitmask, const Floats& scores, size_t covered) {
    if (bitmask.dtype() != nb::dtype<int32_t>() || bitmask.ndim() != 2 || bitmask.shape(0) != scores.shape(0) ||
        (bitmask.shape(1) > 1 && bitmask.stride(1) != 1))
        throw ShapeError("a row of int32 words is needed for each of " + std::to_string(scores.shape(0)) +
                         " rows of logits");
    if (covered > scores.shape(1) || covered > bitmask.shape(1) * 32)
        throw ShapeError(std::to_string(covered) + " tokens for " + std::to_string(bitmask.shape(1)) + " words and " +
                         std::to_string(scores.shape(1)) + " logits a row");
}

// Of `count` rows, those that are named.
std::vector<bool> chosen_of(const std::vector<int64_t>& rows, size_t count) {
    std::vector<bool> chosen(count);
    for (int64_t row : rows) {
        if (row < 0 || static_cast<size_t>(row) >= count)
            throw ShapeError("row " + std::to_string(row) + " of " + std::to_string(count));
        chosen[static_cast<size_t>(row)] = true;
    }
    return chosen;
}

// The rows from which no token can be chosen (with `repair`). None, with nothing done, if it is not a matrix of floats
// in plain memory; the caller knows a slower way.
std::optional<std::vector<size_t>> mask_logits_of(const nb::object& scores_object, const nb::object& out_object,
                                                  const nb::object& bitmask_object, const std::vector<int64_t>& rows,
                                                  size_t covered, bool repair, const std::vector<uint32_t>& ends) {
    Floats scores, out;
    if (!nb::try_cast(scores_object, scores)) return std::nullopt;
    const bool inplace = scores_object.is(out_object);
    if (inplace)
        out = scores;
    else if (!nb::try_cast(out_object, out))
        return std::nullopt;
    const std::optional<FloatFormat> format = format_of(scores.dtype());
    if (!format || !is_rows(scores, inplace) || !is_rows(out, true)) return std::nullopt;
    if (out.dtype() != scores.dtype() || out.shape(0) != scores.shape(0) || out.shape(1) != scores.shape(1))
        throw ShapeError("the masked logits are not like the logits");
    const size_t count = scores.shape(0);
    const Bitmask bitmask = bitmask_of(bitmask_object);
    check_masks(bitmask, scores, covered);
    const std::vector<bool> masked = chosen_of(rows, count);
    const LogitRows logits{scores.data(), out.data(), scores.stride(0), out.stride(0), scores.shape(1)};
    const MaskRows masks{static_cast<const uint32_t*>(bitmask.data()), bitmask.stride(0), covered, ends};
    std::vector<size_t> broken;
    nb::gil_scoped_release release;
    for (size_t row = 0; row < count; ++row)
        if (!masked[row])
            copy_logits(logits, *format, row);
        else if (mask_logits(logits, masks, *format, row, repair))
            broken.push_back(row);
    return broken;
}

// A row of float32, and its mask; none if it is not a vector of float32 in plain memory.
std::optional<std::pair<Floats, Bitmask>> row_with_mask(const nb::object& values_object, const nb::object& words_object,
                                                        size_t covered) {
    Floats values;
    if (!nb::try_cast(values_object, values) || format_of(values.dtype()) != FloatFormat::kSingle ||
        values.ndim() != 1 || values.stride(0) != 1)
        return std::nullopt;
    Bitmask words = bitmask_of(words_object);
    if (words.dtype() != nb::dtype<int32_t>() || words.ndim() != 1 || (words.shape(0) > 1 && words.stride(0) != 1))
        throw ShapeError("one row of int32 words is needed");
    if (covered > values.shape(0) || covered > words.shape(0) * 32)
        throw ShapeError(std::to_string(covered) + " tokens for " + std::to_string(words.shape(0)) + " words and " +
                         std::to_string(values.shape(0)) + " values");
    return std::pair(std::move(values), std::move(words));
}

// None if it is not a vector of float32 in plain memory.
std::optional<double> sum_allowed_of(const nb::object& values_object, const nb::object& words_object, size_t covered) {
    const auto row = row_with_mask(values_object, words_object, covered);
    if (!row) return std::nullopt;
    nb::gil_scoped_release release;
    return sum_allowed(static_cast<const float*>(row->first.data()), static_cast<const uint32_t*>(row->second.data()),
                       covered);
}

// None as above.
std::optional<std::vector<uint32_t>> largest_of(const nb::object& values_object, const nb::object& words_object,
                                                size_t covered, size_t count) {
    const auto row = row_with_mask(values_object, words_object, covered);
    if (!row) return std::nullopt;
    nb::gil_scoped_release release;
    return largest(static_cast<const float*>(row->first.data()), row->first.shape(0),
                   static_cast<const uint32_t*>(row->second.data()), covered, count);
}

// Numbers on their way to Python. No Python object is made while a lock of ours is held: making one may wait for
// another thread (to stop them all, say), which may wait for us.
struct Numbers {
    explicit Numbers(std::vector<size_t> shape_) : shape(std::move(shape_)) {
        size_t size = 1;
        for (size_t side : shape) size *= side;
        data.reset(new int32_t[size]);
    }
    std::vector<size_t> shape;
    std::unique_ptr<int32_t[]> data;
};

nb::ndarray<nb::numpy, int32_t> array_of(Numbers numbers) {
    int32_t* data = numbers.data.get();
    nb::capsule owner(data, [](void* pointer) noexcept { delete[] static_cast<int32_t*>(pointer); });
    numbers.data.release();
    return nb::ndarray<nb::numpy, int32_t>(data, numbers.shape.size(), numbers.shape.data(), owner);
}

// A table grows without the interpreter's lock (`expand`), so whatever reads it takes its own.
template <class Result>
auto locked(Result (TokenTable::*method)() const) {
    return [method](const TokenTable& table) {
        Work call;
        WorkLock lock(table.mutex);
        return (table.*method)();
    };
}

// The numbers that `read` writes of a table, as an array with the shape from `shape`.
template <class Shape, class Read>
auto read_table(const TokenTable& table, const Shape& shape, const Read& read) {
    auto numbers = [&] {
        Work call;
        WorkLock lock(table.mutex);
        Numbers out(shape());
        read(out.data.get());
        return out;
    };
    return array_of(numbers());
}

template <class Value>
auto of_states(const TokenTable& table, const Value& value) {
    return read_table(
        table, [&] { return std::vector<size_t>{table.size()}; },
        [&](int32_t* out) {
            for (uint32_t state = 0; state < table.size(); ++state) out[state] = static_cast<int32_t>(value(state));
        });
}

uint32_t state_of(TokenTable& table, const Matcher& matcher) {
    if (matcher.constraint() != table.constraint()) throw nb::value_error("the matcher is of another grammar");
    if (matcher.terminated()) return TokenTable::kOver;
    Work call;
    WorkLock lock(table.mutex);
    return table.state_of(matcher);
}

}  // namespace

}  // namespace schemagen

namespace schemagen {

namespace {

void make_tables(VocabularyTables* self, const nb::list& tokens, const std::vector<uint32_t>& eos, bool has_marks) {
    std::vector<std::string_view> views;
    views.reserve(tokens.size());
    for (nb::handle token : tokens) {
        if (!PyBytes_Check(token.ptr())) throw nb::type_error("tokens must be bytes");
        views.emplace_back(PyBytes_AS_STRING(token.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(token.ptr())));
    }
    nb::gil_scoped_release release;  // the caller's list keeps the bytes
    new (self) VocabularyTables(views, eos, has_marks);
}

void bind_vocabulary(nb::module_& m) {
    nb::class_<VocabularyTables>(m, "VocabularyTables")
        .def("__init__", &make_tables, "tokens"_a, "eos_token_ids"_a, "has_marks"_a = false)
        .def_prop_ro("size", &VocabularyTables::size)
        .def_prop_ro("memory_bytes", &VocabularyTables::memory_bytes)
        .def_prop_ro("trie_nodes", [](const VocabularyTables& t) { return t.all().size(); })
        .def_prop_ro("tail_count", &VocabularyTables::tail_count);
}

// As Python has them: the edges of each item, and the items at which the rule may end.
template <class Make>
nb::tuple as_tuple(const Make& make) {
    RuleItems items;
    {
        const Work call;
        items = make();
    }
    std::vector<std::vector<RuleItems::Edge>> edges;
    std::vector<uint32_t> accepting;
    for (uint32_t item = 0; item < items.size(); ++item) {
        edges.emplace_back(items.edges[item].begin(), items.edges[item].end());
        if (items.accepting[item]) accepting.push_back(item);
    }
    return nb::make_tuple(std::move(edges), std::move(accepting));
}

nb::tuple items(const std::vector<int32_t>& body) {
    return as_tuple([&] { return items_of(body); });
}

nb::tuple positions(const std::vector<int32_t>& body, size_t most) {
    return as_tuple([&] { return positions_of(body, most); });
}

void bind_languages(nb::module_& m) {
    nb::class_<Languages>(m, "Languages")
        .def(nb::init<>())
        .def_prop_ro("generation", &Languages::generation)
        .def_prop_ro("memory_bytes", &Languages::memory_bytes)
        .def_prop_ro("size", &Languages::size)
        .def("chars", &Languages::chars)
        .def("concat", &Languages::concat)
        .def("alternation", &Languages::alternation)
        .def("conjunction", &Languages::conjunction)
        .def("complement", &Languages::complement)
        .def("repeat", &Languages::repeat)
        .def("any_string", &Languages::any_string)
        .def("substring", &Languages::substring)
        .def("is_empty", &Languages::is_empty)
        .def("is_empty_within", &Languages::is_empty_within)
        .def("is_nullable", &Languages::is_nullable)
        .def("after", &Languages::after)
        .def("matches", &Languages::matches)
        .def("matches_and_goes_on", &Languages::matches_and_goes_on)
        .def("ends", &Languages::ends);
}

void bind_builder(nb::module_& m) {
    nb::class_<Builder, Languages>(m, "Builder")
        .def(nb::init<bool, int, uint32_t, uint64_t, double, uint32_t, Builder::Separators, std::optional<std::string>,
                      bool, double>(),
             "any_order"_a = false, "whitespace"_a = 0, "max_indent"_a = 40, "max_states"_a = 200000,
             "max_seconds"_a = 10.0, "max_gap"_a = 64, "separators"_a = Builder::Separators(), "indent"_a = nb::none(),
             "around"_a = true, "spent"_a = 0.0)
        .def("literals", &Builder::literals)
        .def("number", &Builder::number)
        .def("count_words", &Builder::count_words)
        .def("is_open", &Builder::is_open)
        .def("declare_value", &Builder::declare_value)
        .def("define_value", &Builder::define_value)
        .def("add_object", &Builder::add_object)
        .def("add_array", &Builder::add_array)
        .def("define_any", &Builder::define_any)
        .def_prop_ro("value_count", &Builder::value_count)
        .def("settle", &Builder::settle)
        .def("productive", &Builder::productive)
        .def("json", &Builder::json)
        .def("context_free", &Builder::context_free, "rules"_a, "max_alternatives"_a, "tables"_a, "tokens"_a,
             "lr"_a = nb::none(), "indents"_a = nb::none(), "embedded"_a = Builder::EmbeddedConstraints(),
             "counts"_a = Builder::TokenCounts())
        .def("label", &Builder::label, "constraint"_a, "rules"_a, "max_alternatives"_a, "tokens"_a, "embedded"_a,
             "marks"_a, "labels"_a)
        .def("counting", &Builder::counting, "free"_a, "counted"_a)
        .def("shares", &Builder::shares)
        .def("regex", &Builder::regex);
}

void bind_reader(nb::module_& m) {
    nb::class_<KeywordTable>(m, "KeywordTable")
        .def(nb::init<const nb::list&, const nb::list&>(), "self_contained"_a, "others"_a)
        .def_static("names", &KeywordTable::names);
    nb::class_<Leaves>(m, "Leaves")
        .def(nb::init<const std::vector<std::pair<NodeId, Builder::Strings>>&>(), "basics"_a)
        .def("__len__", &Leaves::size);
    nb::class_<SchemaReader>(m, "SchemaReader")
        .def(nb::init<Builder&, const KeywordTable&, Leaves&, nb::dict, int, NodeId, int, bool>(),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
        .def_ro("root", &SchemaReader::root)
        .def_ro("any", &SchemaReader::any)
        .def("read", &SchemaReader::read, "value"_a, "schema"_a, "most"_a)
        .def("find", &SchemaReader::find, "schema"_a)
        .def("note", &SchemaReader::note, "schema"_a, "value"_a)
        .def("keep", &SchemaReader::keep, "key"_a, "literal"_a, "strings"_a);
}

void bind_constraint(nb::module_& m) {
    nb::class_<Constraint>(m, "Constraint")
        .def("matcher", [](std::shared_ptr<Constraint> self) { return Matcher(std::move(self)); })
        .def_prop_ro("memory_bytes", &Constraint::memory_bytes)
        .def_prop_ro("state_count", [](Constraint& c) { return c.budget.states; })
        .def_prop_ro("counts_tokens", [](const Constraint& c) { return c.counts_tokens; })
        .def_prop_ro("has_temperatures", [](const Constraint& c) { return c.has_temperatures(); })
        .def_prop_ro("is_lively",
                     [](Constraint& c) {
                         const Work call;
                         const WorkLock lock(c.mutex);
                         return c.automaton().facets().is_lively;
                     })
        .def("begin_anew", &Constraint::begin_anew, "Begin a new epoch and return its number: for tests.")
        .def_prop_ro("epoch", [](Constraint& c) {
            const Work call;
            const WorkLock lock(c.mutex);
            return c.epoch();
        });
}

std::string repr(const Matcher& matcher) {
    return "Matcher(steps=" + std::to_string(matcher.steps()) +
           ", terminated=" + (matcher.terminated() ? "True)" : "False)");
}

nb::object refuse_pickle(Matcher&) {
    raise_ours("MatcherError", "a matcher cannot be pickled", "it is a place in the automaton of this process",
               "for a copy call fork() or copy.deepcopy(matcher); elsewhere compile the same spec, and accept the same "
               "tokens");
    throw nb::python_error();
}

using EventList = std::vector<std::tuple<uint32_t, bool, size_t>>;  // label, whether it opens, byte of the text

EventList listed(const CaptureGrammar::Events& events) {
    EventList out;
    out.reserve(events.size());
    for (const CaptureGrammar::Event& event : events) out.emplace_back(event.label, event.opens, event.at);
    return out;
}

std::vector<EventList> readings(Matcher& matcher, size_t skip) {
    std::vector<EventList> out;
    for (const CaptureGrammar::Events& events : matcher.readings(skip)) out.push_back(listed(events));
    return out;
}

std::optional<EventList> whole_reading(Matcher& matcher, size_t skip) {
    const auto events = matcher.whole_reading(skip);
    if (!events) return std::nullopt;
    return listed(*events);
}

// The events that all lists begin with.
EventList common_beginning(const std::vector<EventList>& lists) {
    EventList out = lists.empty() ? EventList{} : lists.front();
    for (const EventList& list : lists)
        out.resize(std::mismatch(out.begin(), out.end(), list.begin(), list.end()).first - out.begin());
    return out;
}

using Captures = std::vector<std::tuple<std::string, size_t, std::optional<size_t>>>;  // label, begin, end

Captures captures(Matcher& matcher, std::optional<bool> complete) {
    const bool is_whole = complete.value_or(matcher.terminated());
    if (is_whole && !matcher.accepting())
        throw OptionMisuse("captures(complete=True) of a text that is not complete", "the text may not end here",
                           "leave complete= out for the captures that are certain so far", "MatcherError");
    const std::optional<EventList> whole = is_whole ? whole_reading(matcher, 0) : std::nullopt;
    Captures out;
    std::vector<size_t> open;
    size_t read = 0, marks = 0;  // bytes of the text before the event, and marks among them
    for (const auto& [label, opens, at] : whole ? *whole : common_beginning(readings(matcher, 0))) {
        for (; read < at; ++read) marks += is_mark(static_cast<uint8_t>(matcher.text()[read]));
        const size_t where = at - marks;
        if (opens) {
            open.push_back(out.size());
            out.emplace_back(matcher.label(label), where, std::nullopt);
        } else {
            std::get<2>(out[open.back()]) = where;
            open.pop_back();
        }
    }
    return out;
}

std::optional<uint32_t> tokens_to_finish(Matcher& matcher) {
    const uint32_t tokens = matcher.tokens_to_finish();
    return tokens == Completions::kNever ? std::nullopt : std::optional(tokens);
}

nb::bytes shortest_completion(Matcher& matcher) {
    std::string text = matcher.shortest_completion();
    std::erase_if(text, [](char byte) { return is_mark(static_cast<uint8_t>(byte)); });
    return nb::bytes(text.data(), text.size());
}

bool accept_bytes(Matcher& matcher, const nb::bytes& data) { return matcher.accept_bytes(view(data)); }

bool accept_object(Matcher& matcher, const nb::object& given) {
    return accept_token(matcher, token_of("accept_token", given));
}

nb::object explain_object(Matcher& matcher, const nb::object& given) {
    return explain(matcher, token_of("explain", given));
}

Matcher deep_copy(Matcher& matcher, const nb::object&) { return matcher.fork(); }

nb::tuple eos_of(const Matcher& matcher) { return nb::tuple(nb::cast(matcher.tables().eos())); }

// A matcher is for one thread at a time; where there is no lock of the interpreter, a second one waits for its turn.
void bind_matcher(nb::module_& m) {
    nb::class_<Matcher>(m, "Matcher")
        .def("fill_next_token_bitmask", &fill, "bitmask"_a.none(), "row"_a = 0, nb::kw_only(), "budget"_a = nb::none(),
             nb::lock_self())
        .def("fill_next_token_bitmask", &fill_object, "bitmask"_a.none(), "row"_a.none() = 0, nb::kw_only(),
             "budget"_a.none() = nb::none(), nb::lock_self())
        .def("accept_token", &accept_token, "token_id"_a, nb::lock_self())
        .def("accept_token", &accept_object, "token_id"_a.none(), nb::lock_self())
        .def("accept_bytes", &accept_bytes, "data"_a, nb::lock_self())
        .def("accept_bytes", &refuse_bytes, "data"_a.none())
        .def("__repr__", &repr, nb::lock_self())
        .def("is_accepting", &Matcher::accepting, nb::lock_self())
        .def("is_terminated", &Matcher::terminated, nb::lock_self())
        .def("rollback", &roll_back, "count"_a = 1, nb::lock_self())
        .def("rollback", &roll_back_object, "count"_a.none(), nb::lock_self())
        .def("__reduce__", &refuse_pickle)
        .def("fork", &Matcher::fork, nb::lock_self())
        .def("__copy__", &Matcher::fork, nb::lock_self())
        .def("__deepcopy__", &deep_copy, "memo"_a, nb::lock_self())
        .def("reset", &Matcher::reset, nb::lock_self())
        .def("tokens_to_finish", &tokens_to_finish, nb::lock_self())
        .def("least_bytes", &Matcher::least_bytes, nb::lock_self())
        .def("shortest_completion", &shortest_completion, nb::lock_self())
        .def_prop_ro("steps", &Matcher::steps)
        .def_prop_ro("eos_token_ids", &eos_of)
        .def("captures", &captures, "complete"_a = nb::none(), nb::lock_self())
        .def("temperature", &Matcher::temperature, nb::lock_self())
        .def("readings", &readings, "skip"_a = 0, nb::lock_self())
        .def("whole_reading", &whole_reading, "skip"_a = 0, nb::lock_self())
        .def("forced_run", &Matcher::forced_run, "most"_a = 64, nb::lock_self())
        .def("place", &Matcher::place, nb::lock_self())
        .def("forced_tokens", &forced_tokens, nb::lock_self())
        .def("allowed_tokens", &allowed_tokens, nb::lock_self())
        .def("explain", &explain, "token_id"_a, nb::lock_self())
        .def("explain", &explain_object, "token_id"_a.none(), nb::lock_self());
}

size_t mask_count(const TokenTable& table) {
    Work call;
    WorkLock lock(table.mutex);
    return table.masks().size();
}

size_t expand(TokenTable& table, size_t most) {
    Work call;
    WorkLock lock(table.mutex);
    return table.expand(most);
}

void check_state(const TokenTable& table, uint32_t state) {
    if (state >= table.size()) throw nb::value_error("there is no such state");
}

void expand_state(TokenTable& table, uint32_t state) {
    Work call;
    WorkLock lock(table.mutex);
    check_state(table, state);
    table.expand_state(state);
}

auto classes_of(const TokenTable& t) {
    return read_table(t, [&] { return std::vector<size_t>{t.tables().size()}; }, [&](int32_t* out) { t.classes(out); });
}

auto transitions_of(const TokenTable& t, const std::vector<uint32_t>& states) {
    auto shape = [&] {
        for (uint32_t state : states) check_state(t, state);
        return std::vector<size_t>{states.size(), t.class_count()};
    };
    return read_table(t, shape, [&](int32_t* out) { t.transitions(states, out); });
}

auto needed_of(const TokenTable& t) {
    return of_states(t, [&](uint32_t state) { return std::min<uint32_t>(t.needed(state), INT32_MAX); });
}

auto masks_of(const TokenTable& t, size_t first) {
    auto shape = [&] {
        first = std::min(first, t.masks().size());
        return std::vector<size_t>{t.masks().size() - first, t.tables().words()};
    };
    return read_table(t, shape, [&](int32_t* out) {
        for (size_t k = first; k < t.masks().size(); ++k)
            out = std::copy(t.masks()[k].begin(), t.masks()[k].end(), out);
    });
}

void bind_token_table(nb::module_& m) {
    nb::class_<TokenTable>(m, "TokenTable")
        .def(nb::init<std::shared_ptr<Constraint>>(), "constraint"_a)
        .def_prop_ro("start", &TokenTable::start)
        .def_prop_ro("is_closed", locked(&TokenTable::is_closed))
        .def_prop_ro("leads_out", locked(&TokenTable::leads_out))
        .def_prop_ro("class_count", locked(&TokenTable::class_count))
        .def_prop_ro("memory_bytes", locked(&TokenTable::memory_bytes))
        .def_prop_ro("mask_count", &mask_count)
        .def("__len__", locked(&TokenTable::size))
        .def("expand", &expand, "most"_a)
        .def("expand_state", &expand_state)
        .def("state_of", &state_of, "matcher"_a)
        .def("classes", &classes_of)
        .def("transitions", &transitions_of, "states"_a)
        .def("mask_ids", [](const TokenTable& t) { return of_states(t, [&](uint32_t s) { return t.mask_of(s); }); })
        .def("ready", [](const TokenTable& t) { return of_states(t, [&](uint32_t s) { return t.is_ready(s); }); })
        .def("needed", &needed_of)
        .def("masks", &masks_of, "first"_a = 0);
}

void bind_functions(nb::module_& m) {
    m.def("items_of", &items, "body"_a);
    m.def("positions_of", &positions, "body"_a, "most"_a = kMostPositions);
    m.def("mask_logits", &mask_logits_of, "scores"_a, "out"_a, "bitmask"_a, "rows"_a, "covered"_a, "repair"_a,
          "ends"_a = std::vector<uint32_t>());
    m.def("is_larger", &is_larger, "value"_a, "most"_a);
    m.def("sum_allowed", &sum_allowed_of, "values"_a, "words"_a, "covered"_a);
    m.def("largest", &largest_of, "values"_a, "words"_a, "covered"_a, "count"_a);
    m.def(
        "shared_memory",
        [] {
            const SharedAutomata::Extent extent = SharedAutomata::extent();
            return std::pair(extent.generations, extent.bytes);
        },
        "How many generations of the shared automata are alive, and their bytes, about.");
    m.def(
        "force_lock_contention", [](bool rival) { SharedAutomata::always_conflict = rival; }, "rival"_a,
        "As if another thread were making something new whenever one asks to: for tests.");
    m.def(
        "limit_mask_memory", [](size_t limit) { return most_mask_bytes.exchange(limit); }, "limit"_a,
        "Bound the masks that each engine remembers, and return the bound before: for tests.");
    m.def("fill_rows", &fill_rows, "matchers"_a, "bitmask"_a, "rows"_a, "threads"_a,
          "budgets"_a = std::vector<std::optional<int64_t>>());
}

}  // namespace

}  // namespace schemagen

NB_MODULE(_core, m) {
    using namespace schemagen;
    m.doc() = "Compiled kernels of schemagen; use the package, not this module.";
    nb::set_leak_warnings(false);  // caches of the package live until the interpreter is gone
    nb::register_exception_translator(translate);
    connect_interpreter(nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident")));
    bind_vocabulary(m);
    bind_languages(m);
    bind_trees(m);
    bind_rules(m);
    bind_builder(m);
    bind_reader(m);
    bind_lark(m);
    bind_dialect(m);
    bind_constraint(m);
    bind_matcher(m);
    bind_token_table(m);
    bind_functions(m);
}
