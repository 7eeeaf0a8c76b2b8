// Runs the checks of one kind of user in the virtual machine: checks.js KIND MODE IMAGE. It prints a line for each
// check: "@@xfn " and JSON. MODE `killed` is a runner that is killed during a call, and `all` is the runner after it.
import { writeFileSync } from "node:fs";
import type { Kind } from "./checks.ts";
import { checks, leftFile, subjectOf, untilRuns } from "./checks.ts";

// The console interleaves the output of several programs, which may split longer lines.
const MAX_ERROR_CHARACTERS = 1_000;

// The slowest check takes a few seconds on an idle machine.
const CHECK_MS = 120_000;

const [kind = "", mode = "", image = ""] = process.argv.slice(2);
const subject = await subjectOf(kind as Kind, image);
if (mode === "killed") {
  void subject.sh("sleep 600", { memoryBytes: 64 * 1024 * 1024, timeoutMs: 600_000 });
  writeFileSync(leftFile(kind), await untilRuns(kind as Kind));
  process.kill(process.pid, "SIGKILL");
}
for (const [name, check] of Object.entries(checks[kind as Kind])) {
  const began = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not end within ${CHECK_MS / 1000} s`)), CHECK_MS);
  });
  const error = await Promise.race([check(subject), tooLong]).then(
    () => undefined,
    (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)).slice(0, MAX_ERROR_CHARACTERS),
  );
  clearTimeout(timer);
  console.log(`@@xfn ${JSON.stringify({ kind, name, ms: Math.round(performance.now() - began), error })}`);
}
await subject.runner.close();
