// A server that outlives whoever started it. It says its pid once it listens.
// Arguments: fifo, name.
import { appendFileSync } from "node:fs"
import { createServer } from "node:http"

const [, , fifo, name] = process.argv
createServer((_, res) => res.end(name)).listen(0, "127.0.0.1", () => appendFileSync(fifo, `${process.pid}\n`))
