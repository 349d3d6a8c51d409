#include "vocabulary/vocabulary.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <stdexcept>

namespace schemagen {

namespace {

using CharRange = std::pair<uint32_t, uint32_t>;

// Beyond ASCII, without what counts as white space to any reading of \s and the line separators that a dot does not
// take.
constexpr CharRange kBeyondAscii[] = {{0x80, 0x84},     {0x86, 0x9F},     {0xA1, 0x167F},    {0x1681, 0x1FFF},
                                      {0x200B, 0x2027}, {0x202A, 0x202E}, {0x2030, 0x205E},  {0x2060, 0x2FFF},
                                      {0x3001, 0xD7FF}, {0xE000, 0xFEFE}, {0xFF00, 0x10FFFF}};

bool is_beyond_ascii(uint32_t c) {
    return std::any_of(std::begin(kBeyondAscii), std::end(kBeyondAscii),
                       [c](const CharRange& r) { return r.first <= c && c <= r.second; });
}

size_t utf8_length(uint32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

uint8_t utf8_byte(uint32_t c, size_t k) {
    static constexpr uint8_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    const size_t length = utf8_length(c);
    const uint32_t bits = c >> 6 * (length - 1 - k);  // NOLINT(clang-analyzer-core.BitwiseShift): k < length
    return static_cast<uint8_t>(k == 0 ? kLead[length] | bits : 0x80 | (bits & 0x3F));
}

// Split a range until all combinations of its bytes are in it.
void spell(uint32_t low, uint32_t high, std::vector<Slice::Spelling>& out) {
    for (uint32_t last : {0x7FFu, 0xFFFFu})
        if (low <= last && last < high) return spell(low, last, out), spell(last + 1, high, out);
    const size_t length = utf8_length(high);
    for (size_t k = 1; k < length; ++k) {
        const uint32_t rest = (1u << 6 * k) - 1;
        if ((low & ~rest) == (high & ~rest)) continue;
        if (low & rest) return spell(low, low | rest, out), spell((low | rest) + 1, high, out);
        if ((high & rest) != rest) return spell(low, (high & ~rest) - 1, out), spell(high & ~rest, high, out);
    }
    out.emplace_back();
    for (size_t k = 0; k < length; ++k) out.back().emplace_back(utf8_byte(low, k), utf8_byte(high, k));
}

// A character being read: how many bytes of it are missing, and the code point so far.
struct Utf8State {
    static constexpr uint8_t kBroken = 255;
    uint32_t value = 0;
    uint8_t missing = 0;
    uint8_t length = 1;
};

Utf8State read(const Utf8State& before, uint8_t byte) {
    if (before.missing == Utf8State::kBroken) return before;
    if (before.missing == 0) {
        if (byte < 0x80) return {byte, 0, 1};
        if (byte >= 0xC2 && byte <= 0xDF) return {byte & 0x1Fu, 1, 2};
        if ((byte & 0xF0) == 0xE0) return {byte & 0x0Fu, 2, 3};
        if (byte >= 0xF0 && byte <= 0xF4) return {byte & 0x07u, 3, 4};
        return {0, Utf8State::kBroken, 0};
    }
    if (begins_character(byte)) return {0, Utf8State::kBroken, 0};
    Utf8State after{before.value << 6 | (byte & 0x3Fu), static_cast<uint8_t>(before.missing - 1), before.length};
    static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint32_t c = after.value;
    if (after.missing == 0 && (c < kLeast[after.length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)))
        after.missing = Utf8State::kBroken;
    return after;
}

// The slices of a character, and bit kPlain where a JSON string may hold it as it is.
constexpr Slice::Set kPlain = 1u << Slice::kCount, kSlices = kPlain - 1, kEvery = kPlain | kSlices;

Slice::Set slices_of(uint32_t c) {
    static const auto table = [] {
        std::array<Slice::Set, 129> sets{};  // 128: beyond ASCII
        for (size_t k = 0; k < Slice::kCount; ++k) {
            for (auto [low, high] : Slice::all()[k].ascii)
                for (unsigned byte = low; byte <= high; ++byte) sets[byte] |= static_cast<Slice::Set>(1u << k);
            if (Slice::all()[k].beyond_ascii) sets[128] |= static_cast<Slice::Set>(1u << k);
        }
        for (unsigned byte = 0x20; byte <= 128; ++byte)
            if (byte != '"' && byte != '\\') sets[byte] |= kPlain;
        return sets;
    }();
    return c < 128 ? table[c] : is_beyond_ascii(c) ? table[128] : kPlain;
}

// The slices that a part of a character may belong to, as any of its continuations does.
Slice::Set slices_of_partial(const Utf8State& reading) {
    static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (reading.missing == Utf8State::kBroken) return 0;
    const uint32_t rest = (1u << 6 * reading.missing) - 1,
                   low = std::max(reading.value << 6 * reading.missing, kLeast[reading.length]),
                   high = reading.value << 6 * reading.missing | rest;
    const bool some = std::any_of(std::begin(kBeyondAscii), std::end(kBeyondAscii), [&](const CharRange& r) {
        return std::max(low, r.first) <= std::min(high, r.second);
    });
    return some ? slices_of(0x80) : 0;
}

void list_children(Trie& trie) {
    const uint32_t size = trie.root();
    trie.first_child.resize(size + 2);
    trie.child_byte.reserve(size);
    trie.child.reserve(size);
    for (uint32_t k = 0; k <= size; ++k) {
        trie.first_child[k] = static_cast<uint32_t>(trie.child.size());
        uint32_t begin = k == size ? 0 : k + 1, end = k == size ? size : trie.skip[k];
        for (uint32_t child = begin; child < end; child = trie.skip[child]) {
            trie.child_byte.push_back(trie.byte[child]);
            trie.child.push_back(child);
        }
    }
    trie.first_child[size + 1] = static_cast<uint32_t>(trie.child.size());
}

// `text(id)` for ids in sorted order of their texts, none of them empty.
template <class Text>
Trie build(const Text& text, const std::vector<uint32_t>& sorted) {
    Trie trie;
    std::vector<uint32_t> open;  // nodes on the path of the previous text
    std::string_view previous;
    std::vector<uint32_t> counts;
    for (uint32_t id : sorted) {
        std::string_view token = text(id);
        size_t common = 0;
        while (common < previous.size() && common < token.size() && previous[common] == token[common]) ++common;
        while (open.size() > common) {
            trie.skip[open.back()] = static_cast<uint32_t>(trie.size());
            open.pop_back();
        }
        for (size_t k = common; k < token.size(); ++k) {
            open.push_back(static_cast<uint32_t>(trie.size()));
            trie.byte.push_back(static_cast<uint8_t>(token[k]));
            trie.skip.push_back(0);
            counts.push_back(0);
        }
        trie.max_depth = std::max(trie.max_depth, static_cast<uint32_t>(token.size()));
        counts[open.back()]++;
        previous = token;
    }
    while (!open.empty()) {
        trie.skip[open.back()] = static_cast<uint32_t>(trie.size());
        open.pop_back();
    }
    // Depth-first order is sorted order, so the tokens of the nodes follow each other.
    trie.first_token.resize(trie.size() + 1, 0);
    for (size_t k = 0; k < counts.size(); ++k) trie.first_token[k + 1] = trie.first_token[k] + counts[k];
    trie.tokens = sorted;
    list_children(trie);
    return trie;
}

// The slices of tokens: down the trie for the bytes up to a node, and up again for the bytes after it.
class SliceCutter {
public:
    SliceCutter(const Trie& trie, size_t words)
        : sliced(Slice::kCount * (Slice::kRanks + 1) * words),
          trie_(trie),
          words_(words),
          paths_(trie.root() + 1),
          rests_(trie.root() + 1) {}

    void walk_down();
    SliceTree walk_up();

    std::vector<uint32_t> sliced;                     // [slice, characters] bit sets of tokens, as in VocabularyTables
    std::vector<std::pair<uint32_t, uint8_t>> plain;  // tokens with their characters

private:
    struct Path {
        Utf8State reading;
        uint8_t chars = 0;            // begun
        Slice::Set own = kEvery;      // of the character that ends here
        Slice::Set through = kEvery;  // of all characters so far
    };
    // The rests of the tokens after a node, those that end there included; `whole`: and end with a whole character.
    struct Rest {
        Slice::Set any, whole;
    };
    uint32_t* rank(size_t slice, size_t chars) {
        return sliced.data() + (slice * (Slice::kRanks + 1) + std::min(chars, Slice::kRanks)) * words_;
    }
    static Path path_of(const Path& before, uint8_t byte);
    void enter_children(uint32_t parent);
    void note_tokens(uint32_t node);
    void leave(uint32_t node, SliceTree& slices);

    const Trie& trie_;
    size_t words_;
    std::vector<Path> paths_;
    std::vector<Rest> rests_;
};

void SliceCutter::walk_down() {
    enter_children(trie_.root());
    for (uint32_t node = 0; node < trie_.root(); ++node) enter_children(node);
    for (size_t k = 0; k < Slice::kCount; ++k)
        for (size_t chars = 1; chars <= Slice::kRanks; ++chars)
            for (size_t w = 0; w < words_; ++w) rank(k, chars)[w] |= rank(k, chars - 1)[w];
}

SliceCutter::Path SliceCutter::path_of(const Path& before, uint8_t byte) {
    Path path;
    path.reading = read(before.reading, byte);
    path.chars = static_cast<uint8_t>(std::min(before.chars + begins_character(byte), +Slice::kMany));
    if (path.reading.missing == 0) path.own = slices_of(path.reading.value);
    if (path.reading.missing == Utf8State::kBroken || path.chars == Slice::kMany) path.own = 0;
    path.through = before.through & path.own;
    return path;
}

void SliceCutter::enter_children(uint32_t parent) {
    for (uint32_t c = trie_.first_child[parent]; c < trie_.first_child[parent + 1]; ++c) {
        Path& path = paths_[trie_.child[c]];
        path = path_of(paths_[parent], trie_.child_byte[c]);
        if (!path.reading.missing && path.through) note_tokens(trie_.child[c]);
    }
}

void SliceCutter::note_tokens(uint32_t node) {
    const Path& path = paths_[node];
    for (uint32_t id : trie_.tokens_at(node)) {
        plain.emplace_back(id, path.chars);
        for (unsigned left = unsigned{path.through} & kSlices; left; left &= left - 1)
            set_bit(rank(static_cast<size_t>(std::countr_zero(left)), path.chars), id);
    }
}

SliceTree SliceCutter::walk_up() {
    const uint32_t root = trie_.root();
    SliceTree slices{std::vector<Slice::Set>(root + 1), std::vector<Slice::Set>(root + 1),
                     std::vector<Slice::Set>(root + 1), std::vector<uint8_t>(root + 1),
                     std::vector<Slice::Set>(trie_.child.size())};
    for (uint32_t node = root; node-- > 0;) leave(node, slices);
    leave(root, slices);
    return slices;
}

void SliceCutter::leave(uint32_t node, SliceTree& slices) {
    Rest rest{kEvery, kEvery};
    int chars = 0;
    for (uint32_t c = trie_.first_child[node]; c < trie_.first_child[node + 1]; ++c) {
        const uint32_t child = trie_.child[c];
        const auto any = static_cast<Slice::Set>(paths_[child].own & rests_[child].any);
        if (paths_[node].reading.missing == 0) slices.edges[c] = any & kSlices;
        rest.any &= any;
        rest.whole &= paths_[child].own & rests_[child].whole;
        chars = std::max(chars, slices.chars[child] + begins_character(trie_.child_byte[c]));
    }
    const Utf8State& reading = paths_[node].reading;
    slices.chars[node] = static_cast<uint8_t>(std::min(chars, +Slice::kMany));
    slices.below[node] = reading.missing == 0 ? rest.any & kSlices : 0;
    slices.whole[node] = reading.missing == 0 ? rest.whole & kSlices : 0;
    if (reading.missing && node != trie_.root() && !trie_.tokens_at(node).empty())
        rest = {static_cast<Slice::Set>(rest.any & slices_of_partial(reading)), 0};
    slices.through[node] = paths_[node].through & rest.whole & kSlices;
    rests_[node] = rest;
}

// Whether a tail can follow a value or key in JSON text.
bool may_follow(std::string_view tail) {
    return tail.empty() || std::string_view(" \n\r\t,:]}").find(tail[0]) != std::string_view::npos;
}

bool has_two_quotes(std::string_view text) { return std::count(text.begin(), text.end(), '"') >= 2; }

// Whether two quotes and a colon come after a comma or a brace.
bool has_member(std::string_view text) {
    size_t at = text.find_first_of(",{");
    for (const char next : {'"', '"', ':'}) at = at == text.npos ? at : text.find(next, at + 1);
    return at != text.npos;
}

}  // namespace

VocabularyTables::VocabularyTables(const std::vector<std::string_view>& tokens, std::vector<uint32_t> eos,
                                   bool has_marks)
    : eos_(std::move(eos)), has_marks_(has_marks) {
    size_t total = 0;
    for (auto token : tokens) total += token.size();
    if (total > UINT32_MAX) throw std::length_error("the tokens of the vocabulary take more than 4 GiB");
    bytes_.reserve(total);
    offsets_.push_back(0);
    for (auto token : tokens) {
        if (token.size() > 65534) throw std::length_error("a token is longer than 65534 bytes");
        bytes_.insert(bytes_.end(), token.begin(), token.end());
        offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
        const auto brackets = std::count_if(token.begin(), token.end(), [](char c) { return c == '{' || c == '['; });
        most_brackets_ = std::max(most_brackets_, static_cast<uint32_t>(brackets));
    }
    for (uint32_t id : eos_)
        if (id >= size()) throw std::out_of_range("an EOS id lies outside the vocabulary");
    const std::vector<uint32_t> sorted = in_order();
    all_ = build([this](uint32_t id) { return token(id); }, sorted);
    cut_slices();
    collect_tails(sorted);
    collect_ends();
    static std::atomic<uint64_t> serials{0};
    serial_ = ++serials;
}

std::shared_ptr<const Trie> VocabularyTables::tokens_with(const ByteSet& bytes) const {
    KeptKey key{};
    std::copy(bytes.words.begin(), bytes.words.end(), key.begin() + 4);
    return tokens_that(key, [&](std::string_view text) {
        return std::any_of(text.begin(), text.end(), [&](char byte) { return bytes.has(static_cast<uint8_t>(byte)); });
    });
}

std::shared_ptr<const Trie> VocabularyTables::tokens_with(const ByteSet& before, const ByteSet& after) const {
    KeptKey key{};
    std::copy(before.words.begin(), before.words.end(), key.begin());
    std::copy(after.words.begin(), after.words.end(), key.begin() + 4);
    return tokens_that(key, [&](std::string_view text) {
        for (size_t k = 1; k < text.size(); ++k)
            if (before.has(static_cast<uint8_t>(text[k - 1])) && after.has(static_cast<uint8_t>(text[k]))) return true;
        return false;
    });
}

// Made without the mutex: two threads may make the same.
std::shared_ptr<const Trie> VocabularyTables::tokens_that(const KeptKey& key,
                                                          const std::function<bool(std::string_view)>& has) const {
    {
        const std::lock_guard lock(kept_mutex_);
        for (const auto& [known, trie] : kept_)
            if (known == key) return trie;
    }
    std::vector<uint32_t> tokens;
    for (uint32_t id : all_.tokens)
        if (has(token(id))) tokens.push_back(id);
    auto made = std::make_shared<const Trie>(build([this](uint32_t id) { return token(id); }, tokens));
    const std::lock_guard lock(kept_mutex_);
    kept_.emplace_front(key, made);
    if (kept_.size() > kMostKept) kept_.pop_back();
    return made;
}

// The ids of tokens with text, sorted by it. Their first eight bytes as one number decide nearly every comparison.
std::vector<uint32_t> VocabularyTables::in_order() const {
    struct Entry {
        uint64_t head;
        uint32_t id;
    };
    std::vector<Entry> entries;
    entries.reserve(size());
    for (uint32_t id = 0; id < size(); ++id) {
        std::string_view text = token(id);
        if (text.empty()) continue;
        uint64_t head = 0;
        for (size_t k = 0; k < 8; ++k) head = head << 8 | (k < text.size() ? static_cast<uint8_t>(text[k]) : 0u);
        entries.push_back({head, id});
    }
    std::sort(entries.begin(), entries.end(), [this](const Entry& a, const Entry& b) {
        if (a.head != b.head) return a.head < b.head;
        int order = token(a.id).compare(token(b.id));
        return order ? order < 0 : a.id < b.id;
    });
    std::vector<uint32_t> sorted;
    sorted.reserve(entries.size());
    for (const Entry& entry : entries) sorted.push_back(entry.id);
    return sorted;
}

const std::array<Slice, Slice::kCount>& Slice::all() {
    // Never destroyed, like all that threads may use until the process ends.
    static const auto& slices = *new std::array<Slice, kCount>{{
        {{{' ', '!'}, {'#', '['}, {']', '\x7F'}}, true},
        {{{'!', '!'}, {'#', '['}, {']', '\x7F'}}, true},
        {{{' ', '!'}, {'#', '['}, {']', '~'}}, false},
        {{{'!', '!'}, {'#', '['}, {']', '~'}}, false},
        {{{' ', ' '}, {'-', '-'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, true},
        {{{'-', '-'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, true},
        {{{' ', ' '}, {'-', '-'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, false},
        {{{'-', '.'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, false},
        {{{' ', ' '}, {'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, false},
        {{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, false},
        {{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, false},
        {{{'A', 'Z'}, {'a', 'z'}}, false},
        {{{'a', 'z'}}, false},
    }};
    return slices;
}

Slice::Set Slice::within(size_t slice) {
    static const auto table = [] {
        std::array<Set, kCount> within{};
        for (size_t wide = 0; wide < kCount; ++wide)
            for (size_t narrow = 0; narrow < kCount; ++narrow) {
                bool part = true;
                for (uint32_t c = 0; c <= 128; ++c) part &= !(slices_of(c) >> narrow & 1) || (slices_of(c) >> wide & 1);
                if (part) within[wide] |= static_cast<Set>(1u << narrow);
            }
        return within;
    }();
    return table[slice];
}

const std::vector<Slice::Spelling>& Slice::beyond_ascii_spelled() {
    static const auto& spellings = *[] {
        auto* out = new std::vector<Spelling>;
        for (auto [low, high] : kBeyondAscii) spell(low, high, *out);
        return out;
    }();
    return spellings;
}

void VocabularyTables::cut_slices() {
    SliceCutter cutter(all_, words());
    cutter.walk_down();
    sliced_ = std::move(cutter.sliced);
    rank_plain(cutter.plain);
    slices_ = cutter.walk_up();
}

// Longer tokens than kLengthRanks do not count as plain.
void VocabularyTables::rank_plain(const std::vector<std::pair<uint32_t, uint8_t>>& plain) {
    for (auto [id, chars] : plain)
        if (chars <= kLengthRanks) longest_plain_ = std::max<uint32_t>(longest_plain_, chars);
    plain_.assign(longest_plain_ + 1, std::vector<uint32_t>(words(), 0));
    for (auto [id, chars] : plain)
        if (chars <= longest_plain_) set_bit(plain_[chars].data(), id);
    for (uint32_t k = 1; k <= longest_plain_; ++k)
        for (uint32_t w = 0; w < words(); ++w) plain_[k][w] |= plain_[k - 1][w];
}

void VocabularyTables::collect_tails(const std::vector<uint32_t>& sorted) {
    tail_texts_.emplace_back();
    tail_index_.emplace(std::string_view(), 0);
    std::vector<uint32_t> order;
    for (uint32_t id : sorted) {
        std::string_view text = token(id);
        bool ends_string = false;
        for (size_t at = 0; at < text.size(); ++at) {
            if (text[at] != '"' && text[at] != '}' && text[at] != ']') continue;
            std::string_view tail = text.substr(at + 1);
            if (!may_follow(tail)) continue;
            ends_string |= text[at] == '"';
            if (tail_index_.emplace(tail, static_cast<uint32_t>(tail_texts_.size())).second)
                tail_texts_.push_back(tail);
        }
        if (ends_string) order.push_back(id);
        if (has_two_quotes(text)) tokens_with_key_.push_back(id);
        if (has_member(text)) tokens_with_member_.push_back(id);
    }
    quoted_ = build([this](uint32_t id) { return token(id); }, order);
    list_endings();
    order.clear();
    for (uint32_t id = 1; id < tail_texts_.size(); ++id) {
        order.push_back(id);
        if (has_two_quotes(tail_texts_[id])) tails_with_key_.push_back(id);
    }
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) { return tail_texts_[a] < tail_texts_[b]; });
    tails_ = build([this](uint32_t id) { return tail_texts_[id]; }, order);
}

void VocabularyTables::collect_ends() {
    std::vector<std::string_view> ends;
    for (uint32_t id : all_.tokens) {
        const std::string_view text = token(id);
        for (size_t at = 1; at < text.size(); ++at)
            if (is_border(text[at])) ends.push_back(text.substr(at));
    }
    std::ranges::sort(ends);
    std::vector<uint32_t> order(ends.size());
    std::iota(order.begin(), order.end(), 0u);
    ends_ = build([&](uint32_t id) { return ends[id]; }, order);
}

// Nodes are visited in the order of their ids.
void VocabularyTables::list_endings() {
    first_ending_.assign(1, 0);
    descend(quoted_, uint32_t{0}, [this](uint32_t length, uint8_t byte, uint32_t node, uint32_t& next) {
        next = length + 1;
        if (byte == '"')
            for (uint32_t token : quoted_.tokens_below(node))
                if (uint32_t tail = tail_of(token, next); tail != kNoTail) endings_.emplace_back(tail, token);
        first_ending_.push_back(static_cast<uint32_t>(endings_.size()));
        return true;
    });
}

uint32_t VocabularyTables::lookup(std::string_view tail) const {
    return may_follow(tail) ? tail_index_.at(tail) : kNoTail;
}

uint32_t Trie::child_of(uint32_t node, uint8_t byte) const {
    auto begin = child_byte.begin() + first_child[node], end = child_byte.begin() + first_child[node + 1];
    auto it = std::lower_bound(begin, end, byte);
    return it == end || *it != byte ? kNone : child[static_cast<size_t>(it - child_byte.begin())];
}

uint32_t Trie::find(std::string_view text) const {
    uint32_t node = root();
    for (size_t k = 0; k < text.size() && node != kNone; ++k) node = child_of(node, static_cast<uint8_t>(text[k]));
    return node;
}

size_t VocabularyTables::memory_bytes() const {
    size_t kept = 0;
    {
        const std::lock_guard lock(kept_mutex_);
        for (const auto& [_, trie] : kept_) kept += trie->memory_bytes();
    }
    return kept + slices_.chars.size() * 9 + sliced_.size() * 4 + bytes_.size() + offsets_.size() * 4 +
           all_.memory_bytes() + tails_.memory_bytes() + quoted_.memory_bytes() + ends_.memory_bytes() +
           plain_.size() * words() * 4 + tail_texts_.size() * 72;
}

}  // namespace schemagen
