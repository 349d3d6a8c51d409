#include "json/values.hpp"

#include <algorithm>
#include <cstdint>

#include "json/number_values.hpp"

namespace schemagen {

namespace {

void append_utf8(std::string& out, uint32_t code) {
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xC0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xE0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        out += static_cast<char>(0x80 | (code & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
        out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        out += static_cast<char>(0x80 | (code & 0x3F));
    }
}

void append_escaped(std::string& out, uint32_t code) {
    static const char kHex[] = "0123456789abcdef";
    switch (code) {
        case '"': out += "\\\""; return;
        case '\\': out += "\\\\"; return;
        case 8: out += "\\b"; return;
        case 12: out += "\\f"; return;
        case 10: out += "\\n"; return;
        case 13: out += "\\r"; return;
        case 9: out += "\\t"; return;
        default: break;
    }
    if (code >= 0x20) return append_utf8(out, code);
    out += "\\u00";
    out += kHex[code >> 4];
    out += kHex[code & 15];
}

class Canonicaliser {
public:
    explicit Canonicaliser(std::string_view text) : text_(text) {}
    std::string run() { return value(); }

private:
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void skip_space() {
        while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
    }
    uint32_t hex() {
        uint32_t out = 0;
        for (int k = 0; k < 4; ++k, ++at_) {
            char c = peek();
            out = out * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        }
        return out;
    }
    std::string value() {
        skip_space();
        switch (peek()) {
            case '"': return string();
            case '{': return object();
            case '[': return array();
            case 't': at_ += 4; return "true";
            case 'f': at_ += 5; return "false";
            case 'n': at_ += 4; return "null";
            default: return number();
        }
    }
    std::string string() {
        std::string out = "\"";
        for (++at_; at_ < text_.size() && peek() != '"';) {
            if (peek() != '\\') {
                out += text_[at_++];
                continue;
            }
            char kind = text_[at_ + 1];
            at_ += 2;
            switch (kind) {
                case 'b': append_escaped(out, 8); break;
                case 'f': append_escaped(out, 12); break;
                case 'n': append_escaped(out, 10); break;
                case 'r': append_escaped(out, 13); break;
                case 't': append_escaped(out, 9); break;
                case 'u': {
                    uint32_t code = hex();
                    if (code >= 0xD800 && code < 0xDC00) {
                        at_ += 2;
                        code = 0x10000 + ((code - 0xD800) << 10) + (hex() - 0xDC00);
                    }
                    append_escaped(out, code);
                    break;
                }
                default: append_escaped(out, static_cast<uint8_t>(kind));
            }
        }
        ++at_;
        return out + '"';
    }
    std::string number() {
        const size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
        const std::string_view number = text_.substr(at_, end - at_);
        at_ = end;
        return canonical_number(number);
    }
    std::string array() {
        std::string out = "[";
        ++at_;
        for (skip_space(); at_ < text_.size() && peek() != ']'; skip_space()) {
            if (peek() == ',') ++at_;
            if (out.size() > 1) out += ',';
            out += value();
        }
        ++at_;
        return out + ']';
    }
    std::string object() {
        std::vector<std::pair<std::string, std::string>> members;
        ++at_;
        for (skip_space(); at_ < text_.size() && peek() != '}'; skip_space()) {
            if (peek() == ',') ++at_;
            skip_space();
            std::string key = string();
            skip_space();
            ++at_;  // ':'
            members.emplace_back(std::move(key), value());
        }
        ++at_;
        std::sort(members.begin(), members.end());
        std::string out = "{";
        for (const auto& [key, text] : members) {
            if (out.size() > 1) out += ',';
            out.append(key).append(1, ':').append(text);
        }
        return out + '}';
    }

    std::string_view text_;
    size_t at_ = 0;
};

// The end of the value that starts at `at` in canonical text.
size_t end_of(std::string_view text, size_t at) {
    int depth = 0;
    for (bool inside = false; at < text.size(); ++at) {
        char c = text[at];
        if (inside) {
            if (c == '\\')
                ++at;
            else if (c == '"')
                inside = false;
            if (!inside && depth == 0) return at + 1;
            continue;
        }
        if (c == '"') {
            inside = true;
        } else if (c == '{' || c == '[') {
            ++depth;
        } else if (c == '}' || c == ']') {
            if (depth == 0) return at;
            if (--depth == 0) return at + 1;
        } else if (depth == 0 && (c == ',' || c == ':')) {
            return at;
        }
    }
    return at;
}

}  // namespace

std::string canonical_json(std::string_view text) { return Canonicaliser(text).run(); }

std::string escaped(std::string_view utf8) {
    auto is_plain = [](char c) { return static_cast<uint8_t>(c) >= 0x20 && c != '"' && c != '\\'; };
    std::string out;
    for (char c : utf8)
        if (is_plain(c))
            out += c;  // also the bytes of longer characters
        else
            append_escaped(out, static_cast<uint8_t>(c));
    return out;
}

std::vector<Member> members_of(std::string_view canonical) {
    std::vector<Member> out;
    if (canonical.size() < 3 || (canonical[0] != '{' && canonical[0] != '[')) return out;
    bool object = canonical[0] == '{';
    for (size_t at = 1; at + 1 < canonical.size();) {
        Member member;
        if (object) {
            size_t end = end_of(canonical, at);
            member.key = canonical.substr(at, end - at);
            at = end + 1;
        }
        size_t end = end_of(canonical, at);
        member.value = canonical.substr(at, end - at);
        out.push_back(member);
        at = end + 1;
    }
    return out;
}

std::u32string decode_string(std::string_view canonical) {
    std::u32string out;
    for (size_t at = 1; at + 1 < canonical.size();) {
        auto byte = static_cast<uint8_t>(canonical[at]);
        if (byte == '\\') {
            static const std::string_view kFrom = "bfnrt", kTo = "\b\f\n\r\t";
            char kind = canonical[at + 1];
            if (kind == 'u') {
                out += static_cast<char32_t>(std::stoul(std::string(canonical.substr(at + 2, 4)), nullptr, 16));
                at += 6;
                continue;
            }
            size_t found = kFrom.find(kind);
            out += static_cast<char32_t>(found == std::string_view::npos ? kind : kTo[found]);
            at += 2;
            continue;
        }
        size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
        uint32_t code = length == 1 ? byte : byte & (0x7Fu >> length);
        for (size_t k = 1; k < length; ++k) code = code << 6 | (static_cast<uint8_t>(canonical[at + k]) & 0x3Fu);
        out += static_cast<char32_t>(code);
        at += length;
    }
    return out;
}

}  // namespace schemagen
