import type { DiscardReason } from "./limits.ts";

/** What happens in a runner, for metrics. `digest` is the image's. */
export type RunnerEvent =
  /** A call has its sandbox: one that was started early, or one that starts now. */
  | { type: "call-started"; digest: string; early: boolean }
  /** A sandbox was started before its call. */
  | { type: "sandbox-waiting"; digest: string }
  /** It got its call. */
  | { type: "sandbox-used"; digest: string }
  /** It will not get one. */
  | { type: "sandbox-discarded"; digest: string; reason: DiscardReason };
