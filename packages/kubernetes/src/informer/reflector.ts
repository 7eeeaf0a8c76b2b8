import { type Backoff, pauseAfter, sleep } from "@xfn/lifetime";
import { type ApiError, isApiError } from "../client/api-error.ts";
import type { Client, LiveObject, ResourceKind, WatchEvent } from "../client/client.ts";
import { watchSeconds } from "../client/watch.ts";
import type { InformerOptions } from "./informer.ts";

/** Receives what a reflector lists and watches. */
export interface Sink {
  /** Called before a list. @returns the form in which the sink wants each object as its page arrives */
  beginList(): ((object: LiveObject) => LiveObject) | undefined;
  replace(items: readonly LiveObject[]): Promise<void>;
  apply(event: WatchEvent): void;
}

export interface ReflectorOptions extends InformerOptions {
  /** Ends the reflector. */
  readonly signal: AbortSignal;
  /** Called for each failure. The reflector retries by itself. */
  readonly onError: (error: unknown) => void;
  readonly backoff?: Backoff | undefined;
  /** The time after which the server ends a watch. Default: 5 to 10 minutes. */
  readonly timeoutSeconds?: number | undefined;
}

// A server that restarts is unavailable for some seconds. A server that stays away gets a request every 15 s.
const BACKOFF: Backoff = { firstMs: 100, longestMs: 15_000 };
// A shorter watch counts as a failure, so that the next one does not start at once.
const SHORT_WATCH_MS = 1_000;

/**
 * Keeps a sink up to date with a kind. It has two states: *listing*, without a resource version, and *watching*, with
 * the version from which the next watch continues. After a failed connection the next watch continues, and also when
 * the time of a watch is up. It lists again in two cases:
 * - A watch cannot continue: the server has discarded the history (410), or was restored from a backup.
 * - The server ends a watch early. It does so when the kind's CRD changes: objects then have new defaults or lose
 *   fields, without an event and with the same resource version. It often answers the next watch with 410, but not
 *   always.
 */
export class Reflector {
  readonly #client: Client;
  readonly #kind: ResourceKind;
  readonly #sink: Sink;
  readonly #options: ReflectorOptions;
  #version: string | undefined;
  /**
   * Consecutive failures. Only a working watch resets them: a kind that can be listed but not watched must back off
   * too.
   */
  #failures = 0;

  constructor(client: Client, kind: ResourceKind, sink: Sink, options: ReflectorOptions) {
    this.#client = client;
    this.#kind = kind;
    this.#sink = sink;
    this.#options = options;
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list();
        else await this.#watch(this.#version);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error);
      }
    }
  }

  async #list(): Promise<void> {
    const { signal } = this.#options;
    const transform = (): ReturnType<Sink["beginList"]> => this.#sink.beginList();
    const all = await this.#client.list(this.#kind, { ...this.#selection(), transform });
    if (signal.aborted) return;
    await this.#sink.replace(all.items);
    this.#version = all.resourceVersion;
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { signal } = this.#options;
    const begin = performance.now();
    const { timeoutSeconds = watchSeconds() } = this.#options;
    const options = { ...this.#selection(), resourceVersion, timeoutSeconds };
    for await (const event of this.#client.watch(this.#kind, options)) {
      if (signal.aborted) return;
      this.#sink.apply(event);
      this.#version = event.object.metadata.resourceVersion;
      this.#failures = 0;
    }
    const lastedMs = performance.now() - begin;
    // The server counts from the request's arrival, so a watch whose time is up is never shorter here.
    if (lastedMs < timeoutSeconds * 1000) this.#version = undefined;
    if (lastedMs < SHORT_WATCH_MS) await this.#pause();
    else this.#failures = 0;
  }

  #selection(): Pick<InformerOptions, "labelSelector" | "fieldSelector" | "namespace" | "metadataOnly"> & {
    readonly signal: AbortSignal;
  } {
    const { labelSelector, fieldSelector, namespace, metadataOnly, signal } = this.#options;
    return { labelSelector, fieldSelector, namespace, metadataOnly, signal };
  }

  async #recover(error: unknown): Promise<void> {
    if (this.#version !== undefined && !(isApiError(error) && canResume(error))) this.#version = undefined;
    // A first expiry is normal after a long silence: list at once.
    if (isApiError(error, "Expired") && this.#failures === 0) {
      this.#failures++;
      return;
    }
    this.#options.onError(error);
    await this.#pause();
  }

  async #pause(): Promise<void> {
    const { backoff = BACKOFF, signal } = this.#options;
    await sleep(pauseAfter(++this.#failures, backoff), signal).catch(() => undefined);
  }
}

/** Whether a watch can continue from its last version once the server answers again. */
function canResume({ code }: ApiError): boolean {
  return code === "Unreachable" || code === "Busy" || code === "Unauthorized" || code === "Aborted";
}
