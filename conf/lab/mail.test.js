// SPDX-License-Identifier: ISC
//
// A test of an application that sends mail, with nothing but Node 20 or newer; yours may use nodemailer and imapflow:
//
//   oncedrop-lab node --test mail.test.js

const test = require('node:test')
const assert = require('node:assert')
const net = require('node:net')
const { once } = require('node:events')
const { setTimeout: sleep } = require('node:timers/promises')
const { randomUUID } = require('node:crypto')

const { ONCEDROP_HOST: host, ONCEDROP_PASSWORD: password, ONCEDROP_SMTP_PORT, ONCEDROP_IMAP_PORT } = process.env
const [lisa, scuba] = process.env.ONCEDROP_ACCOUNTS.split(' ')

// Sends each command when the answer to the one before it has come, and returns all answers.
async function talk(port, greeting, answer, commands) {
  const socket = net.connect(port, host).setEncoding('utf8')
  const answers = []
  let received = ''
  socket.on('data', text => { received += text })
  const next = async pattern => {
    while (!pattern.test(received)) await once(socket, 'data')
    answers.push(received)
    received = ''
  }
  await next(greeting)
  for (const command of commands) {
    socket.write(command + '\r\n')
    await next(answer)
  }
  socket.end()
  return answers
}

async function send(from, to, message) {
  const reply = /^\d{3} .*\r\n$/m
  const commands = ['EHLO localhost', `MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, 'DATA', message + '\r\n.']
  const answers = await talk(ONCEDROP_SMTP_PORT, reply, reply, commands)
  assert.match(answers.at(-1), /^250 /)
}

async function count(account, mailbox, id) {
  const commands = [`a LOGIN ${account} ${password}`, `a EXAMINE ${mailbox}`, `a SEARCH HEADER Message-ID ${id}`]
  const answers = await talk(ONCEDROP_IMAP_PORT, /\r\n$/, /^a .*\r\n$/m, commands)
  const numbers = /^\* SEARCH(.*)\r$/m.exec(answers.at(-1))     // null while there is no such mailbox
  return numbers ? numbers[1].split(' ').filter(Boolean).length : 0
}

async function countWhenThere(...where) {
  for (const end = Date.now() + 30000; Date.now() < end && await count(...where) === 0;) await sleep(50)
  return count(...where)
}

test('a message arrives exactly once', { timeout: 60000 }, async () => {
  const id = `<${randomUUID()}@example.org>`
  await send(lisa, scuba, [`From: ${lisa}`, `To: ${scuba}`, 'Subject: Cookies', `Date: ${new Date().toUTCString()}`,
    `Message-ID: ${id}`, '', 'They are in the kitchen.'].join('\r\n'))
  assert.equal(await countWhenThere(scuba, 'INBOX', id), 1)
  assert.equal(await countWhenThere(lisa, 'Sent', id), 1)
})
