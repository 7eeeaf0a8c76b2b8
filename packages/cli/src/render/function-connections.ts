import type { PackageStep, PullPolicy } from "@xfn/composition";
import { type FunctionCaller, FunctionClient, type UnaryCaller } from "@xfn/function-grpc";
import type { FunctionConnector } from "@xfn/pipeline";
import { type FunctionPackage, type OpenFunction, openRunning, openServed } from "@xfn/pipeline/packages";
import type { FunctionHost } from "@xfn/runner-contract";
import { CliError } from "../errors/cli-error.ts";
import type { PackageRunner } from "../runner/lazy-runner.ts";
import { freshCaller } from "./fresh-caller.ts";

export interface FunctionConnectionsInput {
  /** The Functions of FUNCTIONS; none without it. */
  readonly functions: readonly FunctionPackage[];
  /** Images that this run has built. They are never pulled, even if `pull` is `Always`. */
  readonly built: ReadonlySet<string>;
  /** Starts the servers of packages. */
  readonly host: () => Promise<FunctionHost | PackageRunner>;
  /** `--pull`. */
  readonly pull: PullPolicy | undefined;
  /** `--fresh-functions`. */
  readonly fresh: boolean;
  readonly signal: AbortSignal;
}

/** Characters that are kept of each function: what a runner keeps of one call. */
const MAX_STDERR_LENGTH = 16 * 1024;

/** Connects the steps of a Composition to their functions: one connection for each function. */
export class FunctionConnections implements FunctionConnector {
  readonly #input: FunctionConnectionsInput;
  readonly #callers: Map<string, Promise<FunctionCaller>> = new Map();
  /** The function of each step, by the step's name. */
  readonly #functions: Map<string, FunctionPackage> = new Map();
  /** The end of what a function wrote to stderr during its last step, which can call it several times. */
  readonly #stderr: Map<string, string> = new Map();
  readonly #closers: (() => void)[] = [];
  readonly #ended: AbortController = new AbortController();
  readonly #signal: AbortSignal;

  constructor(input: FunctionConnectionsInput) {
    this.#input = input;
    this.#signal = AbortSignal.any([input.signal, this.#ended.signal]);
  }

  async connect(step: PackageStep): Promise<FunctionCaller> {
    const fn = this.#functionOf(step);
    this.#functions.set(step.name, fn);
    const key = JSON.stringify(step.functionRef);
    let caller = this.#callers.get(key);
    if (caller === undefined) this.#callers.set(key, (caller = this.#connect(fn)));
    return await caller;
  }

  /** Called before a step. Discards the stderr of its function, which belongs to earlier steps. */
  begin(step: string): void {
    this.#stderr.delete(this.#functions.get(step)?.name ?? "");
  }

  /** The end of what the function of a step wrote to stderr. */
  stderrOf(step: string): string | undefined {
    return this.#stderr.get(this.#functions.get(step)?.name ?? "");
  }

  /** Closes all connections, and those that are being made. The host ends its servers. */
  close(): void {
    this.#ended.abort();
    for (const close of this.#closers.toReversed()) close();
    this.#closers.length = 0;
  }

  #functionOf({ functionRef }: PackageStep): FunctionPackage {
    if (functionRef.name === undefined) return { name: functionRef.package, image: functionRef.package };
    const { functions } = this.#input;
    if (functions.length === 0)
      throw new CliError(
        "Failed",
        "its package is unknown: add FUNCTIONS, the file with the Functions, after COMPOSITION, or name the package in functionRef.package",
      );
    const fn = functions.find(({ name }) => name === functionRef.name);
    if (fn !== undefined) return fn;
    const known = functions.map(({ name }) => name).join(", ");
    throw new CliError("Failed", `there is no Function of this name in FUNCTIONS, which has: ${known}`);
  }

  async #connect(fn: FunctionPackage): Promise<FunctionCaller> {
    if (fn.target === undefined) return await this.#serve(fn);
    const open = await openRunning(fn.name, fn.target, this.#signal);
    this.#release(open.close);
    return open.caller;
  }

  async #serve(fn: FunctionPackage): Promise<FunctionCaller> {
    if (this.#input.fresh) {
      const caller = freshCaller(async () => await this.#open(fn));
      this.#release(() => caller.close());
      await caller.prepare();
      return caller;
    }
    const open = await this.#open(fn);
    this.#release(open.close);
    return open.caller;
  }

  async #open(fn: FunctionPackage): Promise<OpenFunction> {
    const { name, image, env, pullPolicy } = fn;
    if (image === undefined) throw new CliError("Failed", `Function ${name} has no spec.package`);
    const { fresh, built } = this.#input;
    const pull = built.has(image) ? "Never" : (this.#input.pull ?? pullPolicy);
    const signal = this.#signal;
    const host = await this.#input.host();
    const onStderr = (text: string): void =>
      void this.#stderr.set(name, `${this.#stderr.get(name) ?? ""}${text}`.slice(-MAX_STDERR_LENGTH));
    if ("callFunction" in host) return openAtRunner(host, { name, image, env, pull, onStderr });
    return await openServed(host, image, { signal, fresh, pullPolicy: pull, env }, onStderr);
  }

  /** One function can be connected after another has failed, and the run with it. */
  #release(close: () => void): void {
    if (this.#ended.signal.aborted) close();
    else this.#closers.push(close);
  }
}

/** A package that a runner in another process serves. */
interface RemotePackage {
  readonly name: string;
  readonly image: string;
  readonly env: FunctionPackage["env"];
  readonly pull: PullPolicy | undefined;
  readonly onStderr: (text: string) => void;
}

/** That runner starts the server at the first call, and ends it once it is idle. */
function openAtRunner(host: PackageRunner, { name, image, env, pull, onStderr }: RemotePackage): OpenFunction {
  if (env !== undefined) {
    throw new CliError(
      "Failed",
      `Function ${name} has render.crossplane.io/runtime-docker-env, and a runner takes no environment variables: remove it, or --runner`,
    );
  }
  const call: UnaryCaller["call"] = async (path, message, { timeoutMs, signal }) => {
    const options = { timeoutMs, onStderr, ...(pull && { pullPolicy: pull }), ...(signal && { signal }) };
    return await host.callFunction(image, path, message, options);
  };
  return { caller: new FunctionClient({ call }), close: () => undefined };
}
