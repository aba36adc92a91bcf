// /// script
// [tool.touchstone]
// name = "shared_words_js"
// title = "Shared words, in JavaScript"
// summary = "Share of distinct words that two texts have in common."
// kind = "text"
// input = "texts"
// returns = "similarity"
// range = [0.0, 1.0]
// symmetric = true
// license = "Apache-2.0"
// command = ["node"]
// ///
const functions = {
  setup: () => ['similarity'],
  similarity: (a, b) => a.map((text, i) => shared(words(text), words(b[i]))),
};

function words(text) {
  return new Set(text.toLowerCase().split(/\s+/).filter(Boolean));
}

function shared(x, y) {
  const common = [...x].filter((word) => y.has(word)).length;
  const all = x.size + y.size - common;
  return all ? common / all : 1;
}

require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const call = JSON.parse(line);
  console.log(JSON.stringify({ n: call.n, value: functions[call.call](...call.arguments) }));
});
