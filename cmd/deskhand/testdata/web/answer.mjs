// Answers one question in a browser as a person does. LINK is the sign-in link of
// `deskhand inbox --web`, QUESTION an id, and OPTION the label of an option. It starts as
// the stories do: SCRIPT=answer.mjs run.sh BINARY
import { launch } from './desk.mjs'

const { LINK, QUESTION, OPTION } = process.env
const browser = await launch()
const page = await browser.newPage()
await page.goto(LINK)
await page.goto(new URL(`/inbox/${QUESTION}`, LINK).href)
await page.getByLabel(OPTION).check()
const send = page.getByRole('button', { name: /^Send/ })
await send.click()
await send.waitFor({ state: 'detached' })
await browser.close()
