// Runs the stories one after the other and says how each ended.
import { stories as inbox } from './stories.mjs'
import { stories as connecting } from './connect.mjs'
import { stories as others } from './search.mjs'
import { stories as work } from './board.mjs'
import { launch, Desk } from './desk.mjs'

const stories = { ...inbox, ...others, ...connecting, ...work }
const browser = await launch()
let failed = 0
for (const [name, story] of Object.entries(stories)) {
  if (process.env.STORY && !name.includes(process.env.STORY)) continue
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
process.exit(failed ? 1 : 0)
