import { type ApiError, isApiError } from "../client/api-error.ts";
import { type Backoff, pauseAfter } from "../client/backoff.ts";
import type { Client, LiveObject, ResourceKind, WatchEvent } from "../client/client.ts";
import { sleep } from "../client/rate-limit.ts";

/** Where a reflector puts what it learns. */
export interface Sink {
  replace(items: readonly LiveObject[]): void;
  apply(event: WatchEvent): void;
}

export interface ReflectorOptions {
  readonly labelSelector?: string | undefined;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Told of each failure; it goes on by itself. */
  readonly onError: (error: unknown) => void;
  readonly backoff?: Backoff | undefined;
}

// A server that restarts is away for some seconds; one that is gone is asked now and then.
const BACKOFF: Backoff = { firstMs: 100, longestMs: 15_000 };
// A watch that ends sooner did not do its work: the next one is not begun at once.
const SHORT_WATCH_MS = 1_000;

/**
 * Keeps a sink up to date with a kind until its signal: lists once, then watches, and goes on with the watch where the last one
 * ended. It lists again only where that cannot be: the server no longer knows what happened since (410), or knows less than
 * we do (it was restored from a backup). Never rejects.
 */
export async function reflect(
  client: Client,
  kind: ResourceKind,
  sink: Sink,
  options: ReflectorOptions,
): Promise<void> {
  const { labelSelector, signal, onError, backoff = BACKOFF } = options;
  /** What the next watch goes on from; undefined: a list comes first. */
  let version: string | undefined;
  /** Since a watch did its work. A list alone is no success: what may be listed and not watched would be listed without end. */
  let failures = 0;
  const list = async (): Promise<void> => {
    const all = await client.list(kind, { labelSelector, signal });
    if (signal.aborted) return;
    sink.replace(all.items);
    version = all.resourceVersion;
  };
  const watch = async (from: string): Promise<void> => {
    const begin = performance.now();
    for await (const event of client.watch(kind, { resourceVersion: from, labelSelector, signal })) {
      if (signal.aborted) return;
      sink.apply(event);
      version = event.object.metadata.resourceVersion;
      failures = 0;
    }
    if (performance.now() - begin < SHORT_WATCH_MS) await pause();
    else failures = 0;
  };
  const pause = async (): Promise<void> => {
    await sleep(pauseAfter(++failures, backoff), signal).catch(() => undefined);
  };
  while (!signal.aborted) {
    try {
      if (version === undefined) await list();
      else await watch(version);
    } catch (error) {
      if (signal.aborted) return;
      if (version !== undefined && !(isApiError(error) && goesOn(error))) version = undefined;
      // What happened too long ago is no failure: the list is fetched at once, for the first time.
      const expired = isApiError(error, "Expired") && failures === 0;
      if (expired) failures++;
      else {
        onError(error);
        await pause();
      }
    }
  }
}

/** Whether a watch can go on where it was, once the server answers again. */
function goesOn({ code }: ApiError): boolean {
  return code === "Unreachable" || code === "Busy" || code === "Unauthorized" || code === "Aborted";
}
