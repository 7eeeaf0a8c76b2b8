import { dial, type FunctionCaller, FunctionClient, FunctionConnection, parseTarget } from "@xfn/function-grpc";
import type { FunctionHost, ServedFunction, ServeOptions } from "@xfn/runner-contract";
import { FunctionPackageError } from "./function-package-error.ts";

/** A function's server with a connection to it. */
export interface OpenFunction {
  readonly caller: FunctionCaller;
  /** Ends the connection, and the server if no other caller uses it. */
  readonly close: () => void;
}

/**
 * Starts the server of an image, and connects to it.
 *
 * @param onStderr - called after each call with the server's stderr during the call
 */
export async function openServed(
  host: FunctionHost,
  image: string,
  options: ServeOptions,
  onStderr: (text: string) => void = () => undefined,
): Promise<OpenFunction> {
  const served = await host.serve(image, options);
  try {
    const connection = new FunctionConnection(await served.connect(options.signal));
    const close = (): void => {
      connection.close();
      served.release();
    };
    return { caller: withStderr(new FunctionClient(connection), served, onStderr), close };
  } catch (error) {
    served.release();
    throw error;
  }
}

/**
 * Connects to the server of a `Function` with the runtime Development, which runs already.
 *
 * @param target - HOST:PORT
 * @throws {FunctionPackageError}
 */
export async function openRunning(name: string, target: string, signal?: AbortSignal): Promise<OpenFunction> {
  const parsed = parseTarget(target);
  if (parsed === undefined)
    throw new FunctionPackageError("InvalidFunction", `${JSON.stringify(target)} is not of the form HOST:PORT`);
  const socket = await dial(parsed, signal ?? new AbortController().signal).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message || cause.name : String(cause);
    throw new FunctionPackageError(
      "Unreachable",
      `cannot connect to ${target}: ${why}. Function ${name} has render.crossplane.io/runtime: Development: start it ` +
        "with --insecure, or set render.crossplane.io/runtime-development-target",
      { cause },
    );
  });
  const connection = new FunctionConnection(socket);
  return { caller: new FunctionClient(connection), close: () => connection.close() };
}

/** Reports the server's stderr during a call, and adds it to errors. */
function withStderr(caller: FunctionCaller, served: ServedFunction, onStderr: (text: string) => void): FunctionCaller {
  return {
    async run(...call) {
      const before = served.written();
      try {
        return await caller.run(...call);
      } catch (error) {
        const stderr = await served.stderr();
        throw error instanceof Error && stderr !== "" ? Object.assign(error, { stderr }) : error;
      } finally {
        onStderr(await served.stderr(before));
      }
    },
  };
}
