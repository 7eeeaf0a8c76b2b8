/** Limits of one call. */
export interface CallOptions {
  /** Milliseconds until the call ends, from now. */
  readonly timeoutMs: number;
  /** The largest response, in bytes. Default {@link MAX_RESPONSE_BYTES}. */
  readonly maxResponseBytes?: number | undefined;
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined;
}

/** Reusable responses, by the tag of their request. */
export interface ResponseStore {
  /** A response, and the milliseconds for which it can still be used. */
  get(tag: string): { readonly bytes: Uint8Array; readonly leftMs: number } | undefined;
  set(tag: string, bytes: Uint8Array, ttlMs: number): void;
}

/** Limits of one run of a function. */
export interface FunctionRunOptions extends CallOptions {
  /** Answers repeated requests. Only responses with a time to live are stored, and fatal responses never. */
  readonly responses?: ResponseStore | undefined;
}

/** 100 MiB, like the limit of a FunctionIO. */
export const MAX_RESPONSE_BYTES: number = 100 * 1024 * 1024;
