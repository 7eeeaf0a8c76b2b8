export { type Backoff, pauseAfter } from "./backoff.ts";
export { onAbort } from "./on-abort.ts";
export { type RetryPolicy, retrying } from "./retrying.ts";
export { type Lease, Shared } from "./shared.ts";
export { sleep } from "./sleep.ts";
export { TurnLines } from "./turn-lines.ts";
export { untilAborted } from "./until-aborted.ts";
