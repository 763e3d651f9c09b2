// What programs in C++ do all day: reads JSON into shared pointers, maps, vectors and strings, writes it again, and
// counts the words in it. A pair is one such turn; how many allocations that are, the recording says.
#include "frames.h"
#include "stopwatch.h"
#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

struct Value;
using Pointer = std::shared_ptr<Value>;

struct Value {
    enum Kind { TEXT, NUMBER, LIST, OBJECT } kind;
    std::string text;
    double number = 0;
    std::vector<Pointer> list;
    std::map<std::string, Pointer> object;
};

// A parser of JSON without escapes and constants, by recursion.
class Parser {
  public:
    explicit Parser(const std::string &source) : at(source.c_str()) {}

    Pointer value() {
        switch (peek()) {
        case '{': return object();
        case '[': return list();
        case '"': return std::make_shared<Value>(Value{Value::TEXT, text(), 0, {}, {}});
        default: return number();
        }
    }

  private:
    const char *at;

    char peek() {
        while (std::isspace(static_cast<unsigned char>(*at))) ++at;
        return *at;
    }
    // Steps over a character if it is the next one.
    bool skip(char wanted) { return peek() == wanted && *at++; }

    std::string text() {
        std::string text;
        for (skip('"'); *at && *at != '"';) text += *at++;
        skip('"');
        return text;
    }
    Pointer number() {
        char *end;
        auto value = std::make_shared<Value>(Value{Value::NUMBER, {}, std::strtod(at, &end), {}, {}});
        if (end == at) std::abort();
        at = end;
        return value;
    }
    Pointer list() {
        auto value = std::make_shared<Value>(Value{Value::LIST, {}, 0, {}, {}});
        for (skip('['); !skip(']'); skip(',')) value->list.push_back(this->value());
        return value;
    }
    Pointer object() {
        auto value = std::make_shared<Value>(Value{Value::OBJECT, {}, 0, {}, {}});
        for (skip('{'); !skip('}'); skip(',')) {
            peek();
            std::string key = text();
            skip(':');
            value->object.emplace(std::move(key), this->value());
        }
        return value;
    }
};

std::string dump(const Value &value) {
    std::string out;
    switch (value.kind) {
    case Value::TEXT: return '"' + value.text + '"';
    case Value::NUMBER: return std::to_string(value.number);
    case Value::LIST:
        for (const auto &item : value.list) out += (out.empty() ? "" : ",") + dump(*item);
        return "[" + out + "]";
    case Value::OBJECT:
        for (const auto &[key, item] : value.object) out += (out.empty() ? "\"" : ",\"") + key + "\":" + dump(*item);
        return "{" + out + "}";
    }
    return out;
}

std::size_t count_words(const std::string &text) {
    std::unordered_map<std::string, int> words;
    std::string word;
    for (char letter : text) {
        if (std::isalnum(static_cast<unsigned char>(letter)))
            word += letter;
        else if (!word.empty())
            ++words[std::move(word)], word.clear();
    }
    return words.size();
}

std::string document() {
    std::string text = "[";
    uint64_t state = SEED;
    for (int id = 0; id < 200; ++id) {
        std::string number = std::to_string(next_random(&state) % 1000);
        text += (id ? ",{\"id\":" : "{\"id\":") + std::to_string(id) + ",\"name\":\"a name that is long enough, " + number +
                "\",\"tags\":[\"red\",\"green\",\"number " + number + " of these colours\"],\"place\":{\"x\":" + number +
                ".5,\"y\":-" + number + ",\"near\":[" + number + ",1,2]}}";
    }
    return text + "]";
}

void leaf(path *path) {
    auto *watch = static_cast<stopwatch *>(path->context);
    const std::string source = document();
    for (int round = 0; round < watch->rounds; ++round) {
        begin_round(watch);
        for (long turn = 0; turn < watch->pairs; ++turn) {
            Pointer value = Parser(source).value();
            std::size_t words = count_words(dump(*value));
            KEEP(words);
        }
        end_round(watch);
    }
}

} // namespace

int main(int argc, char **argv) {
    static stopwatch watch;
    prepare(&watch, argc, argv);
    static frame *functions[MAX_FRAMES];
    uint64_t state = SEED;
    choose_functions(functions, watch.depth, &state);
    path way = {functions, watch.depth, leaf, &watch};
    descend(&way, 0);
    report(&watch);
}
