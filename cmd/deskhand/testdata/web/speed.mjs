// Measures in a real browser what the pages promise, and prints it: the first
// paint, the page with 1,000 open questions, and how long a draft takes from a
// key to three other windows.
import { Desk, launch, until } from './desk.mjs'

const browser = await launch()
const desk = await Desk.open(browser)
const numbers = page => page.evaluate(() => ({
  paint: Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1),
  interactive: Math.round(performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd), // the script has run
}))
const best = all => all.reduce((a, b) => ({ paint: Math.min(a.paint, b.paint), interactive: Math.min(a.interactive, b.interactive) }))
async function loads(page) {
  const all = []
  for (let i = 0; i < 7; i++) { await page.reload(); all.push(await numbers(page)) }
  return best(all)
}
try {
  const id = await desk.ask('Which name?')
  const windows = []
  for (let i = 0; i < 4; i++) windows.push(await desk.window('/inbox/' + id))
  const first = await loads(windows[0])
  console.log(`one question: first paint ${first.paint} ms, interactive ${first.interactive} ms (best of 7)`)
  for (const w of windows.slice(1)) await w.evaluate(() => {
    window.seen = {}
    const field = document.querySelector('.question textarea')
    setInterval(() => { window.seen[field.value] ??= Date.now() }, 1)
  })
  const times = [], field = windows[0].locator('.question textarea')
  for (let i = 0; i < 200; i++) {
    const text = 'draft ' + i
    const began = await field.evaluate((el, text) => { el.value = text; el.dispatchEvent(new Event('input', { bubbles: true })); return Date.now() }, text)
    for (const w of windows.slice(1)) times.push(await until('it is seen', () => w.evaluate(text => window.seen[text], text)) - began)
  }
  times.sort((a, b) => a - b)
  console.log(`a draft to 3 other windows: median ${times[times.length >> 1]} ms, p99 ${times[Math.floor(times.length * .99)]} ms (${times.length} times)`)
  for (let i = 0; i < 1000; i += 20) await Promise.all(Array.from({ length: 20 }, (_, n) => desk.ask(`Question ${i + n}: which of them?`, '-o', 'A', '-o', 'B')))
  const many = await loads(windows[0])
  const frames = await windows[0].evaluate(async () => {
    const side = document.querySelector('#side'), gaps = []
    let last = performance.now()
    for (let i = 0; i < 120; i++) {
      side.scrollTop += 400
      await new Promise(requestAnimationFrame)
      gaps.push(performance.now() - last)
      last = performance.now()
    }
    return gaps.sort((a, b) => a - b)
  })
  console.log(`1,000 questions: first paint ${many.paint} ms, interactive ${many.interactive} ms (best of 7); scrolling p95 ${Math.round(frames[114])} ms a frame`)
} finally {
  await desk.close()
  await browser.close()
}
