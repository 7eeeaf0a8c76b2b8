/**
 * Changes a store, and kills itself before its N-th change of the file system: STORE N image NAME, or STORE N prune.
 * Otherwise prints the number of changes.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [dir = "", count = "", what, name = ""] = process.argv.slice(2);
let changes = 0;

const CHANGES = [
  "mkdirSync",
  "writeSync",
  "writeFileSync",
  "truncateSync",
  "renameSync",
  "linkSync",
  "symlinkSync",
  "unlinkSync",
  "rmSync",
  "rmdirSync",
  "chmodSync",
  "fchmodSync",
  "utimesSync",
  "futimesSync",
  "lutimesSync",
  "openSync",
] as const;
const all = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
for (const call of CHANGES) {
  const original = all[call] as (...args: unknown[]) => unknown;
  all[call] = (...args) => {
    const reads = call === "openSync" && (args[1] === "r" || (typeof args[1] === "number" && (args[1] & 3) === 0));
    if (!reads) {
      changes += 1;
      if (changes === Number(count)) process.kill(process.pid, "SIGKILL");
    }
    return original(...args);
  };
}
syncBuiltinESMExports();

const { openStore } = await import("../src/transfer/open-store.ts");
const store = await openStore({ dir });
if (what === "prune") store.prune({ maxBytes: 0, built: true });
else await store.image(name);
console.log(changes);
