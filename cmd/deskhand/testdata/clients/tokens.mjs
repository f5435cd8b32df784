// Counts the tokens of texts in o200k_base: an array of strings on stdin becomes
// an array of numbers on stdout. The argument is the folder of js-tiktoken.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const { getEncoding } = createRequire(join(resolve(process.argv[2]), 'tokens.mjs'))('js-tiktoken');
const encoding = getEncoding('o200k_base');
const texts = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(texts.map((text) => encoding.encode(text, 'all').length)));
