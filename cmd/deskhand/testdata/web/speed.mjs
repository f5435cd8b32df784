// Measures in a real browser what the pages promise, and prints it: the first
// paint, the page with 1,000 open questions, and how long a draft takes from a
// key to three other windows, when an attempt's changes can be reviewed, and a board,
// an inbox and a conversation that are large. STORY: only the measurements whose name
// this regular expression matches, of questions, review, inbox, board and conversation.
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { Desk, launch, until } from './desk.mjs'
import { attempt, work } from './board.mjs'

const browser = await launch()
const desk = await Desk.open(browser)
// numbers are milliseconds from the start of a load: when something was painted,
// when the page could be used, as its script had run, and when the script had
// fetched what the page came without.
async function numbers(page) {
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length && !document.querySelector('[data-rest] a'))
  return page.evaluate(() => ({
    paint: Math.round(performance.getEntriesByName('first-contentful-paint')[0].startTime),
    interactive: Math.round(performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd),
    all: Math.round(performance.getEntriesByType('resource').findLast(r => r.name.includes('/inbox/list'))?.responseEnd ?? 0),
  }))
}
const best = all => Object.fromEntries(Object.keys(all[0]).map(key => [key, Math.min(...all.map(one => one[key]))]))
// loads opens the page where none was, so that nothing has to be taken down first.
async function everyLoad(page) {
  const all = [], url = page.url()
  for (let i = 0; i < 15; i++) {
    await page.goto('about:blank')
    await page.goto(url)
    all.push(await numbers(page))
  }
  return all
}
const loads = async page => best(await everyLoad(page))
const median = all => all.sort((a, b) => a - b)[all.length >> 1]
// usable words how soon the page can be used.
const usable = async page => {
  const all = await everyLoad(page)
  return `first paint ${best(all).paint} ms, usable ${best(all).interactive} ms, median ${median(all.map(one => one.interactive))} ms (15 loads)`
}
// took is the median time from an act to what it shows, in milliseconds, over ten times.
const took = async (act, shown) => {
  const times = []
  for (let i = 0; i < 10; i++) {
    const began = Date.now()
    await act(i)
    await shown(i)
    times.push(Date.now() - began)
  }
  return median(times) + ' ms'
}
const questions = async () => {
  const id = await desk.ask('Which name?')
  const windows = [await desk.window('/inbox/' + id)]
  const first = await loads(windows[0])
  for (let i = 0; i < 3; i++) windows.push(await desk.window('/inbox/' + id))
  console.log(`one question: first paint ${first.paint} ms, interactive ${first.interactive} ms (best of 15)`)
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
  await desk.run('ask', 'cancel', id)
  for (let i = 0; i < 1000; i += 20) await Promise.all(Array.from({ length: 20 }, (_, n) => desk.ask(`Question ${i + n}: which of them?`, '-o', 'A', '-o', 'B')))
  await windows[0].goto(desk.base)
  const many = await loads(windows[0])
  const cards = await windows[0].locator('#list li').count()
  if (cards !== 1000) throw new Error(`${cards} cards, want 1000`)
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
  console.log(`1,000 questions: first paint ${many.paint} ms, interactive ${many.interactive} ms, all read ${many.all} ms (best of 15); scrolling p95 ${Math.round(frames[114])} ms a frame`)
}

// review measures the page of an attempt that changed 60 files and about 40,000 lines.
// Usable means that the lines of the first file that is not folded are there and
// that the keys work. The files differ in size, as in the two cases here.
const review = async () => {
  await work(desk)
  for (const [name, lines] of [['files of 25 to 1,309 lines', '25 + (f - 10) * 87 / 4'], ['files of 667 lines, all folded', '667']]) {
    const { path } = await attempt(desk, name, `run mkdir many && for f in $(seq 10 69); do for i in $(seq $((${lines}))); do echo "func line$i() { return $f }"; done > many/file$f.go; done`, 'say Done.')
    const page = await desk.window(path)
    await page.locator('#standing').getByText('completed').waitFor()
    const all = []
    for (let i = 0; i < 15; i++) {
      await page.goto('about:blank')
      await page.goto(desk.base + path)
      all.push(await numbers(page))
      if (await page.locator('.files > .file').count() !== 60) throw new Error('the page does not have 60 files')
      if (name.startsWith('files of 25') && !await page.locator('#f0 tr.add').count()) throw new Error('the first file is not shown')
    }
    const sorted = all.map(one => one.interactive).sort((a, b) => a - b)
    console.log(`60 files with ${await page.locator('#changes-title .add').innerText()} lines (${name}): first paint ${best(all).paint} ms, usable ${sorted[0]} ms, median ${sorted[7]} ms (15 loads)`)
  }
}

