// Tells the stories of one kind of user, inside of the virtual machine: stories.js KIND MODE IMAGE. A line for each: "@@xfn "
// and JSON. MODE `killed` is a runner that is killed in the middle of a call, `all` the one after it.
import { writeFileSync } from "node:fs";
import type { Kind } from "./checks.ts";
import { leftFile, stories, tellerFor, untilRuns } from "./checks.ts";

/** A line of a terminal: what is longer may be cut by another program's words. */
const MAX_ERROR_CHARACTERS = 1_000;

/** Beyond this a story hangs: the slowest takes a few seconds of it on a machine that has nothing else to do. */
const STORY_MS = 120_000;

const [kind = "", mode = "", image = ""] = process.argv.slice(2);
const teller = await tellerFor(kind as Kind, image);
if (mode === "killed") {
  void teller.sh("sleep 600", { memoryBytes: 64 * 1024 * 1024, timeoutMs: 600_000 });
  writeFileSync(leftFile(kind), await untilRuns(kind as Kind));
  process.kill(process.pid, "SIGKILL");
}
for (const [name, tell] of Object.entries(stories[kind as Kind])) {
  const began = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not end within ${STORY_MS / 1000} s`)), STORY_MS);
  });
  const error = await Promise.race([tell(teller), tooLong]).then(
    () => undefined,
    (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)).slice(0, MAX_ERROR_CHARACTERS),
  );
  clearTimeout(timer);
  console.log(`@@xfn ${JSON.stringify({ kind, name, ms: Math.round(performance.now() - began), error })}`);
}
await teller.runner.close();
