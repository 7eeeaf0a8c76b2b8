import { ApiError, type ApiErrorCode } from "../src/client/api-error.ts";
import type { Client, LiveObject, WatchEvent } from "../src/client/client.ts";

/** One response of a {@link scriptedClient}. */
export type Step =
  | { list: readonly LiveObject[]; version: string }
  | { listFails: ApiErrorCode }
  /** `ms`: pause after the events. */
  | { watch: readonly WatchEvent[]; last: "end" | "hang" | ApiErrorCode; ms?: number };

/**
 * A client that follows a script of lists and watches, and then blocks. `asked` contains all requests: `list`, `watch
 * VERSION`.
 */
export function scriptedClient(steps: readonly Step[]): { client: Client; asked: string[] } {
  const asked: string[] = [];
  const rest = [...steps];
  const next = (signal: AbortSignal | undefined, what: string): Promise<Step> => {
    asked.push(what);
    const step = rest.shift();
    return step === undefined ? aborted(signal) : Promise.resolve(step);
  };
  const client: Partial<Client> = {
    async list(_kind, options) {
      const step = await next(options?.signal, "list");
      if ("listFails" in step) throw new ApiError(step.listFails, step.listFails);
      if (!("list" in step)) throw new Error("the script has a watch next, not a list");
      const transform = options?.transform?.();
      const items = transform === undefined ? step.list : step.list.map(transform);
      return { items, resourceVersion: step.version };
    },
    async *watch(_kind, options) {
      const step = await next(options.signal, `watch ${options.resourceVersion}`);
      if (!("watch" in step)) throw new Error("the script has a list next, not a watch");
      yield* step.watch;
      if (step.ms !== undefined) await new Promise((resolve) => setTimeout(resolve, step.ms));
      if (step.last === "hang") await aborted(options.signal);
      else if (step.last !== "end") throw new ApiError(step.last, step.last);
    },
  };
  return { client: client as Client, asked };
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(new ApiError("Aborted", "aborted"));
    if (signal?.aborted === true) abort();
    signal?.addEventListener("abort", abort, { once: true });
  });
}

export function thing(
  name: string,
  version: number | string,
  more: { uid?: string; labels?: Record<string, string>; data?: string; controller?: string } = {},
): LiveObject {
  return {
    apiVersion: "v1",
    kind: "Thing",
    metadata: {
      name,
      namespace: "default",
      uid: more.uid ?? `uid-${name}`,
      resourceVersion: String(version),
      ...(more.labels === undefined ? {} : { labels: more.labels }),
      ...(more.controller === undefined ? {} : { ownerReferences: [{ uid: more.controller, controller: true }] }),
    },
    ...(more.data === undefined ? {} : { data: more.data }),
  };
}
