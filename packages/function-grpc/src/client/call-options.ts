/** Bounds of one call. */
export interface CallOptions {
  /** Milliseconds until the call ends, from now. */
  readonly timeoutMs: number;
  /** Bytes of a response. Default {@link MAX_RESPONSE_BYTES}. */
  readonly maxResponseBytes?: number | undefined;
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined;
}

/** 100 MiB, the bound on a FunctionIO too. */
export const MAX_RESPONSE_BYTES: number = 100 * 1024 * 1024;
