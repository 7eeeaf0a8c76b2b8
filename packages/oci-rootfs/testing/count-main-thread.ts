/**
 * Prepares an image, and prints the number of changes that the main thread makes to the file system: STORE NAME
 * [CODE]. With CODE, the image must fail with it.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [dir = "", name = "", expected = "none"] = process.argv.slice(2);
let changes = 0;

// Worker threads have a copy of the module, which this does not change.
const all = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
for (const call of ["mkdirSync", "openSync", "symlinkSync", "linkSync", "chmodSync", "unlinkSync", "rmdirSync"]) {
  const original = all[call] as (...args: unknown[]) => unknown;
  all[call] = (...args) => {
    changes += 1;
    return original(...args);
  };
}
syncBuiltinESMExports();

const { openStore } = await import("../src/transfer/open-store.ts");
const store = await openStore({ dir });
const code = await store.image(name).then(
  () => "none",
  (error: unknown) => (error as { code: string }).code,
);
if (code !== expected) throw new Error(`${code} instead of ${expected}`);
console.log(changes);
