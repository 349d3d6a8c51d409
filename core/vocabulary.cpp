#include "vocabulary.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>

namespace schemagen {

namespace {

// Code points of a token that is plain JSON string content, -1 for any other token.
int plain_chars(std::string_view token) {
    int count = 0;
    for (size_t i = 0; i < token.size();) {
        auto byte = static_cast<uint8_t>(token[i]);
        size_t length = byte < 0x80 ? 1 : byte >= 0xC2 && byte <= 0xDF ? 2 : (byte & 0xF0) == 0xE0 ? 3 : byte >= 0xF0 && byte <= 0xF4 ? 4 : 0;
        if (!length || i + length > token.size() || byte < 0x20 || byte == '"' || byte == '\\') return -1;
        uint32_t value = length == 1 ? byte : byte & (0x7Fu >> length);
        for (size_t k = 1; k < length; ++k) {
            auto next = static_cast<uint8_t>(token[i + k]);
            if ((next & 0xC0) != 0x80) return -1;
            value = value << 6 | (next & 0x3Fu);
        }
        static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
        if (value < kLeast[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return -1;
        i += length;
        ++count;
    }
    return count;
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

// `text(id)` for ids in sorted order of their texts, none of which is empty.
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

// Whether a tail can follow a value or key in JSON text.
bool may_follow(std::string_view tail) { return tail.empty() || std::string_view(" \n\r\t,:]}").find(tail[0]) != std::string_view::npos; }

bool has_two_quotes(std::string_view text) { return std::count(text.begin(), text.end(), '"') >= 2; }

}  // namespace

VocabularyTables::VocabularyTables(std::vector<std::string_view> tokens, std::vector<uint32_t> eos) : eos_(std::move(eos)) {
    size_t total = 0;
    for (auto token : tokens) total += token.size();
    if (total > UINT32_MAX) throw std::length_error("the tokens of the vocabulary take more than 4 GiB");
    bytes_.reserve(total);
    offsets_.push_back(0);
    for (auto token : tokens) {
        if (token.size() > 65534) throw std::length_error("a token is longer than 65534 bytes");
        bytes_.insert(bytes_.end(), token.begin(), token.end());
        offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
    }
    for (uint32_t id : eos_)
        if (id >= size()) throw std::out_of_range("an EOS id lies outside the vocabulary");
    const std::vector<uint32_t> sorted = in_order();
    all_ = build([this](uint32_t id) { return token(id); }, sorted);
    rank_plain(sorted);
    cut_slices();
    chars_ = {};
    collect_tails(sorted);
    static std::atomic<uint64_t> serials{0};
    serial_ = ++serials;
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

void VocabularyTables::rank_plain(const std::vector<uint32_t>& sorted) {
    std::vector<int>& chars = chars_;
    chars.assign(size(), -1);
    for (uint32_t id : sorted) {
        chars[id] = plain_chars(token(id));
        if (chars[id] <= static_cast<int>(kLengthRanks)) longest_plain_ = std::max(longest_plain_, static_cast<uint32_t>(std::max(chars[id], 0)));
    }
    plain_.assign(longest_plain_ + 1, std::vector<uint32_t>(words(), 0));
    for (uint32_t id : sorted)
        if (chars[id] >= 0 && chars[id] <= static_cast<int>(longest_plain_)) set_bit(plain_[static_cast<size_t>(chars[id])].data(), id);
    for (uint32_t k = 1; k <= longest_plain_; ++k)
        for (uint32_t w = 0; w < words(); ++w) plain_[k][w] |= plain_[k - 1][w];
}

// The characters that patterns are made of, from all to few.
void VocabularyTables::cut_slices() {
    std::string printable;
    for (char c = 0x20; c < 0x7F; ++c)
        if (c != '"' && c != '\\') printable += c;
    slices_.push_back(slice(printable + '\x7F', false, false, true));
    slices_.push_back(slice(printable, false, false, false));
    slices_.push_back(slice("_- ", true, true, true));
    slices_.push_back(slice("_- ", true, true, false));
    slices_.push_back(slice("_-.", true, true, false));
    slices_.push_back(slice(" ", true, true, false));
    slices_.push_back(slice("_", true, true, false));
    slices_.push_back(slice("", true, true, false));
    slices_.push_back(slice("", true, false, false));
    slices_.push_back(slice("abcdefghijklmnopqrstuvwxyz", false, false, false));
}

Slice VocabularyTables::slice(std::string_view extra, bool letters, bool digits, bool beyond_ascii) const {
    Slice out;
    out.beyond_ascii = beyond_ascii;
    for (char c : extra) out.bytes.add(static_cast<uint8_t>(c));
    for (uint8_t c = 'A'; letters && c <= 'Z'; ++c) out.bytes.add(c), out.bytes.add(c | 32);
    for (uint8_t c = '0'; digits && c <= '9'; ++c) out.bytes.add(c);
    out.up_to.assign(Slice::kRanks + 1, std::vector<uint32_t>(words(), 0));
    out.pure.assign(all_.size(), 0);
    for (uint32_t k = all_.root(); k-- > 0;) {  // from the leaves up
        uint8_t most = 0;
        for (uint32_t id : all_.tokens_at(k)) {
            std::string_view text = token(id);
            bool inside = chars_[id] >= 0 && chars_[id] < Slice::kMixed && std::all_of(text.begin(), text.end(), [&](char c) {
                              return static_cast<uint8_t>(c) < 0x80 ? out.bytes.has(static_cast<uint8_t>(c)) : beyond_ascii;
                          });
            inside = inside && text.find("\xE2\x80\xA8") == std::string_view::npos && text.find("\xE2\x80\xA9") == std::string_view::npos;
            if (!inside) {
                most = Slice::kMixed;
                continue;
            }
            most = std::max(most, static_cast<uint8_t>(chars_[id]));
            for (size_t rank = Slice::kRanks; rank > 0 && (rank == Slice::kRanks || rank >= static_cast<size_t>(chars_[id])); --rank)
                set_bit(out.up_to[rank].data(), id);
        }
        for (uint32_t c = all_.first_child[k]; c < all_.first_child[k + 1]; ++c) most = std::max(most, out.pure[all_.child[c]]);
        out.pure[k] = most;
    }
    return out;
}

void VocabularyTables::collect_tails(const std::vector<uint32_t>& sorted) {
    tail_texts_.push_back({});
    tail_index_.emplace(std::string_view(), 0);
    for (uint32_t id : sorted) {
        std::string_view text = token(id);
        for (size_t at = text.find_first_of("\"}]"); at != std::string_view::npos; at = text.find_first_of("\"}]", at + 1)) {
            std::string_view tail = text.substr(at + 1);
            if (may_follow(tail) && tail_index_.emplace(tail, static_cast<uint32_t>(tail_texts_.size())).second) tail_texts_.push_back(tail);
        }
        if (has_two_quotes(text)) tokens_with_key_.push_back(id);
    }
    auto ends_string = [this](uint32_t id) {
        std::string_view text = token(id);
        for (size_t at = text.find('"'); at != std::string_view::npos; at = text.find('"', at + 1))
            if (may_follow(text.substr(at + 1))) return true;
        return false;
    };
    std::vector<uint32_t> order;
    std::copy_if(sorted.begin(), sorted.end(), std::back_inserter(order), ends_string);
    quoted_ = build([this](uint32_t id) { return token(id); }, order);
    order.clear();
    for (uint32_t id = 1; id < tail_texts_.size(); ++id) {
        order.push_back(id);
        if (has_two_quotes(tail_texts_[id])) tails_with_key_.push_back(id);
    }
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) { return tail_texts_[a] < tail_texts_[b]; });
    tails_ = build([this](uint32_t id) { return tail_texts_[id]; }, order);
}

uint32_t VocabularyTables::lookup(std::string_view tail) const { return may_follow(tail) ? tail_index_.at(tail) : kNoTail; }

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
    size_t slices = 0;
    for (const Slice& slice : slices_) slices += slice.pure.size() + slice.up_to.size() * words() * 4;
    return slices + bytes_.size() + offsets_.size() * 4 + all_.memory_bytes() + tails_.memory_bytes() + quoted_.memory_bytes() + plain_.size() * words() * 4 + tail_texts_.size() * 72;
}

}  // namespace schemagen
