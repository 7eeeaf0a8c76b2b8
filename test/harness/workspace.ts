import { type ChildProcess, spawn } from "node:child_process";
import { chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { ORDINARY_UID, ORDINARY_USER, XFN_MAIN } from "./places.ts";
import { which } from "./which.ts";

/** Who runs xfn: the user that runs the tests, or one without passwd entry (the same, unless the tests run as root). */
export type As = "self" | "ordinary-user";

/** What a program printed and how it ended. */
export interface Finished {
  /** Exit code; null if a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A program that was started. */
export interface Started {
  readonly child: ChildProcess;
  /** What it has printed on stderr so far. */
  stderr(): string;
  /** Resolves when it has ended and its output is complete. */
  readonly finished: Promise<Finished>;
}

export interface RunOptions {
  /** Default: the workspace's `work`. */
  cwd?: string;
  /** Added to, or (undefined) taken out of the environment. */
  env?: Readonly<Record<string, string | undefined>>;
  /** What it reads on stdin; default: nothing. */
  input?: string | Uint8Array;
  /** After how many milliseconds it is killed; default 120 000. A guard against a hanging test, not an assertion. */
  killAfterMs?: number;
}

/**
 * A temporary folder to run xfn in: `work` (current directory), `cache` (images), `home`, `tmp`. Everything that xfn leaves
 * behind is in it, or is found by its path: see leftovers.ts.
 */
export class Workspace implements AsyncDisposable {
  readonly root: string;
  readonly as: As;
  /** Whether programs are started as another user than the tests'. */
  readonly #switches: boolean;

  private constructor(root: string, as: As) {
    this.root = root;
    this.as = as;
    this.#switches = as === "ordinary-user" && process.getuid?.() === 0;
  }

  /** `as: "ordinary-user"` wants `needs("ordinary-user")` on the test. */
  static async create(options: { as?: As } = {}): Promise<Workspace> {
    const workspace = new Workspace(await mkdtemp(join(tmpdir(), "xfn-test-")), options.as ?? "self");
    await workspace.#own(workspace.root);
    for (const name of ["work", "cache", "home", "tmp"]) await workspace.makeFolder(name);
    return workspace;
  }

  /** An absolute path in `work`. */
  path(...parts: string[]): string {
    return join(this.root, "work", ...parts);
  }

  /** `$XDG_CACHE_HOME/xfn` of the programs run here. */
  get cache(): string {
    return join(this.root, "cache", "xfn");
  }

  /** Makes a folder of the workspace, relative to its root. */
  async makeFolder(name: string): Promise<string> {
    const path = join(this.root, name);
    await mkdir(path, { recursive: true });
    await this.#own(path);
    return path;
  }

  /** Writes a file into `work`, with the folders above it, and returns its path. */
  async write(name: string, content: string | Uint8Array, options: { mode?: number } = {}): Promise<string> {
    const path = this.path(name);
    if (dirname(name) !== ".") await this.makeFolder(join("work", dirname(name)));
    await writeFile(path, content, options);
    await this.#own(path);
    return path;
  }

  /** Runs `xfn ARGS` to its end. */
  async xfn(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
    return await this.startXfn(args, options).finished;
  }

  /** Starts `xfn ARGS`, for tests that do something while it runs. */
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
    // A program that ends without reading its input is the test's subject, not an error of the harness.
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

  /** What programs here see: nothing of the developer's own settings. */
  environment(): NodeJS.ProcessEnv {
    const kept = ["PATH", "LANG", "NODE_EXTRA_CA_CERTS"].map((name) => [name, process.env[name]] as const);
    return {
      ...Object.fromEntries(kept.filter(([, value]) => value !== undefined)),
      HOME: join(this.root, "home"),
      XDG_CACHE_HOME: join(this.root, "cache"),
      TMPDIR: join(this.root, "tmp"),
      NO_COLOR: "1",
    };
  }

  /** Removes the folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true, maxRetries: 3 });
  }

  async #own(path: string): Promise<void> {
    if (this.#switches) await chown(path, ORDINARY_UID, ORDINARY_UID);
  }
}
