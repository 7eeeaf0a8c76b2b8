import type { PackageStep } from "@xfn/composition";
import type { FunctionCaller } from "@xfn/function-grpc";
import { resolveImageName } from "@xfn/oci-rootfs/image-name";
import type { FunctionHost, FunctionRunner } from "@xfn/runner-contract";
import {
  duplicateName,
  type FunctionPackage,
  FunctionPackageError,
  type OpenFunction,
  openRunning,
  openServed,
  readFunctionDocument,
} from "../packages/index.ts";
import { folderOf, readSource, type Source } from "./source.ts";
import { TestingError } from "./testing-error.ts";

/** Runs the packages of a test in containers: one server for each function, until {@link close}. */
export class PackageContainers {
  readonly #functions: ReadonlyMap<string, FunctionPackage>;
  /** The base folder of `oci:` packages that the Composition names. */
  readonly #folder: string | undefined;
  readonly #runner: FunctionRunner | undefined;
  readonly #open: Map<string, Promise<OpenFunction>> = new Map();
  #host: Promise<FunctionHost & { close?: () => Promise<void> }> | undefined;

  /**
   * @param functions - the `Function` documents
   * @param given.folder - the base folder of `oci:` packages that the Composition names
   * @param given.runner - runs the packages if it serves them; default: a runner of its own
   * @throws {TestingError} `InvalidInput`
   */
  constructor(
    functions: Source | readonly Source[],
    given: { folder: string | undefined; runner: FunctionRunner | undefined },
  ) {
    this.#functions = readPackages(functions);
    this.#folder = given.folder;
    this.#runner = given.runner;
  }

  /** The names of the documents. */
  get names(): readonly string[] {
    return [...this.#functions.keys()];
  }

  /** Whether the package of a step is known. */
  has(step: PackageStep): boolean {
    return this.#packageOf(step) !== undefined;
  }

  /** Starts the function of a step, unless another step has started it. */
  async caller(step: PackageStep, signal?: AbortSignal): Promise<FunctionCaller> {
    const fn = this.#packageOf(step);
    const key = JSON.stringify(step.functionRef);
    let open = this.#open.get(key);
    if (open === undefined) this.#open.set(key, (open = this.#start(fn, step, signal)));
    return (await open).caller;
  }

  /** Ends all functions, and the runner if it is not the caller's. */
  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#open.values());
    for (const one of opened) if (one.status === "fulfilled") one.value.close();
    this.#open.clear();
    const host = await this.#host?.catch(() => undefined);
    this.#host = undefined;
    await host?.close?.();
  }

  #packageOf({ functionRef }: PackageStep): FunctionPackage | undefined {
    if (functionRef.name !== undefined) return this.#functions.get(functionRef.name);
    const { package: image } = functionRef;
    return { name: image, image: this.#folder === undefined ? image : resolveImageName(image, this.#folder) };
  }

  async #start(fn: FunctionPackage | undefined, step: PackageStep, signal?: AbortSignal): Promise<OpenFunction> {
    if (fn?.target !== undefined) return await openRunning(fn.name, fn.target, signal);
    if (fn?.image === undefined) throw invalid(`Function ${fn?.name ?? step.name} has no spec.package`);
    this.#host ??= hostOf(this.#runner, step);
    const { image, pullPolicy, env } = fn;
    return await openServed(await this.#host, image, { step: step.name, pullPolicy, env, signal });
  }
}

function readPackages(source: Source | readonly Source[]): ReadonlyMap<string, FunctionPackage> {
  if (Array.isArray(source)) {
    const all = source.flatMap((one: Source) => [...readPackages(one).values()]);
    return byName(all);
  }
  const folder = folderOf(source);
  const functions = readSource(source, "functionPackages").map(({ value, source: file }) => {
    try {
      const fn = readFunctionDocument(value);
      const { image } = fn;
      return image === undefined || folder === undefined ? fn : { ...fn, image: resolveImageName(image, folder) };
    } catch (cause) {
      if (!(cause instanceof FunctionPackageError)) throw cause;
      throw invalid(`${file ?? "functionPackages"}: ${cause.message}`, cause);
    }
  });
  return byName(functions);
}

function byName(functions: readonly FunctionPackage[]): ReadonlyMap<string, FunctionPackage> {
  const twice = duplicateName(functions);
  if (twice !== undefined) throw invalid(`functionPackages has two Functions named ${twice}`);
  return new Map(functions.map((fn) => [fn.name, fn]));
}

async function hostOf(
  runner: FunctionRunner | undefined,
  step: PackageStep,
): Promise<FunctionHost & { close?: () => Promise<void> }> {
  if (runner !== undefined && "serve" in runner && typeof runner.serve === "function") {
    const host = runner as FunctionRunner & FunctionHost;
    return { serve: (...call) => host.serve(...call) };
  }
  const [{ openStore }, { createRunner, sandboxOwner }, { cacheDir }] = await Promise.all([
    import("@xfn/oci-rootfs"),
    import("@xfn/runner"),
    import("@xfn/runner/cache-dir"),
  ]).catch((cause: unknown) => {
    throw new TestingError(
      "MissingFunction",
      `step "${step.name}" needs a container: install the package @xfn/runner, or give a handler under packages`,
      { cause },
    );
  });
  // The store of the command line: it has the images of `xfn build` and `xfn pull`.
  return createRunner({ store: await openStore({ dir: cacheDir(), owner: sandboxOwner() }) });
}

function invalid(message: string, cause?: unknown): TestingError {
  return new TestingError("InvalidInput", message, cause === undefined ? undefined : { cause });
}
