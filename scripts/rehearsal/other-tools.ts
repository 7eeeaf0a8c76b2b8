// Package managers and versions of Node other than those of the checkout, from npm's registry.
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expectOutput, runAs, tryAs } from "./run-as.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
const MANAGERS = { pnpm: "12.21.0", yarn: "1.22.22" } as const;
const PROGRAMS = ["xfn", "xfn-runner", "xfn-controller"] as const;
const OLD = [18, 20, 22] as const;

/** A home with a folder for an installation. */
export interface Home {
  readonly env: NodeJS.ProcessEnv;
  readonly app: string;
}

/** Installs the tools in an empty home. */
export async function installTools({ env, app }: Home): Promise<void> {
  const node = `npm:node-linux-${process.arch}`;
  const nodes = ["latest", ...OLD].map((version) => `node-${version}@${node}@${version}`);
  const managers = Object.entries(MANAGERS).map(([name, version]) => `${name}@${version}`);
  await runAs(env, app, "npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...nodes, ...managers]);
}

/** Installs `@xfn/cli` with each package manager in an empty home, and renders templates. */
export async function otherManagers(tools: Home, version: string, emptyHome: (name: string) => Home): Promise<void> {
  for (const manager of Object.keys(MANAGERS)) {
    const home = emptyHome(manager);
    writeFileSync(join(home.app, "package.json"), "{}");
    // Their settings are not in the file that npm's variable names.
    cpSync(home.env["npm_config_userconfig"] ?? "", join(home.app, ".npmrc"));
    const program = join(tools.app, "node_modules/.bin", manager);
    // pnpm fails if it leaves out a script of a package without this flag. xfn needs none.
    await runAs(home.env, home.app, program, ["add", "--ignore-scripts", `@xfn/cli@${version}`]);
    await expectOutput(home, "xfn", ["--version"], version);
    await expectOutput(home, "xfn", ["render", ...templates(home)], "kind: MySQLServer");
  }
}

/** Runs an installation of all programs with the newest Node, and checks that old ones are refused in one line. */
export async function otherNodes(tools: Home, home: Home, say: (text: string) => void): Promise<void> {
  const nodeOf = (version: string | number): string => join(tools.app, `node_modules/node-${version}/bin/node`);
  const bin = join(home.app, "node_modules/.bin");
  say(`Node ${(await runAs(home.env, home.app, nodeOf("latest"), ["--version"])).trim()}`);
  await expectOutput(home, nodeOf("latest"), [join(bin, "xfn"), "render", ...templates(home)], "kind: MySQLServer");
  for (const name of PROGRAMS) {
    await runAs(home.env, home.app, nodeOf("latest"), [join(bin, name), "--version"]);
    for (const major of OLD) {
      const { code, stderr } = await tryAs(home.env, home.app, nodeOf(major), [join(bin, name), "--version"]);
      const isClear = new RegExp(`^${name}: .*Node.*24.*\\n$`).test(stderr);
      if (code !== 1 || !isClear) throw new Error(`${name} with Node ${major}: expected one line, got:\n${stderr}`);
      if (major === OLD[0]) say(stderr.trim());
    }
  }
}

function templates({ app }: Home): string[] {
  cpSync(join(EXAMPLES, "templates"), join(app, "templates"), { recursive: true });
  return ["xr", "composition"].map((name) => join(app, "templates", `${name}.yaml`));
}
