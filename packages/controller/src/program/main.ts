#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";

// What is made while the program loads, and in bursts, would blow up the space for young objects to 48 MB, which it then keeps
// for ever. `start` lets it grow as far as is useful.
setFlagsFromString("--semi-space-growth-factor=1");

// Compiled code is kept between runs, where `NODE_COMPILE_CACHE` or the system's temporary folder has place for it. Only what is
// imported after this line profits, hence the dynamic import.
enableCompileCache();
process.on("uncaughtException", (error) => {
  process.stderr.write(`xfn-controller: internal error: ${error.stack ?? error.message}\n`);
  process.exit(1);
});
// `xfn-controller start --help | head`: say nothing more than the exit code does.
process.stdout.on("error", () => {
  process.exitCode = 1;
});

try {
  const { main } = await import("./program.ts");
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // Only a damaged installation gets here: main reports everything else itself.
  process.stderr.write(`xfn-controller: cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
