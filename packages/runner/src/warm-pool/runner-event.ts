import type { DiscardReason } from "./limits.ts";

/** Why a server of a function ended. */
export type ServerEndReason =
  /** It reached its idle timeout. */
  | "idle"
  /** Another server needed its slot or its memory. */
  | "displaced"
  /** It used the processor although no caller used it. */
  | "busy"
  /** Its only caller has released it, or its start was cancelled. */
  | "released"
  /** It exited or crashed, or something else killed it. */
  | "exited"
  /** The runner was closed. */
  | "closed";

/** An event that a runner reports for metrics. `digest` is that of the image. */
export type RunnerEvent =
  /** A call has its sandbox: a pre-started one (`warm`), or one that starts now. */
  | { type: "call-started"; digest: string; warm: boolean }
  /** A sandbox was pre-started. */
  | { type: "sandbox-waiting"; digest: string }
  /** A call took a pre-started sandbox. */
  | { type: "sandbox-used"; digest: string }
  /** A pre-started sandbox was discarded unused. */
  | { type: "sandbox-discarded"; digest: string; reason: DiscardReason }
  /** The server of a function accepts connections. */
  | { type: "server-started"; digest: string }
  /** The server of a function could not be started, or did not listen. */
  | { type: "server-failed"; digest: string }
  | { type: "server-ended"; digest: string; reason: ServerEndReason };
