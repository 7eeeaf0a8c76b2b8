import { Metadata, type ServiceError } from "@grpc/grpc-js";
import type { StatusName } from "../wire/runner-grpc-error.ts";
import { statusNumber } from "../wire/status-codes.ts";

/** The end of a call: `failure` is null if there is a response. */
export interface Answer {
  readonly failure: ServiceError | null;
  readonly response: Uint8Array;
  readonly trailers: Metadata | undefined;
  /** Whether its connection ended because the server sent too much protocol data. */
  readonly isExcess?: boolean;
}

export interface OutgoingCall {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly message: readonly Uint8Array[];
  readonly metadata: Metadata;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
}

export interface RunningCall {
  /** Ends the call with CANCELLED. */
  cancel(): void;
}

/** The answer of a call that failed. */
export function failed(status: StatusName, details: string, metadata: Metadata = new Metadata()): Answer {
  const failure = Object.assign(new Error(details), { code: statusNumber(status), details, metadata });
  return { failure, response: new Uint8Array(), trailers: metadata };
}
