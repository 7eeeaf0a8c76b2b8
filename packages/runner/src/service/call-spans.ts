import type { Tracing } from "@xfn/program/tracing";
import type { CallOutcome } from "@xfn/runner-grpc";
import { loggedMessage } from "../service/logged-message.ts";
import type { ImageUse } from "../service/observed-store.ts";

// Phases of a call, in order.
const PHASES = ["pull", "start", "run"] as const;

/** Records an ended call: one span below the caller's, and one for each phase. */
export function recordCall(tracing: Tracing, outcome: CallOutcome, use: ImageUse | undefined): void {
  const { image, step, path, error, phases } = outcome;
  const end = Date.now();
  let at = end - outcome.totalMs;
  const attributes = {
    "rpc.system": "grpc",
    "rpc.service": path.split("/")[1] ?? "",
    "rpc.method": "RunFunction",
    "xfn.image": image,
    "xfn.code": error?.code ?? "OK",
    "xfn.input.bytes": outcome.inputBytes,
    "xfn.output.bytes": outcome.outputBytes,
    "xfn.image.digest": use?.digest,
    "xfn.step": step,
  };
  const span = tracing.start("RunFunction", { parent: outcome.trace, kind: "server", at, attributes });
  const phase = (name: string, ms: number): void => {
    tracing.start(name, { parent: span.trace, at }).end(undefined, at + ms);
    at += ms;
  };
  if (outcome.queuedMs > 0) phase("queue", outcome.queuedMs);
  for (const name of PHASES) {
    const ms = phases.get(name);
    if (ms !== undefined) phase(name, ms);
  }
  span.end(error && loggedMessage(error), end);
}
