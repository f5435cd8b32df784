// Counts the tokens (o200k_base) of what a model is shown: node tokens.mjs FOLDER
// where FOLDER has gpt-tokenizer and shown.json, which `make tools` writes.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const folder = resolve(process.argv[2]);
const { encode } = createRequire(join(folder, 'package.json'))('gpt-tokenizer');
const shown = JSON.parse(readFileSync(join(folder, 'shown.json')));
const count = (list) => list.map((text) => encode(text).length);
const sum = (list) => list.reduce((a, b) => a + b, 0);
const answers = count(shown.answers).sort((a, b) => a - b);
const two = sum(count(shown.search));
console.log(`all ${shown.all.length} definitions: ${sum(count(shown.all))} tokens; the first 40: ${sum(count(shown.all.slice(0, 40)))}`);
console.log(`find_tools and call_tool: ${two} tokens`);
console.log(`${answers.length} answers of find_tools: ${Math.round(sum(answers) / answers.length)} on average, ${answers.at(-1)} at most`);
console.log(`both definitions and the longest answer: ${two + answers.at(-1)} tokens`);
