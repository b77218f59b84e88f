// Starts servers in three ways, and ends them where it is let to its end. Without
// LAB_SERVERS there is nothing to start.
import { spawn } from "node:child_process"
import { createReadStream, readFileSync } from "node:fs"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { expect, test } from "vitest"

const says = process.env.LAB_SERVERS, told = process.env.LAB_TOLD

test("the marker is there", () => {
  expect(process.env.REAPER_PARENT_PID).toMatch(/^\d+@\d+$/)
})

test.runIf(says)("servers", { timeout: 1e9 }, async () => {
  const node = process.execPath
  const detached = spawn(node, ["server.mjs", says!, "detached"], { detached: true, stdio: "ignore" })
  const child = spawn(node, ["server.mjs", says!, "child"], { stdio: "ignore" })
  const between = spawn("sh", ["-c", 'setsid "$@" >/dev/null 2>&1 & echo $!', "sh", node, "server.mjs", says!, "daemon"], { stdio: ["ignore", "pipe", "inherit"] })
  const [daemon] = await once(between.stdout!, "data")
  for await (const word of createInterface({ input: createReadStream(told!) })) {
    if (word === "end") break
    console.log(word)
  }
  for (const pid of [detached.pid!, child.pid!, Number(daemon)]) {
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).toContain(`\0REAPER_PARENT_PID=${process.env.REAPER_PARENT_PID}\0`)
    process.kill(pid)
  }
})
