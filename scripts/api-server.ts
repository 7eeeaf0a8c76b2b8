// Builds the missing binaries of the tests' API server with Go (packages/dev-cluster/api-server/go.mod), in some
// minutes. With --check it builds nothing, and exits with 1 if one is missing.
import process from "node:process";
import { BuildServerError, buildBinaries, explainMissing, findBinaries } from "@xfn/dev-cluster";

const { missing = [] } = findBinaries();
if (process.argv.includes("--check")) process.exit(missing.length > 0 ? 1 : 0);

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());

const say = (message: string): void => {
  process.stderr.write(`xfn: ${message}\n`);
};
try {
  if (missing.length > 0) {
    await buildBinaries({
      programs: missing,
      onProgram: (program) => say(`building ${program} for an API server (once, some minutes)`),
      signal: stop.signal,
    });
    say("built what an API server needs");
  }
} catch (error) {
  if (stop.signal.aborted) process.exit(1);
  if (!(error instanceof BuildServerError)) throw error;
  say(`some tests will be skipped: ${error.code === "GoMissing" ? explainMissing(missing) : error.message}`);
}