// inbox measures 300 open questions of three projects, and finding one of them.
const inbox = async () => {
  for (let i = 0; i < 300; i += 20) await Promise.all(Array.from({ length: 20 }, (_, n) => desk.ask(`Question ${i + n} of ${'abc'[n % 3]}: which of them?`, '-o', 'A', '-o', 'B')))
  const page = await desk.window('/')
  console.log(`300 questions: ${await usable(page)}`)
  if (await page.locator('#list li').count() !== 300) throw new Error('the page does not have 300 questions')
  await page.locator('.filter summary').first().click()
  const found = await took(i => page.getByRole('searchbox').fill(`question ${100 + i} of`), i => until('it is found', async () => (await page.locator('#list .heading').allInnerTexts()).join().startsWith(`Question ${100 + i} of`)))
  console.log(`  one of 300 found in ${found}`)
}

// board measures 500 tasks with an attempt each, and finding one of them.
const board = async () => {
  await work(desk)
  for (let i = 0; i < 500; i += 10) await Promise.all(Array.from({ length: 10 }, (_, n) => attempt(desk, `Task ${i + n}`, 'say Done.')))
  await until('all have ended', async () => JSON.parse(await desk.run('tasks', 'ls', '--json')).tasks.every(t => !t.has_in_progress_attempt), 600000)
  const page = await desk.window('/work')
  console.log(`500 attempts, ${await page.locator('.card').count()} cards: ${await usable(page)}`)
  await page.goto(desk.base + '/work?agent=fake')
  console.log(`  all ${await page.locator('.card').count()} of a filter: ${await usable(page)}`)
  const found = await took(async i => { await page.getByRole('searchbox').fill(`task ${10 + i}`); await page.keyboard.press('Enter') }, i => page.locator('.card a', { hasText: `Task ${10 + i}` }).first().waitFor())
  console.log(`  found in ${found}`)
}

// conversation measures a log of 20 MB: its page, a search in it, and how long a line
// takes from the agent to the page.
const conversation = async () => {
  const go = join(desk.dir, 'go')
  desk.env.DESKHAND_CONFIG = join(desk.dir, 'deskhand.yaml')
  writeFileSync(desk.env.DESKHAND_CONFIG, `tasks:\n  executors:\n    printer: {kind: shell, command: [sh, -c, 'awk "BEGIN { for (i = 1; i <= 290000; i++) printf \\"line %d of a log with lines of some length, as those of a build are\\n\\", i }"; echo needle; until test -e ${go}; do sleep 0.05; done; for i in 1 2 3 4 5 6 7 8 9 10; do echo said $i $(date +%s%3N).; sleep 0.7; done', '{{prompt}}']}\n`)
  await work(desk)
  const task = JSON.parse(await desk.run('tasks', 'add', 'Print', '--project', 'shop', '--json')).task_id
  const { attempt_id: id } = JSON.parse(await desk.run('tasks', 'start', task, '--executor', 'printer', '--json'))
  const page = await desk.window('/work/attempts/' + id)
  await page.locator('#log').getByText('needle').waitFor({ timeout: 120000 })
  console.log(`a log of 20 MB: ${await usable(page)}`)
  await page.locator('#log').getByText('needle').waitFor()
  await page.evaluate(() => {
    window.lag = []
    new MutationObserver(() => {
      for (const [all, n, at] of document.querySelector('#log').textContent.matchAll(/said (\d+) (\d{13})\./g)) window.lag[n] ??= Date.now() - at
    }).observe(document.querySelector('#log'), { childList: true, subtree: true, characterData: true })
  })
  writeFileSync(go, '')
  const lag = await until('all is seen', () => page.evaluate(() => window.lag.filter(n => n !== undefined).length === 10 && window.lag.slice(1)))
  console.log(`  a line is seen after ${median(lag)} ms (median of 10)`)
  await page.locator('#standing').getByText('completed').waitFor()
  for (const words of ['needle', 'line 7', 'no such words']) {
    const found = await took(async () => { await page.goto(desk.base + '/work/attempts/' + id + '?q=' + encodeURIComponent(words)) }, () => page.getByText(/^\d+ found$|^No matches/).first().waitFor())
    console.log(`  "${words}" is searched in ${found}`)
  }
}
try {
  for (const [name, measure] of Object.entries({ questions, review, inbox, board, conversation })) if (new RegExp(process.env.STORY ?? '').test(name)) await measure()
} finally {
  await desk.close()
  await browser.close()
}
