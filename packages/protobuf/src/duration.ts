import { value } from "./field.ts";
import { type Message, message } from "./message.ts";
import { int32, int64 } from "./scalar.ts";

/** google.protobuf.Duration. */
export interface Duration {
  seconds: bigint;
  nanos: number;
}

export const Duration: Message<Duration> = message("Duration", { seconds: value(1, int64), nanos: value(2, int32) });
