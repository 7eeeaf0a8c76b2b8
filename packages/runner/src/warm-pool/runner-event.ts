import type { DiscardReason } from "./limits.ts";

/** What a runner reports for metrics. `digest` is the image's. */
export type RunnerEvent =
  /** A call has its sandbox: a pre-started one (`warm`), or one that starts now. */
  | { type: "call-started"; digest: string; warm: boolean }
  /** A sandbox was pre-started. */
  | { type: "sandbox-waiting"; digest: string }
  /** A call took a pre-started sandbox. */
  | { type: "sandbox-used"; digest: string }
  /** A pre-started sandbox was discarded unused. */
  | { type: "sandbox-discarded"; digest: string; reason: DiscardReason };
