import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  ENDED,
  FILTER,
  INPUT,
  INVALID,
  MODULE,
  OUTPUT,
  READY,
  type Ready,
  STDERR,
  WAITING,
} from "../protocol/frames.ts";
import { InvalidModuleError, type LoadedModule, loadModule } from "./load-module.ts";
import type { MemoryPages } from "./memory-pages.ts";
import { receive, send } from "./pipes.ts";
import { runInstance } from "./run-instance.ts";
import { StandardStreams, type StreamsHost } from "./standard-streams.ts";

// The process of one module. It runs one call after the other on this thread, each in a fresh instance: the runner
// kills the process to end a call. The next instance starts at once, and waits for its input.

/** The total memory of ended instances after which their pages are freed, in case V8 does not collect them itself. */
const FREE_AFTER_BYTES = 256 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const maxOutputBytes = Number(process.argv[2]);
const memoryBytes = Number(process.argv[3]);
const { filtered, pages } = await confine(receive(FILTER));
serve(receive(MODULE));

async function confine(program: Buffer): Promise<Ready & { readonly pages?: MemoryPages }> {
  if (program.length === 0) return { filtered: false };
  const { filterCalls } = await import("./filter-calls.ts");
  const { MemoryPages } = await import("./memory-pages.ts");
  const pages = new MemoryPages(memoryBytes);
  return { filtered: filterCalls(program), pages };
}

function serve(bytes: Buffer): void {
  let module: LoadedModule;
  try {
    module = loadModule(bytes);
  } catch (error) {
    if (!(error instanceof InvalidModuleError)) throw error;
    send(INVALID, error.message);
    return;
  }
  const ready: Ready = { filtered };
  send(READY, JSON.stringify(ready));
  let used = 0;
  for (;;) {
    used += runCall(module);
    if (used <= FREE_AFTER_BYTES) continue;
    collectGarbage();
    used = 0;
  }
}

/** Runs one call. Returns the size of the instance's memory, in bytes. */
function runCall(module: LoadedModule): number {
  const host: StreamsHost = {
    nextInput() {
      send(WAITING);
      return receive(INPUT);
    },
    reportError: (part) => send(STDERR, part),
  };
  const streams = new StandardStreams(host, maxOutputBytes);
  const { failure, memoryBytes: used } = runInstance(module, streams, pages);
  // A function that did not read its input ended before its call arrived.
  streams.takeInput();
  streams.reportError();
  if (failure === undefined) send(OUTPUT, streams.output);
  else send(ENDED, JSON.stringify(failure));
  return used;
}
