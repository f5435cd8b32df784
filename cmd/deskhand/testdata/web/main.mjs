// Runs the stories, some at a time, each with a browser of its own, and says how
// each ended. STORY: those with that word in their name.
import { stories as inbox } from './stories.mjs'
import { stories as connecting } from './connect.mjs'
import { stories as others } from './search.mjs'
import { stories as work } from './board.mjs'
import { stories as views } from './apps.mjs'
import { stories as review } from './review.mjs'
import { stories as defects } from './defects.mjs'
import { launch, Desk } from './desk.mjs'

const stories = { ...inbox, ...others, ...connecting, ...work, ...views, ...defects, ...review }
const queue = Object.entries(stories).filter(([name]) => name.includes(process.env.STORY ?? '')).values()
let failed = 0
const run = async () => {
  const browser = await launch()
  for (const [name, story] of queue) {
    const began = Date.now()
    const desk = await Desk.open(browser)
    try {
      await story(desk)
      console.log(`ok   ${name} (${Date.now() - began} ms)`)
    } catch (e) {
      failed++
      console.log(`FAIL ${name}: ${e.stack}`)
    } finally {
      await desk.close()
    }
  }
  await browser.close()
}
await Promise.all([run(), run(), run()]) // they wait more than they work
process.exit(failed ? 1 : 0)
