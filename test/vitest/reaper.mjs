// Sweeps what killed runs left behind, and marks all that this run starts.
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

const reaper = process.env.REAPER_BIN ?? "reaper"

export default function setup() {
  const sweep = spawnSync(reaper, ["sweep", "--quiet"], { stdio: ["ignore", 2, 2], timeout: 60_000 })
  if (sweep.status !== 0) console.warn(`reaper sweep: ${sweep.error?.message ?? `status ${sweep.status}`}; the tests run all the same`)
  process.env.REAPER_PARENT_PID = identity()
}

// This process, told from a later one of the same number by its start time.
function identity() {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8")
    return `${process.pid}@${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]}`
  } catch {
    return spawnSync(reaper, ["id", String(process.pid)], { encoding: "utf8" }).stdout?.trim() || String(process.pid)
  }
}
