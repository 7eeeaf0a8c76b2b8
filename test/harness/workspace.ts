import { type ChildProcess, spawn } from "node:child_process";
import { chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { compiledFolder, HOST_BASES } from "./host-bases-folder.ts";
import { ORDINARY_UID, ORDINARY_USER, XFN_MAIN } from "./paths.ts";
import { which } from "./which.ts";

/** The user that runs xfn: the user of the tests, or, if that is root, optionally a user without passwd entry. */
export type As = "self" | "ordinary-user";

/** Whether the tests run as root, and can run xfn as both users. */
const AS_ROOT: boolean = process.getuid?.() === 0;

/** The users for a test that must hold for each. As an ordinary user, both would be the same. */
export const USERS: readonly As[] = AS_ROOT ? ["self", "ordinary-user"] : ["self"];

/** The output of a program and its exit. */
export interface Finished {
  /** Exit code; null if a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A running program. */
export interface Started {
  readonly child: ChildProcess;
  /** The stderr so far. */
  stderr(): string;
  /** Resolves when the program has exited and its output is complete. */
  readonly finished: Promise<Finished>;
}

export interface RunOptions {
  /** Default: the workspace's `work`. */
  cwd?: string;
  /** Variables to add to the environment, or (undefined) to remove from it. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The stdin; default: empty. */
  input?: string | Uint8Array;
  /** Milliseconds until it is killed; default 120 000. It guards against a hanging test and asserts nothing. */
  killAfterMs?: number;
}

/**
 * A temporary folder to run xfn in: `work` (current directory), `cache` (images), `home`, `tmp`. Leaks of xfn are in
 * it, or refer to its path: see leftovers.ts.
 */
export class Workspace implements AsyncDisposable {
  readonly root: string;
  readonly as: As;
  /** Whether programs run as another user than the tests. */
  readonly #switches: boolean;

  private constructor(root: string, as: As) {
    this.root = root;
    this.as = as;
    this.#switches = as === "ordinary-user" && AS_ROOT;
  }

  /** With `as: "ordinary-user"` the test needs `needs("ordinary-user")`. */
  static async create(options: { as?: As } = {}): Promise<Workspace> {
    const workspace = new Workspace(await mkdtemp(join(tmpdir(), "xfn-test-")), options.as ?? "self");
    await workspace.#own(workspace.root);
    for (const name of ["work", "cache", "home", "tmp"]) await workspace.makeFolder(name);
    return workspace;
  }

  /** Returns an absolute path in `work`. */
  path(...parts: string[]): string {
    return join(this.root, "work", ...parts);
  }

  /** `$XDG_CACHE_HOME/xfn` of the workspace's programs. */
  get cache(): string {
    return join(this.root, "cache", "xfn");
  }

  /** Creates a folder of the workspace, relative to its root. */
  async makeFolder(name: string): Promise<string> {
    const path = join(this.root, name);
    await mkdir(path, { recursive: true });
    await this.#own(path);
    return path;
  }

  /** Writes a file into `work`, with its parent folders, and returns its path. */
  async write(name: string, content: string | Uint8Array, options: { mode?: number } = {}): Promise<string> {
    const path = this.path(name);
    if (dirname(name) !== ".") await this.makeFolder(join("work", dirname(name)));
    await writeFile(path, content, options);
    await this.#own(path);
    return path;
  }

  /** Runs `xfn ARGS` until it exits. */
  async xfn(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
    return await this.startXfn(args, options).finished;
  }

  /** Starts `xfn ARGS`, for tests that act while it runs. */
  startXfn(args: readonly string[], options: RunOptions = {}): Started {
    return this.start([process.execPath, XFN_MAIN, ...args], options);
  }

  /** Starts any program as the workspace's user. */
  start(command: readonly string[], options: RunOptions = {}): Started {
    const [program, ...args] = this.#switches ? [which("setpriv") ?? "setpriv", ...ORDINARY_USER, ...command] : command;
    if (program === undefined) throw new Error("no command");
    const child = spawn(program, args, {
      cwd: options.cwd ?? this.path(),
      env: { ...this.environment(), ...options.env },
      stdio: "pipe",
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
    // A program may exit without reading its input. That is for the test to check.
    child.stdin.on("error", () => {});
    child.stdin.end(options.input ?? "");
    const text = (chunks: Buffer[]): string => Buffer.concat(chunks).toString("utf8");
    const guard = setTimeout(() => child.kill("SIGKILL"), options.killAfterMs ?? 120_000);
    const finished = new Promise<Finished>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve({ code, signal, stdout: text(stdout), stderr: text(stderr) }));
    }).finally(() => clearTimeout(guard));
    return { child, finished, stderr: () => text(stderr) };
  }

  /** The environment of programs, without the developer's own settings. */
  environment(): NodeJS.ProcessEnv {
    const kept = ["PATH", "LANG", "NODE_EXTRA_CA_CERTS"].map((name) => [name, process.env[name]] as const);
    return {
      ...Object.fromEntries(kept.filter(([, value]) => value !== undefined)),
      HOME: join(this.root, "home"),
      XDG_CACHE_HOME: join(this.root, "cache"),
      TMPDIR: join(this.root, "tmp"),
      // Without Go's own cache, each build compiles Go's library first: 20 s of processor time.
      ...(this.#switches ? {} : { GOCACHE: goCache() }),
      ...this.#compileCache(),
      NO_COLOR: "1",
    };
  }

  /** Removes the folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Programs share what Node compiles. In the cache of a workspace, each first start would compile all modules. */
  #compileCache(): NodeJS.ProcessEnv {
    const bases = process.env[HOST_BASES];
    if (bases === undefined) return {};
    return { NODE_COMPILE_CACHE: compiledFolder(bases, this.#switches ? ORDINARY_UID : (process.getuid?.() ?? 0)) };
  }

  async #own(path: string): Promise<void> {
    if (this.#switches) await chown(path, ORDINARY_UID, ORDINARY_UID);
  }
}

/** Where Go keeps what it has compiled: `go env GOCACHE`. */
function goCache(): string | undefined {
  const { GOCACHE, XDG_CACHE_HOME, HOME } = process.env;
  if (GOCACHE !== undefined) return GOCACHE;
  const caches = XDG_CACHE_HOME ?? (HOME === undefined ? undefined : join(HOME, ".cache"));
  return caches === undefined ? undefined : join(caches, "go-build");
}
