// The story of the pages and states that the other stories do not look at, and the list of
// all pages: each needs a look by axe.
import assert from 'node:assert/strict'
import { work } from './board.mjs'
import { accessible, until } from './desk.mjs'

// pages are the paths of all pages that browsers are shown; see Routes in runtime/app.
// Links in mails have the page of the links in notifications.
export const pages = [
  /^\/$/, /^\/inbox\/[0-9a-f-]{36}$/, /^\/inbox\/together$/, /^\/history$/, /^\/rules$/, /^\/answer\/./, /^\/phone$/, /^\/login$/, /^\/join$/,
  /^\/search$/, /^\/manual$/, /^\/manual\/./, /^\/connect\/./, /^\/work$/, /^\/work\/projects$/, /^\/work\/tasks\/./, /^\/work\/attempts\/[^/]+$/, /^\/work\/attempts\/[^/]+\/file$/,
]

export const stories = {
  async 'pages: what is seldom seen'(desk) {
    const page = await desk.window('/history')
    await page.getByText('Nothing here yet').waitFor()
    await accessible(page, 'an empty history')
    for (const [path, words, what] of [
      ['/nowhere', 'Page not found', 'a page that is missing'], ['/inbox/0190aaaa-0000-7000-8000-000000000000', 'There is no such question', 'a question that is missing'],
      ['/history?q=nothing', 'Nothing contains', 'a history without what is searched'], ['/rules', 'rule', 'no rules'], ['/inbox/together', 'No open question', 'no questions to answer at once'],
      ['/answer/x', 'Not possible', 'a link that is no link'],
    ]) {
      await page.goto(desk.base + path)
      await page.getByText(words).first().waitFor()
      await accessible(page, what)
    }
    assert.deepEqual(page.errors, [])
  },

  async 'pages: a board without a project, and what is missing there'(desk) {
    await work(desk)
    await desk.run('tasks', 'project', 'rm', 'shop')
    const page = await desk.window('/work')
    await page.getByText('No project yet').waitFor()
    await accessible(page, 'a board without a project')
    await page.goto(desk.base + '/work/projects')
    await page.getByText('There is no project yet').waitFor()
    await accessible(page, 'no projects')
    await page.goto(desk.base + '/work/tasks/0190aaaa-0000-7000-8000-000000000000')
    await page.getByText('There is no such item').waitFor()
    await accessible(page, 'a task that is missing')
    assert.deepEqual(page.errors, [])
  },

  async 'pages: an invitation, and a page that is not open to a person'(desk) {
    await work(desk)
    await desk.run('people', 'add', 'eve', '--scope', 'answer')
    const link = (await desk.run('people', 'invite', 'eve')).match(/http\S+\/join\S*/)[0]
    const context = await desk.browser.newContext()
    desk.contexts.push(context)
    const page = await context.newPage()
    await page.goto(desk.base + new URL(link).pathname + new URL(link).search + new URL(link).hash)
    await page.getByRole('heading', { name: 'You are invited' }).waitFor()
    await accessible(page, 'an invitation')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await until('eve is signed in', async () => (await context.cookies()).some(c => /session/i.test(c.name)))
    await page.goto(desk.base + '/work')
    await page.getByRole('heading', { name: 'This page is not open to you' }).waitFor()
    await accessible(page, 'a page that is not open to a person')
  },
}
