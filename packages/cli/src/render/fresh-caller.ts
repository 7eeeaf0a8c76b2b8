import type { FunctionCaller } from "@xfn/function-grpc";
import type { OpenFunction } from "@xfn/pipeline/packages";

/** Makes each call in a server of its own, which ends after the call. */
export interface FreshCaller extends FunctionCaller {
  /** Starts the server of the first call ahead of it. Rejects if it cannot be started. */
  prepare(): Promise<void>;
  /** Ends all servers, and those that still start. */
  close(): void;
}

/** @param open starts a server */
export function freshCaller(open: () => Promise<OpenFunction>): FreshCaller {
  const used = new Set<OpenFunction>();
  /** The server for the next call. */
  let next: Promise<OpenFunction> | undefined;
  let isClosed = false;
  const end = (one: OpenFunction): void => {
    if (used.delete(one)) one.close();
  };
  const start = async (): Promise<OpenFunction> => {
    const started = await open();
    used.add(started);
    if (isClosed) end(started);
    return started;
  };
  return {
    async prepare() {
      next ??= start();
      await next;
    },
    async run(...call) {
      const starting = next ?? start();
      next = undefined;
      const started = await starting;
      try {
        return await started.caller.run(...call);
      } finally {
        end(started);
      }
    },
    close() {
      isClosed = true;
      for (const one of used) end(one);
    },
  };
}
