#include "json_automaton.hpp"

#include <algorithm>
#include <cstring>

namespace schemagen {

namespace {

constexpr uint32_t kNoKey = UINT32_MAX;
constexpr uint32_t kNoNode = UINT32_MAX;
constexpr uint8_t kNoComponent = 255;
constexpr size_t kMaxArms = 64;

enum Mode : uint8_t {
    kValue,        // a value; after ':' (one space at most)
    kItem,         // a value of an array after ','
    kFirstItem,    // after '[': a value or ']'
    kFirstKey,     // after '{': a key or '}'
    kNextKey,      // after ',' in an object
    kKey,          // inside a key
    kColon,
    kString,
    kBare,         // inside a number or a literal name
    kAfter,        // after a value inside an object or array
    kDone,
};

enum Labels : uint64_t { kDeclaredKey, kExtraKey, kIndex, kRoot };

bool is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

uint64_t mix(uint64_t hash, uint64_t value) {
    hash ^= value + 0x9E3779B97F4A7C15ull + (hash << 6) + (hash >> 2);
    hash *= 0xFF51AFD7ED558CCDull;
    return hash ^ (hash >> 32);
}

bool bit(const uint64_t* words, uint32_t k) { return words[k >> 6] >> (k & 63) & 1; }
void set_bit(uint64_t* words, uint32_t k) { words[k >> 6] |= 1ull << (k & 63); }

bool any_in(const uint64_t* words, uint32_t low, uint32_t high) {
    for (uint32_t w = low >> 6; low < high; ++w) {
        uint32_t end = std::min(high, (w + 1) << 6);
        uint64_t mask = ~0ull << (low & 63);
        if (end & 63) mask &= (1ull << (end & 63)) - 1;
        if (words[w] & mask) return true;
        low = end;
    }
    return false;
}

}  // namespace

// The text of a key, last byte first.
struct KeyByte {
    const KeyByte* previous;
    uint8_t byte;
};

// An extra key that was used, newest first.
struct UsedKey {
    uint64_t hash;
    const UsedKey* previous;
};

enum class FrameKind : uint8_t { kRootFrame, kObjectFrame, kArrayFrame };

// One open object or array (or the root), with its registers. Variable-size parts follow in the same allocation.
struct Frame {
    const Frame* parent;
    FrameKind kind;
    uint32_t position;   // where the container stands
    uint32_t child;      // what its current value must satisfy
    uint32_t count;      // members or items, the current one included
    uint64_t alive;      // arms
    uint64_t closable;   // arms that may end here
    uint64_t more;       // arms that can take another item, or a key
    uint64_t extra;      // arms that can take an extra key
    const UsedKey* used;
    uint32_t used_count;
    uint32_t extra_start;  // automaton of the extra keys that are left
    uint32_t* next;      // [arm] schema order: first declaration index still allowed
    uint64_t* seen;      // [words] keys
    uint64_t* offered;   // [arm][words] keys that the arm can take
    uint32_t bytes;      // of the allocation
};

JsonAutomaton::JsonAutomaton(std::shared_ptr<Kernel> kernel, JsonOptions options, uint64_t max_states)
    : kernel_(std::move(kernel)), options_(options), max_states_(max_states), dfa_(*kernel_, max_states) {
    values_.emplace_back();
}

ValueId JsonAutomaton::declare_value() {
    values_.emplace_back();
    return static_cast<ValueId>(values_.size() - 1);
}

uint32_t JsonAutomaton::add_object(ObjectArm arm) {
    objects_.push_back(std::move(arm));
    return static_cast<uint32_t>(objects_.size() - 1);
}

uint32_t JsonAutomaton::add_array(ArrayArm arm) {
    arrays_.push_back(std::move(arm));
    return static_cast<uint32_t>(arrays_.size() - 1);
}

uint64_t JsonAutomaton::memory_bytes() const {
    uint64_t bytes = kernel_->memory_bytes() + dfa_.memory_bytes() + values_.size() * sizeof(ValueNode) + positions_.size() * 320;
    for (const auto& arm : objects_) bytes += 64 + arm.properties.size() * 64;
    bytes += children_.size() * 96;
    return bytes;
}

// ---- which values have an instance --------------------------------------------------------------------------------

bool JsonAutomaton::object_productive(const ObjectArm& arm) const {
    uint64_t required = 0, available = 0;
    for (const Property& property : arm.properties) {
        bool possible = values_[property.value].productive;
        if (property.required && !possible) return false;
        required += property.required;
        available += possible;
    }
    return required <= arm.max_properties && arm.min_properties <= arm.max_properties &&
           available + extra_capacity(arm) >= arm.min_properties;
}

// How many keys that are not declared there can be, as far as minProperties makes it matter.
uint64_t JsonAutomaton::extra_capacity(const ObjectArm& arm) const {
    uint64_t capacity = 0, enough = std::max<uint64_t>(arm.min_properties, 1);
    for (const ExtraKeys& extra : arm.extras)
        if (capacity < enough && values_[extra.value].productive) capacity += extra.open ? enough : kernel_->count_words(extra.regex, enough);
    return capacity;
}

uint64_t JsonAutomaton::extras_left(const Frame* frame, uint32_t a) const {
    const ObjectSet& set = *positions_[frame->position]->objects;
    if (!frame->extra_start) return 0;
    uint64_t alive = dfa_.state(frame->extra_start).alive;
    for (size_t k = 0; k < set.components.size(); ++k) {
        if (set.components[k].first != a || !(alive >> k & 1)) continue;
        if (objects_[set.arms[a]].extras[set.components[k].second].open) return kUnbounded;
        uint64_t capacity = set.extra_capacity[a];
        return capacity > frame->used_count ? capacity - frame->used_count : 1;
    }
    return 0;
}

// Least fixpoint: a value has an instance if one of its alternatives needs only values that have one.
void JsonAutomaton::settle_productive() {
    for (bool changed = true; changed;) {
        changed = false;
        for (ValueNode& value : values_) {
            if (value.productive) continue;
            bool now = value.bare != kEmpty && !kernel_->is_empty(value.bare);
            for (const StringArm& arm : value.strings) now = now || (arm.min_chars <= arm.max_chars && !kernel_->is_empty(arm.regex));
            for (uint32_t id : value.arrays) {
                const ArrayArm& arm = arrays_[id];
                uint32_t possible = 0;
                while (possible < arm.prefix.size() && values_[arm.prefix[possible]].productive) ++possible;
                if (possible == arm.prefix.size() && values_[arm.items].productive) possible = kUnbounded;
                now = now || (arm.min_items <= arm.max_items && arm.min_items <= possible);
            }
            for (uint32_t id : value.objects) now = now || object_productive(objects_[id]);
            value.productive = now;
            changed |= now;
        }
    }
}

void JsonAutomaton::finish(ValueId root) {
    settle_productive();
    root_ = root;
    if (!values_[root].productive) return;
    auto* frame = static_cast<Frame*>(root_arena_.allocate(sizeof(Frame)));
    std::memset(frame, 0, sizeof(Frame));
    frame->kind = FrameKind::kRootFrame;
    frame->alive = 1;
    frame->bytes = sizeof(Frame);
    frame->child = child(UINT32_MAX, kRoot, 0, 1, {root});
    root_frame_ = frame;
}

// ---- positions ----------------------------------------------------------------------------------------------------

uint32_t JsonAutomaton::position(std::vector<ValueId> values) {
    uint64_t hash = 3;
    for (ValueId value : values) hash = mix(hash, value);
    auto [begin, end] = position_index_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
        if (positions_[it->second]->values == values) return it->second;
    if (positions_.size() >= max_states_) throw LimitExceeded("max_states", positions_.size(), max_states_);
    uint32_t id = static_cast<uint32_t>(positions_.size());
    positions_.push_back(std::make_unique<Position>());
    positions_.back()->values = std::move(values);
    position_index_.emplace(hash, id);
    return id;
}

uint32_t JsonAutomaton::child(uint32_t at, uint64_t kind, uint64_t label, uint64_t arms, const std::vector<ValueId>& values) {
    std::array<uint64_t, 4> key{at, kind, label, arms};
    uint64_t hash = mix(mix(mix(at, kind), label), arms);
    auto [begin, end] = child_index_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
        if (it->second.first == key) return it->second.second;
    std::vector<ValueId> distinct;
    for (size_t arm = 0; arm < values.size(); ++arm)
        if (arms >> arm & 1) distinct.push_back(values[arm]);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    Child made{0, std::vector<uint8_t>(values.size(), kNoComponent)};
    for (size_t arm = 0; arm < values.size(); ++arm)
        if (arms >> arm & 1)
            made.component[arm] = static_cast<uint8_t>(std::lower_bound(distinct.begin(), distinct.end(), values[arm]) - distinct.begin());
    made.position = position(std::move(distinct));
    uint32_t id = static_cast<uint32_t>(children_.size());
    children_.push_back(std::move(made));
    child_index_.emplace(hash, std::pair{key, id});
    return id;
}

JsonAutomaton::Position& JsonAutomaton::prepared(uint32_t id) {
    Position& p = *positions_[id];
    if (!p.prepared) {
        prepare_strings(p);
        prepare_bare(p);
        prepare_objects(p);
        prepare_arrays(p);
        p.prepared = true;
    }
    return p;
}

void JsonAutomaton::prepare_strings(Position& p) {
    std::vector<NodeId> components;
    for (size_t k = 0; k < p.values.size(); ++k) {
        for (const StringArm& arm : values_[p.values[k]].strings) {
            if (arm.min_chars > arm.max_chars || kernel_->is_empty(arm.regex)) continue;
            p.strings.push_back(arm);
            p.string_owner.push_back(static_cast<uint8_t>(k));
            components.push_back(arm.regex);
            p.counted |= arm.min_chars > 0 || arm.max_chars != kUnbounded;
        }
    }
    if (components.empty()) return;
    if (components.size() > kMaxArms) throw LimitExceeded("max_alternatives", components.size(), kMaxArms);
    if (p.counted) components.push_back(kernel_->any_string(Encoding::kJson));
    p.string_start = dfa_.intern(components, p.counted);
}

void JsonAutomaton::prepare_bare(Position& p) {
    std::vector<NodeId> components;
    for (size_t k = 0; k < p.values.size(); ++k) {
        if (values_[p.values[k]].bare == kEmpty) continue;
        components.push_back(values_[p.values[k]].bare);
        p.bare_owner.push_back(static_cast<uint8_t>(k));
    }
    if (!components.empty()) p.bare_start = dfa_.intern(components, false);
}

void JsonAutomaton::prepare_arrays(Position& p) {
    auto set = std::make_unique<ArraySet>();
    for (size_t k = 0; k < p.values.size(); ++k) {
        for (uint32_t id : values_[p.values[k]].arrays) {
            const ArrayArm& arm = arrays_[id];
            uint32_t possible = 0, prefix = static_cast<uint32_t>(arm.prefix.size());
            while (possible < prefix && values_[arm.prefix[possible]].productive) ++possible;
            if (possible == prefix && values_[arm.items].productive) possible = kUnbounded;
            uint32_t limit = std::min(possible, arm.max_items);
            if (arm.min_items > limit) continue;
            set->arms.push_back(id);
            set->owner.push_back(static_cast<uint8_t>(k));
            set->limit.push_back(limit);
            set->longest_prefix = std::max(set->longest_prefix, prefix);
        }
    }
    if (set->arms.size() > kMaxArms) throw LimitExceeded("max_alternatives", set->arms.size(), kMaxArms);
    if (!set->arms.empty()) p.arrays = std::move(set);
}

void JsonAutomaton::prepare_objects(Position& p) {
    auto set = std::make_unique<ObjectSet>();
    for (size_t k = 0; k < p.values.size(); ++k) {
        for (uint32_t id : values_[p.values[k]].objects) {
            if (!object_productive(objects_[id])) continue;
            set->arms.push_back(id);
            set->owner.push_back(static_cast<uint8_t>(k));
        }
    }
    size_t arms = set->arms.size();
    if (!arms) return;
    if (arms > kMaxArms) throw LimitExceeded("max_alternatives", arms, kMaxArms);
    // 1) Every declared key of every arm, sorted, as a trie.
    for (uint32_t id : set->arms)
        for (const Property& property : objects_[id].properties) set->keys.push_back(property.key);
    std::sort(set->keys.begin(), set->keys.end());
    set->keys.erase(std::unique(set->keys.begin(), set->keys.end()), set->keys.end());
    set->words = static_cast<uint32_t>((set->keys.size() + 63) / 64);
    build_trie(*set);
    // 2) What each arm asks of each key, and of the keys that no arm declares.
    NodeId declared = arms > 1 ? kernel_->complement(kernel_->literals(set->keys)) : kEmpty;
    std::vector<NodeId> components;
    for (size_t a = 0; a < arms; ++a) {
        const ObjectArm& arm = objects_[set->arms[a]];
        std::vector<ValueId> child(set->keys.size(), 0);
        std::vector<uint32_t> place(set->keys.size(), kNoKey), key_at;
        for (uint32_t d = 0; d < arm.properties.size(); ++d) {
            auto at = static_cast<uint32_t>(std::lower_bound(set->keys.begin(), set->keys.end(), arm.properties[d].key) - set->keys.begin());
            child[at] = arm.properties[d].value;
            place[at] = d;
            key_at.push_back(at);
        }
        set->extra_capacity.push_back(extra_capacity(arm));
        for (uint32_t e = 0; e < arm.extras.size(); ++e) {
            if (!values_[arm.extras[e].value].productive) continue;
            uint32_t start = dfa_.intern({arm.extras[e].regex}, false);
            for (uint32_t key = 0; key < set->keys.size(); ++key) {
                if (place[key] != kNoKey || child[key]) continue;
                uint32_t state = start;
                for (char c : set->keys[key]) state = state ? dfa_.next(state, static_cast<uint8_t>(c)) : 0;
                if (state && dfa_.state(state).accepts) child[key] = arm.extras[e].value;
            }
            NodeId regex = arms > 1 ? kernel_->conjunction({arm.extras[e].regex, declared}) : arm.extras[e].regex;
            if (kernel_->is_empty(regex)) continue;
            components.push_back(regex);
            set->components.emplace_back(static_cast<uint8_t>(a), e);
            set->tracks_keys |= !arm.extras[e].open;
        }
        set->child.push_back(std::move(child));
        set->place.push_back(std::move(place));
        set->key_at.push_back(std::move(key_at));
    }
    if (components.size() > kMaxArms) throw LimitExceeded("max_alternatives", components.size(), kMaxArms);
    if (!components.empty()) set->extra_start = dfa_.intern(components, false);
    p.objects = std::move(set);
}

void JsonAutomaton::build_trie(ObjectSet& set) {
    auto& trie = set.trie;
    trie.push_back({0, 0, 0, 0, static_cast<uint32_t>(set.keys.size()), kNoKey});
    for (uint32_t k = 0; k < set.keys.size(); ++k) {
        uint32_t node = 0;
        for (char c : set.keys[k]) {
            // Keys come sorted, so the child is the one made last, if it is there at all.
            uint32_t last = 0;
            for (uint32_t it = trie[node].first_child; it; it = trie[it].sibling) last = it;
            if (!last || trie[last].byte != static_cast<uint8_t>(c)) {
                auto made = static_cast<uint32_t>(trie.size());
                trie.push_back({static_cast<uint8_t>(c), 0, 0, k, k, kNoKey});
                (last ? trie[last].sibling : trie[node].first_child) = made;
                last = made;
            }
            node = last;
            trie[node].high = k + 1;
        }
        trie[node].key = k;
    }
}

// ---- frames -------------------------------------------------------------------------------------------------------

Frame* JsonAutomaton::copy(const Frame* from, Arena& arena) const {
    auto* base = static_cast<std::byte*>(arena.allocate(from->bytes));
    std::memcpy(base, from, from->bytes);
    auto* frame = reinterpret_cast<Frame*>(base);
    const auto* old = reinterpret_cast<const std::byte*>(from);
    auto move = [&](auto*& pointer) {
        if (pointer) pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(base + (reinterpret_cast<const std::byte*>(pointer) - old));
    };
    move(frame->next);
    move(frame->seen);
    move(frame->offered);
    return frame;
}

uint32_t JsonAutomaton::position_of(const Frame* frame) const { return children_[frame->child].position; }

Frame* JsonAutomaton::open_object(const Leaf& leaf, uint32_t at, Arena& arena) {
    const ObjectSet& set = *positions_[at]->objects;
    size_t arms = set.arms.size();
    size_t next_bytes = (arms * 4 + 7) & ~size_t{7};
    size_t bytes = sizeof(Frame) + next_bytes + (1 + arms) * set.words * 8;
    auto* base = static_cast<std::byte*>(arena.allocate(bytes));
    std::memset(base, 0, bytes);
    auto* frame = reinterpret_cast<Frame*>(base);
    frame->parent = leaf.frame;
    frame->kind = FrameKind::kObjectFrame;
    frame->position = at;
    frame->alive = arms == 64 ? ~0ull : (1ull << arms) - 1;
    frame->bytes = static_cast<uint32_t>(bytes);
    frame->extra_start = set.extra_start;
    frame->next = reinterpret_cast<uint32_t*>(base + sizeof(Frame));
    frame->seen = reinterpret_cast<uint64_t*>(base + sizeof(Frame) + next_bytes);
    frame->offered = frame->seen + set.words;
    refresh_object(frame);
    return frame;
}

Frame* JsonAutomaton::open_array(const Leaf& leaf, uint32_t at, Arena& arena) {
    size_t arms = positions_[at]->arrays->arms.size();
    auto* frame = static_cast<Frame*>(arena.allocate(sizeof(Frame)));
    std::memset(frame, 0, sizeof(Frame));
    frame->parent = leaf.frame;
    frame->kind = FrameKind::kArrayFrame;
    frame->position = at;
    frame->alive = arms == 64 ? ~0ull : (1ull << arms) - 1;
    frame->bytes = sizeof(Frame);
    refresh_array(frame);
    return frame;
}

void JsonAutomaton::refresh_array(Frame* frame) {
    const ArraySet& set = *positions_[frame->position]->arrays;
    frame->closable = frame->more = 0;
    for (uint32_t a = 0; a < set.arms.size(); ++a) {
        if (!(frame->alive >> a & 1)) continue;
        if (frame->count >= arrays_[set.arms[a]].min_items) frame->closable |= 1ull << a;
        if (frame->count < set.limit[a]) frame->more |= 1ull << a;
    }
}

void JsonAutomaton::refresh_object(Frame* frame) {
    const ObjectSet& set = *positions_[frame->position]->objects;
    frame->closable = frame->more = frame->extra = 0;
    std::memset(frame->offered, 0, set.arms.size() * set.words * 8);
    for (uint32_t a = 0; a < set.arms.size(); ++a)
        if (frame->alive >> a & 1) refresh_arm(frame, a);
}

// Which keys one arm can take now so that it can still be completed: required keys fit under maxProperties, enough keys
// remain for minProperties, and in schema order nothing required is skipped.
void JsonAutomaton::refresh_arm(Frame* frame, uint32_t a) {
    const ObjectSet& set = *positions_[frame->position]->objects;
    const ObjectArm& arm = objects_[set.arms[a]];
    bool any_order = options_.any_order;
    uint32_t from = any_order ? 0 : frame->next[a];
    uint64_t missing = 0, available = 0;
    for (uint32_t d = from; d < arm.properties.size(); ++d) {
        if (bit(frame->seen, set.key_at[a][d])) continue;
        missing += arm.properties[d].required;
        available += values_[arm.properties[d].value].productive;
    }
    if (missing == 0 && frame->count >= arm.min_properties && frame->count <= arm.max_properties) frame->closable |= 1ull << a;
    if (frame->count >= arm.max_properties) return;
    uint64_t* offered = frame->offered + size_t{a} * set.words;
    bool room_for_optional = frame->count + 1 + missing <= arm.max_properties;
    uint64_t left = extras_left(frame, a);
    bool extras = left > 0 && room_for_optional && (any_order || missing == 0);
    uint64_t skipped = 0;
    for (uint32_t d = from; d < arm.properties.size(); ++d) {
        uint32_t key = set.key_at[a][d];
        if (bit(frame->seen, key)) continue;
        const Property& property = arm.properties[d];
        bool productive = values_[property.value].productive;
        bool room = property.required || room_for_optional;
        bool enough = any_order || frame->count + available - skipped + left >= arm.min_properties;
        if (productive && room && enough) {
            set_bit(offered, key);
            frame->more |= 1ull << a;
        }
        skipped += productive;
        if (property.required && !any_order) break;
    }
    if (extras) {
        frame->extra |= 1ull << a;
        frame->more |= 1ull << a;
    }
    // Keys that other arms declare are extra keys of this one.
    if (set.arms.size() > 1 && room_for_optional && (any_order || missing == 0))
        for (uint32_t key = 0; key < set.keys.size(); ++key)
            if (set.place[a][key] == kNoKey && set.child[a][key] && values_[set.child[a][key]].productive && !bit(frame->seen, key)) {
                set_bit(offered, key);
                frame->more |= 1ull << a;
            }
}

bool JsonAutomaton::key_possible(const Frame* frame, const TrieNode& node) const {
    const ObjectSet& set = *positions_[frame->position]->objects;
    for (uint32_t a = 0; a < set.arms.size(); ++a)
        if (frame->alive >> a & 1 && any_in(frame->offered + size_t{a} * set.words, node.low, node.high)) return true;
    return false;
}

// ---- transitions --------------------------------------------------------------------------------------------------

Leaf JsonAutomaton::start() {
    Leaf leaf;
    leaf.frame = root_frame_;
    leaf.mode = kValue;
    leaf.gap = UINT16_MAX;  // no whitespace before the text
    leaf.state = position_of(root_frame_);
    return leaf;
}

bool JsonAutomaton::gap(Leaf& leaf, uint8_t byte, bool line_breaks) const {
    // 0: nothing read, 1: one space, n >= 2: a line break and n - 2 spaces or tabs.
    if (options_.whitespace != Whitespace::kFlexible) return false;
    if (leaf.gap == 0 && byte == ' ') return leaf.gap = 1, true;
    if (leaf.gap == 0 && byte == '\n' && line_breaks) return leaf.gap = 2, true;
    if (leaf.gap >= 2 && leaf.gap < options_.max_indent + 2 && (byte == ' ' || byte == '\t')) return ++leaf.gap, true;
    return false;
}

bool JsonAutomaton::step(Leaf& leaf, uint8_t byte, Arena& arena) {
    switch (leaf.mode) {
        case kString: return step_string(leaf, byte, arena);
        case kBare: return step_bare(leaf, byte, arena);
        case kKey: return step_key(leaf, byte, arena);
        case kColon:
            if (byte != ':') return false;
            leaf.mode = kValue;
            leaf.gap = 0;
            leaf.state = position_of(leaf.frame);
            return true;
        case kValue:
        case kItem:
        case kFirstItem: return step_value(leaf, byte, arena);
        case kFirstKey:
        case kNextKey: return step_before_key(leaf, byte, arena);
        case kAfter: return step_after(leaf, byte, arena);
        default: return false;
    }
}

bool JsonAutomaton::step_value(Leaf& leaf, uint8_t byte, Arena& arena) {
    if (is_space(byte)) {
        if (leaf.gap == UINT16_MAX) return false;
        if (options_.whitespace == Whitespace::kSpaced && leaf.mode != kFirstItem) return byte == ' ' && leaf.gap == 0 && (leaf.gap = 1);
        return gap(leaf, byte, leaf.mode != kValue);
    }
    if (options_.whitespace == Whitespace::kSpaced && leaf.gap == 0 && leaf.mode != kFirstItem) return false;
    if (leaf.mode == kFirstItem) {
        if (byte == ']') return leaf.frame->closable && close_container(leaf, arena);
        if (!leaf.frame->more) return false;
        expect_item(leaf, arena, kItem);
    }
    return begin_value(leaf, byte, arena);
}

// Make the array frame expect its next item.
void JsonAutomaton::expect_item(Leaf& leaf, Arena& arena, uint8_t mode) {
    const ArraySet& set = *positions_[leaf.frame->position]->arrays;
    Frame* frame = copy(leaf.frame, arena);
    uint32_t index = std::min(frame->count, set.longest_prefix);
    frame->alive = frame->more;
    std::vector<ValueId> values;
    for (uint32_t id : set.arms) values.push_back(index < arrays_[id].prefix.size() ? arrays_[id].prefix[index] : arrays_[id].items);
    frame->child = child(frame->position, kIndex, index, frame->alive, values);
    frame->count++;
    leaf.frame = frame;
    leaf.state = position_of(frame);
    leaf.mode = mode;
    leaf.gap = 0;
}

bool JsonAutomaton::begin_value(Leaf& leaf, uint8_t byte, Arena& arena) {
    uint32_t at = leaf.state;
    Position& p = prepared(at);
    leaf.gap = 0;
    leaf.count = 0;
    if (byte == '"') {
        leaf.mode = kString;
        leaf.state = p.string_start;
        return p.string_start != 0;
    }
    if (byte == '{') {
        if (!p.objects) return false;
        leaf.frame = open_object(leaf, at, arena);
        leaf.mode = kFirstKey;
        return true;
    }
    if (byte == '[') {
        if (!p.arrays) return false;
        leaf.frame = open_array(leaf, at, arena);
        leaf.mode = kFirstItem;
        return true;
    }
    leaf.mode = kBare;
    leaf.state = p.bare_start ? dfa_.next(p.bare_start, byte) : 0;
    return leaf.state != 0;
}

bool JsonAutomaton::step_string(Leaf& leaf, uint8_t byte, Arena& arena) {
    uint32_t target = dfa_.next(leaf.state, byte);
    if (target) {
        leaf.state = target;
        const LazyDfa::State& state = dfa_.state(target);
        if (!state.marked) return true;
        leaf.count += state.boundary;
        uint32_t chars = leaf.count + (state.boundary ? 0 : 1);
        const Position& p = *positions_[position_of(leaf.frame)];
        for (size_t k = 0; k < p.strings.size(); ++k)
            if (state.alive >> k & 1 && chars <= p.strings[k].max_chars) return true;
        return false;
    }
    if (byte != '"') return false;
    const LazyDfa::State& state = dfa_.state(leaf.state);
    const Position& p = *positions_[position_of(leaf.frame)];
    uint64_t satisfied = 0;
    for (size_t k = 0; k < p.strings.size(); ++k)
        if (state.accepts >> k & 1 && leaf.count >= p.strings[k].min_chars && leaf.count <= p.strings[k].max_chars) satisfied |= 1ull << p.string_owner[k];
    return satisfied && close_value(leaf, satisfied, arena);
}

uint64_t JsonAutomaton::bare_satisfied(const Leaf& leaf) {
    const Position& p = *positions_[position_of(leaf.frame)];
    uint64_t accepts = dfa_.state(leaf.state).accepts, satisfied = 0;
    for (size_t k = 0; k < p.bare_owner.size(); ++k)
        if (accepts >> k & 1) satisfied |= 1ull << p.bare_owner[k];
    return satisfied;
}

bool JsonAutomaton::step_bare(Leaf& leaf, uint8_t byte, Arena& arena) {
    uint32_t target = dfa_.next(leaf.state, byte);
    if (target) {
        leaf.state = target;
        return true;
    }
    // A number has no closing mark: it ends where a byte follows that cannot belong to it.
    if (leaf.frame->kind == FrameKind::kRootFrame) return false;
    uint64_t satisfied = bare_satisfied(leaf);
    return satisfied && close_value(leaf, satisfied, arena) && step(leaf, byte, arena);
}

bool JsonAutomaton::step_before_key(Leaf& leaf, uint8_t byte, Arena&  arena) {
    const Frame* frame = leaf.frame;
    bool spaced = options_.whitespace == Whitespace::kSpaced && leaf.mode == kNextKey;
    if (is_space(byte)) {
        if (spaced) return byte == ' ' && leaf.gap == 0 && (leaf.gap = 1);
        return gap(leaf, byte, true);
    }
    if (spaced && leaf.gap == 0) return false;
    if (byte == '}' && leaf.mode == kFirstKey) return frame->closable && close_container(leaf, arena);
    if (byte != '"' || !frame->more) return false;
    leaf.mode = kKey;
    leaf.node = 0;
    leaf.hash = 0;
    leaf.key = nullptr;
    leaf.state = frame->extra ? frame->extra_start : 0;
    return true;
}

bool JsonAutomaton::step_key(Leaf& leaf, uint8_t byte, Arena& arena) {
    const ObjectSet& set = *positions_[leaf.frame->position]->objects;
    uint32_t extra = leaf.state ? dfa_.next(leaf.state, byte) : 0;
    uint32_t node = kNoNode;
    if (leaf.node != kNoNode) {
        uint32_t it = set.trie[leaf.node].first_child;
        while (it && set.trie[it].byte != byte) it = set.trie[it].sibling;
        if (it && key_possible(leaf.frame, set.trie[it])) node = it;
        // Declared keys that are not offered any more must not pass as prefixes of extra ones: the extra keys' own
        // language excludes them, so nothing else is needed here.
    }
    if (extra && leaf.frame->extra != leaf.frame->alive) {
        uint64_t alive = dfa_.state(extra).alive;
        bool open = false;
        for (size_t k = 0; k < set.components.size() && !open; ++k) open = alive >> k & 1 && leaf.frame->extra >> set.components[k].first & 1;
        if (!open) extra = 0;
    }
    if (extra || node != kNoNode) {
        leaf.state = extra;
        leaf.node = node;
        leaf.hash = mix(leaf.hash + 1, byte);
        if (set.tracks_keys) {
            auto* last = static_cast<KeyByte*>(arena.allocate(sizeof(KeyByte)));
            *last = {leaf.key, byte};
            leaf.key = last;
        }
        return true;
    }
    return byte == '"' && close_key(leaf, arena);
}

bool JsonAutomaton::close_key(Leaf& leaf, Arena& arena) {
    const Frame* from = leaf.frame;
    const ObjectSet& set = *positions_[from->position]->objects;
    size_t arms = set.arms.size();
    uint32_t key = leaf.node != kNoNode ? set.trie[leaf.node].key : kNoKey;
    std::vector<ValueId> values(arms, 0);
    uint64_t takers = 0, kind, label;
    if (key != kNoKey) {
        kind = kDeclaredKey;
        label = key;
        for (uint32_t a = 0; a < arms; ++a) {
            if (!(from->alive >> a & 1) || !bit(from->offered + size_t{a} * set.words, key)) continue;
            takers |= 1ull << a;
            values[a] = set.child[a][key];
        }
    } else {
        if (!leaf.state) return false;
        kind = kExtraKey;
        label = dfa_.state(leaf.state).accepts;
        for (size_t k = 0; k < set.components.size(); ++k) {
            auto [a, e] = set.components[k];
            if (!(label >> k & 1) || !(from->extra >> a & 1)) continue;
            takers |= 1ull << a;
            values[a] = objects_[set.arms[a]].extras[e].value;
        }
        for (const UsedKey* used = from->used; used; used = used->previous)
            if (used->hash == leaf.hash) return false;
    }
    if (!takers) return false;
    Frame* frame = copy(from, arena);
    frame->alive = takers;
    frame->count++;
    frame->child = child(from->position, kind, label, takers, values);
    if (key != kNoKey) {
        set_bit(frame->seen, key);
    } else {
        use_extra_key(frame, leaf, arena);
    }
    for (uint32_t a = 0; a < arms; ++a) {
        uint32_t place = key == kNoKey ? kNoKey : set.place[a][key];
        frame->next[a] = place == kNoKey ? static_cast<uint32_t>(objects_[set.arms[a]].properties.size()) : place + 1;
    }
    leaf.frame = frame;
    leaf.mode = kColon;
    return true;
}

// Remember an extra key. Where no prefix has only finitely many keys below it, a repeated key is refused at its closing
// quote; elsewhere it is taken out of the language, or the text could run into a prefix with no key left.
void JsonAutomaton::use_extra_key(Frame* frame, const Leaf& leaf, Arena& arena) {
    auto* used = static_cast<UsedKey*>(arena.allocate(sizeof(UsedKey)));
    *used = {leaf.hash, frame->used};
    frame->used = used;
    frame->used_count++;
    const ObjectSet& set = *positions_[frame->position]->objects;
    if (!set.tracks_keys) return;
    std::string text;
    for (const KeyByte* at = leaf.key; at; at = at->previous) text.push_back(static_cast<char>(at->byte));
    std::reverse(text.begin(), text.end());
    NodeId others = kernel_->complement(kernel_->literals({text}));
    std::vector<NodeId> components;
    for (uint32_t k = 0; k < set.components.size(); ++k) {
        auto [a, e] = set.components[k];
        NodeId regex = dfa_.component(frame->extra_start, k);
        components.push_back(objects_[set.arms[a]].extras[e].open ? regex : kernel_->conjunction({regex, others}));
    }
    frame->extra_start = dfa_.intern(components, false);
}

bool JsonAutomaton::close_value(Leaf& leaf, uint64_t satisfied, Arena& arena) {
    const Frame* from = leaf.frame;
    if (from->kind == FrameKind::kRootFrame) {
        leaf.mode = kDone;
        return satisfied & 1;
    }
    const Child& child = children_[from->child];
    uint64_t alive = 0;
    for (size_t a = 0; a < child.component.size(); ++a)
        if (child.component[a] != kNoComponent && satisfied >> child.component[a] & 1) alive |= 1ull << a;
    if (!(alive & from->alive)) return false;
    Frame* frame = copy(from, arena);
    frame->alive = alive & from->alive;
    if (frame->kind == FrameKind::kObjectFrame)
        refresh_object(frame);
    else
        refresh_array(frame);
    leaf.frame = frame;
    leaf.mode = kAfter;
    leaf.gap = 0;
    return frame->closable || frame->more;
}

bool JsonAutomaton::close_container(Leaf& leaf, Arena& arena) {
    const Frame* frame = leaf.frame;
    const Position& p = *positions_[frame->position];
    const std::vector<uint8_t>& owner = frame->kind == FrameKind::kObjectFrame ? p.objects->owner : p.arrays->owner;
    uint64_t satisfied = 0;
    for (size_t a = 0; a < owner.size(); ++a)
        if (frame->closable >> a & 1) satisfied |= 1ull << owner[a];
    leaf.frame = frame->parent;
    return close_value(leaf, satisfied, arena);
}

bool JsonAutomaton::step_after(Leaf& leaf, uint8_t byte, Arena& arena) {
    const Frame* frame = leaf.frame;
    bool object = frame->kind == FrameKind::kObjectFrame;
    if (byte == ',' && leaf.gap == 0) {
        if (!frame->more) return false;
        leaf.gap = 0;
        if (object)
            leaf.mode = kNextKey;
        else
            expect_item(leaf, arena, kItem);
        return true;
    }
    if (!frame->closable) return false;
    if (byte == (object ? '}' : ']')) return close_container(leaf, arena);
    return is_space(byte) && gap(leaf, byte, true);
}

bool JsonAutomaton::accepting(const Leaf& leaf) {
    if (leaf.mode == kDone) return true;
    return leaf.mode == kBare && leaf.frame->kind == FrameKind::kRootFrame && (bare_satisfied(leaf) & 1);
}

PlainText JsonAutomaton::plain_text(const Leaf& leaf) {
    if (leaf.mode != kString) return {};
    const LazyDfa::State& state = dfa_.state(leaf.state);
    if (state.marked && !state.boundary) return {};
    const Position& p = *positions_[position_of(leaf.frame)];
    bool all = true;
    uint32_t most = 0;
    for (uint32_t k = 0; k < state.count; ++k) {
        if (!(state.alive >> k & 1)) continue;
        if (!kernel_->is_any_string(dfa_.component(leaf.state, k))) {
            all = false;
            continue;
        }
        uint32_t limit = p.strings[k].max_chars;
        if (limit == kUnbounded) return {true, kUnbounded};
        most = std::max(most, limit > leaf.count ? limit - leaf.count : 0);
    }
    return {all, most};
}

std::string JsonAutomaton::describe(const Leaf& leaf) {
    static const char* const kNames[] = {"a value", "an array item", "an array item or ']'", "a key or '}'", "a key", "the inside of a key", "':'",
                                         "the inside of a string", "a number or literal", "',' or a closing bracket", "the end of the text"};
    std::string path;
    for (const Frame* frame = leaf.frame; frame; frame = frame->parent)
        if (frame->kind == FrameKind::kArrayFrame)
            path = "[" + std::to_string(frame->count ? frame->count - 1 : 0) + "]" + path;
        else if (frame->kind == FrameKind::kObjectFrame)
            path = "{" + std::to_string(frame->count) + "}" + path;
    return std::string(kNames[leaf.mode]) + (path.empty() ? "" : " at " + path);
}

// ---- regular expressions ------------------------------------------------------------------------------------------

RegexAutomaton::RegexAutomaton(std::shared_ptr<Kernel> kernel, NodeId regex, uint64_t max_states)
    : kernel_(std::move(kernel)), dfa_(*kernel_, max_states), start_(dfa_.intern({regex}, false)) {}

Leaf RegexAutomaton::start() {
    Leaf leaf;
    leaf.state = start_;
    return leaf;
}

bool RegexAutomaton::step(Leaf& leaf, uint8_t byte, Arena&) {
    leaf.state = dfa_.next(leaf.state, byte);
    return leaf.state != 0;
}

bool RegexAutomaton::accepting(const Leaf& leaf) { return leaf.state && dfa_.state(leaf.state).accepts; }

}  // namespace schemagen
