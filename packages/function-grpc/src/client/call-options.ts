/** Bounds of one call. */
export interface CallOptions {
  /** Milliseconds until the call ends, from now. */
  readonly timeoutMs: number;
  /** Bytes of a response. Default {@link MAX_RESPONSE_BYTES}. */
  readonly maxResponseBytes?: number | undefined;
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined;
}

/** Responses that can be used again, by the tag of their request. */
export interface ResponseStore {
  /** A response, and the milliseconds for which it can be used. */
  get(tag: string): { readonly bytes: Uint8Array; readonly leftMs: number } | undefined;
  set(tag: string, bytes: Uint8Array, ttlMs: number): void;
}

/** Bounds of one run of a function. */
export interface FunctionRunOptions extends CallOptions {
  /** Answers requests that were answered before. Only responses with a time to live are stored, and no fatal ones. */
  readonly responses?: ResponseStore | undefined;
}

/** 100 MiB, the bound on a FunctionIO too. */
export const MAX_RESPONSE_BYTES: number = 100 * 1024 * 1024;
