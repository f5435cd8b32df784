// The search of the site. The index is a script, because a page from a disk may load scripts but
// not data; it is loaded for a search only. deploy/site/index.go writes it.
'use strict';
{
// terms returns the terms of a query that the index has, each with its weight. A word that the
// index does not have stands for the words that are most similar to it.
const terms = (index, query) => {
  const found = new Map();
  const add = (word, weight) => {
    const term = Object.hasOwn(index.words, word) ? index.words[word] : word;
    if (!Object.hasOwn(index.terms, term)) return false;
    found.set(term, Math.max(weight, found.get(term) ?? 0));
    return true;
  };
  for (const [whole] of query.matchAll(/[\p{L}\p{N}]+(?:[-_.'’][\p{L}\p{N}]+)*/gu)) {
    const parts = whole.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2').split(/[^\p{L}\p{N}]+/u);
    if (parts.length > 1) {
      for (const form of [whole, whole.replace(/[^\p{L}\p{N}]/gu, '')]) add(form.toLowerCase(), 1);
    }
    for (const part of parts) {
      const word = part.toLowerCase();
      if (!word || add(word, 1) || word.length < 4) continue;
      for (const near of similar(index, word)) add(near, .7);
    }
  }
  return found;
};

// similar returns the index's words that are one slip away from a word, or else those that
// begin like it.
const similar = (index, word) => {
  const all = [...Object.keys(index.words), ...Object.keys(index.terms)];
  const slips = all.filter(other => slip(word, other));
  if (slips.length) return slips.slice(0, 3);
  const stem = word.slice(0, Math.max(4, word.length - 3));
  return all.filter(other => other.startsWith(stem) && other.length <= word.length + 2).sort((a, b) => a.length - b.length).slice(0, 3);
};

// slip reports whether two words differ by one letter, or by two neighbours that changed places.
const slip = (a, b) => {
  if (Math.abs(a.length - b.length) > 1) return false;
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const rest = (n, m) => a.slice(i + n) === b.slice(i + m);
  return rest(1, 1) || rest(1, 0) || rest(0, 1) || (a[i] === b[i + 1] && a[i + 1] === b[i] && rest(2, 2));
};

// search returns the best sections for a query: the numbers of at most most sections, best first.
const search = (index, query, most) => {
  const wanted = terms(index, query), scores = new Map();
  for (const [term, weight] of wanted) {
    const numbers = index.terms[term].split(' ').map(n => parseInt(n, 36));
    for (let i = 0, section = 0; i < numbers.length; i += 2) {
      section += numbers[i];
      const so = scores.get(section) ?? { sum: 0, terms: 0 };
      so.sum += weight * numbers[i + 1];
      so.terms++;
      scores.set(section, so);
    }
  }
  const score = ({ sum, terms }) => sum * Math.sqrt(terms / wanted.size);
  return [...scores].sort((a, b) => score(b[1]) - score(a[1]) || a[0] - b[0]).slice(0, most).map(([section]) => section);
};

const show = (index, query) => {
  const make = (name, text, inside = []) => {
    const e = document.createElement(name);
    e.textContent = text;
    e.append(...inside);
    return e;
  };
  const hits = search(index, query, 10).map(number => {
    const [page, anchor, heading, text] = index.sections[number], [, file, title] = index.pages[page];
    const link = make('a', heading === title ? title : title + ' > ' + heading);
    link.href = root + file + (anchor && '#' + anchor);
    const snippet = make('p', text);
    snippet.className = 'snippet';
    const item = make('li', '', [make('h2', '', [link]), snippet]);
    item.className = 'sheet';
    return item;
  });
  const main = document.querySelector('main'), heading = main.querySelector('h1');
  heading.textContent = hits.length ? 'Sections about this' : 'Nothing found';
  document.title = query + ' · ' + document.title;
  const list = make('ol', '', hits);
  list.className = 'list';
  if (hits.length) heading.after(list);
};

// The site's top is where this script's folder lies. Under Node.js, which tests the search, there
// is no page.
const script = globalThis.document?.currentScript?.src;
const root = script?.replace(/static\/site\.js.*$/, '');
if (script) {
  const query = new URLSearchParams(location.search).get('q')?.trim();
  const field = document.getElementById('q');
  if (query && field) {
    field.value = query;
    globalThis.deskhandIndex = index => show(index, query);
    const load = document.createElement('script');
    load.src = root + 'static/search-index.js';
    load.onerror = () => { document.querySelector('main h1').textContent = 'The search index could not be loaded'; };
    document.head.append(load);
  }
} else if (typeof module === 'object') {
  module.exports = { search };
}
}
