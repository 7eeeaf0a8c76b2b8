import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The command line that `./xfn` starts. */
export const cli: string = join(import.meta.dirname, "../../packages/cli/dist/xfn.js");

/** A minimal function. */
const source = `import { compose } from "@xfn/functionio/sdk";

export default compose(({ xr, desired }) => {
  desired.apply("config", { apiVersion: "v1", kind: "ConfigMap", data: { greeting: \`hello \${xr.metadata?.name}\` } });
});
`;

/** Writes the hello function's folder. */
export function writeHello(directory: string): string {
  const folder = join(directory, "hello");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "function.ts"), source);
  return folder;
}

/** Builds an image with the command line, into the store of `environment`. */
export function build(folder: string, name: string, environment: NodeJS.ProcessEnv): void {
  execFileSync(process.execPath, [cli, "build", folder, "-t", name], {
    env: environment,
    stdio: ["ignore", "ignore", "inherit"],
  });
}
