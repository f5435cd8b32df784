// Runs the stories, some at a time, each with a browser of its own, and says how
// each ended. STORY: those whose name this regular expression matches.
import { stories as inbox } from './stories.mjs'
import { stories as connecting } from './connect.mjs'
import { stories as others } from './search.mjs'
import { stories as work } from './board.mjs'
import { stories as views } from './apps.mjs'
import { stories as review } from './review.mjs'
import { stories as defects } from './defects.mjs'
import { stories as details } from './details.mjs'
import { stories as scale } from './scale.mjs'
import { stories as plan } from './plan.mjs'
import { stories as links } from './links.mjs'
import { stories as push } from './push.mjs'
import { stories as team } from './team.mjs'
import { stories as site } from './site.mjs'
import { pages, stories as seldom } from './pages.mjs'
import { launch, looked, Desk } from './desk.mjs'

const stories = { ...inbox, ...others, ...connecting, ...work, ...views, ...defects, ...details, ...review, ...scale, ...plan, ...links, ...seldom, ...push, ...team, ...site }
const queue = Object.entries(stories).filter(([name]) => new RegExp(process.env.STORY ?? '').test(name)).values()
const again = [] // those that failed beside others
// tell runs a story and says how it ended. One that failed is given to failed,
// with what its windows showed.
const tell = async (browser, name, story, failed) => {
  const began = Date.now()
  const desk = await Desk.open(browser)
  try {
    await story(desk)
    console.log(`ok   ${name} (${Date.now() - began} ms)`)
  } catch (e) {
    console.log(`FAIL ${name}: ${e.stack}\n${await desk.seen()}`)
    failed.push([name, story])
  } finally {
    await desk.close()
  }
}
const run = async () => {
  const browser = await launch()
  for (const [name, story] of queue) await tell(browser, name, story, again)
  await browser.close()
}
await Promise.all([run(), run(), run()]) // they wait more than they work

// A machine may be too slow for three browsers: what failed runs once more, alone.
const failed = []
const browser = await launch()
for (const [name, story] of again) {
  console.log(`once more, alone: ${name}`)
  await tell(browser, name, story, failed)
}
await browser.close()
if (again.length) console.log(`${again.length} failed beside others, of which ${failed.length} failed alone`)
const unseen = process.env.STORY ? [] : pages.filter(p => ![...looked].some(path => p.test(path)))
for (const p of unseen) console.log(`FAIL axe: no story looked at ${p}`)
process.exit(failed.length || unseen.length ? 1 : 0)
